package noderunner

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of what a custom node may say.
const (
	maxCode    = 100  // characters; the rest is cut off
	maxMessage = 1000 // likewise
	maxText    = 2000 // of a whole message, in characters; likewise
	maxEvent   = 255  // characters, as of waitForEvent
	maxPauseMs = 365 * 24 * 60 * 60 * 1000
)

// readAnswer turns the answer of a custom node into an outcome. An answer of another
// status than 2xx is a failure as well, for which the node may give its own reason.
func (r *Runner) readAnswer(host string, got *answer, canPause bool) outbound.NodeOutcome {
	members, err := readMembers(got.body)
	if got.status < 200 || got.status > 299 {
		f := r.unexpected(host, got)
		if err == nil && string(members["success"]) == "false" {
			if own, problem := readFailure(members["error"], f.Retryable); problem == nil {
				f.Code, f.Message, f.Retryable = own.Code, own.Message, own.Retryable
			}
		}
		return f
	}
	if err != nil {
		return malformed(host, err)
	}
	outcome, err := readOutcome(members)
	if err != nil {
		return malformed(host, err)
	}
	switch o := outcome.(type) {
	case outbound.NodePaused:
		if !canPause {
			return failed("pause_not_allowed", "%s asked to pause the run, but this custom node is not declared as one that can.", host)
		}
	case outbound.NodeFailed:
		o.RetryAfter = retryAfter(got.header, r.clock.Now())
		return o
	}
	return outcome
}

// readHeartbeat returns why the endpoint is not healthy, nil when it is.
func (r *Runner) readHeartbeat(host string, got *answer) *outbound.NodeFailed {
	if got.status < 200 || got.status > 299 {
		f := r.unexpected(host, got)
		return &f
	}
	members, err := readMembers(got.body)
	if err != nil || string(members["success"]) != "false" {
		return nil // the protocol asks for no particular body
	}
	f, err := readFailure(members["error"], false)
	if err != nil {
		f = malformed(host, err)
	}
	return &f
}

func malformed(host string, err error) outbound.NodeFailed {
	return failed("answer_invalid", "The answer of %s does not follow the protocol of custom nodes: %v.", host, err)
}

// readMembers reads the members of the answer by their exact names.
func readMembers(body []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	err := decode(body, &members)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) || err == nil && members == nil {
		return nil, errors.New("it must be a JSON object")
	}
	return members, err
}

// readOutcome reads {success: true, data}, {success: false, error} or {paused: true,
// event, timeoutMs}.
func readOutcome(members map[string]json.RawMessage) (outbound.NodeOutcome, error) {
	paused, err := readBool(members, "paused")
	if err != nil {
		return nil, err
	}
	success, err := readBool(members, "success")
	switch {
	case err != nil:
		return nil, err
	case paused != nil && *paused && success != nil:
		return nil, errors.New("it must hold only one of success and paused")
	case paused != nil && *paused:
		return readPause(members)
	case success == nil:
		return nil, errors.New("it must hold success or paused")
	case !*success:
		return readFailure(members["error"], false)
	}
	text, given := members["data"]
	if !given {
		return outbound.NodeCompleted{}, nil
	}
	if err := checkNumbers(text, "data"); err != nil {
		return nil, err
	}
	return outbound.NodeCompleted{Output: text}, nil
}

// readFailure reads {message, code, retryable?}.
func readFailure(text json.RawMessage, unlessSaid bool) (outbound.NodeFailed, error) {
	var members map[string]json.RawMessage
	if len(text) == 0 || json.Unmarshal(text, &members) != nil || members == nil {
		return outbound.NodeFailed{}, errors.New("error must be an object with message and code")
	}
	message, err := readText(members, "error.", "message")
	if err != nil {
		return outbound.NodeFailed{}, err
	}
	code, err := readText(members, "error.", "code")
	if err != nil {
		return outbound.NodeFailed{}, err
	}
	f := outbound.NodeFailed{Retryable: unlessSaid}
	if message == "" || code == "" {
		return f, errors.New("error.message and error.code must not be empty")
	}
	f.Code, f.Message = clip(code, maxCode), clip(message, maxMessage)
	said, err := readBool(members, "retryable")
	if err != nil {
		return f, fmt.Errorf("error.%w", err)
	}
	if said != nil {
		f.Retryable = *said
	}
	return f, nil
}

// readPause reads {event?, timeoutMs?}.
func readPause(members map[string]json.RawMessage) (outbound.NodeOutcome, error) {
	var pause outbound.NodePaused
	var err error
	if pause.Event, err = readText(members, "", "event"); err != nil {
		return nil, err
	}
	if len([]rune(pause.Event)) > maxEvent || clip(pause.Event, maxEvent) != pause.Event {
		return nil, fmt.Errorf("event must be at most %d characters and none of them U+0000", maxEvent)
	}
	if text, ok := given(members, "timeoutMs"); ok {
		var ms float64
		if json.Unmarshal(text, &ms) != nil || ms != math.Trunc(ms) || ms < 1 || ms > maxPauseMs {
			return nil, fmt.Errorf("timeoutMs must be a whole number from 1 to %d", int64(maxPauseMs))
		}
		pause.Timeout = time.Duration(ms) * time.Millisecond
	}
	return pause, nil
}

// given returns a member that is there and not null.
func given(members map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	text, ok := members[name]
	return text, ok && string(text) != "null"
}

func readBool(members map[string]json.RawMessage, name string) (*bool, error) {
	text, ok := given(members, name)
	if !ok {
		return nil, nil
	}
	var b bool
	if json.Unmarshal(text, &b) != nil {
		return nil, fmt.Errorf("%s must be true or false", name)
	}
	return &b, nil
}

func readText(members map[string]json.RawMessage, path, name string) (string, error) {
	text, ok := given(members, name)
	if !ok {
		return "", nil
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return "", fmt.Errorf("%s%s must be a string", path, name)
	}
	return s, nil
}
