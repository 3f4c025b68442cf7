package main

import (
	"net/http"
	"net/http/pprof"
)

// profilesPath begins the paths of the profiles, where go tool pprof expects them.
const profilesPath = "/debug/pprof/"

// profiles serves the runtime's profiles of this process: CPU, allocations,
// goroutines. They hold names of functions and sizes, no data of tenants, but taking
// them costs time, so they belong on the listener for metrics, which only the
// operator reaches.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+profilesPath, pprof.Index) // and every profile that the runtime knows by name
	mux.HandleFunc("GET "+profilesPath+"profile", pprof.Profile)
	mux.HandleFunc("GET "+profilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc("POST "+profilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc("GET "+profilesPath+"trace", pprof.Trace)
	return mux
}
