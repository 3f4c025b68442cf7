package connection_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
)

var (
	start  = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	person = connection.OAuth{AuthorizationURL: "https://auth.example.com/authorize", TokenURL: "https://auth.example.com/token", ClientID: "app", Scopes: []string{"read"}}
	own    = connection.OAuth{TokenURL: "https://auth.example.com/token", ClientID: "app", Scopes: []string{"read"}}
)

func issued(name string, life time.Duration) connection.IssuedTokens {
	return connection.IssuedTokens{Access: connection.NewText("access-" + name), Refresh: connection.NewText("refresh-" + name), Life: life}
}

// consented is a grant that a person has just given.
func consented(life time.Duration) *connection.Grant {
	g := connection.NewGrant("tenant_1", "conn_1")
	g.Consented(person, issued("0", life), start)
	return g
}

func withoutRefresh(life time.Duration) *connection.Grant {
	g := connection.NewGrant("tenant_1", "conn_1")
	g.Consented(person, connection.IssuedTokens{Access: connection.NewText("access-0"), Life: life}, start)
	return g
}

func TestWhatComesNext(t *testing.T) {
	refused := connection.Need{Refused: connection.NewText("access-0")}
	leased := func(g *connection.Grant, at time.Duration) *connection.Grant {
		g.Lease(start.Add(at))
		return g
	}
	failed := func(g *connection.Grant, at time.Duration, code connection.FailureCode) *connection.Grant {
		l := g.Lease(start.Add(at))
		g.Fail(l, person, connection.TokenFailure{Code: code}, start.Add(at))
		return g
	}
	for name, c := range map[string]struct {
		grant  *connection.Grant
		client connection.OAuth
		need   connection.Need
		at     time.Duration
		want   connection.Step
	}{
		"without any consent only a person helps":                        {connection.NewGrant("tenant_1", "conn_1"), person, connection.Need{}, 0, connection.AskPerson},
		"a client asks for itself":                                       {connection.NewGrant("tenant_1", "conn_1"), own, connection.Need{}, 0, connection.AskForMore},
		"a consent to another client helps nobody":                       {consented(time.Hour), connection.OAuth{AuthorizationURL: person.AuthorizationURL, TokenURL: person.TokenURL, ClientID: "another"}, connection.Need{}, 0, connection.AskPerson},
		"a fresh token is used":                                          {consented(time.Hour), person, connection.Need{}, 47*time.Minute + 59*time.Second, connection.UseToken},
		"a token is renewed with a fifth of its life left":               {consented(time.Hour), person, connection.Need{}, 48 * time.Minute, connection.AskForMore},
		"a token of a long life is used until 15 minutes before its end": {consented(24 * time.Hour), person, connection.Need{}, 23*time.Hour + 44*time.Minute, connection.UseToken},
		"a token of a long life is renewed 15 minutes before its end":    {consented(24 * time.Hour), person, connection.Need{}, 23*time.Hour + 45*time.Minute, connection.AskForMore},
		"while somebody renews it early, it is used":                     {leased(consented(time.Hour), 48*time.Minute), person, connection.Need{}, 48*time.Minute + time.Second, connection.UseToken},
		"while somebody renews one that has ended, others wait":          {leased(consented(time.Hour), time.Hour), person, connection.Need{}, time.Hour + 59*time.Second, connection.WaitForIt},
		"a lease ends": {leased(consented(time.Hour), time.Hour), person, connection.Need{}, time.Hour + time.Minute, connection.AskForMore},
		"after a failure an early renewal waits, and the token is used":   {failed(consented(time.Hour), 48*time.Minute, connection.ServerFailed), person, connection.Need{}, 48*time.Minute + 29*time.Second, connection.UseToken},
		"after a failure the server is asked again 30 seconds later":      {failed(consented(time.Hour), 48*time.Minute, connection.ServerFailed), person, connection.Need{}, 48*time.Minute + 30*time.Second, connection.AskForMore},
		"after a failure there is nothing once the token has ended":       {failed(consented(time.Hour), 59*time.Minute+50*time.Second, connection.ServerFailed), person, connection.Need{}, time.Hour, connection.CoolsDown},
		"a client that is refused is not without consent":                 {failed(consented(time.Hour), time.Hour, connection.ClientRefused), person, connection.Need{}, time.Hour + time.Minute, connection.AskForMore},
		"a consent that is lost needs a person, however fresh it was":     {failed(consented(time.Hour), 0, connection.ConsentLost), person, connection.Need{}, time.Second, connection.AskPerson},
		"a token that cannot be renewed is used to its end":               {withoutRefresh(time.Hour), person, connection.Need{}, time.Hour - time.Second, connection.UseToken},
		"a token that cannot be renewed needs a person at its end":        {withoutRefresh(time.Hour), person, connection.Need{}, time.Hour, connection.AskPerson},
		"a token without an end is used for ever":                         {withoutRefresh(0), person, connection.Need{}, 10_000 * time.Hour, connection.UseToken},
		"a token that was refused is renewed":                             {consented(time.Hour), person, refused, time.Minute, connection.AskForMore},
		"a new token that was refused is not renewed":                     {consented(time.Hour), person, refused, 29 * time.Second, connection.UseToken},
		"another token than the one that was refused is used":             {consented(time.Hour), person, connection.Need{Refused: connection.NewText("an older one")}, time.Minute, connection.UseToken},
		"a refused token that cannot be renewed is what there is":         {withoutRefresh(0), person, refused, time.Minute, connection.UseToken},
		"who is refused waits for whoever renews the token":               {leased(consented(time.Hour), time.Minute), person, refused, 61 * time.Second, connection.WaitForIt},
		"an unused grant rests for a day":                                 {consented(0), person, connection.Need{Unused: true}, 24*time.Hour - time.Second, connection.UseToken},
		"an unused grant is renewed after a day":                          {consented(0), person, connection.Need{Unused: true}, 24 * time.Hour, connection.AskForMore},
		"a grant that is used is not renewed for having rested":           {consented(0), person, connection.Need{}, 48 * time.Hour, connection.UseToken},
		"an unused token that cannot be renewed needs a person, too":      {withoutRefresh(time.Hour), person, connection.Need{Unused: true}, time.Hour, connection.AskPerson},
		"of an early renewal that was refused nobody waits for the lease": {leased(consented(time.Hour), 48*time.Minute), person, connection.Need{Unused: true}, 48 * time.Minute, connection.UseToken},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.grant.Next(c.client, c.need, start.Add(c.at)); got != c.want {
				t.Errorf("it is %d, not %d", got, c.want)
			}
		})
	}
}

