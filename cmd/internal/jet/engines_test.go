package jet_test

import (
	"testing"

	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func TestEmbedded(t *testing.T) {
	t.Parallel()
	first := open(t, t.TempDir(), func(o *jet.Options) { o.Listen = "127.0.0.1:0"; o.Token = "secret" })
	// A second replica comes in over TCP, as other processes do.
	second := open(t, t.TempDir(), func(o *jet.Options) { o.URL = first.URL(); o.Token = "secret" })
	conform(t, first, second)
}
