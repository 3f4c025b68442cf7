import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useId, useState } from "react";
import { useAccount } from "@/api";
import { Dialog, type Feature, inputLook } from "@/ui";
import { shortcuts } from "@/ui/shortcuts";
import { setTheme } from "@/ui/theme";
import { useEntries } from "./shell";

type Choice = { label: string; run: () => void };

/** Finds pages and actions by a few letters of their names. */
export function find(choices: Choice[], text: string): Choice[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return choices.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

export default function Palette({ of, onClose }: { of: Feature["of"]; onClose: () => void }) {
  const { t } = useLingui();
  const id = useId();
  const navigate = useNavigate();
  const { memberships } = useAccount();
  const pages = useEntries(of);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const go = (to: string) => () => void navigate({ to });
  const actions = shortcuts().filter(({ keys, label }) => typeof label === "string" && !keys.startsWith("g ") && keys !== "mod+k");
  const all: Choice[] = [
    ...pages.map(({ label, to }) => ({ label, run: go(to) })),
    ...actions.map(({ label, run }) => ({ label: String(label), run: () => setTimeout(run) })),
    ...memberships.map(({ tenantName, tenantId }) => ({ label: t`Tenant: ${tenantName}`, run: go(`/t/${tenantId}`) })),
    { label: t`Light appearance`, run: () => setTheme("light") },
    { label: t`Dark appearance`, run: () => setTheme("dark") },
    { label: t`Appearance as the system`, run: () => setTheme("system") },
  ];
  const found = find(all, text);
  const active = Math.min(at, found.length - 1);
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    choice.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((active + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") choose(found[active]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t`Find and do`} onClose={onClose}>
      <input
        autoFocus
        role="combobox"
        aria-label={t`Find and do`}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${active}` : undefined}
        className={inputLook}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div id={`${id}-list`} role="listbox" aria-label={t`Found`} className="mt-2 max-h-80 overflow-y-auto">
        {found.map((choice, place) => (
          <div
            key={choice.label}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === active}
            className={`cursor-pointer rounded px-2 py-1.5 ${place === active ? "bg-hover font-medium" : ""}`}
            onPointerMove={() => setAt(place)}
            onClick={() => choose(choice)}
            onKeyDown={onKey}
          >
            {choice.label}
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="p-2 text-quiet">{t`Nothing has this name.`}</p>}
    </Dialog>
  );
}
