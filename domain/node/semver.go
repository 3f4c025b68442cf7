package node

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// maxSemVer bounds the length of a version's text, which Semantic Versioning
// leaves open.
const maxSemVer = 255

// SemVer is a version by Semantic Versioning 2.0.0. Build one with [ParseSemVer].
// Two are equal (==) when their texts are; [SemVer.Compare] ranks them. The zero
// value is no version and ranks below every one.
type SemVer struct {
	major, minor, patch string // digits without leading zeros, of any length
	pre, build          string // dot-separated identifiers, empty when absent
}

var errSemVer = fmt.Errorf("%w: a version must read MAJOR.MINOR.PATCH, such as 1.4.0 or 2.0.0-beta.1", domain.Invalid)

// ParseSemVer accepts MAJOR.MINOR.PATCH with an optional -pre-release and +build,
// at most 255 characters. Any other text is an error of the kind Invalid.
func ParseSemVer(text string) (SemVer, error) {
	if len(text) > maxSemVer {
		return SemVer{}, errSemVer
	}
	rest, build, hasBuild := strings.Cut(text, "+")
	core, pre, hasPre := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	if len(numbers) != 3 || hasBuild && !identifiers(build, false) || hasPre && !identifiers(pre, true) {
		return SemVer{}, errSemVer
	}
	for _, n := range numbers {
		if !isNumeric(n) || leadingZero(n) {
			return SemVer{}, errSemVer
		}
	}
	return SemVer{major: numbers[0], minor: numbers[1], patch: numbers[2], pre: pre, build: build}, nil
}

// restoreSemVer trusts the text, which [SemVer.String] gave before.
func restoreSemVer(text string) SemVer {
	v, _ := ParseSemVer(text)
	return v
}

// String returns the text that was parsed, empty for the zero value.
func (v SemVer) String() string {
	if v.IsZero() {
		return ""
	}
	text := v.major + "." + v.minor + "." + v.patch
	if v.pre != "" {
		text += "-" + v.pre
	}
	if v.build != "" {
		text += "+" + v.build
	}
	return text
}

// IsZero says whether v is the zero value, which is no version.
func (v SemVer) IsZero() bool { return v == SemVer{} }

// Compare is negative when v precedes other, positive when it follows it and 0
// when they have the same precedence (Semantic Versioning 2.0.0, §11), which the
// build metadata does not affect.
func (v SemVer) Compare(other SemVer) int {
	return cmp.Or(
		compareNumeric(v.major, other.major),
		compareNumeric(v.minor, other.minor),
		compareNumeric(v.patch, other.patch),
		comparePreRelease(v.pre, other.pre),
	)
}

func comparePreRelease(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "": // a release follows its pre-releases
		return 1
	case b == "":
		return -1
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		if c := compareIdentifier(as[i], bs[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func compareIdentifier(a, b string) int {
	switch aNumeric, bNumeric := isNumeric(a), isNumeric(b); {
	case aNumeric && bNumeric:
		return compareNumeric(a, b)
	case aNumeric: // numeric identifiers precede the others
		return -1
	case bNumeric:
		return 1
	}
	return cmp.Compare(a, b)
}

// compareNumeric compares digits without leading zeros, whatever their number.
func compareNumeric(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// identifiers says whether text is a dot-separated list of non-empty identifiers
// of [0-9A-Za-z-]; strict forbids leading zeros in numeric ones.
func identifiers(text string, strict bool) bool {
	for id := range strings.SplitSeq(text, ".") {
		if id == "" || strict && isNumeric(id) && leadingZero(id) {
			return false
		}
		for i := range len(id) {
			if c := id[i]; !isDigit(c) && !isLetter(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

func isNumeric(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func leadingZero(s string) bool { return len(s) > 1 && s[0] == '0' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
