import { useLingui } from "@lingui/react/macro";
import { Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "./button";
import { inputLook } from "./form";
import type { Pair } from "./pairs";

/** Pairs of text that belong to a record, to be changed. */
export function MetadataFields({ pairs, onChange }: { pairs: Pair[]; onChange: (pairs: Pair[]) => void }) {
  const { t } = useLingui();
  const change = (id: number, part: Partial<Pair>) => onChange(pairs.map((pair) => (pair.id === id ? { ...pair, ...part } : pair)));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="font-medium">{t`Metadata`}</legend>
      <p className="text-quiet">{t`Pairs of yours, by which lists can be narrowed.`}</p>
      {pairs.map((pair) => (
        <div key={pair.id} className="flex items-center gap-2">
          <input
            aria-label={t`Key`}
            className={inputLook}
            maxLength={40}
            value={pair.key}
            onChange={(event) => change(pair.id, { key: event.target.value })}
          />
          <input
            aria-label={t`Value`}
            className={inputLook}
            maxLength={500}
            value={pair.value}
            onChange={(event) => change(pair.id, { value: event.target.value })}
          />
          <IconButton label={t`Remove ${pair.key}`} icon={Trash2} onClick={() => onChange(pairs.filter(({ id }) => id !== pair.id))} />
        </div>
      ))}
      <Button className="self-start" icon={Plus} label={t`Add a pair`} onClick={() => onChange([...pairs, { id: Date.now(), key: "", value: "" }])} />
    </fieldset>
  );
}

/** Metadata as a list shows it. */
export function Metadata({ of }: { of: Record<string, string> }) {
  return Object.entries(of).map(([key, value]) => (
    <code key={key} className="mr-2 text-quiet">
      {key}={value}
    </code>
  ));
}
