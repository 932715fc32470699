package flame_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/snapflame/snapflame/report/flame"
)

func TestPage(t *testing.T) {
	b := browser(t)
	b.run("zoom", testZoom)
	b.run("keyboard", testKeyboard)
	b.run("search", testSearch)
	b.run("table", testTable)
	b.run("sandwich", testSandwich)
	b.run("compare", testCompare)
	b.run("theme", testTheme)
	b.run("phone", testPhone)
	b.run("link", testLink)
	b.run("hostile", testHostile)
	b.run("large", testLarge)
}

func testZoom(v visitor) {
	p := v.open(load(v.t, "typescript.cpu.pb.gz"), 1440, 1000, "")
	p.shows("title", "h1", "genericJsonReplacer uses 21.6 % of busy CPU")
	p.shows("legend", "#sf-legend", "garbage collector 19.2 %")
	p.shot("flame-light-1440")
	p.clickRow(0.4, 2) // /listing
	p.shows("path", "#sf-crumbs", "All frames fetch /listing 24.8 %")
	p.shows("details", "#sf-what", "src/gateway.ts:17")
	p.shot("zoom-light-1440")
	p.clickRow(0.5, 1) // its caller stays above it, full width
	p.shows("path after a click on the caller", "#sf-crumbs", "All frames fetch 55.4 %")
	p.click(`#sf-crumbs button`)
	if got := p.text("#sf-crumbs"); got != "All frames" {
		v.t.Errorf("path after All frames is %q", got)
	}
}

func testKeyboard(v visitor) {
	p := v.open(load(v.t, "typescript.cpu.pb.gz"), 1440, 1000, "")
	p.focus("#sf-stage")
	p.press(kb.ArrowDown, kb.ArrowDown)
	p.shows("two down", "#sf-what", "/hash")
	p.press(kb.ArrowRight)
	p.shows("right", "#sf-what", "/listing")
	active := p.eval(`(() => { const e = document.getElementById(document.getElementById('sf-stage').getAttribute('aria-activedescendant'));
		return [e.getAttribute('role'), e.getAttribute('aria-level'), e.getAttribute('aria-posinset'), e.textContent].join('|'); })()`)
	p.wants("screen reader", active, "treeitem|3|2|/listing, ")
	p.wants("screen reader", active, "total 24.8 %")
	p.press(kb.Enter)
	p.shows("Enter", "#sf-crumbs", "All frames fetch /listing 24.8 %")
	p.press(kb.Backspace)
	p.shows("Backspace", "#sf-crumbs", "All frames fetch 55.4 %")
	p.press(kb.Escape)
	if got := p.text("#sf-crumbs"); got != "All frames" {
		v.t.Errorf("path after Esc is %q", got)
	}
	p.press("f")
	p.wants("flipped", p.eval(`document.getElementById('sf-flip').getAttribute('aria-pressed')`), "true")
	p.shot("flipped-light-1440")
	p.press(kb.Home, kb.ArrowUp) // callees stand above now
	p.shows("up when flipped", "#sf-what", "fetch src/gateway.ts:33")
	p.press("f", "t")
	p.shows("t", "#sf-crumbs", "Table of")
	p.press("t", "s")
	p.shows("s", "#sf-crumbs", "callees below fetch")
	p.press(kb.Escape, "?")
	p.wants("?", p.eval(`document.getElementById('sf-dialog').open`), "true")
	p.shot("keys-light-1440")
	p.press(kb.Escape, "c")
	p.until(`document.getElementById('sf-say').textContent.startsWith('Copied ')`)
	p.press(kb.Tab)
	ring := p.eval(`getComputedStyle(document.activeElement).outlineStyle + ' ' + (document.activeElement !== document.body)`)
	p.wants("focus ring", ring, "solid true")
}

func testSearch(v visitor) {
	p := v.open(load(v.t, "typescript.cpu.pb.gz"), 1440, 1000, "")
	p.press("/")
	p.wants("/", p.eval(`document.activeElement.id`), "sf-q")
	p.eval(`document.getElementById('sf-q').value = ''`) // the simulated key types even so
	p.press("^generic")
	// It calls itself in almost every stack; each stack counts once.
	p.shows("matched", "#sf-match", "21.6 % in 1 function")
	p.shot("search-light-1440")
	p.press(kb.Enter)
	p.shows("next match", "#sf-what", "genericJsonReplacer")
	p.press(kb.Escape)
	if got := p.text("#sf-match"); got != "" {
		v.t.Errorf("after Esc the match says %q", got)
	}
	p.press("(") // no regular expression: taken as it is
	p.shows("plain text", "#sf-match", "in ")
	p.press(kb.Escape)
	p.press("replacer.ts")
	p.shows("by file", "#sf-match", "24.8 % in 4 functions")
}

