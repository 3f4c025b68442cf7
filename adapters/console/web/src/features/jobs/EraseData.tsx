import { Trans, useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { useTenant } from "@/api";
import { Confirm, FormDialog, SelectField, TextField, textOf, toast } from "@/ui";

type Asked = { about: "entityId" | "subTenantId"; id: string; before: string | undefined };

/** Asks what is to be erased, and asks again, since nothing brings it back. */
export function EraseData({
  subTenantId,
  onClose,
  onDone,
}: {
  subTenantId?: string | undefined;
  onClose: () => void;
  onDone: () => Promise<unknown>;
}) {
  const { t } = useLingui();
  const { client } = useTenant();
  const [asked, setAsked] = useState<Asked | null>(null);
  if (!asked) {
    return (
      <FormDialog
        title={t`Erase data`}
        description={t`Everything about one person, record or sub-tenant: runs with their histories, events, deliveries, and what the audit log says of it.`}
        onClose={onClose}
        request={{ error: null, isPending: false }}
        onSubmit={(form) => {
          const before = textOf(form, "before");
          setAsked({ about: form.get("about") as Asked["about"], id: textOf(form, "id") ?? "", before: before && new Date(before).toISOString() });
        }}
        action={t`Go on`}
      >
        <SelectField
          name="about"
          label={t`What it is about`}
          defaultValue={subTenantId ? "subTenantId" : "entityId"}
          options={{ entityId: t`A person or record: the entity of runs`, subTenantId: t`A sub-tenant, with all that belongs to it` }}
        />
        <TextField name="id" label={t`Identifier`} placeholder="anna@example.com" defaultValue={subTenantId} maxLength={255} required autoFocus />
        <TextField name="before" label={t`Only what is older than`} optional type="datetime-local" />
      </FormDialog>
    );
  }
  const { about, id, before } = asked;
  return (
    <Confirm
      onClose={onClose}
      title={<Trans>Erase everything about {id}?</Trans>}
      action={t`Erase it for good`}
      typed={id}
      onConfirm={async () => {
        await client.POST("/erasures", { body: { [about]: id, before } });
        toast(t`The erasure has begun`);
        await onDone();
      }}
    >
      <p>{t`Runs that go on are cancelled, and these go for good:`}</p>
      <ul className="list-disc pl-5">
        <li>{t`its runs, with histories, payloads, outputs and questions`}</li>
        <li>{t`events about them, and their deliveries`}</li>
        <li>{t`deliveries to hooks and sample data that name it`}</li>
        {about === "subTenantId" && !before && <li>{t`its workflows, triggers, connections, webhook endpoints, keys and tokens`}</li>}
      </ul>
      <p>{t`Backups are not changed. The job stays as the receipt, without the name.`}</p>
    </Confirm>
  );
}
