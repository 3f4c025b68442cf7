package httpserver

import (
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/rs/zerolog"
)

// MetricsPath is where Prometheus looks.
const MetricsPath = "/metrics"

// profilesPath begins the paths of the profiles, where go tool pprof expects them.
const profilesPath = "/debug/pprof/"

// NewDiagnostics returns the server for what only the operator reaches: metrics and the
// runtime's profiles. A profile may be asked for over a minute.
func NewDiagnostics(log zerolog.Logger, metrics http.Handler) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET "+MetricsPath, metrics)
	mux.HandleFunc("GET "+profilesPath, pprof.Index) // and every profile that the runtime knows by name
	mux.HandleFunc("GET "+profilesPath+"profile", pprof.Profile)
	mux.HandleFunc("GET "+profilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc("POST "+profilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc("GET "+profilesPath+"trace", pprof.Trace)
	return &http.Server{
		Handler:           mux,
		ErrorLog:          errorLog(log),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      3 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
	}
}
