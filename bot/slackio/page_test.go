package slackio_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

var shots = flag.String("shots", "", "write screenshots of the channel page into this folder")

// TestChannelPageInABrowser is what a person sees of the simulated Slack: the
// thread with its picture, a hostile name that stays a name, and buttons that
// reach the bot.
func TestChannelPageInABrowser(t *testing.T) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on this machine: install it to test the page in a browser")
	}
	png, err := os.ReadFile(filepath.Join("..", "..", "report", "flame", "testdata", "do-schema.png"))
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeslack.Workspace{AllowMentions: []string{"<!here>"}}
	f := newOffice(t, w, true, slackio.ReceiverOptions{})
	b := &bench{T: t, store: newStore(), w: w}
	b.files["p1"] = png
	_, stop := b.start(slackio.SenderOptions{})
	defer stop()
	b.put(incident(), report("i1"), pic("i1"))
	f.shows(fakeslack.Incidents, "record takes 88 %")

	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 1500),
		chromedp.Flag("disable-background-networking", true))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate("http://"+f.host+"/"), chromedp.WaitVisible(chromedp.CSS(".pic img"))); err != nil {
		t.Fatal(err)
	}
	type look struct {
		Image, Scripts, Marks int
		Text                  string
	}
	seen, err := chromedp.Run(ctx, chromedp.Evaluate[look](`document.querySelector(".pic img").decode().then(() => ({
		Image: document.querySelector(".pic img").naturalWidth, Scripts: document.querySelectorAll("script").length,
		Marks: document.querySelectorAll(".mention").length, Text: document.getElementById("log").innerText}))`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	if seen.Image < 1200 {
		t.Errorf("the picture is %d px wide, want the real one", seen.Image)
	}
	if seen.Scripts != 1 || seen.Marks != 1 {
		t.Errorf("%d scripts and %d mentions, want the page's own and @here", seen.Scripts, seen.Marks)
	}
	for _, want := range []string{"a&b<script>alert(1)</script>", "<!channel>", "88.7 %", "Open flamegraph"} {
		if !strings.Contains(seen.Text, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	shoot(ctx, t, "channel.png")
	f.answers(func(bot.Request) (bot.Reply, error) { return bot.Reply{Card: card("Another capture is queued.")}, nil })
	press := `[...document.querySelectorAll("button")].find(b => b.textContent === "Capture again").click()`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](press)); err != nil {
		t.Fatal(err)
	}
	<-f.came
	f.shows(fakeslack.Incidents, "Another capture is queued.")
	if err := chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(".only"))); err != nil {
		t.Fatal(err)
	}
	if rs := f.requests(); len(rs) != 1 || rs[0].ActionID != "pf.again" || rs[0].Value != "c1" {
		t.Errorf("the click reached the bot as %+v", rs)
	}
	shoot(ctx, t, "clicked.png")
}

func shoot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if *shots == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name), png, 0o600); err != nil {
		t.Fatal(err)
	}
}
