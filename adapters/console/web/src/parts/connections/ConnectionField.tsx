import { useLingui } from "@lingui/react/macro";
import { ExternalLink, Plus } from "lucide-react";
import { type ReactNode, use, useCallback, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useReload } from "@/parts/items";
import { RecordField } from "@/parts/records";
import { Button, Dialog, DialogButtons, HasPage, Link, StateBadge } from "@/ui";
import { ConnectionForm } from "./ConnectionForm";
import { Waiting } from "./Consent";
import { useConsent } from "./consent";
import { grantStates, kindWords } from "./words";

type Connection = Schemas["Connection"];
type Props = {
  name: string;
  label: string;
  help?: ReactNode;
  optional?: boolean;
  value: string;
  onChange: (id: string) => void;
  /** What a new one begins with. */
  hosts?: string[];
  subTenantId?: string;
  isReadOnly: boolean;
};

/** Chooses a connection, or makes one on the spot, which is chosen then. */
export function ConnectionField({ value, onChange, hosts, subTenantId, isReadOnly, ...field }: Props) {
  const { t } = useLingui();
  const { api, may } = useTenant();
  const reload = useReload("/connections");
  const [isMaking, setMaking] = useState(false);
  const [asksConsent, setAsksConsent] = useState<Connection>();
  const path = { params: { path: { id: value } } };
  const { data: connection } = api.useQuery("get", "/connections/{id}", path, { enabled: value !== "", staleTime: 60_000 });
  const endConsent = useCallback(() => setAsksConsent(undefined), []);
  const canMake = !isReadOnly && may("connections:write");
  return (
    <div className="flex flex-col gap-1.5">
      <RecordField {...field} of="/connections" first={t`None`} value={value} onChange={onChange} />
      {connection && <Chosen connection={connection} canConsent={canMake} />}
      {canMake && <Button icon={Plus} className="self-start" label={t`New connection`} onClick={() => setMaking(true)} />}
      {isMaking && (
        <ConnectionForm
          hosts={hosts}
          subTenantId={subTenantId}
          onClose={() => setMaking(false)}
          onDone={(made) => {
            setMaking(false);
            onChange(made.id);
            void reload();
            if (made.kind === "oauth2AuthorizationCode") setAsksConsent(made);
          }}
        />
      )}
      {asksConsent && <AskConsent connection={asksConsent} onClose={endConsent} />}
    </div>
  );
}

/** Which connection it is: names are not unique. */
function Chosen({ connection, canConsent }: { connection: Connection; canConsent: boolean }) {
  const { t, i18n } = useLingui();
  const { id: tenantId } = useTenant();
  return (
    <div className="flex flex-col items-start gap-1.5 text-xs text-quiet">
      <p className="break-words">
        {i18n._(kindWords[connection.kind])}
        {connection.hosts.length > 0 && <> · {connection.hosts.join(", ")}</>}
        {use(HasPage)(`/t/${tenantId}/connections`) && (
          <>
            {" "}
            · <Link to={`/t/${tenantId}/connections/${connection.id}`} className="text-accent underline">{t`Open it`}</Link>
          </>
        )}
      </p>
      {!connection.isActive && <p className="text-danger">{t`Off: what uses it fails`}</p>}
      {connection.kind === "oauth2AuthorizationCode" && <Granted connection={connection} canConsent={canConsent} />}
    </div>
  );
}

/** Says where calls have no token, and how they get one. */
function Granted({ connection, canConsent }: { connection: Connection; canConsent: boolean }) {
  const { t } = useLingui();
  const { grant, authorize, isWaiting, stop } = useConsent(connection);
  if (!grant || grant.status === "active") return null;
  return (
    <>
      <StateBadge of={grantStates[grant.status]} />
      {isWaiting && <Waiting onStop={stop} />}
      {canConsent && !isWaiting && <Button icon={ExternalLink} label={t`Connect`} onClick={() => void authorize()} />}
    </>
  );
}

/** Asks for the consent that a new connection needs, since a browser opens a window on a click alone. */
function AskConsent({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const { t } = useLingui();
  const { authorize, isWaiting, stop } = useConsent(connection, onClose);
  return (
    <Dialog
      title={t`Connect ${connection.name}`}
      description={t`Sign in where it calls, and consent there. A window opens for it. Until then, calls with it fail.`}
      onClose={onClose}
    >
      {isWaiting && <Waiting onStop={stop} />}
      <DialogButtons>
        <Button label={t`Not now`} onClick={onClose} />
        {!isWaiting && <Button look="primary" icon={ExternalLink} label={t`Connect`} onClick={() => void authorize()} />}
      </DialogButtons>
    </Dialog>
  );
}
