package flame_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

var shots = flag.String("shots", "", "write screenshots of the page to this folder, to look at")

// visitor is a test with a browser.
type visitor struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps its browser in a context
}

// run gives a subtest to the same browser.
func (v visitor) run(name string, f func(v visitor)) {
	v.t.Run(name, func(t *testing.T) { f(visitor{t, v.ctx}) })
}

// browser starts one headless Chromium for a test and its subtests.
func browser(t *testing.T) visitor {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium, google-chrome or headless-shell in PATH: the page is not tested")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return visitor{t, ctx}
}

// tab is one open page, and what it did that it must not.
type tab struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // as above
	mu   sync.Mutex
	sins []string
}

// open writes the page to a file and opens it in a new tab. What the page logs
// and requests is an error when the test ends.
func (v visitor) open(r *report.Report, width, height int64, hash string) *tab {
	t := v.t
	t.Helper()
	var b bytes.Buffer
	if err := flame.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return v.visit("file://"+path+hash, width, height)
}

// visit opens an address in a new tab.
func (v visitor) visit(address string, width, height int64) *tab {
	t := v.t
	t.Helper()
	ctx, stop := chromedp.NewContext(v.ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, stop = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx}
	url, _, _ := strings.Cut(address, "#")
	if err := chromedp.Listen(ctx, func(ev any) { p.watch(ev, url) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, sin := range p.sins {
			t.Errorf("the page %s", sin)
		}
	})
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	view := []chromedp.EmulateViewportOption{}
	if width < 600 {
		view = append(view, chromedp.EmulateMobile)
	}
	p.do(chromedp.EmulateViewport(width, height, view...), chromedp.Navigate(address))
	return p
}

func (p *tab) watch(ev any, url string) {
	sin := ""
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		sin = "threw " + e.ExceptionDetails.Text
		if o := e.ExceptionDetails.Exception; o != nil {
			sin += " " + o.Description
		}
	case *runtime.EventConsoleAPICalled:
		sin = fmt.Sprintf("wrote to the console: %s", e.Args[0].Value)
	case *log.EventEntryAdded:
		sin = "was told off: " + e.Entry.Text
	case *page.EventJavascriptDialogOpening:
		sin = "opened a dialog: " + e.Message
	case *network.EventRequestWillBeSent:
		if u, _, _ := strings.Cut(e.Request.URL, "#"); !slices.Contains([]string{url, url + "flame.js", url + "flame.css"}, u) {
			sin = "requested " + e.Request.URL
		}
	}
	if sin != "" {
		p.mu.Lock()
		p.sins = append(p.sins, sin)
		p.mu.Unlock()
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// text is an element's text with its spaces folded.
func (p *tab) text(sel string) string {
	p.t.Helper()
	return strings.Join(strings.Fields(p.eval(`document.querySelector(`+fmt.Sprintf("%q", sel)+`).innerText`)), " ")
}

func (p *tab) eval(js string) string {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("String("+js+")"))
	if err != nil {
		p.t.Fatalf("%v in %s", err, js)
	}
	return v
}

// until waits for a condition, frame by frame.
func (p *tab) until(js string) {
	p.t.Helper()
	wait := `new Promise((done) => { const look = () => (` + js + `) ? done(true) : requestAnimationFrame(look); look(); })`
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise)); err != nil {
		p.t.Fatalf("%v while waiting for %s", err, js)
	}
}

// shows waits until an element's text holds want: the page may draw a moment
// after the key that made it.
func (p *tab) shows(what, css, want string) {
	p.t.Helper()
	find := fmt.Sprintf("document.querySelector(%q).innerText.split(/\\s+/).join(' ').includes(%q)", css, want)
	wait := `new Promise((done) => {
		const end = performance.now() + 5000;
		const look = () => (` + find + `) ? done(true) : performance.now() > end ? done(false) : requestAnimationFrame(look);
		look();
	})`
	ok, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	if !ok {
		p.t.Errorf("%s: %q, want it to hold %q", what, p.text(css), want)
	}
}

func (p *tab) click(css string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(css)))
}

func (p *tab) focus(css string) {
	p.t.Helper()
	p.do(chromedp.Focus(chromedp.CSS(css)))
}

func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

func (p *tab) wants(what, got, want string) {
	p.t.Helper()
	if !strings.Contains(got, want) {
		p.t.Errorf("%s: %q, want it to hold %q", what, got, want)
	}
}

// clickRow clicks into the picture: x from 0 to 1, row from the top.
func (p *tab) clickRow(x float64, row int) {
	p.t.Helper()
	at, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]float64](`(() => { const r = document.getElementById('sf-canvas').getBoundingClientRect(); return [r.left, r.top, r.width]; })()`))
	if err != nil {
		p.t.Fatal(err)
	}
	p.do(chromedp.MouseClickXY(at[0]+x*at[2], at[1]+float64(row)*22+11))
}

func (p *tab) shot(name string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	b, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), b, 0o600); err != nil {
		p.t.Fatal(err)
	}
}
