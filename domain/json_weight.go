package domain

// JSONWeight counts what a JSON text holds, from which follows how much memory it takes once
// it is read: a tree of empty arrays takes many times its text.
type JSONWeight struct {
	Bytes   int64 // of the text
	Values  int64 // of any type
	Names   int64 // of members
	Objects int64 // that have members
}

// WeighJSON counts what is in a text without building values. Of a text that is no JSON it
// counts at least what stands before the first mistake.
func WeighJSON[T string | []byte](text T) JSONWeight {
	w := JSONWeight{Bytes: int64(len(text)), Values: 1}
	var opened byte // the bracket that the next part follows; 0 for none
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case ',':
			w.Values++
		case ':':
			w.Names++
		}
		if opened != 0 && c != ']' && c != '}' {
			w.Values++
			if opened == '{' {
				w.Objects++
			}
		}
		opened = 0
		switch c {
		case '[', '{':
			opened = c
		case '"':
			i = EndOfString(text, i)
		}
	}
	return w
}

// Add adds another text.
func (w *JSONWeight) Add(other JSONWeight) {
	w.Bytes += other.Bytes
	w.Values += other.Values
	w.Names += other.Names
	w.Objects += other.Objects
}

// What encoding/json makes of a text takes at most so many bytes: for a value its place in
// a slice that grows and what the place points to, for a name its text and its place in a
// map, and for an object the smallest map.
const (
	valueBytes  = 64
	nameBytes   = 64
	objectBytes = 320
)

// Tree is how many bytes the text takes as maps, slices and texts.
func (w JSONWeight) Tree() int64 {
	return w.Bytes + valueBytes*w.Values + nameBytes*w.Names + objectBytes*w.Objects
}
