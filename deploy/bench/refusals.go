package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// fileSize is where a log ends now; 0 when it cannot be read.
func fileSize(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// refusals sums up, from an offset of a gateway's log on, the requests that were not
// answered with success: how many of each status, and one line of each.
func refusals(log string, from int64) string {
	file, err := os.Open(log)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err.Error()
	}
	counts, samples, order := make(map[int]int), make(map[int]string), []int(nil)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct{ Status int }
		if json.Unmarshal(lines.Bytes(), &entry) != nil || entry.Status < http.StatusMultipleChoices {
			continue
		}
		if counts[entry.Status]++; counts[entry.Status] == 1 {
			order, samples[entry.Status] = append(order, entry.Status), lines.Text()
		}
	}
	if len(order) == 0 {
		return "the gateway's log shows no refusal"
	}
	var b strings.Builder
	for _, status := range order {
		_, _ = fmt.Fprintf(&b, "%d × %d, first:\n  %s\n", counts[status], status, samples[status]) // cannot fail
	}
	return b.String()
}
