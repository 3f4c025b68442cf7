import { useTenant } from "@/api";

/** The names of workflows, of which those that were changed last are read at once; any other stands as its identifier. */
export function useWorkflowNames(): (id: string) => string {
  const { api } = useTenant();
  const { data } = api.useQuery("get", "/workflows", { params: { query: { limit: 100, sortBy: "updatedAt" } } }, { staleTime: 60_000 });
  return (id) => data?.items.find((one) => one.id === id)?.name ?? id;
}
