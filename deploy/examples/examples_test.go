package examples

import (
	"regexp"
	"strings"
	"testing"
)

var runID = regexp.MustCompile(`run_[0-9a-z]{26}`)

// in runs a test with each example service, on a gateway of its own.
func in(t *testing.T, test func(w *world, l language)) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.command(t) // before anything is started that it takes
			test(newWorld(t), l)
		})
	}
}

func (w *world) wants(printed string, parts ...string) {
	w.Helper()
	for _, part := range parts {
		if !strings.Contains(printed, part) {
			w.Errorf("there is no %q in:\n%s", part, printed)
		}
	}
}

func TestALeadIsScoredAndToldOf(t *testing.T) {
	in(t, func(w *world, l language) {
		w.create()
		service := w.serve(l)
		w.wants(w.setup("check"), "The service is healthy")
		service.await(w.T, "heartbeat")

		hot := w.setup("fire", "Initech", "9999")
		w.wants(hot, "It is completed.", `score gave {"grade":"hot","score":100}`, `call gave {"score":100,"todo":"Call Initech"}`)
		w.wants(w.setup("fire", "Tiny", "3"), "It is completed.", `score gave {"grade":"cold","score":15}`, `write gave {"score":15,"todo":"Write to Tiny"}`)
		service.await(w.T, `webhook run\.completed evt_\w+ `+runID.FindString(hot))

		paused := w.setup("fire", "Middling", "99")
		w.wants(paused, "It is paused.")
		service.await(w.T, `paused `+runID.FindString(paused)+`: Middling has 50 points`)
		service.await(w.T, `webhook run\.paused evt_\w+ `+runID.FindString(paused))
		w.wants(w.setup("review", "lead-Middling", "55"), "It is completed.", `score gave {"grade":"warm","score":55}`, `call gave {"score":55,"todo":"Call Middling"}`)
		service.await(w.T, `webhook run\.completed evt_\w+ `+runID.FindString(paused))

		// What the service refuses to do ends the run, with its reason.
		w.wants(w.setup("fire", "", "7"), "It is failed.", "company_missing: A lead needs a company.")
		if n := service.count("refused"); n != 0 {
			w.Errorf("the service refused %d calls of the gateway", n)
		}
		w.Logf("the service in %s printed\n%s", l.name, service)
	})
}

func TestASecretRotatesWithoutALostCall(t *testing.T) {
	in(t, func(w *world, l language) {
		w.create()
		service := w.serve(l)
		fresh := value(w.setup("rotate", "3600"), "NODE_SECRETS")
		w.wants(w.setup("fire", "Before", "9999"), "It is completed.") // the service knows the old secret only
		w.values["NODE_SECRETS"] += "," + fresh
		service.stop()
		service = w.serve(l)
		w.setup("rotate", "0") // a secret that nobody here knows signs alone
		w.wants(w.cannot("check"), "unexpected_status", "401")
		w.wants(w.setup("fire", "Unknown", "9999"), "It is failed.", "unexpected_status")
		service.await(w.T, "refused")
		if n := service.count("scored"); n != 0 {
			w.Errorf("the service took %d calls that it could not trust", n)
		}
		w.values["NODE_SECRETS"] = value(w.setup("rotate", "3600"), "NODE_SECRETS")
		service.stop()
		w.serve(l)
		w.wants(w.setup("check"), "The service is healthy")
		w.wants(w.setup("fire", "After", "9999"), "It is completed.")
	})
}

func TestAServiceTrustsOnlyWhatIsSigned(t *testing.T) {
	in(t, func(w *world, l language) {
		w.create()
		service := w.serve(l)
		for _, c := range forgeries(w.values["NODE_SECRETS"], w.values["WEBHOOK_SECRETS"]) {
			if got := w.send(c); got.status != c.want {
				w.Errorf("%s: %s got %d, not %d", c.claim, c.path, got.status, c.want)
			}
		}
		first := w.send(scoring(w.values["NODE_SECRETS"], "same", "Acme", 9999))
		again := w.send(scoring(w.values["NODE_SECRETS"], "same", "Acme", 3))
		other := w.send(scoring(w.values["NODE_SECRETS"], "other", "Acme", 3))
		if first.body != again.body || first.body == other.body {
			w.Errorf("the same key got %s and then %s, another one %s", first.body, again.body, other.body)
		}
		for range 3 {
			w.send(webhook(w.values["WEBHOOK_SECRETS"], "msg_same", "evt_same"))
		}
		w.send(webhook(w.values["WEBHOOK_SECRETS"], "msg_last", "evt_last"))
		service.await(w.T, "evt_last") // what was printed before it is here too
		if n := service.count("scored"); n != 2 {
			w.Errorf("two keys had the effect %d times", n)
		}
		if n, again := service.count(`webhook run\.completed evt_same`), service.count("webhook again msg_same"); n != 1 || again != 2 {
			w.Errorf("of three deliveries %d were new and %d were known", n, again)
		}
		w.Logf("the service in %s refused what was not signed, and did nothing twice", l.name)
	})
}
