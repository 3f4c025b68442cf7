package hook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Reader finds in deliveries what a hook looks for. Several goroutines may use it at once.
type Reader struct {
	hook                                 *Hook
	event, entity, dedupe, filter, split reading
}

// reading is one compiled expression; none where there is none.
type reading struct {
	field      string
	written    bool // by the client; what a preset reads is not the client's mistake
	expression run.Expression
	fault      error
}

// NewReader compiles the expressions of a hook.
func (h *Hook) NewReader(compiler run.Compiler) *Reader {
	c, preset := h.state.Config, h.state.Scheme.Defaults()
	compile := func(field string, source *string, preset string) reading {
		rd := reading{field: field, written: source != nil}
		if text := orDefault(source, preset); text != "" {
			rd.expression, rd.fault = compiler.Compile(text, workflow.RootPayload)
		}
		return rd
	}
	return &Reader{
		hook: h, event: compile("event", c.Event, preset.Event), entity: compile("entityId", c.Entity, preset.Entity),
		dedupe: compile("dedupe", c.Dedupe, preset.Dedupe), filter: compile("filter", c.Filter, ""), split: compile("split", c.Split, preset.Split),
	}
}

func (rd reading) none() bool { return rd.expression == nil && rd.fault == nil }

// Item is what one run is started with.
type Item struct {
	Payload json.RawMessage
	Event   string  // empty for none
	Entity  *string // nil for none
	Key     string  // tells it from others; empty for none. See [KeyRetention].
	Index   int     // in the delivery that was split
}

// Read is what a hook found in a delivery.
type Read struct {
	Items    []Item // of which each starts a run; none where all were filtered
	Split    bool
	Filtered int // items that the hook's filter left out

	// Whole tells a delivery from those with another body, address or query, where it is split and has items without a key;
	// empty otherwise.
	Whole string
}

// The codes of deliveries that are genuine and cannot start a run.
const (
	CodeExpression   = "hook_expression_failed"
	CodeTooManyItems = "too_many_items"
	CodeEvent        = "hook_event_invalid"
)

// Weigh is how many bytes of memory reading takes; 0 where nothing is looked at.
func (rd *Reader) Weigh(p Payload) int64 {
	if rd.looksAtNothing() {
		return 0
	}
	text := p.JSON()
	return domain.WeighJSON([]byte(text)).Tree() + int64(len(text))
}

func (rd *Reader) looksAtNothing() bool {
	return rd.event.none() && rd.entity.none() && rd.dedupe.none() && rd.filter.none() && rd.split.none()
}

// Read looks into a delivery. What is wrong with it is Invalid, with one of the codes above.
func (rd *Reader) Read(p Payload, now time.Time) (found Read, err error) {
	if rd.looksAtNothing() {
		return Read{Items: []Item{{Payload: p.JSON(), Key: rd.hashKey(p)}}}, nil
	}
	tree, err := run.ReadValue(p.JSON())
	if err != nil {
		return found, err
	}
	object, _ := tree.(map[string]any) // which JSON of a payload is
	v := view{now: now, payload: object}
	list, isSplit, err := rd.items(&v)
	if err != nil {
		return found, err
	}
	if !isSplit {
		item, fits, err := rd.read(&v, p, "", false)
		if err != nil {
			return found, err
		}
		if !fits {
			return Read{Filtered: 1}, nil
		}
		return Read{Items: []Item{item}}, nil
	}
	return rd.readItems(&v, p, list)
}

// view is what expressions see.
type view struct {
	now     time.Time
	payload map[string]any
	meter   run.Meter
}

// items gives the elements of the array that the delivery is split into.
func (rd *Reader) items(v *view) (list []any, isSplit bool, err error) {
	if rd.split.none() {
		return nil, false, nil
	}
	value, err := rd.split.evaluate(v)
	if err != nil {
		return nil, false, err
	}
	if list, isSplit = value.([]any); len(list) > MaxItems {
		return nil, false, domain.Fail(domain.Invalid, CodeTooManyItems, "The delivery has %d items, more than %d.", len(list), MaxItems)
	}
	return list, isSplit, nil
}

