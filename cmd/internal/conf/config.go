package conf

import "time"

// Config is the merged configuration. Tags: yaml is the last part of the key,
// default its default, env the names the ecosystem already uses for it, doc its
// meaning; hot marks what a reload (SIGHUP) takes over without a restart.
type Config struct {
	Listen    string        `yaml:"listen" default:"127.0.0.1:8080" doc:"address of the HTTP server"`
	PublicURL string        `yaml:"public_url" doc:"how people reach the pages (https://snapflame.example.com); links need it"`
	Grace     time.Duration `yaml:"shutdown_grace" default:"75s" doc:"how long a stop waits for captures that run"`

	NATS       NATS       `yaml:"nats"`
	Cloudflare Cloudflare `yaml:"cloudflare"`
	Slack      Slack      `yaml:"slack"`
	Ingest     Ingest     `yaml:"ingest"`
	API        API        `yaml:"api"`
	Incident   Incident   `yaml:"incident"`
	Capture    Capture    `yaml:"capture"`
	Baseline   Baseline   `yaml:"baseline"`
	Report     Report     `yaml:"report"`
	Retention  Retention  `yaml:"retention"`
	Silence    Silence    `yaml:"silence"`
	Log        Log        `yaml:"log"`
	Rules      []Rule     `yaml:"rules" hot:"yes" doc:"what is captured when; the first match wins; empty: the built-in rules"`

	// Warnings are what is odd but not wrong, one line each.
	Warnings []string `yaml:"-"`

	path    string            // the file that was read; empty when there was none
	sources map[string]string // key → where its value came from
}

// NATS is queue, database and file store in one.
type NATS struct {
	URL      Addresses `yaml:"url" env:"NATS_URL" doc:"external servers, comma-separated, user:password@ allowed; empty: the embedded server"`
	Context  string    `yaml:"context" env:"NATS_CONTEXT" doc:"context of the nats command to connect with; url wins over its address"`
	Creds    string    `yaml:"creds" env:"NATS_CREDS" doc:"credentials file"`
	NKey     string    `yaml:"nkey" doc:"file with an nkey seed"`
	Token    Secret    `yaml:"token" doc:"token; also the one the embedded server demands"`
	TLSCA    string    `yaml:"tls_ca" doc:"file with the certificate authorities of the servers"`
	TLSCert  string    `yaml:"tls_cert" doc:"client certificate file"`
	TLSKey   string    `yaml:"tls_key" doc:"key file of the client certificate"`
	Listen   string    `yaml:"listen" default:"127.0.0.1:4222" doc:"address of the embedded server; used when there is no url"`
	StoreDir string    `yaml:"store_dir" default:"./data" doc:"files of the embedded server"`
	Subjects []string  `yaml:"subjects" default:"workers.events.>" doc:"what is ingested"`
	Stream   string    `yaml:"stream" default:"WORKERS_EVENTS" doc:"the events stream; one that exists already is used and never altered"`
	Replicas int       `yaml:"replicas" default:"1" doc:"replicas of every stream, bucket and store, with an external cluster"`
	MaxAge   Days      `yaml:"max_age" default:"3d" doc:"how long events are kept in a stream that snapflame makes"`
	MaxBytes Bytes     `yaml:"max_bytes" default:"10GiB" doc:"what all streams and buckets that snapflame makes may hold together"`
}

// External reports whether NATS is someone else's.
func (n NATS) External() bool { return n.URL.IsSet() || n.Context != "" }

// Cloudflare is the account that is profiled.
type Cloudflare struct {
	AccountID string        `yaml:"account_id" env:"CLOUDFLARE_ACCOUNT_ID" doc:"account"`
	APIToken  Secret        `yaml:"api_token" env:"CLOUDFLARE_API_TOKEN" doc:"API token that may read Workers and profile them"`
	BaseURL   string        `yaml:"api_base_url" env:"CLOUDFLARE_API_BASE_URL" default:"https://api.cloudflare.com/client/v4" doc:"address of the API"`
	Poll      time.Duration `yaml:"poll" default:"0s" doc:"how often Workers Logs are queried, for accounts without a Tail Worker; 0s: never"`
}

