package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// sizedTriggers has pages of as many KiB as is searched for, in triggers of 128 KiB.
type sizedTriggers struct {
	inbound.Triggers
	read  chan int       // the bound of each reading, in KiB
	grown map[string]int // what a page has when it is read for the second time
	let   chan struct{}  // what readings above the first bound wait for; nil for nothing
	one   *trigger.Trigger
}

func newSizedTriggers() *sizedTriggers {
	config := `{"filler":"` + strings.Repeat("x", 128<<10-len(`{"filler":""}`)) + `"}`
	return &sizedTriggers{read: make(chan int, 100), one: trigger.Restore(trigger.State{ID: "trg_1", Config: trigger.RestoreConfig(config)})}
}

func (s *sizedTriggers) List(_ context.Context, _ tenant.Caller, f trigger.Filter, q domain.Query) (domain.Page[*trigger.Trigger], error) {
	s.read <- q.MaxBytes >> 10
	if s.let != nil && q.MaxBytes > 256<<10 {
		<-s.let
	}
	var size int
	if _, err := fmt.Sscan(f.Search, &size); err != nil {
		return domain.Page[*trigger.Trigger]{}, err
	}
	if grown, ok := s.grown[f.Search]; ok && q.MaxBytes > 256<<10 {
		size = grown
	}
	found := domain.Page[*trigger.Trigger]{Limit: q.Limit()}
	for range size / 128 {
		found.Items = append(found.Items, s.one) // they share one configuration
	}
	if size<<10 > q.MaxBytes {
		return domain.Page[*trigger.Trigger]{}, &domain.PageTooLarge{Records: len(found.Items), Bytes: size << 10, MaxBytes: q.MaxBytes}
	}
	found.Total = len(found.Items)
	return found, nil
}

// readings are the bounds of all readings so far.
func (s *sizedTriggers) readings() (bounds []int) {
	for len(s.read) > 0 {
		bounds = append(bounds, <-s.read)
	}
	return bounds
}

// lister asks for a page of so many KiB and reads nothing of the answer yet.
func (s *streamEnv) lister(key string, kibibytes int) net.Conn {
	s.Helper()
	client, server := net.Pipe()
	s.clients = append(s.clients, client)
	s.conns <- server
	if _, err := fmt.Fprintf(client, "GET /v1/gateway/triggers?search=%d HTTP/1.1\r\nHost: gateway\r\nX-API-Key: %s\r\n\r\n", kibibytes, key); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
	return client
}

// listing runs a test with an API that has pages of all sizes.
func listing(t *testing.T, test func(s *streamEnv, api *httpapi.API)) {
	t.Helper()
	withStreamEnv(t, func(s *streamEnv) {
		api, _ := s.server.Handler.(*httpapi.API)
		test(s, api)
	})
}

// holds checks how many KiB are held.
func holds(t testing.TB, api *httpapi.API, when string, want int) {
	t.Helper()
	synctest.Wait()
	if got := httpapi.PagesHeld(api); got != want<<10 {
		t.Errorf("%s, %d KiB are held and not %d", when, got>>10, want)
	}
}

func TestASmallPageIsReadOnceAndALargeOneWhenItsSizeIsKnown(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		for size, want := range map[int][]int{0: {256}, 256: {256}, 384: {256, 384}, 32 << 10: {256, 32 << 10}, 32<<10 + 128: {256}} {
			answer := "200, whole: true"
			if size > 32<<10 {
				answer = "400 page_too_large after "
			}
			if got := answered(s.lister("sk_1", size)); got != answer {
				t.Errorf("%d KiB: %s", size, got)
			}
			if diff := cmp.Diff(want, s.lists.readings()); diff != "" {
				t.Errorf("%d KiB: %s", size, diff)
			}
		}
		holds(t, api, "when all is read", 0)
	})
}

func TestALargePageIsHeldUntilItsReaderHasItOrIsGone(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		leaves, reads, dawdles := s.lister("sk_1", 1024), s.lister("sk_1", 2048), s.lister("sk_1", 4096)
		small := s.lister("sk_1", 256)
		holds(t, api, "while nobody reads", 7*1024)
		_ = leaves.Close() // a pipe always closes
		holds(t, api, "when one is gone", 6*1024)
		if got := answered(reads); got != "200, whole: true" {
			t.Errorf("who reads: %s", got)
		}
		holds(t, api, "when one has read", 4*1024)
		time.Sleep(2*time.Minute + time.Second)
		holds(t, api, "when the time is up", 0)
		if got := answered(dawdles); got != "EOF" && got != "unexpected EOF" && got != "200, whole: false" {
			t.Errorf("who was too slow: %s", got)
		}
		_ = small.Close()
	})
}

