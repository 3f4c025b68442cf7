package attack

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
)

var counter atomic.Int64

// unique adds a number to a name.
func unique(name string) string { return fmt.Sprintf("%s %d", name, counter.Add(1)) }

// list is a JSON array of as many elements of a kind.
func list(element string, times int) []byte {
	return append(append([]byte{'['}, strings.TrimSuffix(strings.Repeat(element+",", times), ",")...), ']')
}

// listOf is a JSON array of elements of a kind that is just so long.
func listOf(element string, length int) []byte { return list(element, (length-1)/(len(element)+1)) }

// nested is an element that nests arrays as deep as the gateway reads.
func nested() string { return strings.Repeat("[", 60) + strings.Repeat("]", 60) }

// digits is a number of that length. It is below one, since numbers that a double cannot
// hold are refused.
func digits(length int) string { return "0." + strings.Repeat("7", length-2) }

// member is a JSON object with one member.
func member(name string, value []byte) []byte {
	return bytes.Join([][]byte{[]byte(`{"` + name + `":`), value, {'}'}}, nil)
}