// Slack is where threads appear and who may speak.
type Slack struct {
	BotToken      Secret   `yaml:"bot_token" env:"SLACK_BOT_TOKEN" doc:"bot token (xoxb-…)"`
	AppToken      Secret   `yaml:"app_token" env:"SLACK_APP_TOKEN" doc:"app token (xapp-…) for Socket Mode"`
	SigningSecret Secret   `yaml:"signing_secret" env:"SLACK_SIGNING_SECRET" doc:"signing secret; HTTP requests are refused without it"`
	APIURL        string   `yaml:"api_url" env:"SLACK_API_URL" default:"https://slack.com/api/" doc:"address of the Web API"`
	Mode          string   `yaml:"mode" doc:"socket or http; empty: socket when an app token is set, else http"`
	Command       string   `yaml:"command" default:"/profile" doc:"the slash command"`
	Channel       string   `yaml:"channel" hot:"yes" doc:"default channel id (C…), not its name"`
	Mention       string   `yaml:"mention" hot:"yes" doc:"who is mentioned in a thread's first post: U…, S… or here; empty: nobody"`
	Users         []string `yaml:"allowed_users" hot:"yes" doc:"user ids that may start captures; empty like allowed_usergroups: everyone in the workspace"`
	Usergroups    []string `yaml:"allowed_usergroups" hot:"yes" doc:"user group ids (S…) whose members may as well"`
	Channels      []string `yaml:"allowed_channels" hot:"yes" doc:"channel ids in which those may start captures; empty: in any"`
	NoticesOff    []string `yaml:"notices_off" hot:"yes" doc:"notices that are not sent: evidence, report, picture, failure, closed, mention"`
	Texts         Texts    `yaml:"texts"`
	Routes        []Route  `yaml:"routes" hot:"yes" doc:"other channels by class, script and environment; the first match wins"`
}

// Texts are templates (text/template) that replace what a thread says. config
// check --texts shows what they make of sample incidents.
type Texts struct {
	Title   string `yaml:"title" doc:"of the first message; empty: the built-in text, which a template reads as {{.Default}}"`
	Text    string `yaml:"text" doc:"the first message in one line, for notifications"`
	Next    string `yaml:"next" doc:"what happens next"`
	Verdict string `yaml:"verdict" doc:"the first sentence of a report"`
}

// Sources are the templates by their slot, without the empty ones.
func (t Texts) Sources() map[string]string {
	m := map[string]string{}
	for slot, source := range map[string]string{"title": t.Title, "text": t.Text, "next": t.Next, "verdict": t.Verdict} {
		if source != "" {
			m[slot] = source
		}
	}
	return m
}

// Route sends matching incidents to another channel. Script and Environment
// are globs; an empty field matches everything.
type Route struct {
	Class       string `yaml:"class" doc:"overloaded, exceeded_memory, exceeded_cpu or account_overloaded"`
	Script      string `yaml:"script" doc:"glob over the script's name"`
	Environment string `yaml:"environment" doc:"glob over the wrangler environment"`
	Channel     string `yaml:"channel" doc:"channel id"`
	Mention     string `yaml:"mention" doc:"as slack.mention"`
}

// Ingest is the HTTP way in.
type Ingest struct {
	Token Secret `yaml:"token" doc:"bearer token of the ingest endpoints; they refuse all without one"`
}

// API guards /api and the pages.
type API struct {
	Token   Secret `yaml:"token" doc:"bearer token of /api; pages open with signed links from Slack or this token"`
	LinkTTL Days   `yaml:"link_ttl" default:"7d" doc:"how long a signed link opens a page"`
}

// Incident is how events become one incident.
type Incident struct {
	Quiet time.Duration `yaml:"quiet" hot:"yes" default:"10m" doc:"an incident closes after this long without an event"`
}