func testTable(v visitor) {
	p := v.open(load(v.t, "typescript.cpu.pb.gz"), 1440, 1000, "")
	p.clickRow(0.4, 2)
	p.click(`[data-view=table]`)
	p.shows("by self", "#sf-rows tr", "genericJsonReplacer src/replacer.ts:16")
	p.shows("share of the whole capture while zoomed", "#sf-rows tr", "21.6 %")
	p.shot("table-light-1440")
	p.click(`[data-sort=total]`)
	p.shows("by total", "#sf-rows tr", "fetch src/gateway.ts:33")
	p.wants("sorted", p.eval(`document.querySelector('[aria-sort]').innerText + document.querySelector('[aria-sort]').getAttribute('aria-sort')`), "Totaldescending")
	p.click(`[data-sort=total]`)
	p.wants("turned", p.eval(`document.querySelector('[aria-sort]').getAttribute('aria-sort')`), "ascending")
	p.click(`[data-sort=name]`)
	p.shows("by name", "#sf-rows tr", "(anonymous)")
	p.focus("#sf-q")
	p.press("mixRound")
	p.shows("filtered", "#sf-rows tr", "mixRound")
	if n := p.eval(`document.querySelectorAll('#sf-rows tr').length`); n != "1" {
		v.t.Errorf("a search for one function leaves %s rows", n)
	}
}

func testSandwich(v visitor) {
	p := v.open(grown(v.t, "a;hot;x 300", "b;hot;y 100", "b;other 600"), 1440, 1000, "#v=table")
	p.do(chromedp.Click(`//button[text()="hot"]`))
	p.shows("path", "#sf-crumbs", "callees below hot")
	p.shows("focus", "#sf-what", "here: 40.0 % of busy CPU")
	p.press(kb.Tab)
	p.focus("#sf-stage")
	p.press(kb.ArrowUp)
	p.shows("its main caller", "#sf-what", "a file:///bundle/worker.js:1 here: 30.0 %")
	p.press(kb.ArrowRight)
	p.shows("its other caller, for what it calls hot", "#sf-what", "here: 10.0 % of busy CPU, 100 ms everywhere: total 70.0 %")
	p.press(kb.Enter)
	p.shows("on to the caller", "#sf-crumbs", "callees below b")
	p.press(kb.Backspace)
	p.shows("and back", "#sf-crumbs", "callees below hot")

	p = v.open(load(v.t, "typescript.cpu.pb.gz"), 1440, 1000, "")
	p.click(`[data-view=sandwich]`)
	p.shows("hottest by default", "#sf-crumbs", "callees below genericJsonReplacer")
	p.shot("sandwich-light-1440")
}

func testCompare(v visitor) {
	r := load(v.t, "do-schema.cpu.pb.gz")
	compare(v.t, r, load(v.t, "do-meter.cpu.pb.gz"))
	p := v.open(r, 1440, 1000, "")
	p.shows("title", "h1", "ensureSchema 72.8 % of busy CPU, new")
	p.shows("legend", "#sf-legend", "no clear change")
	p.clickRow(0.3, 2)
	p.shows("details", "#sf-what", "0.0 % → 72.8 %, +72.8 points (95 % +")
	p.shot("compare-light-1440")
	p.click(`[data-view=table]`)
	p.shows("table", "#sf-rows", ") shrank")
	p.click(`#sf-compare`)
	p.click(`[data-view=flame]`)
	p.shows("colours by kind", "#sf-legend", "your code")
}

func testTheme(v visitor) {
	page := func(p *tab) string {
		return p.eval(`(() => {
			const copy = new OffscreenCanvas(600, 100).getContext('2d', {willReadFrequently: true});
			copy.drawImage(document.getElementById('sf-canvas'), 0, 0);
			return getComputedStyle(document.body).backgroundColor + ' ' + copy.getImageData(300, 60, 1, 1).data.join();
		})()`)
	}
	p := v.open(load(v.t, "typescript.cpu.pb.gz"), 1440, 1000, "")
	light := page(p)
	p.press("d")
	p.wants("dark by hand", page(p), "rgb(26, 29, 33)")
	if page(p) == light {
		v.t.Error("the picture is the same in dark")
	}
	p.shot("flame-dark-1440")
	p.click(`[data-view=table]`)
	p.shot("table-dark-1440")
	p.eval(`localStorage.clear()`)

	p = v.open(load(v.t, "do-meter.cpu.pb.gz"), 1440, 1000, "")
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
		v.t.Fatal(err)
	}
	p.shows("button", "#sf-theme", "Light")
	p.wants("dark by the system", page(p), "rgb(26, 29, 33)")
}

