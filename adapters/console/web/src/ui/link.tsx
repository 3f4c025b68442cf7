import { type AnyRouter, type LinkProps, Link as RouterLink } from "@tanstack/react-router";
import { createContext, type ReactNode, use } from "react";
import { parseSearch } from "./search";

type Props = { to: string; className?: string; "aria-label"?: string; children: ReactNode };

/** Says which addresses have a page: not all have one where a part of the console is shown by itself. */
export const HasPage = createContext<(to: string) => boolean>(() => true);

/** A link to another page of the console, with its filters as they stand in the address: "/t/tenant_1/runs?status=failed". What leads nowhere is text. */
export function Link({ to, className = "text-accent hover:underline", children, ...rest }: Props) {
  const hasPage = use(HasPage)(to);
  const [path, search = ""] = to.split("?");
  const props = { to: path, search: parseSearch(search) } as unknown as LinkProps<"a", AnyRouter>;
  if (!hasPage) return children;
  return (
    <RouterLink {...props} className={className} {...rest}>
      {children}
    </RouterLink>
  );
}
