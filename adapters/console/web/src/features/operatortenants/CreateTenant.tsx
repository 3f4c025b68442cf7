import { Trans, useLingui } from "@lingui/react/macro";
import { operatorApi, type Schemas } from "@/api";
import { Button, Dialog, DialogButtons, Form, Link, SelectField, ShownOnce, TextField, textOf } from "@/ui";

export function CreateTenant({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { mutate, data, error, isPending } = operatorApi.useMutation("post", "/tenants", { onSuccess: () => void onDone() });
  if (data) {
    return (
      <Dialog title={t`The keys of ${data.name}`} description={t`Copy them now: they are shown this once.`} isOpen isSticky onClose={onClose}>
        <div className="flex flex-col gap-3">
          <p className="font-medium">
            <Trans>Secret key</Trans>
          </p>
          <ShownOnce label={t`Secret key`} text={data.secretKey ?? ""} />
          <p className="font-medium">
            <Trans>Public key</Trans>
          </p>
          <ShownOnce label={t`Public key`} text={data.publicKey ?? ""} />
          <p className="text-quiet">
            <Trans>
              To let people in, add a member on the command line: <code className="break-all">sluice member add --tenant {data.id}</code>
            </Trans>
          </p>
          <Link to={`/operator/tenants/${data.id}`}>
            <Trans>To the tenant</Trans>
          </Link>
          <DialogButtons>
            <Button look="primary" onClick={onClose}>
              <Trans>I have copied them</Trans>
            </Button>
          </DialogButtons>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={t`Create a tenant`} isOpen onClose={onClose}>
      <Form
        error={error}
        onSubmit={(form) => mutate({ body: { name: textOf(form, "name") ?? "", language: form.get("language") as Schemas["Language"] } })}
      >
        <TextField name="name" label={t`Name`} maxLength={255} autoFocus />
        <SelectField name="language" label={t`Language of the node registry`} defaultValue="en">
          <option value="en">English</option>
          <option value="pt-BR">Português</option>
          <option value="es">Español</option>
        </SelectField>
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Create the tenant</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
