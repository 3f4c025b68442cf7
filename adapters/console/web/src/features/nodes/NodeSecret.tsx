import { Trans, useLingui } from "@lingui/react/macro";
import { RefreshCw } from "lucide-react";
import { useState } from "react";
import { ApiError, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, ErrorPanel, Facts, Form, Section, SelectField, ShownOnce, Time } from "@/ui";

/** Shows the secret, which nobody can see again. */
export function NewNodeSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const { t } = useLingui();
  return (
    <Dialog
      title={t`The new secret`}
      description={t`Your nodes check with it that the gateway calls. Copy it now: it is shown this once.`}
      isOpen
      isSticky
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <ShownOnce label={t`The new secret`} text={secret} />
        <DialogButtons>
          <Button look="primary" onClick={onClose}>
            <Trans>I have copied it</Trans>
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}

/** The secret that signs calls of all custom nodes. */
export function NodeSecret() {
  const { t } = useLingui();
  const { api } = useTenant();
  const [isRotating, setRotating] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const { data: secret, error, refetch } = api.useQuery("get", "/custom-nodes/secret");
  const {
    mutate,
    error: refused,
    isPending,
  } = api.useMutation("post", "/custom-nodes/secret/rotate", {
    onSuccess: ({ secret: text }) => {
      setRotating(false);
      setMade(text ?? null);
      void refetch();
    },
  });
  if (error && !(error instanceof ApiError && error.status === 404)) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (!secret) return null;
  return (
    <Section
      title={<Trans>Secret of all nodes</Trans>}
      actions={
        <Button icon={RefreshCw} onClick={() => setRotating(true)}>
          <Trans>Rotate the secret</Trans>
        </Button>
      }
    >
      <Facts
        facts={[
          [<Trans key="l">Secret</Trans>, <code key="v">…{secret.lastFour}</code>],
          [<Trans key="l">Created</Trans>, <Time key="v" at={secret.createdAt} />],
          [
            <Trans key="l">Still signs</Trans>,
            secret.previous.length > 0 &&
              secret.previous.map(({ lastFour, expiresAt }) => (
                <span key={lastFour + expiresAt} className="block">
                  <code>…{lastFour}</code>, <Trans>ends</Trans> <Time at={expiresAt} />
                </span>
              )),
          ],
        ]}
      />
      {isRotating && (
        <Dialog
          title={t`Rotate the secret`}
          description={t`Calls are signed with the old one, too, until it ends.`}
          isOpen
          onClose={() => setRotating(false)}
        >
          <Form error={refused} onSubmit={(form) => mutate({ body: { graceSeconds: Number(form.get("graceSeconds")) } })}>
            <SelectField name="graceSeconds" label={t`The old secret ends`} defaultValue="86400">
              <option value="0">{t`at once`}</option>
              <option value="3600">{t`in an hour`}</option>
              <option value="86400">{t`in a day`}</option>
              <option value="604800">{t`in a week`}</option>
            </SelectField>
            <DialogButtons>
              <Button onClick={() => setRotating(false)}>
                <Trans>Cancel</Trans>
              </Button>
              <Button type="submit" look="primary" isBusy={isPending}>
                <Trans>Rotate</Trans>
              </Button>
            </DialogButtons>
          </Form>
        </Dialog>
      )}
      {made && <NewNodeSecret secret={made} onClose={() => setMade(null)} />}
    </Section>
  );
}
