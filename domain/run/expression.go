package run

import (
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Compiler compiles what nodes and edges compute with. Sources were checked with
// the same roots when the version was published, and some are put together from
// several that were: it must take sources of up to [MaxSource] bytes. What it
// returns is used by several goroutines at once.
type Compiler interface {
	// Compile reads one expression that begins with the roots and what the language
	// itself defines; a root's name cannot be spelled with escapes. The error says what is wrong and where in the source.
	Compile(source string, roots ...string) (Expression, error)

	// CheckFunction reports whether the source is one arrow function; the error says what is
	// wrong with it, and where in the source. It may use its parameters besides the roots.
	CheckFunction(source string, roots ...string) (isFunction bool, err error)

	// CompileTemplates reads every string within a JSON tree as a template, in which
	// expressions stand between {{ and }}; see [URLTemplate] for one of them. What it
	// returns evaluates to the tree with the values in place. The error says what is wrong
	// and where in the tree.
	CompileTemplates(tree any, roots ...string) (Expression, error)
}

// URLTemplate is a string within a tree of templates that gives a URL. A value at its
// very beginning is taken as it is. Any other one stays in its place: in the path, the
// query and the fragment it is percent-encoded, as encodeURIComponent does and unless
// the expression calls that itself; a scheme or a host with other characters than stand
// there, and a value that makes "." or ".." of a segment, are failures. No value changes
// what is written out of the scheme, the host and the port: an expression directly behind
// a written host does not compile. What the author wrote around the expressions is not
// touched.
type URLTemplate string

// MaxSource is how long a source can be that is put together from the expressions
// in a node's configuration, in bytes.
const MaxSource = 4 << 20

// Expression is a compiled expression or tree of templates.
type Expression interface {
	// Evaluate computes the value as a JSON tree, in bounded time and memory, the same
	// for the same environment. It changes nothing in the environment; the value may
	// share parts of it. The error says what is wrong and where in the source: a text
	// that begins "line 1, column 7: " counts from 1.
	Evaluate(env Env) (any, error)

	// NodesRead returns the ids of the nodes whose outputs the source reads under names that
	// are written out, such as nodes.order and nodes["order"]. all is true where it may read
	// others as well.
	NodesRead() (ids []string, all bool)
}

// Env is what one evaluation sees.
type Env struct {
	Values map[string]any // JSON trees by root; an absent root is undefined
	Now    time.Time      // what now() gives: the time of the event that led to the evaluation, the same on every replay
	Meter  *Meter         // counts what the evaluation costs, also where it fails; nil where nothing is metered

	// Whose run evaluates, empty outside of one, and the addresses that link() gives for the ids of
	// its nodes; nil where there are none.
	Tenant    tenant.ID
	Run       ID
	Simulated bool
	Links     *Links
}
