package workflow

// The names that an expression can begin with.
// Functions of the expression language itself, such as now, are not among them.
const (
	RootInput   = "input"   // what flowed into the node
	RootPayload = "payload" // what the run was started with
	RootNodes   = "nodes"   // the output of each node that ran, by node id
	RootRun     = "run"     // the run's ids
	RootResult  = "result"  // on an edge: the source's output
	RootItem    = "item"    // in map, filter and reduce and in bodies: the element at hand
	RootIndex   = "index"   // in map, filter and reduce and in bodies: its place, from 0
	RootAcc     = "acc"     // in reduce: what was computed so far
)

// LinkFunction is the function of the expression language that gives the address of the page for an
// answer, of the node that it names.
const LinkFunction = "link"

// NodeScope lists the roots of an expression in a node's configuration.
func NodeScope() []string { return []string{RootInput, RootPayload, RootNodes, RootRun} }

// EdgeScope lists the roots of an edge's condition.
func EdgeScope() []string { return append(NodeScope(), RootResult) }

// BodyScope lists the roots that expressions in the body of a node have besides. Where a transform
// has roots of the same name, those are its own.
func BodyScope() []string { return []string{RootItem, RootIndex} }

// The values of a transform's transformType, which say what its expression is
// applied to.
const (
	TransformExpression = "expression"
	TransformMap        = "map"
	TransformFilter     = "filter"
	TransformReduce     = "reduce"
)

// TransformScope lists the roots of the expression or mapping of a transform of
// this transformType. Instead of such an expression there may be an arrow function,
// (item, index) => … or (acc, item, index) => …, which begins with its parameters and
// [NodeScope].
func TransformScope(transformType string) []string {
	switch transformType {
	case TransformMap, TransformFilter:
		return append(NodeScope(), RootItem, RootIndex)
	case TransformReduce:
		return append(NodeScope(), RootItem, RootIndex, RootAcc)
	}
	return NodeScope()
}
