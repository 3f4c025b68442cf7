package hook

import (
	"mime"
	"strings"
)

// The media types that are told apart.
const (
	typeJSON      = "application/json"
	typeForm      = "application/x-www-form-urlencoded"
	typeMultipart = "multipart/form-data"
	typeXML       = "application/xml"
	typeText      = "text/plain"
)

// mediaType is the type without its parameters, in lower case; empty for none.
func mediaType(contentType string) string {
	name, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// parameter is one of a content type; empty for none.
func parameter(contentType, name string) string {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return parameters[name]
}

// sortOf is the type whose rules a media type follows; empty for bytes.
func sortOf(mediaType string) string {
	switch {
	case mediaType == typeForm, mediaType == typeMultipart:
		return mediaType
	case mediaType == typeJSON, mediaType == "text/json", strings.HasSuffix(mediaType, "+json"):
		return typeJSON
	case mediaType == typeXML, mediaType == "text/xml", strings.HasSuffix(mediaType, "+xml"):
		return typeXML
	case strings.HasPrefix(mediaType, "text/"), mediaType == "application/x-ndjson", mediaType == "application/graphql":
		return typeText
	default:
		return ""
	}
}
