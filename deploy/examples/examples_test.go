package examples

import (
	"regexp"
	"strings"
	"testing"
)

var runID = regexp.MustCompile(`run_[0-9a-z]{26}`)

// inEachLanguage runs a test with each example service, on a gateway of its own.
func inEachLanguage(t *testing.T, test func(e *env, l language)) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.command(t) // before anything is started that it takes
			test(newEnv(t), l)
		})
	}
}

func (e *env) contains(printed string, parts ...string) {
	e.Helper()
	for _, part := range parts {
		if !strings.Contains(printed, part) {
			e.Errorf("there is no %q in:\n%s", part, printed)
		}
	}
}

func TestALeadIsScoredAndReported(t *testing.T) {
	inEachLanguage(t, func(e *env, l language) {
		e.create()
		service := e.serve(l)
		e.contains(e.setup("check"), "The service is healthy")
		service.await(e.T, "heartbeat")

		hot := e.setup("fire", "Initech", "9999")
		e.contains(hot, "It is completed.", `score gave {"grade":"hot","score":100}`, `call gave {"onDays":[0,1,3,7],"todo":"Call Initech"}`,
			`each gave {"count":4,"failed":[],"results":[{"inDays":0,"todo":"Call Initech"},`)
		e.contains(e.setup("fire", "Tiny", "3"), "It is completed.", `score gave {"grade":"cold","score":15}`, `write gave {"score":15,"todo":"Write to Tiny"}`)
		service.await(e.T, `webhook run\.completed evt_\w+ `+runID.FindString(hot))

		paused := e.setup("fire", "Middling", "99")
		e.contains(paused, "It is paused.")
		service.await(e.T, `paused `+runID.FindString(paused)+`: Middling has 50 points`)
		service.await(e.T, `webhook run\.paused evt_\w+ `+runID.FindString(paused))
		e.contains(e.setup("review", "lead-Middling", "55"), "It is completed.", `score gave {"grade":"warm","score":55}`, `call gave {"onDays":[0,1,3],"todo":"Call Middling"}`)
		service.await(e.T, `webhook run\.completed evt_\w+ `+runID.FindString(paused))

		// What the service refuses to do ends the run, with its reason.
		e.contains(e.setup("fire", "", "7"), "It is failed.", "company_missing: A lead needs a company.")
		if n := service.count(e.T, "refused"); n != 0 {
			e.Errorf("the service refused %d calls of the gateway", n)
		}
		e.Logf("the service in %s printed\n%s", l.name, service.printed(e.T))
	})
}

func TestASecretRotatesWithoutALostCall(t *testing.T) {
	inEachLanguage(t, func(e *env, l language) {
		e.create()
		service := e.serve(l)
		fresh := value(e.setup("rotate", "3600"), "NODE_SECRETS")
		e.contains(e.setup("fire", "Before", "9999"), "It is completed.") // the service knows the old secret only
		e.values["NODE_SECRETS"] += "," + fresh
		service.Stop()
		service = e.serve(l)
		e.setup("rotate", "0") // a secret that nobody here knows signs alone
		e.contains(e.setupFails("check"), "unexpected_status", "401")
		e.contains(e.setup("fire", "Unknown", "9999"), "It is failed.", "unexpected_status")
		service.await(e.T, "refused")
		if n := service.count(e.T, "scored"); n != 0 {
			e.Errorf("the service took %d calls that it could not trust", n)
		}
		e.values["NODE_SECRETS"] = value(e.setup("rotate", "3600"), "NODE_SECRETS")
		service.Stop()
		e.serve(l)
		e.contains(e.setup("check"), "The service is healthy")
		e.contains(e.setup("fire", "After", "9999"), "It is completed.")
	})
}

func TestAServiceTrustsOnlyWhatIsSigned(t *testing.T) {
	inEachLanguage(t, func(e *env, l language) {
		e.create()
		service := e.serve(l)
		for _, c := range forgeries(e.values["NODE_SECRETS"], e.values["WEBHOOK_SECRETS"]) {
			if got := e.send(c); got.status != c.want {
				e.Errorf("%s: %s got %d, not %d", c.claim, c.path, got.status, c.want)
			}
		}
		first := e.send(scoring(e.values["NODE_SECRETS"], "same", "Acme", 9999))
		again := e.send(scoring(e.values["NODE_SECRETS"], "same", "Acme", 3))
		other := e.send(scoring(e.values["NODE_SECRETS"], "other", "Acme", 3))
		if first.body != again.body || first.body == other.body {
			e.Errorf("the same key got %s and then %s, another one %s", first.body, again.body, other.body)
		}
		for range 3 {
			e.send(webhook(e.values["WEBHOOK_SECRETS"], "msg_same", "evt_same"))
		}
		e.send(webhook(e.values["WEBHOOK_SECRETS"], "msg_last", "evt_last"))
		service.await(e.T, "evt_last") // what was printed before it is here too
		if n := service.count(e.T, "scored"); n != 2 {
			e.Errorf("two keys had the effect %d times", n)
		}
		if n, again := service.count(e.T, `webhook run\.completed evt_same`), service.count(e.T, "webhook again msg_same"); n != 1 || again != 2 {
			e.Errorf("of three deliveries %d were new and %d were known", n, again)
		}
		e.Logf("the service in %s refused what was not signed, and did nothing twice", l.name)
	})
}