func testPhone(v visitor) {
	for _, name := range []string{"typescript.cpu.pb.gz", "do-schema.cpu.pb.gz", "heap-metrics.pb.gz"} {
		r := load(v.t, name)
		if name == "do-schema.cpu.pb.gz" {
			compare(v.t, r, load(v.t, "do-meter.cpu.pb.gz"))
		}
		p := v.open(r, 390, 844, "")
		p.shot("phone-" + name)
		if w := p.eval(`document.documentElement.scrollWidth`); w != "390" {
			v.t.Errorf("%s: the page is %s pixels wide on a screen of 390", name, w)
		}
		p.press("d", "t")
		p.shot("phone-table-" + name)
		if w := p.eval(`document.documentElement.scrollWidth`); w != "390" {
			v.t.Errorf("%s: the table makes the page %s pixels wide on a screen of 390", name, w)
		}
		p.eval(`localStorage.clear()`)
	}
}

func testLink(v visitor) {
	r := load(v.t, "typescript.cpu.pb.gz")
	p := v.open(r, 1440, 1000, "")
	p.clickRow(0.4, 2)
	hash := p.eval(`location.hash`)
	p.wants("link", hash, "#z=")
	q := v.open(r, 1440, 1000, hash+"&q=generic")
	q.shows("zoomed by the link", "#sf-crumbs", "All frames fetch /listing 24.8 %")
	q.shows("searched by the link", "#sf-match", "86.9 % of the zoom")
	q.eval(`location.hash = '#z=nonsense&f=%00&v=<b>'`)
	q.until(`document.getElementById('sf-crumbs').innerText.trim() === 'All frames'`)
}

func testHostile(v visitor) {
	r := hostile(v.t)
	for _, n := range hostileNames[:10] {
		everywhere(r, n)
	}
	p := v.open(r, 1440, 1000, "#v=table&q=<img src=x onerror=alert(1)>")
	p.press(kb.Escape)
	got := p.eval(`[document.images.length, document.scripts.length, document.querySelectorAll('iframe,object,embed,link').length,
		document.title.includes('owned') && !document.title.includes('document.title'), document.querySelectorAll('#sf-rows tr').length].join()`)
	if want := fmt.Sprintf("0,2,0,false,%d", len(hostileNames)); got != want {
		v.t.Errorf("images, scripts, frames, owned, rows are %s, want %s", got, want)
	}
	p.shot("hostile-table")
	p.press("t")
	p.focus("#sf-stage")
	for range hostileNames {
		p.press(kb.ArrowDown, kb.ArrowRight, "s", kb.Backspace)
	}
	p.shot("hostile-flame")
}

// testLarge opens 50,000 samples and a stack of 10,000 frames and works in them.
func testLarge(v visitor) {
	p := v.open(load(v.t, "synthetic-50k-idle.cpu.pb.gz"), 1440, 1000, "")
	p.shot("large-light-1440")
	v.t.Log("ms to search, zoom, table, callers: " + p.eval(`(() => {
		const times = [], q = document.getElementById('sf-q');
		const run = (f) => { const t = performance.now(); f(); document.body.offsetHeight; times.push(Math.round(performance.now() - t)); };
		run(() => { q.value = 'a'; q.dispatchEvent(new Event('input')); });
		run(() => document.querySelector('[data-view=flame]').click());
		run(() => document.querySelector('[data-view=table]').click());
		run(() => document.querySelector('#sf-rows button').click());
		return times.join(' ');
	})()`))
	p.shows("callers", "#sf-crumbs", "callees below")

	path := make([]string, 10_000)
	for i := range path {
		path[i] = fmt.Sprintf("f%d", i)
	}
	p = v.open(grown(v.t, strings.Join(path, ";")+" 100"), 1440, 1000, "#v=table&q=f9999")
	p.do(chromedp.Click(`//button[text()="f9999"]`))
	p.press(kb.Escape, kb.Escape)
	p.shows("all frames", "#sf-crumbs", "All frames")
	p.focus("#sf-q")
	p.press("^f5000$", kb.Enter)
	p.shows("deep match", "#sf-what", "f5000")
	if y := p.eval(`document.getElementById('sf-stage').scrollTop > 100000`); y != "true" {
		v.t.Error("the match 5,000 rows down was not scrolled to")
	}
	p.shot("deep-light-1440")
}

// TestPolicy: the page allows exactly the script and the style it carries.
func TestPolicy(t *testing.T) {
	var b bytes.Buffer
	if err := flame.HTML(&b, load(t, "do-schema.cpu.pb.gz")); err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(b.String())
	inside := func(tag string) string {
		_, rest, _ := strings.Cut(b.String(), "<"+tag+">")
		text, _, _ := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(text))
		return tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; "
	}
	if want := "default-src 'none'; " + inside("script") + inside("style") + "base-uri 'none'; form-action 'none'"; flame.Policy() != want || !strings.Contains(page, want) {
		t.Errorf("the policy is %q, want %q, in the page too", flame.Policy(), want)
	}
	for _, never := range []string{"unsafe-inline", "unsafe-eval", "http:", "https:", " style=", "onclick=", "innerHTML"} {
		if strings.Contains(page, never) {
			t.Errorf("the page holds %q", never)
		}
	}
}
