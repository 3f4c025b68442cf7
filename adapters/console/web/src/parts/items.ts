import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import type { OpenapiQueryClient } from "openapi-react-query";
import { type ItemsQuery, pageOf, useSearchParameters } from "@/ui";

type Get<Paths, Path extends keyof Paths> = Paths[Path] extends { get: infer Operation } ? Operation : never;
type Item<Operation> = Operation extends { responses: { 200: { content: { "application/json": { items: (infer T)[] } } } } } ? T : never;
type Query<Operation> = Operation extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;

type Options<Operation> = {
  /** What the path names: `{ id }`. */
  path?: Record<string, string>;
  /** What narrows the list besides its filters. */
  query?: Query<Operation>;
  refetchInterval?: number;
  enabled?: boolean;
};

/**
 * Reads the page of a list that the address says. Its filters stand in the address under the names that the API has for them; what they may be
 * is the server's to judge. While another page is read, the one before stays.
 */
export function useItems<Paths extends object, Path extends keyof Paths & string>(
  api: OpenapiQueryClient<Paths>,
  path: Path,
  filters: (keyof Query<Get<Paths, Path>> & string)[] = [],
  { path: inPath, query = {} as Query<Get<Paths, Path>>, ...options }: Options<Get<Paths, Path>> = {},
): ItemsQuery<Item<Get<Paths, Path>>> {
  const [parameters] = useSearchParameters();
  const chosen = Object.fromEntries(filters.map((name) => [name, parameters[name] || undefined]));
  const params = { path: inPath, query: { ...pageOf(parameters), ...query, ...chosen } };
  const useQuery = api.useQuery as unknown as (...of: unknown[]) => Omit<ItemsQuery<Item<Get<Paths, Path>>>, "isFiltered">;
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery("get", path, { params }, { placeholderData: keepPreviousData, ...options });
  return { data, error, isPending, isPlaceholderData, refetch, isFiltered: Object.values(chosen).some((value) => value !== undefined) };
}

/** Reads anew what is shown of some paths of the API, and of all below them. */
export function useReload(...paths: string[]): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ predicate: ({ queryKey }) => paths.some((path) => String(queryKey[1]).startsWith(path)) });
}
