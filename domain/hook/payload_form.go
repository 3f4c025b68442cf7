package hook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/url"
	"strconv"
	"strings"
)

// Bounds of a form.
const (
	maxFields    = 1000
	maxFileBytes = 256 << 10 // of all files together that are given along; above, they keep name, type and size
)

// field is one value of a form.
type field struct {
	name  string
	value json.RawMessage
}

func readForm(body []byte) (json.RawMessage, error) {
	var fields []field
	for pair := range strings.SplitSeq(string(body), "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		value, errValue := url.QueryUnescape(value)
		switch {
		case err != nil || errValue != nil:
			return nil, unreadable("The form of the body must have two hexadecimal digits behind each %%.")
		case len(fields) == maxFields:
			return nil, unreadable("The form of the body must have at most %d fields.", maxFields)
		}
		fields = append(fields, field{name, quoted(value)})
	}
	return formJSON(fields), nil
}

// readMultipart gives texts as strings and files as objects (RFC 7578).
func readMultipart(body []byte, boundary string) (json.RawMessage, error) {
	if boundary == "" {
		return nil, unreadable("The content type of the body must have a boundary.")
	}
	var fields []field
	var files []file
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable("The body must be a form in parts, as its content type says.")
		}
		content, err := io.ReadAll(part)
		switch {
		case err != nil:
			return nil, unreadable("The body must be a form in parts, and must not break off.")
		case len(fields) == maxFields:
			return nil, unreadable("The form of the body must have at most %d fields.", maxFields)
		}
		if part.FileName() == "" && part.Header.Get("Content-Transfer-Encoding") == "" {
			if text, ok := decodeText(content, strings.ToLower(parameter(part.Header.Get("Content-Type"), "charset"))); ok {
				fields = append(fields, field{part.FormName(), quoted(text)})
				continue
			}
		}
		files = append(files, file{len(fields), part.FileName(), part.Header.Get("Content-Type"), content})
		fields = append(fields, field{name: part.FormName()})
	}
	addFiles(fields, files)
	return formJSON(fields), nil
}

type file struct {
	at      int // its place among the fields
	name    string
	kind    string
	content []byte
}

func addFiles(fields []field, files []file) {
	total := 0
	for _, f := range files {
		total += len(f.content)
	}
	for _, f := range files {
		var b bytes.Buffer
		b.WriteString(`{"name":`)
		writeText(&b, f.name)
		b.WriteString(`,"type":`)
		writeText(&b, f.kind)
		b.WriteString(`,"size":` + strconv.Itoa(len(f.content)))
		if total <= maxFileBytes {
			b.WriteString(`,"base64":"` + base64.StdEncoding.EncodeToString(f.content) + `"`)
		}
		b.WriteByte('}')
		fields[f.at].value = b.Bytes()
	}
}

// formJSON is an object with a member for each name, in the order of their first values: the value, or an array of several.
func formJSON(fields []field) json.RawMessage {
	var order []string
	byName := make(map[string][]json.RawMessage, len(fields))
	for _, f := range fields {
		if _, seen := byName[f.name]; !seen {
			order = append(order, f.name)
		}
		byName[f.name] = append(byName[f.name], f.value)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(&b, name)
		b.WriteByte(':')
		if values := byName[name]; len(values) == 1 {
			b.Write(values[0])
		} else {
			b.WriteByte('[')
			b.Write(bytes.Join(asBytes(values), []byte(",")))
			b.WriteByte(']')
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

func asBytes(values []json.RawMessage) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
