import { type AnyRouter, type LinkProps, Link as RouterLink } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { parseSearch } from "./search";

type Props = { to: string; className?: string; "aria-label"?: string; children: ReactNode };

/** A link to another page of the console, with its filters as they stand in the address: "/t/tenant_1/runs?status=failed". */
export function Link({ to, className = "text-accent hover:underline", ...rest }: Props) {
  const [path, search = ""] = to.split("?");
  const props = { to: path, search: parseSearch(search) } as unknown as LinkProps<"a", AnyRouter>;
  return <RouterLink {...props} className={className} {...rest} />;
}
