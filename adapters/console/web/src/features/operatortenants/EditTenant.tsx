import { Trans, useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { operatorApi, type Schemas } from "@/api";
import { Button, Dialog, DialogButtons, Form, MetadataFields, metadataPatch, pairsOf, TextField, textOf } from "@/ui";
import { budgetsPatch } from "./budgets";

type Props = { tenant: Schemas["Tenant"]; onClose: () => void; onDone: () => void };

/** Changes a tenant's name, limits and metadata. */
export function EditTenant({ tenant, onClose, onDone }: Props) {
  const { t } = useLingui();
  const [pairs, setPairs] = useState(() => pairsOf(tenant.metadata));
  const { mutate, error, isPending } = operatorApi.useMutation("patch", "/tenants/{id}", { onSuccess: onDone });
  const { limits, budgets } = tenant;
  const submit = (form: FormData) => {
    const number = (name: string) => Number(form.get(name));
    const quota = (kind: "public" | "secret") => ({
      requestsPerMinute: number(`limits.${kind}.requestsPerMinute`),
      concurrentRequests: number(`limits.${kind}.concurrentRequests`),
    });
    mutate({
      params: { path: { id: tenant.id } },
      body: {
        name: textOf(form, "name") ?? "",
        limits: { public: quota("public"), secret: quota("secret"), runRetentionDays: number("limits.runRetentionDays") },
        budgets: budgetsPatch(budgets, form),
        metadata: metadataPatch(tenant.metadata, pairs),
      },
    });
  };
  const numeric = { inputMode: "numeric", type: "number", min: 1 } as const;
  return (
    <Dialog title={t`Edit ${tenant.name}`} description={t`New limits hold at once.`} isOpen onClose={onClose}>
      <Form error={error} onSubmit={submit}>
        <TextField name="name" label={t`Name`} defaultValue={tenant.name} maxLength={255} />
        <TextField
          {...numeric}
          name="limits.secret.requestsPerMinute"
          label={t`Secret keys: requests a minute`}
          defaultValue={limits.secret.requestsPerMinute}
        />
        <TextField
          {...numeric}
          name="limits.secret.concurrentRequests"
          label={t`Secret keys: requests at the same time`}
          defaultValue={limits.secret.concurrentRequests}
        />
        <TextField
          {...numeric}
          name="limits.public.requestsPerMinute"
          label={t`Public keys: requests a minute`}
          defaultValue={limits.public.requestsPerMinute}
        />
        <TextField
          {...numeric}
          name="limits.public.concurrentRequests"
          label={t`Public keys: requests at the same time`}
          defaultValue={limits.public.concurrentRequests}
        />
        <TextField {...numeric} name="limits.runRetentionDays" label={t`Days that finished runs are kept`} defaultValue={limits.runRetentionDays} />
        <TextField
          {...numeric}
          name="budgets.runsPerMonth"
          label={t`Runs that it may start in a month`}
          help={t`Empty for any number.`}
          defaultValue={budgets.runsPerMonth}
        />
        <TextField
          {...numeric}
          name="budgets.liveRuns"
          label={t`Runs that may be live`}
          help={t`Empty for any number.`}
          defaultValue={budgets.liveRuns}
        />
        <TextField
          {...numeric}
          name="budgets.bytesKept"
          label={t`Bytes of runs that may be kept`}
          help={t`Empty for as many as the gateway is configured for.`}
          defaultValue={budgets.bytesKept}
        />
        <MetadataFields pairs={pairs} onChange={setPairs} />
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Save</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