// While it is told of a slow reader's page what it holds, others are read: a turn is for
// reading from the database only.
func TestSlowReadersOfPagesHaveNoTurn(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		for range 6 {
			s.lister("sk_1", 1024)
		}
		holds(t, api, "with six of them", 6*1024)
		if got := answered(s.lister("sk_1", 1024)); got != "200, whole: true" {
			t.Errorf("who comes then: %s", got)
		}
	})
}

func TestAPageWithoutMemoryIsToBeAskedForAgain(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		slow := s.lister("sk_1", 31*1024)
		s.lists.readings()
		asked := time.Now()
		if got := answered(s.lister("sk_1", 2048)); got != "503 lists_busy after 1" || time.Since(asked) != 5*time.Second {
			t.Errorf("after %v: %s", time.Since(asked), got)
		}
		if diff := cmp.Diff([]int{256}, s.lists.readings()); diff != "" {
			t.Errorf("who waits reads nothing: %s", diff)
		}
		asked = time.Now()
		for key, size := range map[string]int{"sk_1": 1024, "sk_2": 32 * 1024} {
			if got := answered(s.lister(key, size)); got != "200, whole: true" || time.Since(asked) != 0 {
				t.Errorf("%d KiB of %s, for which there is room: %s after %v", size, key, got, time.Since(asked))
			}
		}
		waits := s.lister("sk_1", 2048)
		gone := s.lister("sk_1", 2048)
		_ = gone.Close() // a pipe always closes
		if got := answered(slow); got != "200, whole: true" {
			t.Errorf("who begins to read: %s", got)
		}
		if got := answered(waits); got != "200, whole: true" {
			t.Errorf("who waited for it: %s", got)
		}
		holds(t, api, "when all have read", 0)
	})
}

func TestSmallPagesNeedNeitherMemoryNorATurn(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		for _, owner := range []tenant.ID{"tenant_a", "tenant_b", "tenant_c", "tenant_d"} {
			leave, ok := httpapi.FillPages(api, owner)
			if !ok {
				t.Fatalf("there is no room for %s", owner)
			}
			defer leave()
		}
		defer httpapi.TakeTurns(api)()
		asked := time.Now()
		for range 3 {
			if got := answered(s.lister("sk_1", 256)); got != "200, whole: true" || time.Since(asked) != 0 {
				t.Errorf("after %v: %s", time.Since(asked), got)
			}
		}
		if got := answered(s.lister("sk_1", 384)); got != "503 lists_busy after 1" {
			t.Errorf("a large one: %s", got)
		}
	})
}

func TestFewLargePagesAreReadAtATime(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		s.lists.let = make(chan struct{})
		var all []net.Conn
		for range 6 {
			all = append(all, s.lister("sk_1", 1024))
		}
		bounds := s.lists.readings()
		if large := strings.Count(fmt.Sprint(bounds), "1024"); large != 4 || len(bounds) != 10 {
			t.Errorf("%v are read", bounds)
		}
		if got := answered(s.lister("sk_2", 256)); got != "200, whole: true" {
			t.Errorf("a small one meanwhile: %s", got)
		}
		s.lists.let <- struct{}{}
		synctest.Wait()
		if bounds = s.lists.readings(); !cmp.Equal(bounds, []int{256, 1024}) {
			t.Errorf("when one has been read, %v are", bounds)
		}
		time.Sleep(5*time.Second + time.Millisecond) // longer than anybody waits
		close(s.lists.let)
		said := map[string]int{}
		for _, conn := range all {
			said[answered(conn)]++
		}
		if diff := cmp.Diff(map[string]int{"200, whole: true": 5, "503 lists_busy after 1": 1}, said); diff != "" {
			t.Error(diff)
		}
		holds(t, api, "in the end", 0)
	})
}

func TestAPageThatGrowsMeanwhileIsReadAgain(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		s.lists.grown = map[string]int{"384": 1024, "512": 33 * 1024, "640": 128}
		for size, want := range map[int]string{384: "200, whole: true [256 384 1024]", 512: "400 page_too_large after  [256 512]", 640: "200, whole: true [256 640]"} {
			if got := fmt.Sprint(answered(s.lister("sk_1", size)), " ", s.lists.readings()); got != want {
				t.Errorf("%d KiB: %s", size, got)
			}
		}
		holds(t, api, "in the end", 0)
	})
}

