package trigger

import (
	"cmp"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Bounds of a configuration's numbers. The maxima
// keep every sum of durations within what can be computed.
const (
	minWindow    = 1000
	minTimeout   = 1000
	minInterval  = 60_000
	maxMillis    = int64(workflow.MaxDuration / millisecond)
	maxCount     = 1<<53 - 1 // the greatest whole number that every JSON reader keeps
	maxEventName = 255
	maxZoneName  = 255
	maxCronText  = 1000
	millisecond  = time.Millisecond
	configPath   = "config"
	schedulePath = configPath + ".scheduleConfig"

	maxExpression     = 10_000   // characters of an expression
	maxPayloadSchema  = 64 << 10 // bytes of JSON
	filterPath        = configPath + ".filter"
	payloadSchemaPath = configPath + ".payloadSchema"
)

// readMembers reads the members the gateway knows. Names are compared exactly, and
// what other members hold is not taken apart. A trusted document is held to no bounds.
func readMembers(r *domain.Rules, doc domain.Document, trusted bool) members {
	all, err := membersOf(doc.String())
	if err != nil {
		r.Check(false, configPath, domain.BadFormat, "must be a JSON object")
		return members{}
	}
	whole := reader{r, trusted, configPath, all}
	var m members
	if limit, ok := whole.object("rateLimit"); ok {
		most, _ := limit.required("maxRequests", 1, maxCount)
		window, _ := limit.required("windowMs", minWindow, maxMillis)
		m.rateLimit = &RateLimit{MaxRequests: most, Window: time.Duration(window) * millisecond}
	}
	if _, given := whole.given("timeoutMs"); given {
		if ms, ok := whole.number("timeoutMs", minTimeout, maxMillis); ok {
			timeout := time.Duration(ms) * millisecond
			m.timeout = &timeout
		}
	}
	if retry, ok := whole.object("retryPolicy"); ok {
		m.retry = readRetryPolicy(retry)
	}
	if webhook, ok := whole.object("webhookConfig"); ok {
		m.event = webhook.text("event", maxEventName)
	}
	if schedule, ok := whole.object("scheduleConfig"); ok {
		m.schedule = readSchedule(schedule)
	}
	m.filter, m.payload, m.bound = whole.expression("filter"), readPayloadSchema(whole), readConcurrency(whole)
	if len(r.Violations()) > 0 {
		m = m.withoutBroken(r)
	}
	return m
}

// withoutBroken drops the objects in which something was found. A schedule whose
// times can be read keeps them: a word for catching up or overlapping that only a
// newer version of the gateway knows leaves the default, and does not stop it.
func (m members) withoutBroken(r *domain.Rules) members {
	for _, v := range r.Violations() {
		if v.Field == schedulePath+".catchUp" || v.Field == schedulePath+".overlap" {
			continue // reads as absent already
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(v.Field, configPath+"."), ".")
		switch name {
		case "rateLimit":
			m.rateLimit = nil
		case "retryPolicy":
			m.retry = nil
		case "webhookConfig":
			m.event = nil
		case "scheduleConfig":
			m.schedule = scheduleConfig{}
		case "filter":
			m.filter = ""
		case "payloadSchema":
			m.payload = ""
		case "concurrency":
			m.bound = nil
		}
	}
	return m
}

// given is the text of a member that is not left blank.
func (o reader) given(name string) (value string, ok bool) {
	value, present := o.members.lookUp(name)
	return value, present && value != "null" && value != `""`
}

// expression reads one that may be left blank.
func (o reader) expression(name string) string {
	if _, ok := o.given(name); !ok {
		return ""
	}
	if source := o.text(name, maxExpression); source != nil {
		return *source
	}
	return ""
}

func readConcurrency(whole reader) *Concurrency {
	o, ok := whole.object("concurrency")
	if !ok {
		return nil
	}
	most, _ := o.required("limit", 1, MaxConcurrency)
	bound := Concurrency{Key: o.expression("key"), Limit: int(most)}
	bound.Overflow = cmp.Or(choice(o, "overflow", OverflowQueue, OverflowSkip, OverflowCancel), OverflowQueue)
	return &bound
}

func isEmptyObject(value string) bool {
	return typeOf(value) == anObject && strings.TrimSpace(value[1:len(value)-1]) == ""
}

// readPayloadSchema keeps the text: a schema takes many times its memory.
func readPayloadSchema(o reader) string {
	value, ok := o.given("payloadSchema")
	if !ok || isEmptyObject(value) {
		return ""
	}
	if typeOf(value) != anObject {
		o.refuse("payloadSchema", domain.WrongType, "must be an object that maps each member of the payload to its schema, not %s", typeOf(value))
		return ""
	}
	switch {
	case o.trusted:
	case len(value) > maxPayloadSchema:
		o.refuse("payloadSchema", domain.TooLong, "must be at most %d bytes of JSON, not %d", maxPayloadSchema, len(value))
	default:
		node.ParseSchema(o.rules, payloadSchemaPath, node.ReadDeclarations(o.rules, payloadSchemaPath, []byte(value)))
	}
	return value
}

func readRetryPolicy(o reader) *workflow.RetryPolicy {
	retries, _ := o.required("maxRetries", 0, workflow.MaxRetries)
	backoff, okBackoff := o.required("backoffMs", workflow.MinBackoff.Milliseconds(), maxMillis)
	most, okMost := o.required("maxBackoffMs", workflow.MinMaxBackoff.Milliseconds(), maxMillis)
	if okBackoff && okMost && most < backoff && !o.trusted {
		o.refuse("maxBackoffMs", domain.TooSmall, "must be at least backoffMs, which is %d, not %d", backoff, most)
	}
	return &workflow.RetryPolicy{
		MaxRetries: int(retries), Backoff: time.Duration(backoff) * millisecond, MaxBackoff: time.Duration(most) * millisecond,
	}
}

func readSchedule(o reader) scheduleConfig {
	var sc scheduleConfig
	if expr := o.text("cron", maxCronText); expr != nil {
		cron, err := ParseCron(*expr)
		if err != nil {
			o.rules.Check(false, schedulePath+".cron", domain.BadFormat, "%s", err.Error())
		} else {
			sc.cron = &cron
		}
	}
	if ms, ok := o.number("intervalMs", minInterval, maxMillis); ok {
		sc.interval = time.Duration(ms) * millisecond
	}
	_, hasCron := o.members.lookUp("cron")
	_, hasInterval := o.members.lookUp("intervalMs")
	o.rules.Check(o.trusted || !hasCron || !hasInterval, schedulePath, domain.Conflicting, "must hold cron or intervalMs, not both")
	if name := o.text("timezone", maxZoneName); name != nil {
		zone, ok := zoneNamed(*name)
		o.rules.Check(ok, schedulePath+".timezone", domain.Unknown, `must be the IANA name of a time zone, such as "Europe/Berlin", not %q`, *name)
		sc.zone = zone
	}
	sc.catchUp = choice(o, "catchUp", CatchUpNone, CatchUpLast, CatchUpAll)
	sc.overlap = choice(o, "overlap", OverlapAllow, OverlapSkip)
	return sc
}

// choice reads a member that holds one of a few words, and may be left blank.
func choice[T ~string](o reader, name string, allowed ...T) T {
	if _, given := o.given(name); !given {
		return ""
	}
	value := o.text(name, maxEventName)
	if value == nil {
		return ""
	}
	for _, a := range allowed {
		if string(a) == *value {
			return a
		}
	}
	o.rules.Check(false, domain.Member(o.path, name), domain.NotAllowed, "must be %s, not %q", domain.OneOf(allowed...), *value)
	return ""
}

// reader reads the members of one object and records what is wrong with them.
type reader struct {
	rules   *domain.Rules
	trusted bool // a store kept it: no bounds apply
	path    string
	members object
}

// refuse records what is wrong with a member.
func (o reader) refuse(name string, code domain.ViolationCode, format string, args ...any) {
	o.rules.Check(false, domain.Member(o.path, name), code, format, args...)
}

// object reads an optional member that is an object. One that is empty was left blank.
func (o reader) object(name string) (reader, bool) {
	value, given := o.given(name)
	if !given || isEmptyObject(value) {
		return reader{}, false
	}
	if typeOf(value) != anObject {
		o.refuse(name, domain.WrongType, "must be an object, not %s", typeOf(value))
		return reader{}, false
	}
	inside, err := membersOf(value)
	return reader{o.rules, o.trusted, domain.Member(o.path, name), inside}, err == nil
}

// text reads an optional member that is a string.
func (o reader) text(name string, most int) *string {
	value, present := o.members.lookUp(name)
	if !present {
		return nil
	}
	if typeOf(value) != aString {
		o.refuse(name, domain.WrongType, "must be a string, not %s", typeOf(value))
		return nil
	}
	text, err := unquoted(value)
	if err != nil {
		o.refuse(name, domain.WrongType, "must be a string")
		return nil
	}
	if !o.trusted {
		o.rules.Text(text, domain.Member(o.path, name), 0, most)
	}
	return &text
}

// required reads a whole number that must be given.
func (o reader) required(name string, least, most int64) (int64, bool) {
	if _, present := o.members.lookUp(name); !present {
		o.refuse(name, domain.Required, "must be given: a whole number of at least %d", least)
		return 0, false
	}
	return o.number(name, least, most)
}

// number reads an optional whole number within bounds.
func (o reader) number(name string, least, most int64) (int64, bool) {
	value, present := o.members.lookUp(name)
	if !present {
		return 0, false
	}
	if typeOf(value) != aNumber {
		o.refuse(name, domain.WrongType, "must be a number, not %s", typeOf(value))
		return 0, false
	}
	if o.trusted {
		least, most = 0, max(most, maxMillis)
	}
	n, code := wholeNumber(value)
	switch {
	case code == domain.NotWhole:
		o.refuse(name, code, "must be a whole number, not %s", domain.Clip(value, maxShownNumber))
	case code == domain.TooLarge || code == "" && n > most:
		o.refuse(name, domain.TooLarge, "must be at most %d, not %s", most, domain.Clip(value, maxShownNumber))
	case code == domain.TooSmall || n < least:
		o.refuse(name, domain.TooSmall, "must be at least %d, not %s", least, domain.Clip(value, maxShownNumber))
	default:
		return n, true
	}
	return 0, false
}

// maxShownNumber keeps a message readable when a client sends a number of many digits.
const maxShownNumber = 32

// The types that are asked for, as [typeOf] names them.
const (
	null     = "null"
	aNumber  = "a number"
	aString  = "a string"
	anObject = "an object"
)

// typeOf names the JSON type of a value for a message.
func typeOf(value string) string {
	switch value[0] {
	case 'n':
		return null
	case 't', 'f':
		return "a boolean"
	case '"':
		return aString
	case '[':
		return "an array"
	case '{':
		return anObject
	default:
		return aNumber
	}
}
