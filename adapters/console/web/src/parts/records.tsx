import { useLingui } from "@lingui/react/macro";
import { type ComponentProps, useEffect, useState } from "react";
import { useTenant } from "@/api";
import { Combobox, Field, useSearchParameters } from "@/ui";
import { choicesOf, type Listed } from "./choices";

type Records = "/workflows" | "/connections";

/** The name of a record, which stands for its identifier until it was read. */
export function useName(of: Records, id: string | undefined): string {
  const { api } = useTenant();
  const { data } = api.useQuery("get", `${of}/{id}`, { params: { path: { id: id ?? "" } } }, { enabled: Boolean(id), staleTime: 60_000 });
  return data?.name ?? id ?? "";
}

export const WorkflowName = ({ id }: { id: string }) => useName("/workflows", id);

type BoxProps = Pick<ComponentProps<typeof Combobox>, "value" | "first" | "onChange" | "className" | "aria-label"> & {
  of: Records;
  /** Which of the records may be chosen, where not all. */
  takes?: (record: Listed) => boolean;
};

/** Chooses a workflow or a connection by its name, of however many there are. */
function RecordBox({ of, takes = () => true, value, ...box }: BoxProps) {
  const { api } = useTenant();
  const name = useName(of, value);
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const [search, setSearch] = useState<string | undefined>(undefined);
  useEffect(() => {
    const timer = setTimeout(setSearch, typed ? 200 : 0, typed);
    return () => clearTimeout(timer);
  }, [typed]);
  const { data, error, refetch, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = api.useInfiniteQuery(
    "get",
    of,
    {
      params: {
        query: { limit: 25, sortBy: "name", sortOrder: "asc", search: search || undefined, ...(of === "/connections" && { isActive: true }) },
      },
    },
    {
      pageParamName: "offset",
      initialPageParam: 0,
      getNextPageParam: ({ offset, limit, total }: { offset: number; limit: number; total: number }) =>
        offset + limit < total ? offset + limit : undefined,
      enabled: search !== undefined,
    },
  );
  const isCurrent = typed === search; // what was found for another text is not to be chosen
  const found: Listed[] | undefined = data?.pages.flatMap(({ items }) => items as Listed[]).filter(takes);
  return (
    <Combobox
      {...box}
      value={value}
      name={name}
      choices={isCurrent && found ? choicesOf(found) : undefined}
      onSearch={setTyped}
      onMore={() => isCurrent && hasNextPage && !isFetching && !isFetchNextPageError && void fetchNextPage()}
      error={isCurrent ? error : undefined}
      onRetry={() => void (isFetchNextPageError ? fetchNextPage() : refetch())}
    />
  );
}

/** A field of a form in which a record is chosen. */
export function RecordField({ name, label, help, optional, ...box }: BoxProps & Omit<ComponentProps<typeof Field>, "children">) {
  return (
    <Field {...{ name, label, help, optional }}>
      {({ name: path, ...field }) => (
        <>
          <input type="hidden" name={path} value={box.value} readOnly />
          <RecordBox {...box} {...field} />
        </>
      )}
    </Field>
  );
}

/** Narrows a list to what belongs to one workflow. */
export function WorkflowFilter() {
  const { t } = useLingui();
  const [parameters, setParameters] = useSearchParameters();
  return (
    <RecordBox
      of="/workflows"
      aria-label={t`Workflow`}
      className="w-52"
      first={t`All workflows`}
      value={parameters.workflowId ?? ""}
      onChange={(workflowId) => setParameters({ ...parameters, workflowId: workflowId || undefined, offset: undefined })}
    />
  );
}
