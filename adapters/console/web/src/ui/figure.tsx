import type { ReactNode } from "react";
import { Link } from "./link";

/** Figures in a row, each a `<Figure>`. */
export const Figures = ({ children }: { children: ReactNode }) => (
  <div className="grid grid-cols-[repeat(auto-fit,minmax(11rem,1fr))] gap-3">{children}</div>
);

/** A figure that leads to what it counts. Without a value it is being read. */
export function Figure({ label, value, note, isBad, to }: { label: string; value: ReactNode; note?: ReactNode; isBad?: boolean; to: string }) {
  return (
    <Link to={to} className="flex flex-col rounded-lg border border-line bg-panel p-4 hover:bg-hover">
      <span className="text-quiet">{label}</span>
      {value === undefined ? (
        <span className="skeleton mt-1 h-8 w-16" />
      ) : (
        <span className={`text-2xl font-semibold tabular-nums ${isBad ? "text-danger" : ""}`}>{value}</span>
      )}
      <span className="min-h-5 text-quiet">{note}</span>
    </Link>
  );
}