func TestWhoLostTheRaceChangesNothing(t *testing.T) {
	late := start.Add(2 * time.Hour)
	g := consented(time.Hour)
	slow := g.Lease(start.Add(time.Hour))
	quick := g.Lease(late) // the lease of the slow one has ended
	if g.Fail(slow, person, connection.TokenFailure{Code: connection.ConsentLost}, late) || g.Access().IsZero() {
		t.Fatal("whoever has no lease any more lost the consent of others")
	}
	if !g.Accept(quick, person, issued("1", time.Hour), late) {
		t.Fatal("what the winner got was not kept")
	}
	if g.Accept(slow, person, issued("2", time.Hour), late) || g.Fail(slow, person, connection.TokenFailure{Code: connection.ConsentLost}, late) {
		t.Error("the loser's outcome was kept")
	}
	if got := g.Access().Reveal(); got != "access-1" || g.NeedsConsent(person) || g.Failure() != nil {
		t.Errorf("the grant has %s, %+v", got, g.Failure())
	}
}

func TestTokensOfWhoWasSlowAreBetterThanNone(t *testing.T) {
	g := consented(time.Hour)
	slow := g.Lease(start.Add(time.Hour))
	quick := g.Lease(start.Add(2 * time.Hour))
	if !g.Fail(quick, person, connection.TokenFailure{Code: connection.ConsentLost}, start.Add(2*time.Hour)) {
		t.Fatal("the loss is no news")
	}
	if !g.Accept(slow, person, issued("1", time.Hour), start.Add(2*time.Hour)) || g.NeedsConsent(person) || g.Refresh().Reveal() != "refresh-1" {
		t.Error("the server had given these before it refused others, and they are not kept")
	}
}

