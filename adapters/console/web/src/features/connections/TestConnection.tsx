import { Trans, useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { Badge, Button, Dialog, DialogButtons, duration, Form, TextField, textOf } from "@/ui";

/** Calls a URL with a connection, and says what came back. */
export function TestConnection({ connection, onClose }: { connection: Schemas["Connection"]; onClose: () => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, error, isPending } = api.useMutation("post", "/connections/{id}/test");
  const [host = ""] = connection.hosts;
  return (
    <Dialog title={t`Test ${connection.name}`} description={t`It is called as a workflow would call it, with GET.`} isOpen onClose={onClose}>
      <Form error={error} onSubmit={(form) => mutate({ params: { path: { id: connection.id } }, body: { url: textOf(form, "url") ?? "" } })}>
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
            <Badge tone={data.ok ? "ok" : "danger"}>{data.status ? <Trans>It answered {data.status}</Trans> : <Trans>No answer came</Trans>}</Badge>
            <span className="text-quiet">{duration(data.durationMs)}</span>
            {data.error && (
              <p className="basis-full break-words">
                {data.error.message} <code className="text-quiet">{data.error.code}</code>
              </p>
            )}
          </div>
        )}
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Close</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Call it</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
