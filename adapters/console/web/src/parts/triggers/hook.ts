import { useQuery } from "@tanstack/react-query";
import { ApiError, type Schemas, useTenant } from "@/api";

/** The hook of a trigger; null where it has none, which is an answer and no failure. */
export function useHook(triggerId: string, enabled = true) {
  const { client } = useTenant();
  return useQuery({
    queryKey: ["get", "/triggers/{id}/hook", triggerId],
    enabled,
    queryFn: (): Promise<Schemas["Hook"] | null> =>
      client.GET("/triggers/{id}/hook", { params: { path: { id: triggerId } } }).then(
        ({ data }) => data ?? null,
        (failure) => {
          if (failure instanceof ApiError && failure.status === 404) return null;
          throw failure;
        },
      ),
  });
}
