package language

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spot is a place of a text where somebody is writing, with what can be told of it although
// the text may be no expression.
type spot struct {
	from, to int       // of the word at the place, or of the text in quotes
	quote    byte      // of that; 0 for a word
	dot      int       // where the dot stands that the word is behind; else that of the word
	open     []bracket // the brackets around it
	begins   []int     // where what it belongs to may begin: in the whole, and within each bracket
	begin    int       // where the whole begins
}

// spotIn reads text[from:at] as far as it goes; open is false where no value is due, such as in
// a comment or behind another value.
func spotIn(text string, from, end, at, depth int) (w spot, open bool) {
	w = spot{from: at, to: at, begin: from, begins: []int{from}}
	for w.from > from {
		r, size := utf8.DecodeLastRuneInString(text[from:w.from])
		if !isNameRune(r) {
			break
		}
		w.from -= size
	}
	w.to += nameLength(text[at:end])
	s := &scanner{text: text, at: from, end: w.from, depth: depth}
	for s.at < s.end {
		began, rest, before := s.at, text[s.at:s.end], s.prev
		fault := s.token()
		switch {
		case strings.HasPrefix(rest, "//") && s.at == s.end, fault != nil && strings.HasPrefix(rest, "/*"):
			return w, false
		case fault != nil && s.at == s.end: // in the text of a template string
			return w, false
		case fault != nil && (rest[0] == '"' || rest[0] == '\'') && !strings.ContainsAny(rest, "\r\n"):
			return w.inQuotes(s, end, at), s.prev != operand && s.prev != closing
		case fault != nil && s.at == began:
			_, size := utf8.DecodeRuneInString(rest)
			s.at += size
		}
		if fault != nil {
			s.prev = operator // what does not belong here is passed over
		}
		w.follow(s)
		if s.prev == operand && (before == operand || before == closing) && isValueByte(rest[0]) {
			w.begins[len(w.begins)-1] = began
		}
	}
	w.open, w.dot = s.open, w.from
	if s.prev == dot {
		w.dot = strings.LastIndexByte(text[:w.from], '.')
		if w.dot > 0 && text[w.dot-1] == '?' {
			w.dot = w.from // what stands in brackets stands behind ?. as well
		}
	}
	isNumber := w.from < at && text[w.from] >= '0' && text[w.from] <= '9'
	return w, s.prev != operand && s.prev != closing && !isNumber
}

// isValueByte says whether a value begins with a byte, and no white space or bracket does.
func isValueByte(c byte) bool { return isNameByte(c) || c == '"' || c == '\'' || c == '`' }

// follow notes where something begins, after a token.
func (w *spot) follow(s *scanner) {
	levels := len(s.open) + 1
	for len(w.begins) < levels {
		w.begins = append(w.begins, s.at)
	}
	w.begins = w.begins[:levels]
	switch s.prev {
	case operator, comma, arrow, brace:
		w.begins[levels-1] = s.at
	case operand, dot, closing:
	}
}

// inQuotes is a text in quotes, up to where it is closed on its line.
func (w spot) inQuotes(s *scanner, end, at int) spot {
	w.quote, w.from, w.to, w.open = s.text[s.at], s.at, at, s.open
	w.dot = w.from
	for i := at; i < end && s.text[i] != '\n' && s.text[i] != '\r'; i++ {
		if s.text[i] == '\\' {
			i++
		} else if s.text[i] == w.quote {
			w.to = i + 1
			break
		}
	}
	return w
}

// maxBeginnings bounds how often what stands at the place is read with less in front of it.
const maxBeginnings = 8

// beginnings are where it may begin what the place belongs to, with most of the text first.
func (w *spot) beginnings() []int {
	all := []int{w.begin}
	for i, begin := range w.begins {
		if i > 0 {
			all = append(all, w.open[i-1].at+len(w.open[i-1].text()))
		}
		all = append(all, begin)
	}
	all = slices.Compact(all)
	if len(all) > maxBeginnings {
		all = append(all[:1], all[len(all)-maxBeginnings+1:]...)
	}
	return all
}

// endings are what may stand behind the place: what does, else what closes the brackets that
// were opened after a beginning, perhaps behind the second half of a ? b : c.
func (w *spot) endings(begin int, rest string) []string {
	closers := ""
	for _, b := range w.open {
		if b.at >= begin {
			closers = b.closer() + closers
		}
	}
	if begin != w.begin {
		return []string{closers, " : 0" + closers}
	}
	return []string{rest, closers, " : 0" + closers}
}

// quoted writes the marker as what stands at the place.
func (w *spot) quoted(marker string) string {
	if w.quote == 0 {
		return marker
	}
	return `"` + marker + `"`
}

func isNameRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isNameByte(byte(r))
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}
