package demo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"github.com/snapflame/snapflame/bot/fakeslack"
)

// write keeps what a responder would see: the threads as text and as a page,
// and each capture's flamegraph as picture and page, read over HTTP like anyone.
func (s *stage) write(ctx context.Context) (flamegraphs int, err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil { //nolint:gosec // results for people to look at
		return 0, fmt.Errorf("make the folder for the demo's results: %w", err)
	}
	if err := s.keep("threads.txt", []byte(s.slack.Transcript())); err != nil {
		return 0, err
	}
	page, err := fetch(ctx, s.slackURL+"/channel/"+fakeslack.Incidents, "")
	if err != nil {
		return 0, err
	}
	if page, err = s.inline(ctx, page); err != nil {
		return 0, err
	}
	if err := s.keep("threads.html", page); err != nil {
		return 0, err
	}
	list, err := s.captures(ctx)
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if c.State != "stored" {
			continue
		}
		for suffix, path := range map[string]string{".png": "/flamegraph.png", ".html": "/flamegraph", ".svg": "/flamegraph.svg"} {
			data, err := fetch(ctx, "http://"+s.app.Addr()+"/captures/"+c.ID+path, apiToken)
			if err != nil {
				return flamegraphs, err
			}
			if err := s.keep(c.ID+suffix, data); err != nil {
				return flamegraphs, err
			}
		}
		flamegraphs++
	}
	return flamegraphs, nil
}

var picture = regexp.MustCompile(`src="(/files/[^"]+)"`)

// inline puts the pictures into the page, so that it can be looked at when
// nothing serves it any more.
func (s *stage) inline(ctx context.Context, page []byte) ([]byte, error) {
	var failed error
	page = picture.ReplaceAllFunc(page, func(src []byte) []byte {
		data, err := fetch(ctx, s.slackURL+html.UnescapeString(string(picture.FindSubmatch(src)[1])), "")
		if err != nil {
			failed = err
			return src
		}
		return []byte(`src="data:image/png;base64,` + base64.StdEncoding.EncodeToString(data) + `"`)
	})
	return page, failed
}

func (s *stage) keep(name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(s.Dir, name), data, 0o644); err != nil { //nolint:gosec // as above
		return fmt.Errorf("write the demo's results: %w", err)
	}
	return nil
}

func fetch(ctx context.Context, url, token string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read %s: %s: %.200s", url, resp.Status, data)
	}
	return data, nil
}

// taken is one capture, as the API tells of it.
type taken struct{ ID, State string }

func (s *stage) captures(ctx context.Context) ([]taken, error) {
	data, err := fetch(ctx, "http://"+s.app.Addr()+"/api/v1/captures", apiToken)
	if err != nil {
		return nil, err
	}
	var list struct{ Captures []taken }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the list of captures: %w", err)
	}
	return list.Captures, nil
}
