package jet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/cmd/internal/jet"
)

// Whoever dials by hand, as doctor and replay do, is told what to do.
func TestDialSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server func(*server.Options)
		want   string
	}{
		"credentials":  {func(o *server.Options) { o.Username, o.Password = "u", "p" }, "not connected (Authorization Violation): give it nats.creds,"},
		"no JetStream": {func(o *server.Options) { o.JetStream = false }, "is JetStream enabled at nats://"},
		"no stream":    {func(*server.Options) {}, "start snapflame serve, which makes it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := natsServer(t, tt.server).ClientURL()
			_, err := jet.Dial(t.Context(), jet.Options{URL: url, Settle: 3 * time.Second, Logger: zerolog.Nop()})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}
