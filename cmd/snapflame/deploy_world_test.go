package main

import (
	"bytes"
	"io"
	"net/http"
)

// post sends events with the ingest token and returns the status and answer.
func (w *world) post(body []byte) (int, string) {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+w.http+"/ingest/events", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ingest-secret-token")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}