func TestConsentEndsWhatWasUnderWay(t *testing.T) {
	g := consented(time.Hour)
	l := g.Lease(start.Add(time.Hour))
	g.Consented(person, issued("again", time.Hour), start.Add(time.Hour))
	if g.Accept(l, person, issued("old", time.Hour), start.Add(time.Hour)) || g.Fail(l, person, connection.TokenFailure{Code: connection.ConsentLost}, start.Add(time.Hour)) {
		t.Error("a refresh of the consent before replaced the new one")
	}
	if g.Access().Reveal() != "access-again" {
		t.Error("it has another token")
	}
}

func TestALossIsNewsOnce(t *testing.T) {
	for name, lose := range map[string]func(g *connection.Grant) bool{
		"refused by the server": func(g *connection.Grant) bool {
			return g.Fail(g.Lease(start), person, connection.TokenFailure{Code: connection.ConsentLost}, start)
		},
		"expired": func(g *connection.Grant) bool { return g.Expire(person, start.Add(time.Hour)) },
	} {
		g := withoutRefresh(time.Hour)
		if !lose(g) || !g.NeedsConsent(person) || g.Failure() == nil {
			t.Errorf("%s: the first loss is %+v", name, g.State())
		}
		if name == "expired" && lose(g) {
			t.Errorf("%s: it is news twice", name)
		}
	}
	g := consented(time.Hour)
	if g.Expire(person, start.Add(time.Hour)) {
		t.Error("a token that can be renewed has ended for good")
	}
}

func TestAServerThatGivesNoRefreshTokenLeavesTheOldOne(t *testing.T) {
	g := consented(time.Hour)
	g.Accept(g.Lease(start), person, connection.IssuedTokens{Access: connection.NewText("access-1")}, start)
	if g.Refresh().Reveal() != "refresh-0" || g.ExpiresAt() != nil {
		t.Errorf("%+v", g.State())
	}
}

func TestARefreshTokenOfAShortLifeIsRenewedInTime(t *testing.T) {
	for life, want := range map[time.Duration]time.Duration{
		0: 24 * time.Hour, 30 * time.Minute: 15 * time.Minute, time.Minute: 5 * time.Minute, 90 * 24 * time.Hour: 24 * time.Hour,
	} {
		g := connection.NewGrant("tenant_1", "conn_1")
		tokens := issued("0", 0)
		tokens.RefreshLife = life
		g.Consented(person, tokens, start)
		if got := g.State().RenewAt.Sub(start); got != want {
			t.Errorf("of %s it is renewed after %s", life, got)
		}
	}
}

func TestATokenIsRenewedAFifthOfItsLifeBeforeItsEndAndAtMostAQuarterOfAnHour(t *testing.T) {
	for life, want := range map[time.Duration]time.Duration{
		time.Second: 800 * time.Millisecond, 10 * time.Minute: 8 * time.Minute, 75 * time.Minute: time.Hour, 24 * time.Hour: 23*time.Hour + 45*time.Minute,
	} {
		if at := consented(life).RefreshAt(); at == nil || at.Sub(start) != want {
			t.Errorf("of %s it is renewed at %v", life, at)
		}
	}
	if at := consented(0).RefreshAt(); at != nil {
		t.Errorf("one of unknown life is renewed at %s", at)
	}
}

// Whatever happens in whatever order, the tokens are those of the newest consent or of a refresh of them.
func TestTokensOnlyEverFollowTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, now := consented(time.Hour), start
		root := 0 // the consent that the tokens come from
		type request struct {
			lease connection.Lease
			root  int
		}
		var open []request
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				open = append(open, request{g.Lease(now), root})
			case 1:
				root++
				g.Consented(person, issued(fmt.Sprintf("%d.%d", root, i), time.Hour), now)
			default:
				if len(open) == 0 {
					continue
				}
				r := open[rapid.IntRange(0, len(open)-1).Draw(t, "which")]
				generation := g.Generation()
				if rapid.Bool().Draw(t, "fails") {
					lost := g.Fail(r.lease, person, connection.TokenFailure{Code: connection.ConsentLost}, now)
					if lost && r.root != root {
						t.Fatal("a refresh of an earlier consent lost the one after it")
					}
				} else if g.Accept(r.lease, person, issued(fmt.Sprintf("%d.%d", r.root, i), time.Hour), now) && (r.root != root || g.Generation() != generation+1) {
					t.Fatal("tokens of another consent were kept")
				}
			}
			if !g.Access().IsZero() && root > 0 && !strings.HasPrefix(g.Access().Reveal(), fmt.Sprintf("access-%d.", root)) {
				t.Fatalf("it has %s of consent %d", g.Access().Reveal(), root)
			}
		}
	})
}

