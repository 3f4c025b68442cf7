// Package jsonread reads what a client sent, strictly: a request body of JSON into
// a tree, and the query parameters of a list. encoding/json is lenient where a
// gateway must not be: it takes NAME for name, the last of two equal members, and
// replaces what is no UTF-8.
//
// [Parse] makes the tree in one pass over the text. The getters of [Object] and
// [Value] take a member as one JSON type and record a violation, under the
// client's own path, where it has another; the result then is the zero value, so a
// handler reads everything and reports all mistakes at once. What a value must be
// beyond its type is the domain's to say, a string or number that is absent
// included.
package jsonread
