package egress_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/sluicehq/sluice/adapters/egress"
)

// BenchmarkCall compares a call through the guard with one through a plain client,
// with a connection that is kept and with one for each call.
func BenchmarkCall(b *testing.B) {
	origin := serve(b, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) })
	guarded := local(b, egress.Options{}).Client(egress.Follow)
	plain := &http.Client{Transport: &http.Transport{}}
	defer plain.CloseIdleConnections()
	for name, client := range map[string]*http.Client{"guarded": guarded, "plain": plain} {
		b.Run(name+"/kept", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := read(context.Background(), b, client, http.MethodGet, origin); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/new", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := read(context.Background(), b, client, http.MethodGet, origin); err != nil {
					b.Fatal(err)
				}
				client.CloseIdleConnections()
			}
		})
	}
}