func (rd *Reader) readItems(v *view, p Payload, list []any) (found Read, err error) {
	found.Split = true
	whole, err := rd.dedupe.text(v)
	if err != nil {
		return found, err
	}
	for i, value := range list {
		body, err := run.WriteValue(value)
		if err != nil {
			return found, err
		}
		v.payload["body"], v.payload["index"] = value, json.Number(strconv.Itoa(i))
		if v.meter.Steps > run.MaxSelectSteps {
			return found, domain.Fail(domain.Invalid, CodeTooManyItems, "What the hook computes with the items of the delivery takes more than %d steps.", run.MaxSelectSteps)
		}
		item, fits, err := rd.read(v, p.Item(i, body), whole, true)
		switch {
		case err != nil:
			return found, err
		case !fits:
			found.Filtered++
		default:
			item.Index = i
			found.Items = append(found.Items, item)
		}
	}
	if len(found.Items) > 1 && slices.ContainsFunc(found.Items, func(i Item) bool { return i.Key == "" }) {
		found.Whole = rd.key("whole/" + p.wholeHash())
	}
	return found, nil
}

// read looks into the payload of one run. The key that is that of the whole delivery does not tell its items apart.
func (rd *Reader) read(v *view, p Payload, whole string, isItem bool) (item Item, fits bool, err error) {
	delete(v.payload, "event")
	if item.Event, err = rd.event.text(v); err != nil {
		return item, false, err
	}
	if n := utf8.RuneCountInString(item.Event); n > run.MaxEvent {
		return item, false, domain.Fail(domain.Invalid, CodeEvent, "The event has %d characters, more than %d.", n, run.MaxEvent)
	}
	if p.Event = item.Event; item.Event != "" {
		v.payload["event"] = item.Event
	}
	if !rd.filter.none() {
		value, err := rd.filter.evaluate(v)
		if err != nil || !run.Holds(value) {
			return item, false, err
		}
	}
	entity, err := rd.entity.text(v)
	if err != nil {
		return item, false, err
	}
	if entity != "" && (rd.entity.written || printable(entity)) {
		item.Entity = &entity
	}
	key, err := rd.dedupe.text(v)
	switch {
	case err != nil:
		return item, false, err
	case key == "":
		item.Key = rd.hashKey(p)
	case isItem && key == whole:
		item.Key = rd.key(key + "/" + strconv.Itoa(*p.Index))
	default:
		item.Key = rd.key(key)
	}
	item.Payload = p.JSON()
	return item, true, nil
}

func printable(text string) bool {
	for _, c := range text {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return utf8.RuneCountInString(text) <= run.MaxEntity
}

// hashKey is the key of what has no other where the sender gives none.
func (rd *Reader) hashKey(p Payload) string {
	if !rd.hook.state.Scheme.Defaults().ItemsHash || rd.dedupe.written {
		return ""
	}
	return rd.key(p.Hash())
}

// key belongs to this hook alone, and not to one of the same trigger that was there before.
func (rd *Reader) key(text string) string {
	s := rd.hook.state
	sum := sha256.Sum256([]byte(string(s.Trigger) + "/" + strconv.FormatInt(s.CreatedAt.UnixMilli(), 10) + "/" + text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// evaluate computes the value. That a preset finds nothing is no mistake.
func (rd reading) evaluate(v *view) (any, error) {
	err := rd.fault
	if err == nil {
		var value any
		if value, err = rd.expression.Evaluate(run.Env{Values: map[string]any{workflow.RootPayload: v.payload}, Now: v.now, Meter: &v.meter}); err == nil {
			return value, nil
		}
	}
	if !rd.written {
		return nil, nil //nolint:nilnil // null is a value
	}
	return nil, domain.Fail(domain.Invalid, CodeExpression, "The hook's %s cannot be computed with this delivery: %s", rd.field, err)
}

// text is the value as text, empty for null and where there is no expression.
func (rd reading) text(v *view) (string, error) {
	if rd.none() {
		return "", nil
	}
	value, err := rd.evaluate(v)
	if err != nil || value == nil {
		return "", err
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	text, err := run.WriteValue(value)
	return string(text), err
}
