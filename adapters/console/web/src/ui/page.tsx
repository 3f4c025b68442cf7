import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { ErrorPanel } from "./error";
import { Link } from "./link";

type Props = {
  title: string;
  /** What stands above the title: the list that the page belongs to. */
  parents?: { label: ReactNode; to: string }[];
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
};

/** A page: its title, what can be done there, and its content. */
export function Page({ title, parents = [], description, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <div className="mx-auto flex max-w-6xl flex-col gap-5 p-4 sm:p-6">
      <header className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-64">
          {parents.map(({ label, to }) => (
            <nav key={to} className="mb-1 flex items-center gap-1 text-quiet">
              <Link to={to} className="hover:underline">
                {label}
              </Link>
              <ChevronRight aria-hidden className="size-3.5" />
            </nav>
          ))}
          <h1 className="text-xl font-semibold break-words">{title}</h1>
          {description && <div className="mt-0.5 max-w-prose text-quiet">{description}</div>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** Stands for the page of one thing until it was read: its title says of what sort it is. */
export function UnreadPage({ title, parents, query }: Pick<Props, "title" | "parents"> & { query: { error: unknown; refetch: () => unknown } }) {
  return (
    <Page title={title} parents={parents}>
      {query.error ? <ErrorPanel error={query.error} onRetry={() => void query.refetch()} /> : <Skeleton />}
    </Page>
  );
}

/** A part of a page. */
export function Section({ title, actions, children }: { title: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2">
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-2">
        <h2 className="font-semibold">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** Facts about one thing, each a `<Fact>`. */
export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-[repeat(auto-fit,minmax(11rem,1fr))] gap-x-6 gap-y-3 rounded-lg border border-line bg-panel p-4">{children}</dl>
  );
}

/** A fact; one without a value is left out. */
export function Fact({ label, value }: { label: ReactNode; value: ReactNode }) {
  if (value === undefined || value === null || value === "" || value === false) return null;
  return (
    <div className="min-w-0">
      <dt className="text-quiet">{label}</dt>
      <dd className="break-words">{value}</dd>
    </div>
  );
}

/** The metadata of one thing among its facts. */
export const MetadataFacts = ({ of }: { of: Record<string, string> }) =>
  Object.entries(of).map(([key, value]) => <Fact key={key} label={<code>{key}</code>} value={value} />);

/** Says what to do where there is nothing yet. */
export function Empty({ title, children, action }: { title: ReactNode; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-lg border border-dashed border-strong-line px-6 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-prose text-quiet">{children}</div>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}

/** Stands where something is being read. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div aria-busy="true" className="flex flex-col gap-3">
      {Array.from({ length: lines }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all lines are the same
        <div key={at} className="skeleton h-5" style={{ width: `${90 - ((at * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
