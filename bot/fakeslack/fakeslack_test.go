package fakeslack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/snapflame/snapflame/bot/fakeslack"
)

func client(w *fakeslack.Workspace) *slack.Client {
	return slack.New(fakeslack.BotToken, slack.OptionAPIURL("http://slack.test/api/"), slack.OptionHTTPClient(&http.Client{Transport: w.Transport()}))
}

func code(err error) string {
	if e, ok := errors.AsType[slack.SlackErrorResponse](err); ok {
		return e.Err
	}
	if err == nil {
		return "ok"
	}
	return err.Error()
}

func say(text string) slack.MsgOption { return slack.MsgOptionText(text, false) }

func TestThreads(t *testing.T) {
	w := &fakeslack.Workspace{}
	c, ctx := client(w), t.Context()
	_, root, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("root"))
	if err != nil {
		t.Fatal(err)
	}
	_, reply, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("reply"), slack.MsgOptionTS(root))
	if err != nil || reply <= root {
		t.Fatalf("reply: ts %s after %s, %v", reply, root, err)
	}
	if _, _, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("x"), slack.MsgOptionTS("1.000001")); code(err) != "thread_not_found" {
		t.Errorf("reply to nothing: got %v", err)
	}
	w.Delete(fakeslack.Incidents, root)
	_, _, m, err := c.PostMessageWithResponseContext(ctx, fakeslack.Incidents, say("late"), slack.MsgOptionTS(root))
	if err != nil || m.ThreadTimestamp != "" {
		t.Errorf("a reply to a deleted message: thread %q, %v; want it in the channel", m.ThreadTimestamp, err)
	}
	if _, _, _, err := c.UpdateMessageContext(ctx, fakeslack.Incidents, root, say("x")); code(err) != "message_not_found" {
		t.Errorf("edit of a deleted message: got %v", err)
	}
}

func TestEditWithoutBlocksLosesThem(t *testing.T) {
	w := &fakeslack.Workspace{}
	c, ctx := client(w), t.Context()
	block := slack.NewSectionBlock(slack.NewTextBlockObject("plain_text", "body", false, false), nil, nil)
	_, ts, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("one"), slack.MsgOptionBlocks(block))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := c.UpdateMessageContext(ctx, fakeslack.Incidents, ts, say("two")); err != nil {
		t.Fatal(err)
	}
	m := w.Messages(fakeslack.Incidents)[0]
	if m.Text != "two" || m.Blocks != nil || len(m.Edits) != 1 {
		t.Errorf("got %q, blocks %s, %d edits", m.Text, m.Blocks, len(m.Edits))
	}
}

func TestChannelsAndScopes(t *testing.T) {
	cases := map[string]struct {
		channel fakeslack.Channel
		scopes  []string
		want    string
	}{
		"member":           {fakeslack.Channel{Member: true}, []string{"chat:write"}, "ok"},
		"public":           {fakeslack.Channel{}, []string{"chat:write", "chat:write.public"}, "ok"},
		"not in channel":   {fakeslack.Channel{}, []string{"chat:write"}, "not_in_channel"},
		"private":          {fakeslack.Channel{Private: true}, []string{"chat:write", "chat:write.public"}, "channel_not_found"},
		"archived":         {fakeslack.Channel{Member: true, Archived: true}, []string{"chat:write"}, "is_archived"},
		"scope is missing": {fakeslack.Channel{Member: true}, []string{"commands"}, "missing_scope"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := &fakeslack.Workspace{Scopes: c.scopes}
			c.channel.ID, c.channel.Name = "C0OTHER0000", "other"
			w.AddChannel(c.channel)
			_, _, err := client(w).PostMessageContext(t.Context(), c.channel.ID, say("x"))
			if got := code(err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUploadAppearsLateAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeslack.Workspace{ShareDelay: 2 * time.Second}
		c, ctx := client(w), t.Context()
		_, root, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("root"))
		if err != nil {
			t.Fatal(err)
		}
		data := picture(t)
		f, err := c.UploadFileContext(ctx, slack.UploadFileParameters{Filename: "a.png", FileSize: len(data), Reader: bytes.NewReader(data), Channel: fakeslack.Incidents, ThreadTimestamp: root, AltTxt: "alt"})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(w.Messages(fakeslack.Incidents)); n != 1 {
			t.Errorf("%d messages at once, want the picture later", n)
		}
		time.Sleep(3 * time.Second)
		got := w.Messages(fakeslack.Incidents)
		if len(got) != 2 || got[1].ThreadTS != root || got[1].Files[0] != f.ID {
			t.Errorf("after the delay: %+v", got)
		}
		_, err = c.CompleteUploadExternalContext(ctx, slack.CompleteUploadExternalParameters{Files: []slack.FileSummary{{ID: f.ID}}, Channel: fakeslack.Incidents})
		if code(err) != "file_already_completed" {
			t.Errorf("a second completion: got %v", err)
		}
		if _, err = c.UploadFileContext(ctx, slack.UploadFileParameters{Filename: "a.png", FileSize: len(data) + 1, Reader: bytes.NewReader(data)}); err == nil {
			t.Error("a wrong length was taken")
		}
		if _, _, _, err := c.GetFileInfoContext(ctx, f.ID, 0, 0); code(err) != "missing_scope" {
			t.Errorf("files.info without files:read: got %v", err)
		}
	})
}

