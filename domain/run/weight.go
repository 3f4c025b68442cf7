package run

import (
	"encoding/json"

	"github.com/sluicehq/sluice/domain"
)

// What values take in memory, in bytes.
const (
	slotWeight   = 32  // an element of an array, which grows by doubling
	textWeight   = 16  // a string or a number next to its characters
	arrayWeight  = 24  // an array without elements
	objectWeight = 48  // an object without members
	groupWeight  = 288 // room for the first eight members
	memberWeight = 88  // a member where there are more, with its share of the room
	groupSize    = 8
)

// weightOf is at most how many bytes the values of a JSON text take in memory once they
// are read: a short text can make a large tree.
func weightOf(text []byte) int64 { return domain.WeighJSON(text).Tree() }

// weightOfMembers is what an object takes next to the names and values of n members.
func weightOfMembers(n int) int64 {
	switch {
	case n == 0:
		return objectWeight
	case n <= groupSize:
		return objectWeight + groupWeight
	}
	return objectWeight + groupWeight + memberWeight*int64(n)
}

// rounded is the size of a block that holds n bytes.
func rounded(n int) int64 { return int64(n+n/8+7) &^ 7 }

func endOfNumber(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case '0' <= c && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return i
		}
	}
	return i
}

// weightOfTree is [weightOf] for values that were read. A part that stands in several
// places counts each time.
func weightOfTree(value any) int64 {
	switch v := value.(type) {
	case string:
		return textWeight + rounded(len(v))
	case json.Number:
		return textWeight + rounded(len(v))
	case json.RawMessage:
		return textWeight + rounded(len(v))
	case []any:
		weight := int64(arrayWeight)
		for _, e := range v {
			weight += slotWeight + weightOfTree(e)
		}
		return weight
	case map[string]any:
		weight := weightOfMembers(len(v))
		for name, member := range v {
			weight += textWeight + rounded(len(name)) + weightOfTree(member)
		}
		return weight
	}
	return 8
}
