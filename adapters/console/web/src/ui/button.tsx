import { Loader2, type LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";

const looks = {
  primary: "border-transparent bg-accent text-on-accent hover:brightness-110",
  plain: "border-line bg-panel text-text hover:bg-hover",
  quiet: "border-transparent bg-transparent text-text hover:bg-hover",
  danger: "border-transparent bg-danger text-on-danger hover:brightness-110",
};

type Props = Omit<ComponentProps<"button">, "children"> & { label: ReactNode; look?: keyof typeof looks; icon?: LucideIcon; isBusy?: boolean };

/** How buttons look, and links that stand where a button is expected. */
export const buttonLook = (look: keyof typeof looks) =>
  `inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md border px-3 py-1 font-medium whitespace-nowrap disabled:opacity-60 ${looks[look]}`;

/** A button. While it is busy it cannot be pressed again. */
export function Button({ look = "plain", icon: Icon, isBusy, disabled, label, className = "", type = "button", ...rest }: Props) {
  const Shown = isBusy ? Loader2 : Icon;
  return (
    <button {...rest} type={type} disabled={disabled || isBusy} aria-busy={isBusy || undefined} className={`${buttonLook(look)} ${className}`}>
      {Shown && <Shown aria-hidden className={`size-4 shrink-0 ${isBusy ? "animate-spin" : ""}`} />}
      {label}
    </button>
  );
}

/** A button with an icon alone, which has a name for everybody. */
export function IconButton({ label, icon: Icon, className = "", ...rest }: ComponentProps<"button"> & { label: string; icon: LucideIcon }) {
  return (
    <button
      {...rest}
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-8 shrink-0 items-center justify-center rounded-md text-quiet hover:bg-hover hover:text-text disabled:opacity-50 ${className}`}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}
