import type { Schemas } from "@/api";

type FieldSchemas = Schemas["FieldSchemas"];

export const schemaNames = ["inputSchema", "outputSchema", "configSchema"] as const;
export type SchemaName = (typeof schemaNames)[number];

/** Reads the schemas that somebody typed. Those that are no JSON objects are named. */
export function readSchemas(text: (name: SchemaName) => string | undefined): { schemas: Record<SchemaName, FieldSchemas>; unreadable: SchemaName[] } {
  const unreadable: SchemaName[] = [];
  const read = (name: SchemaName): FieldSchemas => {
    try {
      const value: unknown = JSON.parse(text(name) ?? "{}");
      if (value && typeof value === "object" && !Array.isArray(value)) return value as FieldSchemas;
    } catch {
      // said below
    }
    unreadable.push(name);
    return {};
  };
  const schemas = { inputSchema: read("inputSchema"), outputSchema: read("outputSchema"), configSchema: read("configSchema") };
  return { schemas, unreadable };
}

/** Schemas as a form shows them; nothing where there are none. */
export const shownSchema = (schemas: FieldSchemas | undefined) =>
  schemas && Object.keys(schemas).length > 0 ? JSON.stringify(schemas, null, 2) : "";
