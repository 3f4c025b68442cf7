//go:build !unix

package main

import "math"

// limitOfProcess returns how much memory the system lets this process have: as much as it
// likes, as far as is known.
func limitOfProcess() int64 { return math.MaxInt64 }