// Capture holds the limits of the profiler.
type Capture struct {
	Enabled     bool          `yaml:"enabled" default:"true" hot:"yes" doc:"the kill switch"`
	Concurrency int           `yaml:"concurrency" default:"4" doc:"captures at once"`
	Duration    time.Duration `yaml:"duration" default:"10s" hot:"yes" doc:"length of a capture, 1s to 50s"`
	Spacing     time.Duration `yaml:"spacing" default:"60s" doc:"least time between two captures of one target"`
	PerHour     int           `yaml:"per_hour" default:"60" doc:"captures per hour in the whole account"`
}

// Baseline is what is captured while it is quiet.
type Baseline struct {
	Enabled bool          `yaml:"enabled" default:"true" doc:"capture quiet-time profiles within leftover budget"`
	Every   time.Duration `yaml:"every" default:"6h" doc:"least time between two baselines of one target and version"`
	Workers []string      `yaml:"workers" default:"*" doc:"globs of Workers that get baselines after an incident or request; one named in full gets them from the start"`
	Objects []string      `yaml:"objects" doc:"globs script/class of Durable Objects that get baselines; empty: none"`
}

// Report is how profiles are read.
type Report struct {
	SampleCap  time.Duration `yaml:"sample_cap" default:"5ms" doc:"most that one CPU sample counts; longer is waiting"`
	SourceMaps bool          `yaml:"source_maps" default:"true" doc:"fetch source maps with the version's modules when the token allows it"`
}

// Retention bounds what is stored.
type Retention struct {
	Age    Days  `yaml:"age" default:"30d" doc:"captures and closed incidents older than this are deleted"`
	Count  int   `yaml:"count" default:"5000" doc:"most captures kept"`
	Bytes  Bytes `yaml:"bytes" default:"4GiB" doc:"most bytes of captures kept"`
	Redact bool  `yaml:"redact" default:"false" doc:"store only names, files, lines and figures of a profile"`
}

// Silence is how long a silence lasts.
type Silence struct {
	Default Days `yaml:"default" default:"1h" hot:"yes" doc:"length of a silence that names none"`
	Max     Days `yaml:"max" default:"7d" hot:"yes" doc:"longest silence"`
}

// Log is what goes to standard error.
type Log struct {
	Level  string `yaml:"level" default:"info" hot:"yes" doc:"debug, info, warn or error"`
	Format string `yaml:"format" default:"json" doc:"json or console"`
}

// Rule is one line of what is captured when.
type Rule struct {
	Name     string        `yaml:"name" doc:"as it appears in explain and in threads"`
	Match    Match         `yaml:"match"`
	Profile  string        `yaml:"profile" doc:"cpu, heap, or none to post without a capture; empty: by class"`
	Duration time.Duration `yaml:"duration" doc:"length of the capture; 0s: capture.duration"`
	Repeat   int           `yaml:"repeat" doc:"captures in one incident; 0: by class"`
	Channel  string        `yaml:"channel" doc:"channel id; empty: by slack.routes"`
	Mention  string        `yaml:"mention" doc:"as slack.mention"`
	Quiet    time.Duration `yaml:"quiet" doc:"0s: incident.quiet"`
	Ignore   bool          `yaml:"ignore" doc:"matching events open no incident"`
}

// Match is what an event must be; an empty field matches everything.
type Match struct {
	Class         string        `yaml:"class" doc:"overloaded, exceeded_memory, exceeded_cpu or account_overloaded; none with a text, for errors of your own"`
	Subclass      string        `yaml:"subclass" doc:"of overloaded: requests_queued, data_queued, queued_too_long, too_many_in_window"`
	Script        string        `yaml:"script" doc:"glob"`
	Environment   string        `yaml:"environment" doc:"glob over the wrangler environment"`
	Entrypoint    string        `yaml:"entrypoint" doc:"glob over the exported class"`
	Text          string        `yaml:"text" doc:"regular expression (RE2) over the error text"`
	Count         int           `yaml:"count" doc:"at least this many events in window"`
	Window        time.Duration `yaml:"window" doc:"of count; 0s: 1m"`
	ReturnedAfter time.Duration `yaml:"returned_after" doc:"only when the same trouble was quiet for this long before"`
}
