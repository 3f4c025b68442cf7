import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

export type Parameters = Record<string, string | undefined>;

/** The parameters of the page's address, which are texts. Filters stand there, so that a link shows what somebody saw. */
export function useSearchParameters(): [Parameters, (next: Parameters) => void] {
  const parameters = useSearch({ strict: false }) as Parameters;
  const navigate = useNavigate();
  const set = useCallback((next: Parameters) => void navigate({ to: ".", search: next, replace: true }), [navigate]);
  return [parameters, set];
}

/** How many items a list shows. */
const pageSize = 25;

/** The page that the address says, as the API takes it. */
export function pageOf({ offset }: Parameters): { limit: number; offset: number } {
  const from = Number(offset ?? 0);
  return { limit: pageSize, offset: Number.isSafeInteger(from) && from > 0 ? from : 0 };
}

/** Reads the search of an address: of parameters that come twice, the last. */
export const parseSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

/** Writes it. */
export function stringifySearch(parameters: Record<string, unknown>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => typeof pair[1] === "string" && pair[1] !== "");
  const text = new URLSearchParams(given).toString();
  return text && `?${text}`;
}
