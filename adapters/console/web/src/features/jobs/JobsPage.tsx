import { msg } from "@lingui/core/macro";
import { Trans, useLingui } from "@lingui/react/macro";
import { Ban, Eraser } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import {
  actionsColumn,
  attempt,
  Button,
  type Column,
  ListPage,
  Menu,
  MenuItem,
  number,
  type Options,
  SelectFilter,
  type State,
  StateBadge,
  Time,
  useSearchParameters,
} from "@/ui";
import { EraseData } from "./EraseData";

type Job = Schemas["Job"];

const actions: Record<Schemas["JobAction"], ReturnType<typeof msg>> = {
  retry: msg`Retry runs`,
  rerun: msg`Repeat runs`,
  cancel: msg`Cancel runs`,
  replay: msg`Play deliveries again`,
  erase: msg`Erase data`,
};

const states: Record<Schemas["JobStatus"], State> = {
  running: { word: msg`Running`, tone: "info" },
  completed: { word: msg`Completed`, tone: "ok" },
  cancelled: { word: msg`Cancelled`, tone: "quiet" },
};

export default function JobsPage() {
  const { t, i18n } = useLingui();
  const { api, client, can } = useTenant();
  const [parameters, setParameters] = useSearchParameters();
  const { subTenantId } = parameters; // of the page that led here to erase it
  const [isErasing, setErasing] = useState(Boolean(subTenantId) && can("admin"));
  const reload = useReload("/jobs");
  const cancel = (job: Job) => attempt(client.POST("/jobs/{id}/cancel", { params: { path: { id: job.id } } }).then(reload), t`The job was cancelled`);
  const close = () => {
    setErasing(false);
    setParameters({ ...parameters, subTenantId: undefined });
  };
  const columns: Column<Job>[] = [
    { head: t`Job`, cell: (job) => i18n._(actions[job.action]) },
    { head: t`State`, cell: (job) => <StateBadge of={states[job.status]} />, width: "short" },
    { head: t`What it has done`, cell: (job) => <Result of={job} />, isMinor: true },
    { head: t`Asked for`, cell: (job) => <Time at={job.createdAt} />, width: "short" },
    actionsColumn(
      (job) =>
        can(job.action === "erase" ? "admin" : "approver") &&
        job.status === "running" && (
          <Menu label={t`Actions for the job ${job.id}`}>
            <MenuItem icon={Ban} label={t`Cancel the job`} isDangerous onSelect={() => void cancel(job)} />
          </Menu>
        ),
    ),
  ];
  return (
    <ListPage
      title={t`Jobs and erasure`}
      description={t`Work on many runs at once, and what was erased: each job is its own receipt.`}
      query={useItems(api, "/jobs", ["status"], { refetchInterval: 5_000 })}
      columns={columns}
      filters={<SelectFilter name="status" label={t`State`} all={t`Every state`} options={states as Options} />}
      actions={can("admin") && <Button icon={Eraser} label={t`Erase data`} onClick={() => setErasing(true)} />}
      empty={{
        title: t`There are no jobs yet`,
        text: t`When a person asks to be forgotten, or a customer leaves, everything about them can be erased here.`,
      }}
    >
      {isErasing && <EraseData subTenantId={subTenantId} onClose={close} onDone={reload} />}
    </ListPage>
  );
}

/** How far a job is, and what an erasure has removed. */
function Result({ of: { erasure, matched, done, failed } }: { of: Job }) {
  if (!erasure) {
    return (
      <Trans>
        {number(done)} of {number(matched)} runs, {number(failed)} failed
      </Trans>
    );
  }
  const { runs, cancelledRuns: _, ...others } = erasure.removed;
  return (
    <Trans>
      {number(runs)} runs and {number(Object.values(others).reduce((sum, one) => sum + one, 0))} other records removed
    </Trans>
  );
}
