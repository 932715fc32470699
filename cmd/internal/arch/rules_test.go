package arch_test

const module = "github.com/snapflame/snapflame"

// imports is the table of who must not import what. Patterns are import paths,
// those of our own relative to the module; "x/..." is x and all below it, "x/*"
// what is below x only. Test files are free: they may use the real thing.
var imports = []struct {
	from   []string
	except []string // packages of from that may
	never  []string
	why    string
}{
	{
		from: []string{"triggers/..."}, never: []string{"capture/...", "report/...", "bot/...", "cmd/..."},
		why: "triggers decides what an event means; it must be testable and readable without knowing what follows",
	},
	{
		from: []string{"capture/..."}, never: []string{"triggers/...", "report/...", "bot/...", "cmd/..."},
		why: "capture takes profiles for whoever asks; a shell user has no event and no thread",
	},
	{
		from: []string{"report/..."}, never: []string{"triggers/...", "capture/...", "bot/...", "cmd/..."},
		why: "a report is bytes in, value out, wherever the bytes came from",
	},
	{
		from: []string{"bot/..."}, never: []string{"cmd/..."},
		why: "cmd wires; nothing is wired to cmd",
	},
	{
		from: []string{"triggers", "capture", "report", "bot"}, never: []string{"net", "net/http", "github.com/nats-io/...", "github.com/slack-go/..."},
		why: "the roots hold nouns and pure rules; what speaks over a network is a child or cmd/internal/jet",
	},
	{
		from: []string{"..."}, except: []string{"bot/slackio", "bot/blocks", "cmd/..."}, never: []string{"github.com/slack-go/..."},
		why: "Slack's types change often; two packages feel it",
	},
	{
		from: []string{"..."}, except: []string{"cmd/internal/jet/..."}, never: []string{"github.com/nats-io/nats.go/..."},
		why: "ensure-stream, lease and dead letter are written once",
	},
	{
		from: []string{"..."}, except: []string{"cmd/..."}, never: []string{"github.com/nats-io/nats-server/..."},
		why: "the embedded server is the program's business",
	},
	{
		from: []string{"capture/fakecf/...", "bot/fakeslack/..."}, never: []string{"triggers/...", "capture", "capture/cloudflare/...", "report/...", "bot", "bot/blocks/...", "bot/slackio/...", "cmd/..."},
		why: "a fake that shares code with what it tests agrees with its mistakes",
	},
	{
		from: []string{"..."}, never: []string{"log", "github.com/rs/zerolog/log"},
		why: "a logger is a value that is handed over; a global one cannot be tested for secrets",
	},
	{
		from: []string{"..."}, never: []string{"github.com/pkg/errors", "github.com/stretchr/testify/...", "io/ioutil", "unsafe"},
		why: "the standard library has what is needed",
	},
}

// siblings are the written exceptions from "a child is imported by cmd only".
var siblings = []struct{ from, to, why string }{
	{"bot/slackio", "bot/blocks", "the sender turns cards into blocks"},
	{"bot/pages", "report/flame", "a capture's page is its flamegraph"},
}

// calls are functions that only some packages may call.
var calls = []struct {
	names []string
	only  []string
	why   string
}{
	{[]string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.Exit", "os.Args"}, []string{"cmd/..."}, "only cmd knows its surroundings; a hidden variable cannot be documented"},
	{[]string{"context.Background", "context.TODO"}, []string{"cmd/..."}, "a context comes from the caller, or a stop is not heard"},
	{[]string{"time.Sleep"}, nil, "wait on a context or a timer, or a stop is not heard"},
	{[]string{"http.DefaultClient", "http.DefaultTransport", "http.DefaultServeMux", "http.Get", "http.Post"}, nil, "a client has a timeout"},
}

// top is all that may stand at the top of the repository, dot-files aside.
var top = map[string]string{
	"cmd": "commands and wiring", "triggers": "events to decisions", "capture": "decisions to profiles",
	"report": "profiles to figures and pictures", "bot": "threads, commands, pages", "deploy": "how it is run",
	"go.mod": "", "go.sum": "", "README.md": "", "LICENSE": "", "CHANGELOG.md": "",
}

// badNames are package names that say nothing about what is inside.
var badNames = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true,
	"types": true, "misc": true, "base": true, "shared": true, "manager": true,
}

const (
	maxFileLines = 400
	maxFuncLines = 80
)
