package node

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// StatusRange is a range of HTTP status codes, both ends included.
type StatusRange struct{ From, To int }

// ReadStatuses reads what an httpRequest expects: a status code such as 200 or "200", a
// range such as "200-299", or a list of these. What is none of them is recorded in r under
// path. nil and the empty list expect nothing.
func ReadStatuses(r *domain.Rules, path string, value any) []StatusRange {
	list, isList := value.([]any)
	switch {
	case value == nil:
		return nil
	case !isList:
		return readStatus(r, path, nil, value)
	case len(list) > MaxFindings:
		r.Check(false, path, domain.TooLong, "must list at most %d status codes", MaxFindings)
		return nil
	}
	var ranges []StatusRange
	for i, one := range list {
		ranges = readStatus(r, domain.Index(path, i), ranges, one)
	}
	return ranges
}

func readStatus(r *domain.Rules, path string, ranges []StatusRange, value any) []StatusRange {
	from, to := value, value
	if text, isText := value.(string); isText {
		low, high, isRange := strings.Cut(text, "-")
		if from, to = json.Number(strings.TrimSpace(low)), json.Number(strings.TrimSpace(low)); isRange {
			to = json.Number(strings.TrimSpace(high))
		}
	}
	low, lowOK := statusCode(from)
	high, highOK := statusCode(to)
	if !lowOK || !highOK || low > high {
		r.Check(false, path, domain.NotAllowed, "must be a status code from 100 to 599, or a range such as \"200-299\", not %s", show(value))
		return ranges
	}
	return append(ranges, StatusRange{low, high})
}

func statusCode(value any) (int, bool) {
	n, ok := number(value)
	return int(n), ok && n == math.Trunc(n) && 100 <= n && n <= 599
}
