package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/client"
	"github.com/sluicehq/sluice/adapters/httpapi/client/workflowfile"
)

// fileUser is somebody who keeps workflows as files, at a gateway that runs.
type fileUser struct {
	binary
	server server
	key    string
}

// newFileUser is a person of a tenant that has the connections which the files of this test name.
func newFileUser(t *testing.T, b binary, s server) fileUser {
	t.Helper()
	u := fileUser{b, s, fmt.Sprint(b.json("tenant", "create", "--name", "Acme")["secretKey"])}
	u.post("/connections", `{"name":"Our API","kind":"bearer","hosts":["api.example.com"],"secret":{"token":"token_of_our_api"}}`)
	u.post("/connections", `{"name":"Stripe","kind":"hmac","secret":{"key":"whsec_that_stripe_shows"}}`)
	return u.with(u.key)
}

// with is somebody with another key.
func (u fileUser) with(key string) fileUser {
	u.key = key
	u.environ = append(slices.Clone(u.environ), "SLUICE_URL="+u.server.url, "SLUICE_API_KEY="+key)
	return u
}

// ask sends a request that must succeed.
func (u fileUser) ask(method, path, body string) map[string]any {
	u.Helper()
	status, text := u.server.request(u.T, method, "/v1/gateway"+path, u.key, body)
	if status >= http.StatusMultipleChoices {
		u.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil && text != "" {
		u.Fatal(err)
	}
	return doc
}

func (u fileUser) post(path, body string) map[string]any {
	u.Helper()
	return u.ask(http.MethodPost, path, body)
}

// exported is what export writes into a new folder, by the names of the files.
func (u fileUser) exported(args ...string) map[string]string {
	u.Helper()
	folder := u.TempDir()
	u.ok(append([]string{"workflow", "export", folder}, args...)...)
	return filesIn(u.T, folder)
}

func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(text)
	}
	return found
}

// folderOf writes files into a new folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// workflowFiles are workflows with everything that a file can have. Those that are called come behind and before who calls them.
func workflowFiles(t *testing.T) map[string]string {
	t.Helper()
	return filesIn(t, filepath.Join("testdata", "workflows"))
}

func TestFilesAreAppliedToAnEmptyTenantAndExportedAsTheyWere(t *testing.T) {
	skipUnderRace(t)
	databases(t, func(t *testing.T, b binary) {
		s := b.start("serve")
		files := workflowFiles(t)
		folder := folderOf(t, files)
		for range 2 { // each into a tenant of its own
			u := newFileUser(t, b, s)
			if code, stdout, _ := u.run("workflow", "diff", folder); code != 1 || strings.Count(stdout, "--- /dev/null") != len(files) {
				t.Errorf("before: %d %s", code, stdout)
			}
			planned := u.ok("workflow", "apply", folder, "--publish", "--dry-run")
			if total := u.ask(http.MethodGet, "/workflows", "")["total"]; total != 0.0 || !strings.Contains(planned, `would create the workflow "Notify people"`) {
				t.Errorf("a dry run made %v workflows and printed %s", total, planned)
			}
			applied := u.ok("workflow", "apply", folder, "--publish")
			if n := strings.Count(planned, "\n"); n != strings.Count(applied, "\n")-strings.Count(applied, "\n  ") {
				t.Errorf("planned %s\napplied %s", planned, applied)
			}
			if strings.Contains(applied, "/h/") {
				t.Errorf("the address of a hook is shown: %s", applied)
			}
			if again := u.ok("workflow", "apply", folder, "--publish", "--prune"); again != "nothing to change\n" {
				t.Errorf("the second time: %s", again)
			}
			if code, stdout, stderr := u.run("workflow", "diff", folder, "--prune"); code != 0 || stdout != "" {
				t.Errorf("after: %d %s %s", code, stdout, stderr)
			}
			if diff := cmp.Diff(files, u.exported()); diff != "" {
				t.Errorf("exported in another way: %s", diff)
			}
			folder = folderOf(t, u.exported())
		}
	})
}

