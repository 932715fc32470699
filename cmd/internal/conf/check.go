package conf

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
)

// Limits of the profiling API's duration_ms (Cloudflare, "Profiling in
// production"); capture.MinDuration and MaxDuration, which a test compares.
const (
	minDuration = time.Second
	maxDuration = 50 * time.Second
)

var (
	channelID = regexp.MustCompile(`^[CGD][A-Z0-9]+$`)
	userID    = regexp.MustCompile(`^[UW][A-Z0-9]+$`)
	groupID   = regexp.MustCompile(`^S[A-Z0-9]+$`)
	command   = regexp.MustCompile(`^/[a-z0-9_-]{1,31}$`) // Slack: at most 32 characters
	stream    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	accountID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	subjectRE = regexp.MustCompile(`^[^\s.*>]+(\.([^\s.*>]+|\*))*(\.>)?$`)
)

var (
	classes = []string{"overloaded", "exceeded_memory", "exceeded_cpu", "account_overloaded"}
	levels  = []string{"debug", "info", "warn", "error"}
)

// checker collects what is wrong with a merged configuration.
type checker struct {
	c    *Config
	skip map[string]bool // keys that could not be read: one problem is enough
	bad  Problems
}

func (c *Config) check(skip map[string]bool) Problems {
	k := &checker{c: c, skip: skip}
	k.addresses()
	k.nats()
	k.slack()
	k.limits()
	k.rules()
	k.warn()
	return k.bad
}

// fail adds a problem at the place where the key was set.
func (k *checker) fail(key, format string, args ...any) {
	if k.skip[key] {
		return
	}
	base, _, _ := strings.Cut(key, "[")
	k.bad = append(k.bad, Problem{Where: k.c.sources[base], Key: key, What: fmt.Sprintf(format, args...)})
}

func (k *checker) addresses() {
	c := k.c
	k.hostPort("listen", c.Listen)
	k.hostPort("nats.listen", c.NATS.Listen)
	if c.PublicURL != "" {
		k.httpURL("public_url", c.PublicURL)
	}
	k.httpURL("cloudflare.api_base_url", c.Cloudflare.BaseURL)
	k.httpURL("slack.api_url", c.Slack.APIURL)
	if strings.ContainsAny(c.Cloudflare.AccountID, "/?#% \t\n") {
		k.fail("cloudflare.account_id", "%q is not an account id; it is the 32-digit id in the dashboard's address", c.Cloudflare.AccountID)
	}
	if err := c.NATS.URL.check("nats", "tls", "ws", "wss"); err != nil {
		k.fail("nats.url", "%v; write nats://host:4222, tls://, ws:// or wss://", err)
	}
}

func (k *checker) hostPort(key, s string) {
	_, port, err := net.SplitHostPort(s)
	if n, e := strconv.Atoi(port); err != nil || e != nil || n < 0 || n > 65535 {
		k.fail(key, "%q is not an address; write host:port, such as 127.0.0.1:8080", s)
	}
}

func (k *checker) httpURL(key, s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		k.fail(key, "%q is not a web address; write https://host", hideUser(s))
	case u.User != nil:
		k.fail(key, "must not hold a user or password; remove them from the address")
	case u.RawQuery != "" || u.Fragment != "":
		k.fail(key, "%q must end before ? and #", s)
	}
}

func loopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	ip := net.ParseIP(host)
	return err != nil || host == "localhost" || (ip != nil && ip.IsLoopback())
}

func (k *checker) slack() {
	s := k.c.Slack
	switch {
	case s.Mode != "" && s.Mode != "socket" && s.Mode != "http":
		k.fail("slack.mode", "%q is neither socket nor http", s.Mode)
	case s.Mode == "socket" && !s.AppToken.IsSet():
		k.fail("slack.mode", "is socket, which needs an app token; set SLACK_APP_TOKEN or slack.mode: http")
	}
	if strings.HasPrefix(s.BotToken.Reveal(), "xapp-") {
		k.fail("slack.bot_token", "holds an app token; the bot token begins with xoxb- and stands under OAuth & Permissions")
	}
	if strings.HasPrefix(s.AppToken.Reveal(), "xox") {
		k.fail("slack.app_token", "holds a bot or user token; the app token begins with xapp- and stands under Basic Information")
	}
	if !command.MatchString(s.Command) {
		k.fail("slack.command", "%q is not a slash command; write / and at most 31 lower-case letters, digits, - or _", s.Command)
	}
	k.channel("slack.channel", s.Channel)
	k.mention("slack.mention", s.Mention)
	k.ids("slack.allowed_users", s.Users, userID, "user ids (U…)")
	k.ids("slack.allowed_usergroups", s.Usergroups, groupID, "user group ids (S…)")
	k.ids("slack.allowed_channels", s.Channels, channelID, "channel ids (C…)")
	for i, r := range s.Routes {
		key := fmt.Sprintf("slack.routes[%d].", i)
		if r.Channel == "" {
			k.fail(key+"channel", "is missing; a route needs a channel id")
		}
		k.channel(key+"channel", r.Channel)
		k.mention(key+"mention", r.Mention)
		k.oneOf(key+"class", r.Class, classes)
		k.glob(key+"script", r.Script)
		k.glob(key+"environment", r.Environment)
	}
}

func (k *checker) channel(key, s string) {
	if s != "" && !channelID.MatchString(s) {
		k.fail(key, "%q is not a channel id; copy the id (C…) from the bottom of the channel's details in Slack", s)
	}
}

func (k *checker) mention(key, s string) {
	if s != "" && s != "here" && !userID.MatchString(s) && !groupID.MatchString(s) {
		k.fail(key, "%q cannot be mentioned; write a user id (U…), a user group id (S…) or here", s)
	}
}

