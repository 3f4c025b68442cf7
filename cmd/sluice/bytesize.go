package main

import (
	"fmt"
	"strconv"
	"strings"
)

// byteSize is an amount of memory or storage in bytes. As text it is a whole number with a
// unit: B, KiB, MiB, GiB or TiB, or kB, MB, GB or TB; without one it is bytes.
type byteSize int64

// units of byte sizes, the largest of a kind first.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// UnmarshalText reads a size.
func (s *byteSize) UnmarshalText(text []byte) error {
	number, factor := strings.TrimSpace(string(text)), int64(1)
	for _, u := range units {
		if rest, found := strings.CutSuffix(number, u.name); found {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return fmt.Errorf("%q is no size such as 512MiB", text)
	}
	*s = byteSize(n * factor)
	return nil
}

// String writes the size with the largest unit that it is a whole number of.
func (s byteSize) String() string {
	for _, u := range units[:4] {
		if s > 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}