func TestApplyChangesWhatDiffersAndNothingElse(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	files := workflowFiles(t)
	u.ok("workflow", "apply", folderOf(t, files), "--publish")
	before := u.ask(http.MethodGet, "/triggers", "")["total"]

	edited := folderOf(t, files)
	change := func(file, from, to string) {
		t.Helper()
		if !strings.Contains(files[file], from) {
			t.Fatalf("%s has no %s", file, from)
		}
		files[file] = strings.Replace(files[file], from, to, 1)
		if err := os.WriteFile(filepath.Join(edited, file), []byte(files[file]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("invoice-paid.json", `"perMinute": 30`, `"perMinute": 40`)
	change("invoice-paid.json", `"team": "billing"`, `"group": "sales"`)
	change("weekly-report.json", `"cron": "0 8 * * 1"`, `"cron": "0 9 * * 1"`)
	change("notify-people.json", "Tell everybody", "Tell all of them")
	change("notify-people.json", "return all;", "return all.reverse();")
	code, stdout, _ := u.run("workflow", "diff", edited)
	for _, want := range []string{
		`-  "metadata": {"team": "billing"},`, `+  "metadata": {"group": "sales"},`, `"perMinute": 40`, `+++ ` + filepath.Join(edited, "weekly-report.json"), "Tell all of them",
	} {
		if code != 1 || !strings.Contains(stdout, want) {
			t.Errorf("the difference, with %d, has no %s: %s", code, want, stdout)
		}
	}
	want := `change the workflow "Notify people": description
change the workflow "Invoice paid": metadata
create a version of "Notify people", nodes: 3
  version 2
publish "Notify people"
change the hook of the trigger "Stripe" of "Invoice paid"
change the trigger "Monday morning" of "Weekly report"
`
	if diff := cmp.Diff(want, u.ok("workflow", "apply", edited, "--publish")); diff != "" {
		t.Error(diff)
	}
	if after := u.ask(http.MethodGet, "/triggers", "")["total"]; after != before {
		t.Errorf("there are %v triggers in place of %v", after, before)
	}
	if diff := cmp.Diff(files, u.exported()); diff != "" {
		t.Error(diff)
	}
	events := u.ask(http.MethodGet, "/audit-log?action=changeHook", "")["total"]
	if events != 1.0 {
		t.Errorf("the audit log has %v changes of hooks", events)
	}
}

func TestWithoutPublishADraftIsMadeOnceAndWhatIsActiveStays(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	const file = `{"sluice": 1, "name": "A", "triggers": [{"name": "T", "type": "webhook"}], "nodes": [{"id": "a", "type": "transform", "version": "1.0.0", "name": "A", "config": {"expression": "%s"}}], "edges": []}`
	apply := func(expression string, args ...string) (stdout, stderr string) {
		t.Helper()
		folder := folderOf(t, map[string]string{"a.json": fmt.Sprintf(file, expression)})
		code, stdout, stderr := u.run(append([]string{"workflow", "apply", folder}, args...)...)
		if code != 0 {
			t.Fatalf("%d %s", code, stderr)
		}
		return stdout, stderr
	}
	apply("1", "--publish")
	versions := func() string {
		list := u.ask(http.MethodGet, "/workflow-versions?workflowId="+u.workflow("A"), "")["items"].([]any)
		var all []string
		for _, v := range list {
			all = append(all, fmt.Sprintf("%v:%v", v.(map[string]any)["version"], v.(map[string]any)["isActive"]))
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	// A person draws something else meanwhile, which stays as it is.
	u.post("/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[]}`, u.workflow("A")))
	if stdout, stderr := apply("2"); !strings.Contains(stdout, "create a version") || !strings.Contains(stderr, `"A" is not published`) || versions() != "1:true 2:false 3:false" {
		t.Errorf("%s %s, then %s", stdout, stderr, versions())
	}
	if stdout, _ := apply("2"); stdout != "nothing to change\n" {
		t.Errorf("the second time: %s", stdout)
	}
	if stdout, _ := apply("2", "--publish"); stdout != "publish \"A\"\n" || versions() != "1:false 2:false 3:true" {
		t.Errorf("%s, then %s", stdout, versions())
	}
	if stdout, _ := apply("2", "--publish"); stdout != "nothing to change\n" {
		t.Errorf("at last: %s", stdout)
	}
}

// workflow is the identifier of the workflow of that name.
func (u fileUser) workflow(name string) string {
	u.Helper()
	for _, item := range u.ask(http.MethodGet, "/workflows?limit=100", "")["items"].([]any) {
		if wf := item.(map[string]any); wf["name"] == name {
			return fmt.Sprint(wf["id"])
		}
	}
	u.Fatalf("there is no workflow %q", name)
	return ""
}

func TestWhatNoFileHasIsDeletedOnlyWhenAsked(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	files := workflowFiles(t)
	u.ok("workflow", "apply", folderOf(t, files), "--publish")
	delete(files, "invoice-paid.json")
	files["weekly-report.json"] = strings.Replace(files["weekly-report.json"], `"name": "Monday morning",
      "type"`, `"name": "Monday, early",
      "type"`, 1)
	folder := folderOf(t, files)
	_, _, stderr := u.run("workflow", "apply", folder, "--publish")
	for _, want := range []string{`the workflow "Invoice paid" has no file and stays`, `the trigger "Monday morning" of "Weekly report" is not in the file and stays`} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%s is not said: %s", want, stderr)
		}
	}
	if code, _, _ := u.run("workflow", "diff", folder); code != 0 {
		t.Errorf("what stays is a difference: %d", code)
	}
	if code, _, _ := u.run("workflow", "diff", folder, "--prune"); code != 1 {
		t.Errorf("what would go is no difference: %d", code)
	}
	want := "delete the trigger \"Monday morning\" of \"Weekly report\"\ndelete the workflow \"Invoice paid\", with its versions and triggers\n"
	if diff := cmp.Diff(want, u.ok("workflow", "apply", folder, "--publish", "--prune")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, u.exported()); diff != "" {
		t.Error(diff)
	}
}

func TestAllMistakesInFilesAreNamedWithTheirLines(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	folder := folderOf(t, map[string]string{
		"a.json": "{\n  \"sluice\": 1,\n  \"name\": \"A\",\n  \"colour\": \"red\",\n  \"nodes\": [\n    {\"id\": \"a\", \"type\": 1, \"version\": \"1.0.0\", \"title\": \"A\"}\n  ],\n  \"edges\": {}\n}\n",
		"b.json": "{\n  \"name\": \"B\",\n  \"edges\": [],,\n}\n",
		"c.json": "{\"sluice\": 2, \"name\": \"C\", \"name\": \"C\", \"nodes\": [], \"edges\": []}\n",
	})
	at := func(file string) string { return inFolder(folder, file) }
	want := []string{
		at("a.json") + ":4: colour: is not known here", at("a.json") + ":6: nodes[0].name: must be given", at("a.json") + ":6: nodes[0].title: is not known here",
		at("a.json") + ":6: nodes[0].type: must be a text", at("a.json") + ":8: edges: must be a list",
		at("b.json") + ":3: is no JSON: invalid character ',' looking for beginning of object key string",
		at("c.json") + ":1: name: stands here twice", at("c.json") + ":1: sluice: must be 1, the form of files that this version reads",
	}
	for _, command := range []string{"diff", "apply"} {
		code, _, stderr := u.run("workflow", command, folder)
		_, listed, _ := strings.Cut(strings.TrimSuffix(stderr, "\n"), "\n")
		got := strings.Split(listed, "\n")
		if diff := cmp.Diff(want, got); diff != "" || code != map[string]int{"diff": 2, "apply": 1}[command] {
			t.Errorf("%s ends with %d: %s", command, code, diff)
		}
	}

	// What is well-formed and cannot be: every name that stands for nothing, and what the gateway refuses, next to what goes.
	node := `{"id": "a", "type": "%s", "version": "%s", "name": "A", "config": %s}`
	file := "{\n\"sluice\": 1, \"name\": \"%s\", \"nodes\": [\n%s\n], \"edges\": []}\n"
	folder = folderOf(t, map[string]string{
		"a.json": fmt.Sprintf(file, "A", fmt.Sprintf(node, "httpRequest", "1.1.0", `{"url": "https://a.example.com", "connection": {"$connection": "Nobody's"}}`)),
		"b.json": fmt.Sprintf(file, "B", fmt.Sprintf(node, "callWorkflow", "1.0.0", `{"workflowId": {"$workflow": "Z"}}`)),
	})
	_, _, stderr := u.run("workflow", "apply", folder)
	for _, want := range []string{
		inFolder(folder, "a.json") + `:3: nodes[0].config.connection: the gateway has no connection that is called "Nobody's"`,
		inFolder(folder, "b.json") + `:3: nodes[0].config.workflowId: the gateway has no workflow that is called "Z"`,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%s is not said: %s", want, stderr)
		}
	}
	folder = folderOf(t, map[string]string{
		"a.json": fmt.Sprintf(file, "A", fmt.Sprintf(node, "transform", "1.0.0", `{"expression": "1 +"}`)),
		"b.json": fmt.Sprintf(file, "B", fmt.Sprintf(node, "transform", "1.0.0", `{"expression": "1 + 1"}`)),
	})
	code, stdout, stderr := u.run("workflow", "apply", folder, "--publish")
	if code != 1 || !strings.Contains(stdout, `publish "B"`) || !strings.Contains(stderr, inFolder(folder, "a.json")+":3: nodes[0].config.expression: ") {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
}

func inFolder(folder, file string) string { return filepath.Join(folder, file) }

func TestWhatSomebodyElseChangedMeanwhileIsNotOverwritten(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	files := workflowFiles(t)
	u.ok("workflow", "apply", folderOf(t, files), "--publish")
	files["invoice-paid.json"] = strings.Replace(files["invoice-paid.json"], "billing", "sales", 1)
	wanted, err := workflowfile.ReadFolder(folderOf(t, files))
	if err != nil {
		t.Fatal(err)
	}
	for claim, meanwhile := range map[string]func(c *client.Client){
		"before it is read again": func(*client.Client) {
			u.ask(http.MethodPatch, "/workflows/"+u.workflow("Invoice paid"), `{"description":"by hand"}`)
		},
		"behind that": func(c *client.Client) {
			c.HTTP.Transport = beforePatch(func() {
				u.ask(http.MethodPatch, "/workflows/"+u.workflow("Invoice paid"), `{"description":"by another hand"}`)
			})
		},
	} {
		c, err := client.Connect(u.server.url, u.key)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := workflowfile.NewGateway(c, "").Plan(t.Context(), wanted, workflowfile.Options{Publish: true})
		if err != nil {
			t.Fatal(err)
		}
		meanwhile(c)
		err = plan.Run(t.Context(), func(s workflowfile.Step, _ string) { t.Errorf("%s: %s", claim, s.Text) })
		if err == nil || !strings.Contains(err.Error(), "was changed") && !strings.Contains(err.Error(), "precondition_failed") {
			t.Errorf("%s: %v", claim, err)
		}
		if wf := u.ask(http.MethodGet, "/workflows/"+u.workflow("Invoice paid"), ""); !strings.Contains(fmt.Sprint(wf["metadata"]), "billing") {
			t.Errorf("%s it was overwritten: %v", claim, wf)
		}
	}
}

// beforePatch does something before each PATCH is sent.
type beforePatch func()

func (do beforePatch) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch {
		do()
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestANarrowedKeySeesItsPartAndDoesWhatItMay(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	key := func(body string) fileUser { return u.with(fmt.Sprint(u.post("/api-keys", body)["key"])) }
	files := map[string]string{"weekly-report.json": workflowFiles(t)["weekly-report.json"]}
	folder := folderOf(t, files)

	// Of a sub-tenant, next to a workflow of the same name that belongs to none.
	u.ok("workflow", "apply", folder, "--publish")
	ofCompany := key(`{"name":"ci","type":"secret","subTenantId":"company"}`)
	if code, _, stderr := ofCompany.run("workflow", "apply", folder, "--publish", "--sub-tenant", "company"); code != 0 {
		t.Fatalf("%d %s", code, stderr)
	}
	for who, got := range map[string]map[string]string{"the company": ofCompany.exported("--sub-tenant", "company"), "the tenant": u.exported(), "the tenant for it": u.exported("--sub-tenant", "company")} {
		if diff := cmp.Diff(files, got); diff != "" {
			t.Errorf("%s has another one: %s", who, diff)
		}
	}
	if code, _, stderr := ofCompany.run("workflow", "apply", folder, "--sub-tenant", "another"); code != 1 || !strings.Contains(stderr, "outside_scope") {
		t.Errorf("into another company: %d %s", code, stderr)
	}

	// Who may only read compares and does not change; what is hidden from them is not taken for the text of it.
	reader := key(`{"name":"ci","type":"secret","permissions":["workflows:read","triggers:read"]}`)
	if code, stdout, stderr := reader.run("workflow", "diff", folder); code != 0 {
		t.Errorf("a reader sees a difference: %d %s %s", code, stdout, stderr)
	}
	other := folderOf(t, map[string]string{"a.json": strings.Replace(files["weekly-report.json"], "Weekly report", "Another", 1)})
	if code, _, stderr := reader.run("workflow", "apply", other); code != 1 || !strings.Contains(stderr, "permission_missing") && !strings.Contains(stderr, "(forbidden") {
		t.Errorf("a reader applies: %d %s", code, stderr)
	}
	u.ok("workflow", "apply", folderOf(t, map[string]string{"s.json": `{"sluice": 1, "name": "S", "nodes": [{"id": "a", "type": "httpRequest", "version": "1.0.0", "name": "A",
		"config": {"url": "https://a.example.com", "headers": {"Authorization": "Bearer abc"}}}], "edges": []}`}), "--publish")
	if code, _, stderr := reader.run("workflow", "export", t.TempDir()); code != 1 || !strings.Contains(stderr, "S: nodes[0].config.headers.Authorization: is hidden from this key") {
		t.Errorf("a reader exports: %d %s", code, stderr)
	}
}

func TestExportKeepsTheFilesOfAFolder(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	u.ok("workflow", "apply", folderOf(t, workflowFiles(t)), "--publish")
	folder := folderOf(t, map[string]string{
		"mine.json": `{"sluice": 1, "name": "Weekly report", "nodes": [], "edges": []}`,
		"gone.json": `{"sluice": 1, "name": "Gone", "nodes": [], "edges": []}`,
	})
	_, stdout, stderr := u.run("workflow", "export", folder)
	if !strings.Contains(stdout, "wrote "+filepath.Join(folder, "mine.json")) || !strings.Contains(stderr, "gone.json: the gateway has no such workflow") {
		t.Errorf("%s %s", stdout, stderr)
	}
	if stdout := u.ok("workflow", "export", folder, "--prune"); stdout != "removed "+filepath.Join(folder, "gone.json")+"\n" {
		t.Errorf("pruned: %s", stdout)
	}
	want := workflowFiles(t)
	want["mine.json"] = want["weekly-report.json"]
	delete(want, "weekly-report.json")
	if diff := cmp.Diff(want, filesIn(t, folder)); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAnAddressOrAKeyTheSettingIsNamed(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	for _, command := range []string{"export", "diff", "apply"} {
		if code, _, stderr := b.run("workflow", command, t.TempDir()); code != exitUsage || !strings.Contains(stderr, "SLUICE_URL must be set") {
			t.Errorf("%s: %d %s", command, code, stderr)
		}
	}
	b.environ = append(b.environ, "SLUICE_URL=http://127.0.0.1:1", "SLUICE_API_KEY=x")
	if code, _, stderr := b.run("workflow", "diff", folderOf(t, workflowFiles(t))); code != 2 || !strings.Contains(stderr, "connection refused") {
		t.Errorf("a gateway that does not answer: %d %s", code, stderr)
	}
}

// A folder without files is a mistake more often than the wish to have no workflows, and so is a key that sees none.
func TestNothingIsPrunedWhereNothingIsSeen(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	folder := folderOf(t, workflowFiles(t))
	u.ok("workflow", "apply", folder, "--publish")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if stdout := u.ok("workflow", "apply", link, "--publish", "--prune"); stdout != "nothing to change\n" {
		t.Errorf("by a link: %s", stdout)
	}
	if code, stdout, stderr := u.run("workflow", "apply", t.TempDir(), "--prune"); code != exitUsage || stdout != "" || !strings.Contains(stderr, "has no files whose names end in .json") {
		t.Errorf("an empty folder: %d %s %s", code, stdout, stderr)
	}
	other := u.with(fmt.Sprint(b.json("tenant", "create", "--name", "Another")["secretKey"]))
	if code, _, stderr := other.run("workflow", "export", folder, "--prune"); code != 1 || !strings.Contains(stderr, "no file was removed") {
		t.Errorf("a key that sees none: %d %s", code, stderr)
	}
	if diff := cmp.Diff(workflowFiles(t), filesIn(t, folder)); diff != "" {
		t.Error(diff)
	}
}

func TestTriggersOfADraftStayWithIt(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	const file = `{"sluice": 1, "name": "A", "triggers": [{"name": "T", "type": "webhook", "hook": {"scheme": {"kind": "none"}}}],
		"nodes": [{"id": "a", "type": "transform", "version": "1.0.0", "name": "A", "config": {"expression": "%d"}}], "edges": []}`
	apply := func(expression int, args ...string) string {
		t.Helper()
		return u.ok(append([]string{"workflow", "apply", folderOf(t, map[string]string{"a.json": fmt.Sprintf(file, expression)})}, args...)...)
	}
	draft := func() string {
		t.Helper()
		return fmt.Sprint(u.post("/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[]}`, u.workflow("A")))["id"])
	}
	triggers := func() (all []string) {
		t.Helper()
		for _, one := range u.ask(http.MethodGet, "/triggers?sortBy=createdAt&sortOrder=asc", "")["items"].([]any) {
			all = append(all, fmt.Sprintf("%v of %v", one.(map[string]any)["name"], one.(map[string]any)["workflowVersionId"]))
		}
		return all
	}

	// Never published: what was made before is found with whatever version it is, and goes on with the next.
	apply(1)
	draft()
	if said := apply(2, "--publish"); !strings.Contains(said, `change the trigger "T"`) || len(triggers()) != 1 {
		t.Errorf("applied again: %s, then %s", said, triggers())
	}
	// Published: those of a draft are not the file's.
	theirs := draft()
	u.post("/triggers", fmt.Sprintf(`{"workflowVersionId":%q,"name":"X","type":"webhook","config":{}}`, theirs))
	want := triggers()
	if said := apply(2, "--publish", "--prune"); said != "nothing to change\n" {
		t.Errorf("beside a draft: %s", said)
	}
	if exported := u.exported()["a.json"]; strings.Contains(exported, `"X"`) {
		t.Errorf("exported with that of a draft: %s", exported)
	}
	if diff := cmp.Diff(want, triggers()); diff != "" {
		t.Error(diff)
	}
	// A file of a draft changes nothing that is active.
	asDraft := strings.Replace(fmt.Sprintf(file, 3), `"name": "A",`, `"name": "A", "draft": true,`, 1)
	code, stdout, stderr := u.run("workflow", "apply", folderOf(t, map[string]string{"a.json": strings.Replace(asDraft, `"name": "T"`, `"name": "S"`, 1)}), "--publish", "--prune")
	if code != 0 || strings.Contains(stdout, "trigger") || strings.Contains(stdout, "publish") || !strings.Contains(stderr, "its file says that it is a draft") {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
	if diff := cmp.Diff(want, triggers()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatMeansTheSameIsAppliedOnce(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	long := strings.Repeat("ж", 200)
	folder := folderOf(t, map[string]string{"a.json": `{"sluice": 1, "name": "` + long + `", "triggers": [{"name": "T", "type": "webhook", "hook": {"scheme": {"kind": "none"}, "allowFrom": ["192.0.2.1/32", "2001:DB8::/32"]}}],
		"nodes": [{"id": "a", "type": "code", "version": "1.0.0", "name": "A", "position": {"x": 320}, "config": {"source": ["return 1;"]}}], "edges": []}`})
	u.ok("workflow", "apply", folder, "--publish")
	if said := u.ok("workflow", "apply", folder, "--publish"); said != "nothing to change\n" {
		t.Errorf("the second time: %s", said)
	}
	if files := u.exported(); len(files) != 1 {
		t.Errorf("exported as %d files", len(files))
	}
}

func TestWhatAKeyIsNotShownIsNotExported(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	u := newFileUser(t, b, b.start("serve"))
	u.ok("workflow", "apply", folderOf(t, map[string]string{"s.json": `{"sluice": 1, "name": "S", "nodes": [
		{"id": "a", "type": "code", "version": "1.0.0", "name": "A", "config": {"source": "const key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'; return key.length;"}},
		{"id": "b", "type": "httpRequest", "version": "1.1.0", "name": "B", "config": {"url": "https://api.example.com", "connection": {"$connection": "Our API"}}}], "edges": []}`}), "--publish")
	reader := u.with(fmt.Sprint(u.post("/api-keys", `{"name":"ci","type":"secret","permissions":["workflows:read","triggers:read"]}`)["key"]))
	code, _, stderr := reader.run("workflow", "export", t.TempDir())
	for _, want := range []string{"nodes[0].config.source: is hidden from this key", "nodes[1].config.connection: is conn_"} {
		if code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%d, %s is not said: %s", code, want, stderr)
		}
	}
}
