import { Json } from "@/ui";

/** A value of a simulation, with what it is. */
export function Value({ title, label = title, value }: { title: string; label?: string; value: unknown }) {
  if (value === undefined) return null;
  return (
    <div className="min-w-0">
      <h3 className="mb-1 font-medium">{title}</h3>
      <Json label={label} value={value} />
    </div>
  );
}
