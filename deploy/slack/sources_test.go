package slack_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sources is the code of bot/slackio and of the doctor, without tests.
func sources(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../bot/slackio/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("bot/slackio moved: %v", err)
	}
	doctor, err := filepath.Glob("../../cmd/internal/doctor/slack.go")
	if err != nil || len(doctor) == 0 {
		t.Fatalf("the doctor moved: %v", err)
	}
	files = append(files, doctor...)
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

// calls are the methods of slack-go's client that are called there.
func calls(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`\.(?:api|client\([\w.]+\))\.([A-Z]\w+)\(`).FindAllStringSubmatch(sources(t), -1) {
		found[m[1]] = true
	}
	if len(found) < 10 {
		t.Fatalf("only %d calls found; the client's field has another name now", len(found))
	}
	return found
}
