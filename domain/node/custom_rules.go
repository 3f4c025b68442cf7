package node

import (
	"net/url"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func checkType(r *domain.Rules, text string) {
	r.Text(text, "type", 1, maxName)
	r.Check(Type(text).Valid(), "type", domain.BadFormat,
		"must begin with a letter and hold only letters, digits, \"_\", \"-\", \".\" and \":\"")
	_, reserved := BuiltIn(Type(text))
	r.Check(!reserved, "type", domain.NotAllowed, "must not be %q, which is a node of the platform", text)
}

func checkVersion(r *domain.Rules, text string) {
	r.Check(text != "", "version", domain.Required, "must be a semantic version, such as 1.0.0")
	_, err := ParseSemVer(text)
	r.Check(err == nil, "version", domain.BadFormat,
		"must be a semantic version, such as 1.4.0 or 2.0.0-beta.1, not %q", clip(text))
}

func checkEndpoint(r *domain.Rules, text string) {
	if text == "" {
		return
	}
	r.Text(text, "endpoint", 0, maxEndpoint)
	u, err := url.Parse(text)
	ok := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	r.Check(ok, "endpoint", domain.BadFormat, "must be an absolute http or https URL, such as https://example.com/nodes")
}

// checkTranslations goes through the languages in their order, so that the same
// request always gets the same answer.
func checkTranslations(r *domain.Rules, translations map[tenant.Language]Translation) {
	for _, key := range sortedKeys(translations) {
		at := domain.Member("translations", clip(string(key)))
		r.Check(key.Valid(), at, domain.Unknown, "must be left out: the languages are %s", domain.OneOf(tenant.Languages()...))
		if key.Valid() {
			r.Text(translations[key].Name, domain.Member(at, "name"), 0, maxName)
			r.Text(translations[key].Description, domain.Member(at, "description"), 0, maxDescription)
		}
	}
}
