import { useLingui } from "@lingui/react/macro";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { base, type Schemas } from "@/api";
import { Button, CopyButton, IconButton, Scroll, TextField } from "@/ui";

const field = "embed.origins";

/** The origins that were written, in the order in which the server names them. */
export const originsOf = (form: FormData): string[] =>
  [...form].flatMap(([name, value]) => (name.startsWith(`${field}[`) && typeof value === "string" ? [value.trim()] : []));

/** Chooses the pages that may show the editor, and says what to put into one. */
export function EmbedOrigins({ embed, isReadOnly }: { embed: Schemas["EmbedSettings"]; isReadOnly: boolean }) {
  const { t } = useLingui();
  const [rows, setRows] = useState(() => embed.origins.map((text, key) => ({ key, text })));
  const written = rows.filter(({ text }) => text.trim() !== "");
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="font-medium">{t`Pages that show the editor`}</legend>
      <p className="text-quiet">{t`Your own product can show the editor to its customers. Browsers show it in pages of these origins only.`}</p>
      {rows.map(({ key, text }, at) => (
        <div key={key} className="flex items-end gap-1 [&>:first-child]:flex-1">
          <TextField
            // A row without text is not sent, and has no number among those that are.
            name={text.trim() ? `${field}[${written.findIndex((row) => row.key === key)}]` : ""}
            label={t`Origin ${at + 1}`}
            type="url"
            isCode
            maxLength={300}
            placeholder="https://app.example.com"
            value={text}
            onChange={({ target }) => setRows(rows.map((row) => (row.key === key ? { key, text: target.value } : row)))}
          />
          {!isReadOnly && <IconButton label={t`Remove origin ${at + 1}`} icon={X} onClick={() => setRows(rows.filter((row) => row.key !== key))} />}
        </div>
      ))}
      {!isReadOnly && (
        <Button
          icon={Plus}
          label={t`Add an origin`}
          className="self-start"
          onClick={() => setRows([...rows, { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, text: "" }])}
        />
      )}
      {embed.origins.length > 0 && <Snippet id={embed.id} />}
    </fieldset>
  );
}

function Snippet({ id }: { id: string }) {
  const { t } = useLingui();
  const script = new URL("../embed/sluice-editor.js", new URL(base, location.href)).href;
  const text = `<script type="module" src="${script}"></script>
<sluice-editor embed-id="${id}" workflow-id="wf_…" style="height: 40rem"></sluice-editor>
<script>
  // Your server asks for a token for whoever is signed in, with POST /embed-tokens, and passes on the answer.
  document.querySelector("sluice-editor").getToken = async () => (await fetch("/automation-token", { method: "POST" })).json();
</script>`;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <div className="flex items-center justify-between gap-2">
        <p className="text-quiet">{t`Put this into your page:`}</p>
        <CopyButton text={text} label={t`Copy what goes into the page`} />
      </div>
      <Scroll label={t`What goes into the page`} className="overflow-x-auto rounded-md border border-line bg-bg p-3">
        <pre className="font-mono text-xs">{text}</pre>
      </Scroll>
    </div>
  );
}
