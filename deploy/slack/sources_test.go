package slack_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sources is the code of bot/slackio, without its tests.
func sources(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../bot/slackio/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("bot/slackio moved: %v", err)
	}
	var b strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// calls are the methods of slack-go's client that bot/slackio calls.
func calls(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`\.api\.([A-Z]\w+)\(`).FindAllStringSubmatch(sources(t), -1) {
		found[m[1]] = true
	}
	if len(found) < 10 {
		t.Fatalf("only %d calls found; the client's field has another name now", len(found))
	}
	return found
}
