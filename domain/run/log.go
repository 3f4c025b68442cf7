package run

// Bounds of what is kept of what an attempt wrote to its log.
const (
	MaxLogLines = 100
	MaxLogBytes = 16 << 10 // of all lines together
)

// NewLog is as much of the lines as is kept, as texts that every store can keep. Where
// something is left out, the last line ends with an ellipsis.
func NewLog(lines []string) []string {
	const mark = "…"
	var kept []string
	left := MaxLogBytes - len(mark)
	for i, line := range lines {
		if i == MaxLogLines {
			kept[i-1] += mark
			break
		}
		line = storable(line, MaxLogBytes)
		if len(line) > left {
			cut := left
			for cut > 0 && line[cut]&0xc0 == 0x80 { // within a character
				cut--
			}
			return append(kept, line[:cut]+mark)
		}
		left -= len(line)
		kept = append(kept, line)
	}
	return kept
}
