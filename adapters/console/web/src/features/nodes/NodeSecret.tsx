import { useLingui } from "@lingui/react/macro";
import { RefreshCw } from "lucide-react";
import { useState } from "react";
import { ApiError, useTenant } from "@/api";
import { Button, ErrorPanel, Fact, Facts, FormDialog, GraceField, Section, ShownOnceDialog, Time } from "@/ui";

/** Shows the secret, which nobody can see again. */
export function NewNodeSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const { t } = useLingui();
  return (
    <ShownOnceDialog
      title={t`The new secret`}
      description={t`Your nodes check with it that the gateway calls. Copy it now: it is shown this once.`}
      text={secret}
      onClose={onClose}
    />
  );
}

/** The secret that signs calls of all custom nodes. */
export function NodeSecret() {
  const { t } = useLingui();
  const { api } = useTenant();
  const [isRotating, setRotating] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const { data: secret, error, refetch } = api.useQuery("get", "/custom-nodes/secret");
  const { mutate, ...request } = api.useMutation("post", "/custom-nodes/secret/rotate", {
    onSuccess: ({ secret: text }) => {
      setRotating(false);
      setMade(text ?? null);
      void refetch();
    },
  });
  if (error && !(error instanceof ApiError && error.status === 404)) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (!secret) return null;
  return (
    <Section title={t`Secret of all nodes`} actions={<Button icon={RefreshCw} label={t`Rotate the secret`} onClick={() => setRotating(true)} />}>
      <Facts>
        <Fact label={t`Secret`} value={<code>…{secret.lastFour}</code>} />
        <Fact label={t`Created`} value={<Time at={secret.createdAt} />} />
        <Fact
          label={t`Still signs`}
          value={
            secret.previous.length > 0 &&
            secret.previous.map(({ lastFour, expiresAt }) => (
              <span key={lastFour + expiresAt} className="block">
                <code>…{lastFour}</code>, {t`ends`} <Time at={expiresAt} />
              </span>
            ))
          }
        />
      </Facts>
      {isRotating && (
        <FormDialog
          title={t`Rotate the secret`}
          description={t`Calls are signed with the old one, too, until it ends.`}
          onClose={() => setRotating(false)}
          request={request}
          onSubmit={(form) => mutate({ body: { graceSeconds: Number(form.get("graceSeconds")) } })}
          action={t`Rotate`}
        >
          <GraceField label={t`The old secret ends`} defaultValue="86400" most={604_800} />
        </FormDialog>
      )}
      {made && <NewNodeSecret secret={made} onClose={() => setMade(null)} />}
    </Section>
  );
}
