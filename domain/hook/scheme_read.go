package hook

import (
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Bounds of a scheme.
const (
	maxHeaderName  = 100
	maxPrefix      = 50
	maxTemplate    = 500
	maxTolerance   = 86_400 // seconds
	maxSchemeBytes = 4096
)

// ParseScheme reads what a client sent: {"preset": …} or {"kind": …} with what belongs to the kind. What is wrong is recorded
// below the path.
func ParseScheme(r *domain.Rules, path string, text []byte) Scheme {
	r.Check(len(text) <= maxSchemeBytes, path, domain.TooLong, "must be at most %d bytes of JSON", maxSchemeBytes)
	o, ok := readObject(r, path, text)
	if !ok || r.Broken(path) {
		return Scheme{}
	}
	s := Scheme{document: domain.RestoreDocument(string(text))}
	_, hasPreset := o.get("preset")
	_, hasKind := o.get("kind")
	switch {
	case hasPreset == hasKind:
		r.Check(false, path, domain.Conflicting, `must have a preset, such as {"preset": "github"}, or a kind, such as {"kind": "bearer"}`)
	case hasPreset:
		if preset, ok := choice(o, "preset", Presets()...); ok {
			s.preset, s.methods = preset, presets[preset].methods
			o.done("next to a preset, which follows what its sender documents")
		}
	default:
		if kind, ok := choice(o, "kind", Kinds()...); ok {
			s.methods = []method{readMethod(o, kind)}
			o.done("of the kind " + string(kind))
		}
	}
	return s
}

// RestoreScheme reads what a store kept. One that cannot be read, since a newer version wrote it, verifies nothing.
func RestoreScheme(text string) Scheme {
	var r domain.Rules
	s := ParseScheme(&r, "", []byte(text))
	if len(r.Violations()) > 0 {
		return Scheme{document: domain.RestoreDocument(text)}
	}
	return s
}

func readMethod(o *object, kind Kind) method {
	m := method{kind: kind}
	switch kind {
	case KindHMAC:
		m.algorithm, _ = needChoice(o, "algorithm", SHA1, SHA256, SHA512)
		readSignature(o, &m)
	case KindEd25519:
		readSignature(o, &m)
	case KindSecretHeader:
		m.header = readHeaderName(o, "header", true)
		m.prefix, _ = o.text("prefix", maxPrefix)
	case KindBasic, KindBearer:
		m.header = authorization
	case KindURLSecret:
		m.carried, _ = o.need("parameter", maxHeaderName)
	case KindNone:
	}
	return m
}

func readSignature(o *object, m *method) {
	m.header, m.anyCase = readHeaderName(o, "header", true), true
	m.encoding, _ = needChoice(o, "encoding", Hex, Base64, Base64URL)
	m.prefix, _ = o.text("prefix", maxPrefix)
	m.separator, _ = choice(o, "separator", ",", ";", " ")
	if text, ok := o.need("signed", maxTemplate); ok {
		signed, wrong := parseTemplate(text)
		m.signed = signed
		o.rules.Check(wrong == "", o.at("signed"), domain.BadFormat, "%s", wrong)
		o.rules.Check(signed.has(partBody), o.at("signed"), domain.NotAllowed, "must hold {body}, or what is sent could be changed")
	}
	readSignedTime(o, m)
	m.id = readHeaderName(o, "idHeader", false)
	if signed := o.at("signed"); !o.rules.Broken(signed) {
		o.rules.Check(m.signed.has(partID) == (m.id != ""), signed, domain.Conflicting, "must hold {id} if there is an idHeader, and only then")
		o.rules.Check(m.signed.has(partTimestamp) == m.time.exists(), signed, domain.Conflicting,
			"must hold {timestamp} if there is a timestampHeader or a timestampPrefix, and only then")
	}
}

func readSignedTime(o *object, m *method) {
	m.time.header = readHeaderName(o, "timestampHeader", false)
	m.time.prefix, _ = o.text("timestampPrefix", maxPrefix)
	o.rules.Check(m.time.header == "" || m.time.prefix == "", o.at("timestampPrefix"), domain.Conflicting, "must be left out where there is a timestampHeader")
	o.rules.Check(m.time.prefix == "" || m.separator != "", o.at("timestampPrefix"), domain.Conflicting,
		"must be left out without a separator: it marks the item of the header that is the time")
	m.time.unit = Seconds
	if unit, ok := choice(o, "timestampUnit", Seconds, Milliseconds, RFC3339); ok {
		m.time.unit = unit
	}
	seconds, given := o.whole("toleranceSeconds", 1, maxTolerance)
	switch {
	case given:
		m.tolerance = time.Duration(seconds) * time.Second
		o.rules.Check(m.time.exists(), o.at("toleranceSeconds"), domain.Conflicting, "must be left out where nothing says when a delivery was sent")
	case m.time.exists():
		m.tolerance = fiveMinutes
	}
}

// readHeaderName gives the name in lower case.
func readHeaderName(o *object, name string, required bool) string {
	read := o.text
	if required {
		read = o.need
	}
	text, ok := read(name, maxHeaderName)
	if !ok {
		return ""
	}
	o.rules.Check(isHeaderName(text), o.at(name), domain.BadFormat, "must be the name of a header")
	return strings.ToLower(text)
}
