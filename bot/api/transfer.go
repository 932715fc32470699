package api

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// Bounds of an imported capture. A 50 s profile is about 1 MB.
const (
	maxImport = 20 << 20
	maxRecord = 1 << 20
)

// Names in an exported capture, which is a zip file.
const (
	recordName  = "record.json"
	profileName = "profile.pb.gz"
)

// export writes a capture as one file that import reads: what is known of it,
// and its bytes. It moves captures between installations, and into an archive
// before their retention ends.
func (a *api) export(w http.ResponseWriter, r *http.Request) {
	rec, data, ok := a.stored(w, r, "export")
	if !ok {
		return
	}
	var b bytes.Buffer
	if err := pack(&b, rec, data); err != nil {
		Problem(w, http.StatusInternalServerError, "the capture cannot be written", "download its profile instead: /api/v1/captures/{id}/profile")
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", `attachment; filename="capture-`+fileName(rec.ID)+`.zip"`)
	serve(w, r, b.Bytes())
}

func pack(w io.Writer, rec capture.Record, data []byte) error {
	z := zip.NewWriter(w)
	meta, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{recordName, meta}, {profileName, data}} {
		// Stored, not deflated: a profile is compressed already.
		e, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store, Modified: time.Unix(0, 0).UTC()})
		if err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := e.Write(f.data); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return z.Close()
}

// importCapture takes an exported capture in. One that is here already is left
// as it is: an import never changes what this installation saw itself.
func (a *api) importCapture(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxImport))
	if err != nil {
		Problem(w, http.StatusRequestEntityTooLarge, "too large", "an exported capture is at most 20 MiB")
		return
	}
	rec, data, err := unpack(body)
	if err != nil {
		Problem(w, http.StatusBadRequest, "not an exported capture", err.Error())
		return
	}
	a.Audit(r, "import", rec.ID)
	err = a.Captures.Import(r.Context(), rec, data)
	switch {
	case errors.Is(err, capture.ErrConflict):
		Problem(w, http.StatusConflict, "here already", "a capture of this id is stored; it was left as it is")
	case errors.Is(err, ErrRefused):
		Problem(w, http.StatusUnprocessableEntity, "cannot be imported", err.Error())
	case fail(w, err):
	default:
		w.Header().Set("Location", "/api/v1/captures/"+rec.ID)
		write(w, http.StatusCreated, rec)
	}
}

func unpack(body []byte) (capture.Record, []byte, error) {
	var rec capture.Record
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return rec, nil, errors.New("the body is not a zip file; send what /api/v1/captures/{id}/export gave")
	}
	meta, err := entry(z, recordName, maxRecord)
	if err != nil {
		return rec, nil, err
	}
	if err := json.Unmarshal(meta, &rec); err != nil {
		return rec, nil, fmt.Errorf("%s cannot be read: %w", recordName, err)
	}
	if rec.ID == "" || fileName(rec.ID) != rec.ID || rec.State != capture.Stored {
		return rec, nil, errors.New(recordName + " is not of a stored capture")
	}
	data, err := entry(z, profileName, maxImport)
	return rec, data, err
}

// entry reads one file of the zip. The limit is on what is read, not on what
// the header says.
func entry(z *zip.Reader, name string, limit int64) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, errors.New("the zip file holds no " + name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	err = errors.Join(err, f.Close())
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is over %d MiB", name, limit>>20)
	}
	return data, nil
}

// fileName keeps what an id of ours is made of.
func fileName(id string) string {
	out := make([]byte, 0, len(id))
	for _, c := range []byte(id) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			out = append(out, c)
		}
	}
	return string(out[:min(len(out), 80)])
}
