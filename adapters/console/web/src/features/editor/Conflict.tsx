import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { Button, Dialog, DialogButtons, Json } from "@/ui";
import { useEditor, useSession } from "./context";
import { type Conflict as Both, type Choice, same } from "./model";

/** What of one side is not as on the other. */
function differing(one: object, other: object | undefined): object {
  const others = (other ?? {}) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(one).filter(([key, value]) => !other || !same(value, others[key])));
}

const keyOf = ({ of, id }: Both) => `${of} ${id}`;

/** Shows both sides of what two people changed at once, one by one, and keeps whichever is chosen. What was independent is merged already. */
export function Conflict() {
  const { t } = useLingui();
  const { editing } = useEditor();
  const conflict = useSession((session) => session.conflict);
  const [choices, setChoices] = useState<Record<string, Choice>>({});
  const [isBusy, setBusy] = useState(false);
  if (!conflict) return null;
  const { conflicts } = conflict;
  const settle = () => {
    setBusy(true);
    void editing
      .settle((one) => choices[keyOf(one)] ?? "mine")
      .finally(() => {
        setBusy(false);
        setChoices({});
      });
  };
  return (
    <Dialog
      title={t`Somebody else changed the same`}
      description={t`All other changes of both sides are kept. Choose what these shall be.`}
      isSticky
      isWide
    >
      <div className="flex flex-col gap-4">
        {conflicts.map((one) => {
          const key = keyOf(one);
          const name = one.of === "node" ? (one.mine?.name ?? one.theirs?.name ?? one.id) : t`An edge`;
          return (
            <fieldset key={key} className="rounded-md border border-line p-3">
              <legend className="px-1 font-medium">{name}</legend>
              <div className="grid gap-3 sm:grid-cols-2">
                {(["mine", "theirs"] as const).map((side) => (
                  <div key={side} className="min-w-0">
                    <label className="flex items-center gap-2 font-medium">
                      <input
                        type="radio"
                        name={key}
                        className="accent-accent"
                        checked={(choices[key] ?? "mine") === side}
                        onChange={() => setChoices({ ...choices, [key]: side })}
                      />
                      {side === "mine" ? t`Mine` : t`Theirs`}
                    </label>
                    {one[side] ? (
                      <Json value={differing(one[side], one[side === "mine" ? "theirs" : "mine"])} label={side === "mine" ? t`Mine` : t`Theirs`} />
                    ) : (
                      <p className="text-quiet">{t`Deleted`}</p>
                    )}
                  </div>
                ))}
              </div>
            </fieldset>
          );
        })}
        <DialogButtons>
          <Button look="primary" label={t`Keep what is chosen`} isBusy={isBusy} onClick={settle} />
        </DialogButtons>
      </div>
    </Dialog>
  );
}
