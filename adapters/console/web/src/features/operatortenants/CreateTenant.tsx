import { Trans, useLingui } from "@lingui/react/macro";
import { operatorApi, type Schemas } from "@/api";
import { Button, Dialog, DialogButtons, FormDialog, Link, languages, SelectField, ShownOnce, TextField, textOf } from "@/ui";

export function CreateTenant({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { mutate, data, ...request } = operatorApi.useMutation("post", "/tenants", { onSuccess: () => void onDone() });
  if (data) {
    return (
      <Dialog title={t`The keys of ${data.name}`} description={t`Copy them now: they are shown this once.`} isSticky onClose={onClose}>
        <div className="flex flex-col gap-3">
          <p className="font-medium">{t`Secret key`}</p>
          <ShownOnce label={t`Secret key`} text={data.secretKey ?? ""} />
          <p className="font-medium">{t`Public key`}</p>
          <ShownOnce label={t`Public key`} text={data.publicKey ?? ""} />
          <p className="text-quiet">
            <Trans>
              To let people in, add a member on the command line: <code className="break-all">sluice member add --tenant {data.id}</code>
            </Trans>
          </p>
          <Link to={`/operator/tenants/${data.id}`}>{t`To the tenant`}</Link>
          <DialogButtons>
            <Button look="primary" label={t`I have copied them`} onClick={onClose} />
          </DialogButtons>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={t`Create a tenant`}
      onClose={onClose}
      request={request}
      onSubmit={(form) => mutate({ body: { name: textOf(form, "name") ?? "", language: form.get("language") as Schemas["Language"] } })}
      action={t`Create the tenant`}
    >
      <TextField name="name" label={t`Name`} maxLength={255} autoFocus />
      <SelectField name="language" label={t`Language of the node registry`} defaultValue="en" options={languages} />
    </FormDialog>
  );
}
