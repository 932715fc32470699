package capture_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/capture"
)

func packed(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	if _, err := zw.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestSniffRealProfiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pb*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := capture.Sniff(data); got != nil {
			t.Errorf("%s: %v, want a profile", f, got)
		}
		if len(data) > 200 {
			if got := capture.Sniff(data[:len(data)*2/3]); got == nil || got.Kind != capture.FailTruncated {
				t.Errorf("two thirds of %s: %v, want truncated", f, got)
			}
		}
	}
}

func TestSniffOtherThings(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		kind capture.FailureKind
		text string
	}{
		"nothing":            {nil, capture.FailEmpty, ""},
		"gzip of nothing":    {packed(t, nil), capture.FailEmpty, ""},
		"json":               {[]byte(" {\"success\":false}"), capture.FailNotProfile, "JSON"},
		"html":               {[]byte("\n<!DOCTYPE html><p>"), capture.FailNotProfile, "an HTML or XML page"},
		"cpuprofile":         {[]byte(`{"nodes":[{"id":1,"callFrame":{}}]}`), capture.FailNotProfile, "a V8 .cpuprofile, which is JSON and not pprof"},
		"text":               {[]byte("upstream connect error"), capture.FailNotProfile, "neither gzip nor protobuf"},
		"double gzip":        {packed(t, packed(t, []byte("x"))), capture.FailNotProfile, "gzip within gzip"},
		"gzip of text":       {packed(t, []byte("upstream connect error")), capture.FailNotProfile, "gzip of something that is not a profile"},
		"a gzip header":      {packed(t, []byte("x"))[:10], capture.FailTruncated, ""},
		"zeros":              {make([]byte, 1000), capture.FailNotProfile, "neither gzip nor protobuf"},
		"bomb":               {packed(t, make([]byte, 4<<20)), capture.FailNotProfile, "gzip of something that is not a profile"},
		"other protobuf":     {[]byte{0x2a, 0x01, 0x00}, capture.FailNotProfile, "a protobuf message without sample types"},
		"a length of 2^60":   {[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f}, capture.FailNotProfile, "neither gzip nor protobuf"},
		"an endless number":  {bytes.Repeat([]byte{0xff}, 100), capture.FailNotProfile, "neither gzip nor protobuf"},
		"more than may come": {make([]byte, capture.MaxProfile+1), capture.FailTooLarge, ""},
	} {
		got := capture.Sniff(c.data)
		if got == nil || got.Kind != c.kind || got.Message != c.text {
			t.Errorf("%s: got %v, want %s %q", name, got, c.kind, c.text)
		}
	}
}

// What google/pprof can read, Sniff must let through; it never panics.
func FuzzSniff(f *testing.F) {
	for _, name := range []string{"do-schema.cpu.pb", "heap-empty.pb.gz", "idle.cpu.pb.gz"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := capture.Sniff(data)
		if got == nil || got.Kind == capture.FailTooLarge || len(data) == 0 || data[0] != 0x0a {
			return
		}
		p, err := profile.ParseData(data)
		if err == nil && p.CheckValid() == nil && len(p.Sample) > 0 && got.Kind == capture.FailTruncated {
			t.Errorf("refused as truncated, yet it parses: %v", p)
		}
	})
}
