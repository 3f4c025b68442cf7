import { Trans, useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { Badge, duration, FormDialog, TextField, textOf } from "@/ui";

/** Calls a URL with a connection, and says what came back. */
export function TestConnection({ connection, onClose }: { connection: Schemas["Connection"]; onClose: () => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, ...request } = api.useMutation("post", "/connections/{id}/test");
  const [host = ""] = connection.hosts;
  return (
    <FormDialog
      title={t`Test ${connection.name}`}
      description={t`It is called as a workflow would call it, with GET.`}
      onClose={onClose}
      request={request}
      onSubmit={(form) => mutate({ params: { path: { id: connection.id } }, body: { url: textOf(form, "url") ?? "" } })}
      action={t`Call it`}
      dismiss={t`Close`}
    >
      <TextField
        name="url"
        label={t`URL`}
        type="url"
        help={t`At one of the connection's hosts.`}
        defaultValue={`https://${host.replace("*.", "www.")}/`}
        autoFocus
      />
      {data && (
        <div role="status" className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-panel p-3">
          <Badge tone={data.ok ? "ok" : "danger"}>{data.status ? <Trans>It answered {data.status}</Trans> : t`No answer came`}</Badge>
          <span className="text-quiet">{duration(data.durationMs)}</span>
          {data.error && (
            <p className="basis-full break-words">
              {data.error.message} <code className="text-quiet">{data.error.code}</code>
            </p>
          )}
        </div>
      )}
    </FormDialog>
  );
}
