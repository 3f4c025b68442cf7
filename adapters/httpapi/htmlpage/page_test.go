package htmlpage_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	html "maragu.dev/gomponents"
	tag "maragu.dev/gomponents/html"

	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
)

func TestALinkLeadsToWebPagesOnly(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/?a=1&b=2": `<a href="https://example.com/?a=1&amp;b=2"></a>`,
		"http://localhost:9000":        `<a href="http://localhost:9000"></a>`,
		"/console":                     `<a href="/console"></a>`,
		"#field-0":                     `<a href="#field-0"></a>`,
		"javascript:alert(1)":          `<a href="#"></a>`,
		"JavaScript:alert(1)":          `<a href="#"></a>`,
		" javascript:alert(1)":         `<a href="#"></a>`,
		"data:text/html,<b>":           `<a href="#"></a>`,
		"":                             `<a href="#"></a>`,
		`https://a"><script>`:          `<a href="https://a&#34;&gt;&lt;script&gt;"></a>`,
	} {
		var b strings.Builder
		if err := tag.A(htmlpage.Leads(address)).Render(&b); err != nil || b.String() != want {
			t.Errorf("%q leads to %s, not %s (%v)", address, b.String(), want, err)
		}
	}
}

func TestAPageIsKeptFromFramesAndCachesAndRunsNothing(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	answer := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(answer)
	if err := htmlpage.Write(c, 418, "pt-BR", `</title><script>`, tag.P(html.Text(`<b>"&`))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": htmlpage.Policy, "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	text := answer.Body.String()
	for _, want := range []string{`<!doctype html><html lang="pt-BR">`, "<title>&lt;/title&gt;&lt;script&gt;</title>", "<main><p>&lt;b&gt;&#34;&amp;</p></main>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s: %s", want, text)
		}
	}
	if answer.Code != 418 || strings.Contains(text, "<script") {
		t.Errorf("%d %s", answer.Code, text)
	}
}