func TestUploadNeedsMembership(t *testing.T) {
	w := &fakeslack.Workspace{}
	w.AddChannel(fakeslack.Channel{ID: "C0PUBLIC000", Name: "public"})
	data := picture(t)
	_, err := client(w).UploadFileContext(t.Context(), slack.UploadFileParameters{Filename: "a.png", FileSize: len(data), Reader: bytes.NewReader(data), Channel: "C0PUBLIC000"})
	if code(err) != "not_in_channel" {
		t.Errorf("got %v, want not_in_channel although the bot may write there", err)
	}
}

func TestFaults(t *testing.T) {
	w := &fakeslack.Workspace{}
	c, ctx := client(w), t.Context()
	post := func() error {
		_, _, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("x"))
		return err
	}
	w.Fail("chat.postMessage", 1, fakeslack.Fault{Status: 429, RetryAfter: 7 * time.Second})
	w.Fail("chat.postMessage", 1, fakeslack.Fault{Status: 502})
	w.Fail("*", 1, fakeslack.Fault{Error: "fatal_error"})
	w.Fail("chat.postMessage", 1, fakeslack.Fault{Reset: fakeslack.Before})
	w.Fail("chat.postMessage", 1, fakeslack.Fault{Reset: fakeslack.After})
	if e, ok := errors.AsType[*slack.RateLimitedError](post()); !ok || e.RetryAfter != 7*time.Second {
		t.Errorf("429: got %v", e)
	}
	if e, ok := errors.AsType[slack.StatusCodeError](post()); !ok || e.Code != 502 {
		t.Errorf("502: got %v", e)
	}
	if err := post(); code(err) != "fatal_error" {
		t.Errorf("an error answer: got %v", err)
	}
	for range 2 {
		if err := post(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a reset: got %v", err)
		}
	}
	if n := len(w.Messages(fakeslack.Incidents)); n != 1 {
		t.Errorf("%d messages, want the one whose answer was lost", n)
	}
	if err := post(); err != nil {
		t.Errorf("after the faults: %v", err)
	}
	log := w.Log()
	if last := log[len(log)-2]; !last.Effect || !last.Lost {
		t.Errorf("the log does not tell the lost answer: %+v", last)
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeslack.Workspace{Burst: 2}
		c := client(w)
		var got strings.Builder
		for range 4 {
			if _, _, err := c.PostMessageContext(t.Context(), fakeslack.Incidents, say("x")); err != nil {
				got.WriteByte('-')
			} else {
				got.WriteByte('+')
			}
		}
		time.Sleep(time.Second)
		if _, _, err := c.PostMessageContext(t.Context(), fakeslack.Incidents, say("x")); err == nil {
			got.WriteByte('+')
		}
		if got.String() != "++--+" {
			t.Errorf("got %s, want ++--+", &got)
		}
	})
}

