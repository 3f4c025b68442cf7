import * as Radix from "@radix-ui/react-dropdown-menu";
import { Ellipsis, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "./button";

type MenuProps = { label: string; trigger?: ReactNode; children: ReactNode };

/** What can be done with something, behind one button. */
export function Menu({ label, trigger, children }: MenuProps) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger ?? <IconButton label={label} icon={Ellipsis} />}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          onCloseAutoFocus={(event) => document.activeElement !== document.body && event.preventDefault()} // what was chosen has taken the focus
          className="z-50 min-w-44 rounded-md border border-line bg-raised p-1 shadow-lg"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

const itemLook = "flex cursor-pointer items-center gap-2 rounded px-2 py-1.5 outline-none data-highlighted:bg-hover";

type ItemProps = { icon?: LucideIcon; label: ReactNode; onSelect: () => void; isDangerous?: boolean; isChecked?: boolean };

export function MenuItem({ icon: Icon, label, onSelect, isDangerous, isChecked }: ItemProps) {
  const look = `${itemLook} ${isDangerous ? "text-danger" : ""}`;
  if (isChecked !== undefined) {
    return (
      <Radix.CheckboxItem checked={isChecked} onSelect={onSelect} className={look}>
        <span aria-hidden className="w-4">
          {isChecked ? "✓" : ""}
        </span>
        {label}
      </Radix.CheckboxItem>
    );
  }
  return (
    <Radix.Item onSelect={onSelect} className={look}>
      {Icon && <Icon aria-hidden className="size-4" />}
      {label}
    </Radix.Item>
  );
}

export const MenuLine = () => <Radix.Separator className="my-1 h-px bg-line" />;
export const MenuLabel = ({ children }: { children: ReactNode }) => <Radix.Label className="px-2 py-1 text-quiet">{children}</Radix.Label>;