func (k *checker) ids(key string, list []string, re *regexp.Regexp, what string) {
	for _, s := range list {
		if !re.MatchString(s) {
			k.fail(key, "%q is not one of %s; names do not work", s, what)
		}
	}
}

func (k *checker) oneOf(key, s string, known []string) {
	if s == "" || slices.Contains(known, s) {
		return
	}
	if n := nearest(s, known); n != "" {
		k.fail(key, "%q is unknown; did you mean %s?", s, n)
		return
	}
	k.fail(key, "%q is unknown; use %s", s, strings.Join(known, ", "))
}

func (k *checker) glob(key, s string) {
	if _, err := path.Match(s, ""); err != nil {
		k.fail(key, "%q is not a glob; close its brackets or escape them with \\", s)
	}
}

func (k *checker) limits() {
	c := k.c
	k.duration("capture.duration", c.Capture.Duration)
	k.atLeast("capture.concurrency", int64(c.Capture.Concurrency), 1)
	k.atLeast("capture.per_hour", int64(c.Capture.PerHour), 1)
	k.between("capture.spacing", c.Capture.Spacing, 0, 24*time.Hour)
	k.between("incident.quiet", c.Incident.Quiet, time.Second, 7*24*time.Hour)
	k.between("shutdown_grace", c.Grace, 0, 10*time.Minute)
	if c.Cloudflare.Poll != 0 {
		// Cloudflare allows 1,200 calls per five minutes for everything together.
		k.between("cloudflare.poll", c.Cloudflare.Poll, 5*time.Second, time.Hour)
	}
	k.between("report.sample_cap", c.Report.SampleCap, time.Millisecond, time.Second)
	k.between("baseline.every", c.Baseline.Every, time.Minute, 30*24*time.Hour)
	for _, g := range c.Baseline.Workers {
		k.glob("baseline.workers", g)
	}
	for _, g := range c.Baseline.Objects {
		if !strings.Contains(g, "/") {
			k.fail("baseline.objects", "%q names no class; write script/class, such as room-api/*", g)
		}
		k.glob("baseline.objects", g)
	}
	for _, n := range c.Slack.NoticesOff {
		if !slices.Contains(bot.Notices(), bot.Notice(n)) {
			k.fail("slack.notices_off", "%q is no notice; there are %s", n, joined(bot.Notices()))
		}
	}
	for slot, source := range c.Slack.Texts.Sources() {
		if _, err := bot.ParseTemplates(map[string]string{slot: source}); err != nil {
			k.fail("slack.texts."+slot, "cannot be used: %s", err)
		}
	}
	k.size("retention.bytes", c.Retention.Bytes, 1<<20)
	k.atLeast("retention.count", int64(c.Retention.Count), 1)
	k.between("retention.age", c.Retention.Age.Duration(), time.Hour, 10*365*24*time.Hour)
	k.between("api.link_ttl", c.API.LinkTTL.Duration(), time.Minute, 365*24*time.Hour)
	k.between("silence.max", c.Silence.Max.Duration(), time.Minute, 365*24*time.Hour)
	k.between("silence.default", c.Silence.Default.Duration(), time.Minute, c.Silence.Max.Duration())
	k.oneOf("log.level", c.Log.Level, levels)
	k.oneOf("log.format", c.Log.Format, []string{"json", "console"})
}

func (k *checker) duration(key string, d time.Duration) {
	k.between(key, d, minDuration, maxDuration)
}

func (k *checker) between(key string, d, low, high time.Duration) {
	if d < low || d > high {
		k.fail(key, "is %s; it must be %s to %s", formatDuration(d), formatDuration(low), formatDuration(high))
	}
}

func (k *checker) atLeast(key string, n, low int64) {
	if n < low || n > 1e6 {
		k.fail(key, "is %d; it must be %d to 1000000", n, low)
	}
}

func (k *checker) size(key string, b, low Bytes) {
	if b < low {
		k.fail(key, "is %s; it must be at least %s", b, low)
	}
}

// rules leaves what a rule matches and does to triggers, and checks what goes
// to Slack.
func (k *checker) rules() {
	for i, r := range k.c.Rules {
		key := fmt.Sprintf("rules[%d].", i)
		if r.Repeat > 10 {
			k.fail(key+"repeat", "is %d; it must be 0 to 10", r.Repeat)
		}
		k.channel(key+"channel", r.Channel)
		k.mention(key+"mention", r.Mention)
	}
	_, err := k.c.CompileRules()
	if err == nil {
		return
	}
	all := []error{err}
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		k.bad = append(k.bad, Problem{Where: k.c.sources["rules"], What: oneLine(err.Error())})
	}
}

// warn notes what is legal but probably not meant.
func (k *checker) warn() {
	c := k.c
	add := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	if id := c.Cloudflare.AccountID; id != "" && !accountID.MatchString(id) {
		add("cloudflare.account_id %q is not 32 hexadecimal digits", id)
	}
	for _, s := range []struct {
		key string
		s   Secret
	}{{"ingest.token", c.Ingest.Token}, {"api.token", c.API.Token}} {
		if s.s.IsSet() && len(s.s.Reveal()) < 16 {
			add("%s is short; use 32 random characters: openssl rand -hex 16", s.key)
		}
	}
	if c.SlackMode() == "http" && c.Slack.BotToken.IsSet() && !c.Slack.SigningSecret.IsSet() {
		add("slack.signing_secret is not set: in http mode every Slack request is refused")
	}
	if c.Capture.Spacing < 30*time.Second {
		add("capture.spacing is %s: starting the profiler holds the isolate's lock; a short spacing loads the object you want to help", formatDuration(c.Capture.Spacing))
	}
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}
