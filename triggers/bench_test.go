package triggers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// sized makes an event as large as Cloudflare's usually are, 1.2 KB, by giving
// it the headers that a request has.
func sized(event string) []byte {
	const headers = `"headers":{"user-agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36","accept":"*/*","accept-encoding":"gzip, br","accept-language":"en-GB,en;q=0.9","authorization":"REDACTED","cf-connecting-ip":"203.0.113.9","cf-ipcountry":"DE","cf-visitor":"{\"scheme\":\"https\"}","connection":"Keep-Alive","host":"api.example.com","x-forwarded-proto":"https","x-real-ip":"203.0.113.9","content-type":"application/json","content-length":"18112","cf-ray":"a1b2c3d4e5f60718"}`
	return []byte(fmt.Sprintf(event, headers))
}

const (
	benchHealthy = `{"scriptName":"edge-gateway","scriptVersion":{"id":"41ab9259-0637-ac82-026c-a65266b28984"},"scriptTags":["cf:service=edge-gateway","cf:environment=production"],"outcome":"ok","cpuTime":12,"wallTime":900,"truncated":false,"eventTimestamp":1796020351580,"executionModel":"stateless","event":{"request":{"method":"POST","url":"https://api.example.com/v1/rooms/REDACTED/msg",%s,"cf":{"colo":"SIN","asn":64496,"country":"SG","httpProtocol":"HTTP/2"}},"response":{"status":200}},"exceptions":[],"logs":[{"timestamp":1796020351580,"level":"log","message":["request done",200,{"ms":12,"room":"lobby"}]}],"diagnosticsChannelEvents":[]}`
	benchStorm   = `{"scriptName":"edge-gateway","scriptVersion":{"id":"41ab9259-0637-ac82-026c-a65266b28984"},"scriptTags":["cf:service=edge-gateway","cf:environment=production"],"outcome":"ok","cpuTime":12,"wallTime":900,"truncated":false,"eventTimestamp":1796020351580,"executionModel":"stateless","event":{"request":{"method":"POST","url":"https://api.example.com/v1/rooms/REDACTED/msg",%s,"cf":{"colo":"SIN","asn":64496}},"response":{"status":503}},"exceptions":[],"logs":[{"timestamp":1796020351580,"level":"error","message":[{"msg":"Durable Object is overloaded. Too many requests queued.","overloaded":true,"durableObjectId":"OBJECT"}]}],"diagnosticsChannelEvents":[]}`
)

func storm(n int) []byte {
	return bytes.Replace(sized(benchStorm), []byte("OBJECT"), []byte(object(n)), 1)
}

func BenchmarkDecode(b *testing.B) {
	for name, data := range map[string][]byte{"healthy": sized(benchHealthy), "storm": storm(1)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				if events, err := triggers.Decode("workers.events.s", data); err != nil || len(events) != 1 {
					b.Fatal(err)
				}
			}
		})
		// The yardstick: encoding/json into the fields that are needed.
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				var w struct {
					ScriptName, Outcome, ExecutionModel, Entrypoint, DurableObjectID string
					ScriptVersion                                                    struct{ ID string }
					CPUTime, WallTime, EventTimestamp                                float64
					Exceptions                                                       []struct{ Name, Message, Stack string }
					Logs                                                             []struct{ Message []any }
				}
				if err := json.Unmarshal(data, &w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	for name, data := range map[string][]byte{"healthy": sized(benchHealthy), "storm": storm(1)} {
		events, err := triggers.Decode("workers.events.s", data)
		if err != nil {
			b.Fatal(err)
		}
		s := triggers.State{Rules: builtin(b)}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				triggers.Decide(events[0], s, now())
			}
		})
	}
}

// cpu reports the processor time of an operation, which other work on the
// machine lengthens less than its wall time.
func cpu(b *testing.B) func() {
	b.Helper()
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

// endless gives out b.N deliveries in batches, all alike or one per target.
type endless struct {
	left     int
	messages [][]byte
	done     context.CancelFunc
}

type plainDelivery struct {
	data []byte
	n    uint64
	at   time.Time
}

func (d *plainDelivery) Subject() string           { return "workers.events.edge-gateway" }
func (d *plainDelivery) Data() []byte              { return d.data }
func (d *plainDelivery) Sequence() uint64          { return d.n }
func (d *plainDelivery) Received() time.Time       { return d.at }
func (d *plainDelivery) Ack() error                { return nil }
func (d *plainDelivery) Retry(time.Duration) error { return nil }

func (e *endless) Fetch(ctx context.Context, limit int, _ time.Duration) ([]triggers.Delivery, error) {
	if e.left == 0 {
		e.done()
		<-ctx.Done()
		return nil, nil
	}
	n := min(limit, e.left)
	list := make([]plainDelivery, n)
	out := make([]triggers.Delivery, n)
	for i := range list {
		list[i] = plainDelivery{data: e.messages[(e.left-i)%len(e.messages)], n: uint64(e.left - i), at: now()}
		out[i] = &list[i]
	}
	e.left -= n
	return out, nil
}

// BenchmarkListener is the whole way but for the queue and the sink's disk: what
// a raw consumer's 3.6 µs per message would be lengthened by.
func BenchmarkListener(b *testing.B) {
	var targets [][]byte
	for n := range 100 {
		targets = append(targets, storm(n))
	}
	var unlike [][]byte
	for n := range 20_000 {
		unlike = append(unlike, bytes.Replace(storm(n%100), []byte(`"overloaded":true`), []byte(`"overloaded":true,"request":"`+strconv.Itoa(n)+`"`), 1))
	}
	for name, messages := range map[string][][]byte{"healthy": {sized(benchHealthy)}, "storm of 100": targets, "storm of 100, no two lines alike": unlike} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ctx, done := context.WithCancel(b.Context())
			d := newDesk()
			l, err := triggers.NewListener(&endless{left: b.N, messages: messages, done: done}, d, d, triggers.Options{
				Now: now, Index: triggers.NewIndex(now), Recent: triggers.NewRecent(1000),
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			defer cpu(b)()
			if err := l.Run(ctx); err != nil {
				b.Fatal(err)
			}
		})
	}
}
