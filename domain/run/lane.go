package run

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Lane bounds how many of the runs in it are live: those of one trigger that have the same key.
// The zero value bounds nothing.
type Lane struct {
	Name  string // of the trigger and the key
	Limit int    // as the trigger said when the run was started
}

// Bounds says whether there is a lane.
func (l Lane) Bounds() bool { return l.Name != "" }

// Full is why a run does not begin anew.
func (l Lane) Full() *domain.Error {
	return domain.Fail(domain.Conflict, "concurrency_limit", "As many runs of the same concurrency key are live as may be, which is %d. Try again when one has ended.", l.Limit)
}

// laneOf is the lane of a key, none for null. Keys are the same whose texts are: 5 is "5".
func laneOf(trg trigger.ID, limit int, key any) (Lane, error) {
	if number, isNumber := key.(json.Number); isNumber {
		if f, ok := double(number); ok {
			key = f
		}
	}
	text, isText := key.(string)
	if key == nil {
		return Lane{}, nil
	}
	if !isText {
		written, err := appendValue(nil, key)
		if err != nil {
			return Lane{}, err
		}
		text = string(written)
	}
	hash := sha256.Sum256([]byte(text)) // so that a name is short, and every store can keep it
	return Lane{Name: string(trg) + ":" + base64.RawURLEncoding.EncodeToString(hash[:]), Limit: limit}, nil
}
