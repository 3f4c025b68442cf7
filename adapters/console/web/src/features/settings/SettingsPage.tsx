import { useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { type Schemas, useTenant } from "@/api";
import { LimitFacts } from "@/parts";
import { Button, ErrorPanel, Facts, Form, languages, Page, Section, SelectField, Skeleton, TextArea, TextField, textOf, toast } from "@/ui";
import { EmbedOrigins, originsOf } from "./EmbedOrigins";
import { linesOf, readLines } from "./events";
import { NodeTypes } from "./NodeTypes";

type Settings = Schemas["Settings"];

export default function SettingsPage() {
  const { t } = useLingui();
  const { api } = useTenant();
  const { data, error, refetch } = api.useQuery("get", "/settings", {}, { refetchOnWindowFocus: false });
  return (
    <Page title={t`Settings`}>
      {data ? <SettingsForm settings={data} /> : error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
    </Page>
  );
}

function SettingsForm({ settings }: { settings: Settings }) {
  const { t } = useLingui();
  const { api, can } = useTenant();
  const queries = useQueryClient();
  const { mutate, error, isPending } = api.useMutation("patch", "/settings", {
    onSuccess: (saved) => {
      queries.setQueryData(api.queryOptions("get", "/settings", {}).queryKey, saved);
      toast(t`The settings were saved`);
    },
  });
  const submit = (form: FormData) =>
    mutate({
      body: {
        language: form.get("language") as Settings["language"],
        publicTriggerCreation: form.get("publicTriggerCreation") as Settings["publicTriggerCreation"],
        triggersOnPublish: form.get("triggersOnPublish") as Settings["triggersOnPublish"],
        customNodeEndpoint: textOf(form, "customNodeEndpoint") ?? null,
        events: readLines(String(form.get("events") ?? "")),
        embed: { origins: originsOf(form) },
        disabledNodeTypes: form.getAll("disabledNodeTypes").map(String),
      },
    });
  const isReadOnly = !can("admin");
  return (
    <>
      <div className="rounded-lg border border-line bg-panel p-4">
        <Form error={error} onSubmit={submit}>
          <fieldset disabled={isReadOnly} className="flex min-w-0 flex-col gap-4">
            <legend className="sr-only">{t`Settings`}</legend>
            {isReadOnly && <p className="text-quiet">{t`An admin of the tenant can change these.`}</p>}
            <SelectField
              name="language"
              label={t`Language of the node registry`}
              help={t`In which names and descriptions of node types are given to your customers. The console speaks the language that each person chose.`}
              defaultValue={settings.language}
              options={languages}
            />
            <SelectField
              name="publicTriggerCreation"
              label={t`Public keys`}
              help={t`A public key can be read by everybody who uses your page.`}
              defaultValue={settings.publicTriggerCreation}
              options={{ forbidden: t`read only`, limited: t`may create triggers, too` }}
            />
            <SelectField
              name="triggersOnPublish"
              label={t`When another version is published, the triggers of the one before`}
              defaultValue={settings.triggersOnPublish}
              options={{ move: t`move to the new version, with their addresses`, leave: t`stay where they are, and fire no more` }}
            />
            <TextField
              name="customNodeEndpoint"
              label={t`Endpoint of custom nodes`}
              optional
              help={t`Runs custom nodes that have no URL of their own. It is sent a heartbeat when you save.`}
              type="url"
              maxLength={2048}
              defaultValue={settings.customNodeEndpoint}
            />
            <TextArea
              name="events"
              label={t`Names of events`}
              optional
              help={t`One on each line: its name, a space, and what people read. While there are none, triggers may wait for any name.`}
              rows={4}
              spellCheck={false}
              defaultValue={linesOf(settings.events)}
            />
            <EmbedOrigins embed={settings.embed} isReadOnly={isReadOnly} />
            <NodeTypes disabled={settings.disabledNodeTypes} />
            {!isReadOnly && <Button type="submit" look="primary" label={t`Save the settings`} className="self-start" isBusy={isPending} />}
          </fieldset>
        </Form>
      </div>
      <Section title={t`Limits, which the operator sets`}>
        <Facts>
          <LimitFacts of={settings.limits} />
        </Facts>
      </Section>
    </>
  );
}
