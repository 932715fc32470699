package pages_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser starts headless Chromium and fails the test on every console error
// and every request that leaves the server.
func browser(t *testing.T, base string) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on this machine: install it to test the pages in a browser")
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	watch(t, ctx, base)
	return ctx
}

// watch collects complaints until the browser ends.
func watch(t *testing.T, ctx context.Context, base string) {
	t.Helper()
	var mu sync.Mutex
	var bad []string
	complain := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		bad = append(bad, fmt.Sprintf(format, args...))
	}
	console, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for m, err := range console {
			if err == nil && (m.IsException() || m.Type == chromedp.ConsoleError) {
				complain("console: %s %s", m.Text, m.URL)
			}
		}
	}()
	go func() {
		for e, err := range requests {
			if err == nil && !strings.HasPrefix(e.Request.URL, base) && !strings.HasPrefix(e.Request.URL, "data:") {
				complain("a request leaves: %s", e.Request.URL)
			}
		}
	}()
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, b := range bad {
			t.Error(b)
		}
	})
}

func scheme(name string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return v, err
	}
}

// shoot keeps a screenshot for people when SNAPFLAME_SCREENSHOTS names a folder.
func shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("SNAPFLAME_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPagesInChromium(t *testing.T) {
	s := httptest.NewServer(newStore(t, 8).handler(t, false))
	defer s.Close()
	ctx := browser(t, s.URL)
	for _, page := range []string{"/incidents", "/incidents/inc7k2", "/objects", "/captures/inc7k2-1", "/captures/inc7k2-2"} {
		for _, v := range []struct {
			name          string
			width, height int64
			scheme        string
		}{{"wide-light", 1440, 900, "light"}, {"wide-dark", 1440, 900, "dark"}, {"phone-light", 390, 844, "light"}, {"phone-dark", 390, 844, "dark"}} {
			err := chromedp.Do(ctx, chromedp.EmulateViewport(v.width, v.height), scheme(v.scheme), chromedp.Navigate(s.URL+page), chromedp.WaitVisible(chromedp.CSS("main")))
			if err != nil {
				t.Fatalf("%s %s: %v", page, v.name, err)
			}
			wide, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > innerWidth + 1"))
			if err != nil {
				t.Fatalf("%s %s: %v", page, v.name, err)
			}
			if wide {
				t.Errorf("%s %s: the page scrolls sideways", page, v.name)
			}
			shoot(t, ctx, strings.ReplaceAll(strings.Trim(page, "/"), "/", "-")+"-"+v.name)
		}
	}
}

func TestDarkModeIsDark(t *testing.T) {
	s := httptest.NewServer(newStore(t, 8).handler(t, false))
	defer s.Close()
	ctx := browser(t, s.URL)
	background := map[string]string{}
	for _, mode := range []string{"light", "dark"} {
		if err := chromedp.Do(ctx, scheme(mode), chromedp.Navigate(s.URL+"/incidents")); err != nil {
			t.Fatal(err)
		}
		color, err := chromedp.Run(ctx, chromedp.Evaluate[string]("getComputedStyle(document.body).backgroundColor"))
		if err != nil {
			t.Fatal(err)
		}
		background[mode] = color
	}
	if background["light"] != "rgb(255, 255, 255)" || background["dark"] != "rgb(26, 29, 33)" {
		t.Errorf("got %v", background)
	}
}

// TestThreeClicks goes from an error minute to the responsible function.
func TestThreeClicks(t *testing.T) {
	s := httptest.NewServer(newStore(t, 8).handler(t, false))
	defer s.Close()
	ctx := browser(t, s.URL)
	err := chromedp.Do(ctx, chromedp.Navigate(s.URL+"/incidents"),
		chromedp.Click(chromedp.CSS("tbody a")), chromedp.WaitVisible(chromedp.CSS("#minutes")),
		chromedp.Click(chromedp.CSS("#minute-0310 a")))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.hash"))
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#capture-inc7k2-1 h3 a")), chromedp.WaitVisible(chromedp.CSS(".crumbs code"))); err != nil {
		t.Fatal(err)
	}
	text, err := chromedp.Run(ctx, chromedp.Poll[string](`document.title.startsWith("cpu capture") && document.querySelector(".sortable tbody td").textContent`))
	if err != nil {
		t.Fatal(err)
	}
	if hash != "#capture-inc7k2-1" || text != "ensureSchema" {
		t.Errorf("came to %q and %q", hash, text)
	}
}

func TestTablesSortByKeyboard(t *testing.T) {
	s := httptest.NewServer(newStore(t, 8).handler(t, false))
	defer s.Close()
	ctx := browser(t, s.URL)
	err := chromedp.Do(ctx, chromedp.Navigate(s.URL+"/objects"), chromedp.WaitVisible(chromedp.CSS(".sortable")),
		chromedp.Focus(chromedp.CSS(".sortable th:nth-child(2)")), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter))
	if err != nil {
		t.Fatal(err)
	}
	first, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(".sortable tbody tr td:nth-child(2)")))
	if err != nil {
		t.Fatal(err)
	}
	order, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector(".sortable th:nth-child(2)").getAttribute("aria-sort")`))
	if err != nil {
		t.Fatal(err)
	}
	if first != "4,000" || order != "ascending" {
		t.Errorf("got %q %s first, want the smallest", first, order)
	}
}
