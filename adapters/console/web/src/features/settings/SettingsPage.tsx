import { Plural, Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { type Schemas, useTenant } from "@/api";
import { Button, ErrorPanel, Facts, Form, Page, Section, SelectField, Skeleton, TextArea, TextField, textOf, toast } from "@/ui";
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
        disabledNodeTypes: form.getAll("disabledNodeTypes").map(String),
      },
    });
  const isReadOnly = !can("admin");
  const { limits } = settings;
  return (
    <>
      <div className="rounded-lg border border-line bg-panel p-4">
        <Form error={error} onSubmit={submit}>
          <fieldset disabled={isReadOnly} className="flex min-w-0 flex-col gap-4">
            <legend className="sr-only">{t`Settings`}</legend>
            {isReadOnly && (
              <p className="text-quiet">
                <Trans>An admin of the tenant can change these.</Trans>
              </p>
            )}
            <SelectField
              name="language"
              label={t`Language of the node registry`}
              help={t`In which names and descriptions of node types are given to your customers. The console speaks the language that each person chose.`}
              defaultValue={settings.language}
            >
              <option value="en">English</option>
              <option value="pt-BR">Português</option>
              <option value="es">Español</option>
            </SelectField>
            <SelectField
              name="publicTriggerCreation"
              label={t`Public keys`}
              help={t`A public key can be read by everybody who uses your page.`}
              defaultValue={settings.publicTriggerCreation}
            >
              <option value="forbidden">{t`read only`}</option>
              <option value="limited">{t`may create triggers, too`}</option>
            </SelectField>
            <SelectField
              name="triggersOnPublish"
              label={t`When another version is published, the triggers of the one before`}
              defaultValue={settings.triggersOnPublish}
            >
              <option value="move">{t`move to the new version, with their addresses`}</option>
              <option value="leave">{t`stay where they are, and fire no more`}</option>
            </SelectField>
            <TextField
              name="customNodeEndpoint"
              label={t`Endpoint of custom nodes`}
              optional={t`optional`}
              help={t`Runs custom nodes that have no URL of their own. It is sent a heartbeat when you save.`}
              type="url"
              maxLength={2048}
              defaultValue={settings.customNodeEndpoint}
            />
            <TextArea
              name="events"
              label={t`Names of events`}
              optional={t`optional`}
              help={t`One on each line: its name, a space, and what people read. While there are none, triggers may wait for any name.`}
              rows={4}
              spellCheck={false}
              defaultValue={linesOf(settings.events)}
            />
            <NodeTypes disabled={settings.disabledNodeTypes} />
            {!isReadOnly && (
              <Button type="submit" look="primary" className="self-start" isBusy={isPending}>
                <Trans>Save the settings</Trans>
              </Button>
            )}
          </fieldset>
        </Form>
      </div>
      <Section title={<Trans>Limits, which the operator sets</Trans>}>
        <Facts
          facts={[
            [<Trans key="s">Secret keys, together</Trans>, <Quota key="v" {...limits.secret} />],
            [<Trans key="p">Public keys, together</Trans>, <Quota key="v" {...limits.public} />],
            [<Trans key="r">Finished runs are kept</Trans>, <Plural key="v" value={limits.runRetentionDays} one="# day" other="# days" />],
          ]}
        />
      </Section>
    </>
  );
}

const Quota = ({ requestsPerMinute, concurrentRequests }: Schemas["Quota"]) => (
  <Trans>
    {requestsPerMinute} requests a minute, {concurrentRequests} at the same time
  </Trans>
);
