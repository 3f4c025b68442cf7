export { type Clip, clipOf, freeId, readClip, writeClip } from "./clip";
export { apply, type Command, canReconnect, type EdgeChange, type Ends, type Insertion, type NodeChange, refusal } from "./commands";
export { bodyOf, draftOf, edgeIdsOf, edgeKey, emptyGraph, type Graph, type GraphEdge, type GraphNode, graphOf, leads, same } from "./graph";
export { type Choice, type Conflict, merge } from "./merge";
export { type Editing, edit, type Refusal, type SaveState, type Server, type Session, type Stored } from "./session";
