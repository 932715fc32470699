package flame

import (
	"errors"
	"io"

	"github.com/snapflame/snapflame/report"
)

// ErrEmpty is returned for a report without a busy sample: post the text and
// no picture.
var ErrEmpty = errors.New("the profile holds no busy sample, there is nothing to draw; say so in text")

// ErrNoBase is returned when a comparison is asked of a report without one.
var ErrNoBase = errors.New("the report was not compared with a baseline; analyse it with one, or draw the plain picture")

// ErrTree is returned for a call tree that is not in preorder.
var ErrTree = errors.New("the call tree is malformed: a node stands before its parent; analyse the profile again")

// PNG writes the card for a chat: 1600 pixels wide and at most 900 high, the
// verdict as headline, the icicle below it. The error is ErrEmpty, ErrTree or
// w's.
func PNG(w io.Writer, r *report.Report) error { return writePNG(w, r, false) }

// DiffPNG writes the comparison card: boxes as wide as their share is now, red
// for what grew and blue for what shrank, grey where the interval says nothing.
// The error is ErrEmpty, ErrNoBase, ErrTree or w's.
func DiffPNG(w io.Writer, r *report.Report) error { return writePNG(w, r, true) }

// SVG writes the same picture as PNG for documents: self-contained, without
// scripts, with real text and a title on every box. With a comparison in the
// report it is the comparison's picture. The error is as PNG's.
func SVG(w io.Writer, r *report.Report) error {
	p := borrowPen()
	defer returnPen(p)
	s, err := compose(r, p, r != nil && r.Base != nil, true)
	if err != nil {
		return err
	}
	return s.svg(w)
}

func writePNG(w io.Writer, r *report.Report, diff bool) error {
	if diff && r != nil && r.Base == nil {
		return ErrNoBase
	}
	p := borrowPen()
	defer returnPen(p)
	s, err := compose(r, p, diff, false)
	if err != nil {
		return err
	}
	return s.png(w, p)
}

// drawable tells whether there is something to draw.
func drawable(r *report.Report) error {
	if r == nil || r.Tree == nil || r.Verdict == report.Empty {
		return ErrEmpty
	}
	if len(r.Tree.Nodes) == 0 || r.Tree.Nodes[0].Total <= 0 {
		return ErrEmpty
	}
	return nil
}
