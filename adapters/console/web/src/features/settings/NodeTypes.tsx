import { useLingui } from "@lingui/react/macro";
import { useTenant } from "@/api";
import { ErrorPanel, Skeleton } from "@/ui";

/** Chooses which built-in node types are left out. The registry has the others only. */
export function NodeTypes({ disabled }: { disabled: string[] }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { data, error, refetch } = api.useQuery("get", "/custom-nodes/registry", {}, { refetchOnWindowFocus: false });
  const builtIn = (data?.nodes ?? []).filter((node) => node.isBuiltIn);
  const names = new Map([...disabled.map((type) => [type, type] as const), ...builtIn.map(({ type, name }) => [type, name] as const)]);
  const types = [...names].sort(([, a], [, b]) => a.localeCompare(b));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="font-medium">{t`Node types that are left out`}</legend>
      <p className="text-quiet">{t`Workflows cannot be drawn with them any more. Those that have one already go on.`}</p>
      {error && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={2} />}
      <div className="grid grid-cols-[repeat(auto-fill,minmax(13rem,1fr))] gap-x-4 gap-y-1">
        {types.map(([type, name]) => (
          <label key={type} className="flex items-center gap-2" title={type}>
            <input
              type="checkbox"
              name="disabledNodeTypes"
              value={type}
              defaultChecked={disabled.includes(type)}
              className="size-4 accent-accent"
              aria-label={t`Leave out ${name}`}
            />
            {name}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
