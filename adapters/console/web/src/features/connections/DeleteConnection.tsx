import { Trans } from "@lingui/react/macro";
import { useState } from "react";
import { ApiError, type Schemas, useTenant } from "@/api";
import { Confirm, Link } from "@/ui";

type Use = { kind: "workflow" | "webhookEndpoint" | "hook"; id: string; name: string };

/** Deletes a connection, and names what still uses it where something does. */
export function DeleteConnection({ connection, onClose, onDone }: { connection: Schemas["Connection"]; onClose: () => void; onDone: () => unknown }) {
  const { client, id: tenantId } = useTenant();
  const [uses, setUses] = useState<Use[]>([]);

  const nameUses = async (failure: ApiError) => {
    const found = await Promise.all(
      (failure.body?.usedBy ?? []).map(async ({ kind, id }): Promise<Use> => {
        const path = { params: { path: { id } } };
        if (kind === "workflowVersion") {
          const { data: version } = await client.GET("/workflow-versions/{id}", path);
          const workflowId = version?.workflowId ?? "";
          const { data: workflow } = await client.GET("/workflows/{id}", { params: { path: { id: workflowId } } });
          return { kind: "workflow", id: workflowId, name: `${workflow?.name} (${version?.version})` };
        }
        if (kind === "hook") return { kind, id, name: (await client.GET("/triggers/{id}", path)).data?.name ?? id };
        return { kind, id, name: (await client.GET("/webhook-endpoints/{id}", path)).data?.url ?? id };
      }),
    );
    setUses(found);
  };

  return (
    <Confirm
      onClose={onClose}
      title={<Trans>Delete {connection.name}?</Trans>}
      action={<Trans>Delete the connection</Trans>}
      onConfirm={async () => {
        try {
          await client.DELETE("/connections/{id}", { params: { path: { id: connection.id } } });
        } catch (failure) {
          if (failure instanceof ApiError && failure.code === "connection_in_use") await nameUses(failure).catch(() => {});
          throw failure;
        }
        await onDone();
      }}
    >
      <p>
        <Trans>Its secret, and what an authorization server gave for it, are gone for good. Nothing can use it any more.</Trans>
      </p>
      {uses.length > 0 && (
        <>
          <p>
            <Trans>These use it. Change them first:</Trans>
          </p>
          <ul className="list-disc pl-5">
            {uses.map(({ kind, id, name }) => (
              <li key={`${kind} ${id}`}>
                <Link to={`/t/${tenantId}/${kind === "workflow" ? "workflows" : kind === "hook" ? "triggers" : "endpoints"}/${id}`}>{name}</Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </Confirm>
  );
}
