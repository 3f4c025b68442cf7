import { Trans, useLingui } from "@lingui/react/macro";
import { useTenant } from "@/api";
import { Badge, Fact, Facts, FormDialog, inputLook, TextArea, TextField, textOf, Unreadable } from "@/ui";

/** Checks a sample of what somebody sent, and shows what was signed and what was expected. */
export function HookTest({ triggerId, onClose }: { triggerId: string; onClose: () => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, ...request } = api.useMutation("post", "/triggers/{id}/hook/test");
  const submit = (form: FormData) => {
    let headers: Record<string, string>;
    try {
      headers = headersOf(String(form.get("headers") ?? ""));
    } catch (line) {
      throw new Unreadable(t`A header is not readable.`, { headers: t`“${line}” must be a name, a colon and a value.` });
    }
    mutate({
      params: { path: { id: triggerId } },
      body: { headers, body: String(form.get("body") ?? "").replaceAll("\r\n", "\n"), url: textOf(form, "url") },
    });
  };
  const mono = `${inputLook} font-mono`;
  return (
    <FormDialog
      title={t`Check a signature`}
      description={t`Paste what was sent. Nothing is started, and the secret is not shown.`}
      isWide
      onClose={onClose}
      request={request}
      onSubmit={submit}
      action={t`Check`}
      dismiss={t`Close`}
    >
      <TextArea
        name="headers"
        label={t`Headers`}
        help={t`One a line: X-Hub-Signature-256: sha256=…`}
        rows={3}
        className={mono}
        spellCheck={false}
        autoFocus
      />
      <TextArea name="body" label={t`Body, as it was sent`} rows={4} className={mono} spellCheck={false} />
      <TextField name="url" label={t`Address`} optional={t`where it is signed`} type="url" />
      {data && (
        <div role="status" className="flex flex-col gap-2">
          <Badge tone={data.verified ? "ok" : "danger"}>{data.verified ? t`It is genuine` : <Trans>It is not genuine: {data.reason}</Trans>}</Badge>
          <Facts>
            <Fact label={t`Signed text`} value={data.signedString && <pre className="break-all whitespace-pre-wrap">{data.signedString}</pre>} />
            <Fact label={t`Expected`} value={data.expected && <code className="break-all">{data.expected}</code>} />
            <Fact label={t`Given`} value={data.given && <code className="break-all">{data.given}</code>} />
          </Facts>
        </div>
      )}
    </FormDialog>
  );
}

/** Reads headers as they stand in logs, one a line. It throws the line that is none. */
function headersOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      if (at < 1) throw line.trim();
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
