import fc from "fast-check";
import type { Command } from "./commands";
import { edgeKey, type GraphNode } from "./graph";

/** A node for tests. */
export const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({
  id,
  type: "transform",
  version: "1.0.0",
  name: id,
  config: {},
  inputSchema: {},
  outputSchema: {},
  position: { x: 0, y: 0 },
  ...more,
});

const place = fc.record({ x: fc.integer({ min: 0, max: 900 }), y: fc.integer({ min: 0, max: 900 }) });

/** Commands on nodes with these identifiers, whether there are such nodes or not. */
export function anyCommand(ids: string[]): fc.Arbitrary<Command> {
  const id = fc.constantFrom(...ids);
  const some = fc.uniqueArray(id, { minLength: 1, maxLength: 2 });
  const output = fc.constantFrom(undefined, "true", "onError");
  return fc.oneof(
    fc.record({
      do: fc.constant("add" as const),
      node: fc.tuple(id, fc.constantFrom("x", "y")).map(([one, name]) => node(one, { name })),
      insertion: fc.option(fc.record({ after: id, output }), { nil: undefined }),
    }),
    fc.record({ do: fc.constant("remove" as const), nodes: some, edges: fc.constant<string[]>([]) }),
    fc.record({ do: fc.constant("move" as const), to: fc.dictionary(id, place, { maxKeys: 3, noNullPrototype: true }) }),
    fc.record({
      do: fc.constant("connect" as const),
      edge: fc.record({ sourceNodeId: id, targetNodeId: id, sourceOutputKey: output }),
    }),
    fc.record({
      do: fc.constant("reconnect" as const),
      edge: fc.tuple(id, id).map(([sourceNodeId, targetNodeId]) => edgeKey({ sourceNodeId, targetNodeId })),
      to: fc.record({ sourceNodeId: id, targetNodeId: id, sourceOutputKey: output }),
    }),
    fc.record({
      do: fc.constant("change" as const),
      node: id,
      change: fc.record({
        name: fc.constantFrom("p", "q"),
        config: fc.dictionary(fc.constantFrom("url", "method"), fc.integer({ max: 3 }), { noNullPrototype: true }),
      }),
    }),
    fc.record({
      do: fc.constant("putInto" as const),
      nodes: some,
      parentId: fc.option(id, { nil: undefined }),
      to: fc.dictionary(id, place, { noNullPrototype: true }),
    }),
    fc.record({
      do: fc.constant("paste" as const),
      clip: id.map((one) => ({ nodes: [node(one), node(`${one}-in`, { parentId: one })], edges: [] })),
      at: place,
    }),
    fc.record({ do: fc.constant("pin" as const), node: id, value: fc.option(fc.integer(), { nil: undefined }) }),
  );
}