func TestHistoryFindsMetadata(t *testing.T) {
	w := &fakeslack.Workspace{Scopes: append(fakeslack.DefaultScopes(), "channels:history")}
	c, ctx := client(w), t.Context()
	for _, key := range []string{"a", "b", "c"} {
		md := slack.SlackMetadata{EventType: "snapflame_post", EventPayload: map[string]any{"key": key}}
		if _, _, err := c.PostMessageContext(ctx, fakeslack.Incidents, say(key), slack.MsgOptionMetadata(md)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := c.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: fakeslack.Incidents, Limit: 2, IncludeAllMetadata: true})
	if err != nil || len(h.Messages) != 2 || h.Messages[0].Metadata.EventPayload["key"] != "c" || h.ResponseMetaData.NextCursor == "" {
		t.Errorf("got %+v, %v", h, err)
	}
	dotted := slack.SlackMetadata{EventType: "snapflame.post", EventPayload: map[string]any{"key": "d"}}
	if _, _, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("d"), slack.MsgOptionMetadata(dotted)); err != nil {
		t.Fatal(err)
	}
	if m := w.Messages(fakeslack.Incidents); m[3].Key() != "" {
		t.Error("metadata of a type with a dot was kept")
	}
	if _, err := client(&fakeslack.Workspace{}).GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: fakeslack.Incidents}); code(err) != "missing_scope" {
		t.Errorf("without the scope: got %v", err)
	}
}

func raw(t *testing.T, w *fakeslack.Workspace, method string, form url.Values) map[string]any {
	t.Helper()
	form.Set("token", fakeslack.BotToken)
	r := httptest.NewRequest(http.MethodPost, "http://slack.test/api/"+method, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	var out map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: %s", method, rec.Body)
	}
	return out
}

func TestBlocksThatSlackRefuses(t *testing.T) {
	long := strings.Repeat("x", 3001)
	cases := map[string]string{
		"null cell":         `[{"type":"table","rows":[[null]]}]`,
		"empty cell":        `[{"type":"table","rows":[[{"type":"raw_text","text":""}]]}]`,
		"empty align":       `[{"type":"table","rows":[[{"type":"raw_text","text":"a"}]],"column_settings":[{"align":""}]}]`,
		"null setting":      `[{"type":"table","rows":[[{"type":"raw_text","text":"a"}]],"column_settings":[null]}]`,
		"number, no text":   `[{"type":"table","rows":[[{"type":"raw_number","value":1}]]}]`,
		"long section":      `[{"type":"section","text":{"type":"mrkdwn","text":"` + long + `"}}]`,
		"empty section":     `[{"type":"section","text":{"type":"mrkdwn","text":""}}]`,
		"alert":             `[{"type":"alert","text":{"type":"mrkdwn","text":"a"}}]`,
		"unknown":           `[{"type":"plan"}]`,
		"input":             `[{"type":"input","label":{"type":"plain_text","text":"a"},"element":{"type":"plain_text_input","action_id":"a"}}]`,
		"empty url":         `[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"a"},"url":""}]}]`,
		"same action":       `[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"a"}},{"type":"button","action_id":"a","text":{"type":"plain_text","text":"a"}}]}]`,
		"no action":         `[{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"a"}}]}]`,
		"svg":               `[{"type":"image","image_url":"https://x.example/a.svg","alt_text":"a"}]`,
		"slack file id":     `[{"type":"image","slack_file":{"id":"f1"},"alt_text":"a"}]`,
		"private file":      `[{"type":"image","slack_file":{"id":"F0A1B2C3D4"},"alt_text":"a"}]`,
		"markdown button":   `[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"mrkdwn","text":"a"}}]}]`,
		"emoji in mrkdwn":   `[{"type":"section","text":{"type":"mrkdwn","text":"a","emoji":true}}]`,
		"rich text mention": `[{"type":"rich_text","elements":[{"type":"rich_text_preformatted","elements":[{"type":"broadcast","range":"here"}]}]}]`,
		"fifty-one":         "[" + strings.TrimSuffix(strings.Repeat(`{"type":"divider"},`, 51), ",") + "]",
		"two tables":        `[{"type":"table","rows":[[{"type":"raw_text","text":"a"}]]},{"type":"table","rows":[[{"type":"raw_text","text":"a"}]]}]`,
	}
	for name, blocks := range cases {
		t.Run(name, func(t *testing.T) {
			got := raw(t, &fakeslack.Workspace{}, "chat.postMessage", url.Values{"channel": {fakeslack.Incidents}, "text": {"x"}, "blocks": {blocks}})
			if got["error"] != "invalid_blocks" {
				t.Errorf("got %v, want invalid_blocks", got)
			}
		})
	}
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"type":"section","text":{"type":"plain_text","text":"`+long[:2900]+`"}},`, 5), ",") + "]"
	if got := raw(t, &fakeslack.Workspace{}, "chat.postMessage", url.Values{"channel": {fakeslack.Incidents}, "blocks": {many}}); got["error"] != "msg_blocks_too_long" {
		t.Errorf("14,500 characters: got %v", got)
	}
	md := `[{"type":"markdown","text":"# a"}]`
	if got := raw(t, &fakeslack.Workspace{}, "files.completeUploadExternal", url.Values{"files": {`[{"id":"F1"}]`}, "blocks": {md}}); got["error"] != "internal_error" {
		t.Errorf("markdown with an upload: got %v", got)
	}
	w := &fakeslack.Workspace{}
	if got := raw(t, w, "files.upload", url.Values{}); got["error"] != "method_deprecated" || len(w.Violations()) != 1 {
		t.Errorf("files.upload: got %v, %v", got, w.Violations())
	}
}

func TestMentionsAreViolations(t *testing.T) {
	live := []string{
		`[{"type":"section","text":{"type":"mrkdwn","text":"<!channel>"}}]`,
		`[{"type":"section","text":{"type":"mrkdwn","text":"see https://evil.example"}}]`,
		`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U1"}]}]}]`,
	}
	for _, b := range live {
		w := &fakeslack.Workspace{}
		raw(t, w, "chat.postMessage", url.Values{"channel": {fakeslack.Incidents}, "text": {"x"}, "blocks": {b}})
		if len(w.Violations()) != 1 {
			t.Errorf("%s: violations %q", b, w.Violations())
		}
	}
	w := &fakeslack.Workspace{AllowMentions: []string{"<!here>"}}
	raw(t, w, "chat.postMessage", url.Values{"channel": {fakeslack.Incidents}, "text": {"<!here> &lt;!channel&gt;"}, "blocks": {`[{"type":"section","text":{"type":"plain_text","text":"<!channel>"}}]`}})
	if v := w.Violations(); len(v) != 0 {
		t.Errorf("allowed and inert mentions: %q", v)
	}
}

