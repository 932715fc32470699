package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// keepFolder writes the data folder of this version into testdata/upgrade; to
// be run once for each release:
//
//	go test ./cmd/snapflame -run TestUpgrade -keep-folder v0.2.0
var keepFolder = flag.String("keep-folder", "", "version under which to keep a data folder of this program")

const secondObject = "4fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"

// TestUpgrade starts on the data folders that earlier releases left when they
// were killed: one incident had its report, the other waited for its capture.
// Their records are read, what was begun comes to an end, and new trouble opens
// a new thread. The years between are part of it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if *keepFolder != "" {
		leaveFolder(t, filepath.Join("testdata", "upgrade", *keepFolder+".tar.gz"))
	}
	folders, err := filepath.Glob("testdata/upgrade/*.tar.gz")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folder of an earlier release: %v", err)
	}
	for _, packed := range folders {
		t.Run(strings.TrimSuffix(filepath.Base(packed), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			upgraded(t, packed)
		})
	}
}

func upgraded(t *testing.T, packed string) {
	t.Helper()
	w := newWorld(t, twoObjects)
	unpack(t, packed, w.env["SNAPFLAME_NATS_STORE_DIR"])
	w.env["SNAPFLAME_RETENTION_AGE"] = "87600h" // ten years: the folder is as old as its release
	w.serve()
	list := w.listed()
	first, second := list[roomObject], list[secondObject]
	if first.ID == "" || second.ID == "" || first.Count != 3 || len(first.Captures) == 0 {
		t.Fatalf("the incidents of the folder: %+v", list)
	}
	profile := w.get("/api/v1/captures/" + first.Captures[0].ID + "/profile")
	want, err := os.ReadFile("../../report/testdata/profiles/do-schema.cpu.pb.gz")
	if err != nil || profile != string(want) {
		t.Errorf("the stored profile has %d bytes, want those of %d: %v", len(profile), len(want), err)
	}
	if page := w.get("/api/v1/captures/" + first.Captures[0].ID + "/report"); !strings.Contains(page, "ensureSchema") {
		t.Errorf("the report does not name the function: %.300s", page)
	}
	w.await("what was begun has ended", func() bool {
		state := w.listed()[secondObject].Captures[0].State
		return state == "failed" || state == "stored"
	})
	before := len(w.roots())
	w.publish(own(roomObject, time.Now()))
	w.await("new trouble has a thread and a picture", func() bool { return len(w.roots()) > before && len(w.pictures()) > 0 })
}

func twoObjects(w *world) {
	w.cf.AddObject(fakecf.Object{ID: secondObject, Namespace: roomNamespace, Version: roomVersion})
}

// incident is what the API says of one.
type incident struct {
	ID       string
	Count    int64
	Captures []struct{ ID, State string }
	Target   struct {
		ObjectID string `json:"object_id"`
	}
}

// listed are the newest incidents by object.
func (w *world) listed() map[string]incident {
	w.t.Helper()
	var got struct{ Incidents []incident }
	if err := json.Unmarshal([]byte(w.get("/api/v1/incidents")), &got); err != nil {
		w.t.Fatal(err)
	}
	out := map[string]incident{}
	for _, i := range got.Incidents {
		if _, ok := out[i.Target.ObjectID]; !ok {
			out[i.Target.ObjectID] = i
		}
	}
	return out
}

// leaveFolder makes a data folder as a machine that lost its power leaves it.
func leaveFolder(t *testing.T, packed string) {
	t.Helper()
	w := newWorld(t, twoObjects).serve()
	now := time.Now()
	w.publish(own(roomObject, now), own(roomObject, now.Add(-time.Second)), own(roomObject, now.Add(-2*time.Second)))
	w.await("the first incident has its picture", func() bool { return len(w.pictures()) == 1 })
	w.await("its events are counted", func() bool { return w.listed()[roomObject].Count == 3 })
	w.cf.Fault = func(fakecf.Request) *fakecf.Fault { return &fakecf.Fault{Hang: true} }
	w.publish(own(secondObject, now))
	w.await("the second is announced and asked for", func() bool {
		return len(w.slack.Messages(fakeslack.Incidents)) > 2 && len(w.listed()[secondObject].Captures) == 1
	})
	w.kill()
	if err := os.MkdirAll(filepath.Dir(packed), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	tw := tar.NewWriter(z)
	if err := errors.Join(tw.AddFS(os.DirFS(w.env["SNAPFLAME_NATS_STORE_DIR"])), tw.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, packed, dir string) {
	t.Helper()
	f, err := os.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root, err := openRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			err = root.MkdirAll(filepath.Clean(h.Name), 0o700)
		} else {
			err = unpackFile(root, filepath.Clean(h.Name), r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func openRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