func TestTokensAreNeverPrinted(t *testing.T) {
	g := consented(time.Hour)
	l := g.Lease(start)
	text := fmt.Sprintf("%v %+v %#v %v %+v %#v %v", g, g, g.State(), l, l, issued("0", 0), connection.Need{Refused: connection.NewText("access-0")})
	if strings.Contains(text, "access-0") || strings.Contains(text, "refresh-0") {
		t.Error(text)
	}
}

func TestAPersonIsAskedAsTheConnectionSays(t *testing.T) {
	c := person
	c.AuthorizationURL += "?access_type=offline&state=theirs&scope=theirs&response_mode=fragment&request_uri=theirs&redirect_uri=theirs&code_challenge_method=plain"
	key := connection.SecretText([connection.SecretBytes]byte{1})
	r := connection.NewConsentRequest("tenant_1", "conn_1", c, connection.NewText("link"), start)
	text, err := r.AuthorizationRequest(c, key, "https://sluice.example.com/oauth/callback")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	state := u.Query().Get("state")
	want := url.Values{
		"access_type": {"offline"}, "response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {"https://sluice.example.com/oauth/callback"},
		"scope": {"read"}, "state": {state}, "code_challenge": {connection.SecretDigest(key)}, "code_challenge_method": {"S256"},
	}
	if u.Host != "auth.example.com" || u.Query().Encode() != want.Encode() {
		t.Errorf("the person is sent to %s", text)
	}
	if digest, err := connection.DigestOfState(state, key); err != nil || digest != r.Digest() {
		t.Errorf("the state is of %q: %v", digest, err)
	}
	for name, other := range map[string]struct {
		state string
		key   connection.Text
	}{
		"no key": {state, connection.Text{}}, "another key": {state, connection.SecretText([connection.SecretBytes]byte{2})},
		"no state": {"", key}, "half a state": {r.Digest(), key}, "a state of another request": {"other." + "x", key},
	} {
		if _, err := connection.DigestOfState(other.state, other.key); domain.KindOf(err) != domain.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if strings.Contains(text, key.Reveal()) || strings.Contains(text, "link") {
		t.Error("the URL shows a secret")
	}
}

func TestARequestForConsentEnds(t *testing.T) {
	r := connection.NewConsentRequest("tenant_1", "conn_1", person, connection.NewText("link"), start)
	other := person
	other.ClientID = "another"
	for name, c := range map[string]struct {
		client connection.OAuth
		at     time.Duration
		ok     bool
	}{
		"in time": {person, connection.ConsentLife - time.Millisecond, true}, "too late": {person, connection.ConsentLife, false}, "for another client": {other, 0, false},
	} {
		if err := r.Check(c.client, start.Add(c.at)); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnIssuerIsAtOneOfTheURLs(t *testing.T) {
	c := connection.OAuth{AuthorizationURL: "https://accounts.example.com/authorize", TokenURL: "https://oauth2.example.org/token"}
	for issuer, want := range map[string]bool{
		"": true, "https://accounts.example.com": true, "https://ACCOUNTS.example.com/tenant": true, "https://oauth2.example.org/": true,
		"https://example.com": false, "https://accounts.example.com.evil.test": false, "https://evil.test/accounts.example.com": false,
		"accounts.example.com": false, "https://accounts.example.com:8443": false, "https://user@evil.test": false, ":": false,
	} {
		if got := c.IssuedBy(issuer); got != want {
			t.Errorf("%q: %v", issuer, got)
		}
	}
}