// app is a bot's far end: it records and answers.
type app struct {
	got  []string
	body string
}

func (a *app) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	a.got = append(a.got, r.URL.Path+" "+string(b))
	io.WriteString(rw, a.body)
}

func TestPeopleOverHTTP(t *testing.T) {
	a := &app{body: `{"text":"working on it"}`}
	srv := httptest.NewServer(a)
	defer srv.Close()
	now := time.Unix(1_700_000_000, 0)
	w := &fakeslack.Workspace{RequestURL: srv.URL, Now: func() time.Time { return now }}
	c, ctx := client(w), t.Context()
	ack, err := w.Slash(ctx, fakeslack.Ana, fakeslack.Incidents, "/profile cpu a b")
	if err != nil || !strings.Contains(a.got[0], "text=cpu+a+b") {
		t.Fatalf("slash: %v, %v", a.got, err)
	}
	if m := w.Messages(fakeslack.Incidents); len(m) != 1 || m[0].Only != fakeslack.Ana || m[0].Text != "working on it" {
		t.Errorf("the answer to the command: %+v", m)
	}
	trigger, answer := ack.Act.Payload["trigger_id"].(string), ack.Act.Payload["response_url"].(string)
	hc := &http.Client{Transport: w.Transport()}
	for i := range 6 {
		err := slack.PostWebhookCustomHTTPContext(ctx, answer, hc, &slack.WebhookMessage{Text: "x"})
		if (err == nil) != (i < 5) {
			t.Errorf("answer %d: %v", i+1, err)
		}
	}
	view := slack.ModalViewRequest{Type: slack.VTModal, Title: slack.NewTextBlockObject("plain_text", "Form", false, false), Blocks: slack.Blocks{BlockSet: []slack.Block{
		slack.NewInputBlock("worker", slack.NewTextBlockObject("plain_text", "Worker", false, false), nil, slack.NewPlainTextInputBlockElement(nil, "worker")),
	}}}
	if _, err := c.OpenViewContext(ctx, trigger, view); err != nil {
		t.Fatalf("open a view: %v", err)
	}
	if _, err := c.OpenViewContext(ctx, trigger, view); code(err) != "exchanged_trigger_id" {
		t.Errorf("the trigger again: %v", err)
	}
	a.body = ""
	ack, err = w.Shortcut(ctx, fakeslack.Ana, "profile_global", fakeslack.Message{})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(4 * time.Second)
	if _, err := c.OpenViewContext(ctx, ack.Act.Payload["trigger_id"].(string), view); code(err) != "expired_trigger_id" {
		t.Errorf("a late trigger: %v", err)
	}
	a.body = `{"response_action":"errors","errors":{"worker":"no such Worker"}}`
	if _, err := w.Submit(ctx, fakeslack.Ana, w.Views()[0], map[string]string{"worker": "x"}); err != nil {
		t.Errorf("submit: %v", err)
	}
	a.body = `{"response_action":"errors","errors":{"nothing":"x"}}`
	if _, err := w.Submit(ctx, fakeslack.Ana, w.Views()[0], nil); err == nil {
		t.Error("an error for an input that is not there was taken")
	}
	a.body = `{"options":[{"text":{"type":"plain_text","text":"checkout"},"value":"checkout"}]}`
	if _, err := w.Suggest(ctx, fakeslack.Ana, w.Views()[0], "worker", "che"); err != nil {
		t.Errorf("suggest: %v", err)
	}
	a.body = ""
	if ack, err = w.Mention(ctx, fakeslack.Ana, fakeslack.Incidents, "", "help <me>"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Repeat(ctx, ack); err != nil || a.got[len(a.got)-1] != a.got[len(a.got)-2] {
		t.Errorf("a repeated event differs or fails: %v", err)
	}
	if v := w.Violations(); len(v) != 0 {
		t.Error(v)
	}
}

func TestSocketMode(t *testing.T) {
	w := &fakeslack.Workspace{AckWithin: 300 * time.Millisecond}
	base, err := w.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	sm := socketmode.New(slack.New(fakeslack.BotToken, slack.OptionAppLevelToken(fakeslack.AppToken), slack.OptionAPIURL(base)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := sm.RunContext(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("socket mode: %v", err)
		}
	}()
	seen := make(chan string, 10)
	go func() {
		for e := range sm.Events {
			if e.Type == socketmode.EventTypeSlashCommand {
				if err := sm.Ack(*e.Request, map[string]string{"text": "ok"}); err != nil {
					t.Error(err)
				}
				seen <- e.Request.EnvelopeID
			}
		}
	}()
	if err := w.WaitSockets(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if ack, err := w.Slash(ctx, fakeslack.Ana, fakeslack.Incidents, "/profile help"); err != nil || ack.Tries != 1 {
		t.Fatalf("slash: %+v, %v", ack, err)
	}
	<-seen
	w.DropAcks(1)
	if ack, err := w.Slash(ctx, fakeslack.Ana, fakeslack.Incidents, "/profile help"); err != nil || ack.Tries != 2 {
		t.Errorf("with a lost acknowledgement: %+v, %v; want two deliveries", ack, err)
	}
	if a, b := <-seen, <-seen; a != b {
		t.Errorf("redelivered under another envelope id: %s, %s", a, b)
	}
	if err := w.Refresh("refresh_requested"); err != nil {
		t.Fatal(err)
	}
	if err := w.WaitSockets(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Slash(ctx, fakeslack.Ana, fakeslack.Incidents, "/profile help"); err != nil {
		t.Errorf("after a refresh: %v", err)
	}
	cancel()
	<-done
}

func TestPageShowsChannel(t *testing.T) {
	w := &fakeslack.Workspace{}
	c, ctx := client(w), t.Context()
	button := slack.NewActionBlock("", slack.NewButtonBlockElement("go", "v1:1", slack.NewTextBlockObject("plain_text", "Go <b>", false, false)))
	_, root, err := c.PostMessageContext(ctx, fakeslack.Incidents, say("root"), slack.MsgOptionBlocks(slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", "`&lt;script&gt;` <https://a.example|there>", false, true), nil, nil), button))
	if err != nil {
		t.Fatal(err)
	}
	data := picture(t)
	f, err := c.UploadFileContext(ctx, slack.UploadFileParameters{Filename: "a.png", FileSize: len(data), Reader: bytes.NewReader(data), Channel: fakeslack.Incidents, ThreadTimestamp: root, AltTxt: `alt "quoted"`})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		return rec.Body.String()
	}
	page := get("/")
	for _, want := range []string{"<code>&lt;script&gt;</code>", `<a rel="noreferrer" href="https://a.example">there</a>`, "Go &lt;b&gt;", `src="/files/` + f.ID, `alt="alt &#34;quoted&#34;"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if got := get("/files/" + f.ID); got != string(data) {
		t.Errorf("the picture has %d bytes, want %d", len(got), len(data))
	}
	if !strings.Contains(w.Transcript(), "    │   [png: a.png") {
		t.Errorf("transcript:\n%s", w.Transcript())
	}
	if v := w.Violations(); len(v) != 0 {
		t.Error(v)
	}
}
