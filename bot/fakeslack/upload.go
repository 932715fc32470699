package fakeslack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
)

const maxUpload = 16 << 20

func (w *Workspace) uploadURL(r *request) (map[string]any, error) {
	n := r.number("length", 0)
	if r.args["filename"] == "" || n <= 0 {
		return nil, refuse("invalid_arguments")
	}
	if n > maxUpload {
		return nil, refuse("file_upload_size_restricted")
	}
	f := &File{ID: w.id("F"), Name: r.args["filename"], Alt: r.args["alt_txt"], Length: n}
	if len(f.Alt) > 2000 {
		return nil, refuse("alt_txt_too_large")
	}
	w.files[f.ID] = f
	r.call.File = f.ID
	return map[string]any{"upload_url": r.base + "/upload/v1/" + f.ID, "file_id": f.ID}, nil
}

// receive takes the bytes, as a form or bare.
func (w *Workspace) receive(rw *httptest.ResponseRecorder, r *http.Request, token string, req *request) {
	f := w.files[strings.TrimPrefix(r.URL.Path, "/upload/v1/")]
	if f == nil || f.Done {
		req.call.Error = "upload_url_invalid"
		http.Error(rw, "no such upload", http.StatusNotFound)
		return
	}
	if token != "" && token != BotToken {
		req.call.Error = "invalid_auth"
		http.Error(rw, "invalid_auth", http.StatusForbidden)
		return
	}
	req.call.File = f.ID
	body := io.Reader(http.MaxBytesReader(nil, r.Body, maxUpload+1<<20))
	if mr, err := r.MultipartReader(); err == nil {
		for {
			p, err := mr.NextPart()
			if err != nil {
				http.Error(rw, "no file part", http.StatusBadRequest)
				return
			}
			if p.FormName() == "file" || p.FormName() == "filename" {
				body = p
				break
			}
		}
	}
	data, err := io.ReadAll(body)
	if err != nil || len(data) != f.Length {
		req.call.Error = "length_mismatch"
		http.Error(rw, fmt.Sprintf("%d bytes came, %d were announced", len(data), f.Length), http.StatusBadRequest)
		return
	}
	f.Data, f.Type = data, sniff(data)
	req.call.Effect = true
	fmt.Fprintf(rw, "OK - %d", len(data))
}

func sniff(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "jpg"
	case bytes.HasPrefix(b, []byte("GIF8")):
		return "gif"
	case bytes.Contains(b[:min(len(b), 512)], []byte("<svg")):
		return "svg" // taken as a file, shown without a preview
	}
	return "binary"
}

func (w *Workspace) completeUpload(r *request) (map[string]any, error) {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(r.args["files"]), &list) != nil || len(list) == 0 {
		return nil, refuse("invalid_arguments")
	}
	channel := r.args["channel_id"]
	var thread string
	if channel != "" {
		c, err := w.room(channel)
		if err != nil {
			return nil, err
		}
		// chat:write.public does not help here: the bot must be in the channel.
		if !c.Member {
			return nil, refuse("not_in_channel")
		}
		if thread, err = w.parent(channel, r.args["thread_ts"]); err != nil {
			return nil, err
		}
	}
	blocks := json.RawMessage(r.args["blocks"])
	if r.args["initial_comment"] != "" {
		blocks = nil // Slack ignores blocks beside a comment
	}
	if len(blocks) > 0 {
		if strings.Contains(string(blocks), `"type":"markdown"`) {
			return nil, refuse("internal_error") // slackapi/python-slack-sdk#1756
		}
		blocks = unwrap(blocks)
		if err := checkBlocks(blocks, inMessage); err != nil {
			return nil, err
		}
	}
	w.mentions(r.method, r.args["initial_comment"], blocks)
	out := make([]map[string]any, 0, len(list))
	for _, l := range list {
		f := w.files[l.ID]
		if f == nil || len(f.Data) == 0 {
			return nil, refuse("file_not_found")
		}
		if f.Done {
			return nil, refuse("file_already_completed")
		}
	}
	for _, l := range list {
		f := w.files[l.ID]
		f.Done, f.Title = true, l.Title
		r.call.File, r.call.Channel, r.call.ThreadTS, r.call.Effect = f.ID, channel, thread, true
		out = append(out, map[string]any{"id": f.ID, "title": f.Title})
		if channel != "" {
			w.uploads = append(w.uploads, &share{
				due: r.now.Add(w.ShareDelay), file: f,
				message: Message{Channel: channel, ThreadTS: thread, User: Bot, Text: r.args["initial_comment"], Blocks: blocks, Files: []string{f.ID}},
			})
		}
	}
	w.settle(r.now)
	w.touch()
	return map[string]any{"files": out}, nil
}

// unwrap takes blocks as a bare array or inside an object, as slack-go's type
// for them marshals.
func unwrap(raw json.RawMessage) json.RawMessage {
	var o struct {
		Blocks json.RawMessage `json:"blocks"`
	}
	if json.Unmarshal(raw, &o) == nil && o.Blocks != nil {
		return o.Blocks
	}
	return raw
}

func (w *Workspace) fileInfo(r *request) (map[string]any, error) {
	f := w.files[r.args["file"]]
	if f == nil {
		return nil, refuse("file_not_found")
	}
	public := map[string]any{}
	for _, s := range f.Shares {
		ch, ts, _ := strings.Cut(s, "/")
		entry := map[string]any{"ts": ts}
		if m := w.find(ch, ts); m != nil && m.ThreadTS != "" {
			entry["thread_ts"] = m.ThreadTS
		}
		public[ch] = []any{entry}
	}
	return map[string]any{"file": map[string]any{
		"id": f.ID, "name": f.Name, "title": f.Title, "size": f.Length, "filetype": f.Type, "shares": map[string]any{"public": public},
	}}, nil
}

// slackFiles checks references to uploads: Slack knows the form of their ids,
// and shows only files that are shared.
func (w *Workspace) slackFiles(raw string) error {
	var err error
	walk(json.RawMessage(raw), func(n map[string]any) {
		ref, ok := n["slack_file"].(map[string]any)
		if !ok || err != nil {
			return
		}
		id, _ := ref["id"].(string)
		u, _ := ref["url"].(string)
		switch {
		case (id == "") == (u == ""):
			err = refuseBlocks("invalid_blocks", "slack_file takes an id or a url")
		case id != "" && !regexp.MustCompile(`^F[A-Z0-9]{8,}$`).MatchString(id):
			err = refuseBlocks("invalid_blocks", "slack_file id has the wrong form")
		case id != "" && (w.files[id] == nil || len(w.files[id].Shares) == 0):
			err = refuseBlocks("invalid_blocks", "invalid slack file")
		}
	})
	return err
}