// A page is written as it is encoded: what its answer takes next to its records is small
// however large it is.
func TestALargePageIsNeverThereAsText(t *testing.T) {
	listing(t, func(s *streamEnv, api *httpapi.API) {
		const size = 24 << 20
		answered(s.lister("sk_1", 384)) // who comes first makes what is used again
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		client := s.lister("sk_1", size>>10)
		got, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		length, err := io.Copy(io.Discard, got.Body)
		runtime.ReadMemStats(&after)
		if err != nil || length != got.ContentLength || length < size {
			t.Errorf("of %d bytes, %d arrived: %v", got.ContentLength, length, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
			t.Errorf("%d bytes were allocated for a page of %d", allocated, size)
		}
	})
}

// largeLists gives a fixture two large records of each kind that may be, and returns the
// paths of their lists.
func (g *gateway) largeLists(e fixture) []string {
	g.Helper()
	filler := strings.Repeat("x ", 70<<10)
	for i := range 2 {
		for path, body := range map[string]string{
			"/triggers":          fmt.Sprintf(`{"workflowVersionId":%q,"name":"large","type":"webhook","config":{ "filler" : %q }}`, e.ids["workflow-versions"], filler),
			"/workflow-versions": fmt.Sprintf(`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"large","config":{ "filler" : %q }}]}`, e.ids["workflows"], filler),
			"/custom-nodes": fmt.Sprintf(`{"type":"acme.large","name":"large","version":"%d.0.0","outputSchema":{},"inputSchema":{"a":{"type":"string","default":%q}}}`,
				i+1, filler[:20<<10]),
		} {
			if got := g.send(http.MethodPost, "/v1/gateway"+path, e.secret, body); got.status != http.StatusCreated {
				g.Fatalf("POST %s got %d: %.300s", path, got.status, got.body)
			}
		}
		g.write(func(ctx context.Context, st outbound.Stores) error {
			d, err := st.Webhooks.Deliveries.Get(ctx, tenant.All(e.id), event.DeliveryID(e.ids["deliveries"]))
			if err != nil {
				return err
			}
			state := d.State()
			state.ID = event.DeliveryID(e.named("msg", "xy"[i]))
			state.Attempts = []event.Attempt{{Number: 1, At: noon, Status: http.StatusBadGateway, Code: "unexpected_status", Error: "no", Excerpt: filler}}
			return st.Webhooks.Deliveries.Insert(ctx, event.RestoreDelivery(state))
		})
	}
	return []string{
		"/triggers?", "/triggers/workflow-version/" + e.ids["workflow-versions"] + "?", "/workflow-versions?workflowId=" + e.ids["workflows"] + "&",
		"/workflows/" + e.ids["workflows"] + "/versions?", "/custom-nodes?", "/webhook-endpoints/" + e.ids["webhook-endpoints"] + "/deliveries?",
	}
}

// What the description says of each list that may be large, the whole gateway does.
func TestLargeListsBehindTheWholeGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	httpapi.MaxWait(g.api, 20*time.Millisecond)
	e := g.fixture("Acme")
	paths := g.largeLists(e)
	for _, path := range paths {
		g.answersLargeList(e, "/v1/gateway"+path)
	}
	if got := httpapi.PagesHeld(g.api); got != 0 {
		t.Errorf("%d bytes are held", got)
	}
	httpapi.LimitPages(g.api, 1<<20)
	for _, path := range paths {
		got := g.send(http.MethodGet, "/v1/gateway"+path, e.secret, "")
		if got.status != http.StatusBadRequest || got.field(t, "code") != "page_too_large" || !cmp.Equal(got.violations(t), []string{"limit too_large"}) {
			t.Errorf("%s, where it is larger than what a tenant may hold, got %d: %.500s", path, got.status, got.body)
		}
	}
}

// answersLargeList asks for a list whole and one by one, in both envelopes, and where there
// is no room.
func (g *gateway) answersLargeList(e fixture, path string) {
	g.Helper()
	items := func(a answer) []any {
		all, _ := a.field(g.T, "items").([]any)
		if data := a.field(g.T, "data"); data != nil && !cmp.Equal(data, any(all)) {
			g.Errorf("%s: items and data differ", path)
		}
		return all
	}
	for _, size := range []string{"limit=", "pageSize="} {
		whole := g.send(http.MethodGet, path+size+"20", e.secret, "")
		all := items(whole)
		if whole.status != http.StatusOK || len(whole.body) < 40<<10 || len(all) < 3 {
			g.Errorf("%s%s20 got %d with %d bytes and %d items", path, size, whole.status, len(whole.body), len(all))
		}
		for i, want := range all {
			if size != "limit=" {
				break
			}
			one := items(g.send(http.MethodGet, fmt.Sprintf("%slimit=1&offset=%d", path, i), e.secret, ""))
			if len(one) != 1 || !cmp.Equal(want, one[0]) {
				g.Errorf("%s: item %d is another one by itself", path, i)
			}
		}
	}
	leave, ok := httpapi.FillPages(g.api, e.id)
	if !ok {
		g.Fatal("there is no room")
	}
	defer leave()
	busy := g.send(http.MethodGet, path, e.secret, "")
	if got := fmt.Sprintf("%d %v %v %s", busy.status, busy.field(g.T, "code"), busy.field(g.T, "retryAfter"), busy.header.Get("Retry-After")); got != "503 lists_busy 1 1" {
		g.Errorf("%s, where there is no room: %s", path, got)
	}
	if few := g.send(http.MethodGet, path+"limit=1", e.secret, ""); few.status != http.StatusOK {
		g.Errorf("%s, where there is no room, got %d for one", path, few.status)
	}
}
