package flame_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// grown makes a report from paths: "a;b;c 12" is 12 ms in c called by b.
func grown(tb testing.TB, paths ...string) *report.Report {
	tb.Helper()
	f := &folder{ids: map[report.Frame]int32{}, kids: map[[2]int32]int32{}}
	f.t.Unit = "nanoseconds"
	f.t.Nodes = []report.Node{{Frame: -1, Parent: -1}}
	for _, p := range paths {
		i := strings.LastIndex(p, " ")
		var ms int64
		if _, err := fmt.Sscan(p[i+1:], &ms); err != nil {
			tb.Fatal(err)
		}
		f.path(strings.Split(p[:i], ";"), ms*1e6)
	}
	r := &report.Report{Type: report.CPU, Samples: 1000, Verdict: report.Conclusive, BusyNS: f.t.Nodes[0].Total}
	f.finish(r)
	return r
}

func (f *folder) path(names []string, v int64) {
	at := int32(0)
	f.t.Nodes[0].Total += v
	for _, name := range names {
		fr := report.Frame{Name: name, File: "file:///bundle/worker.js", Line: 1, Kind: report.KindApp}
		id, ok := f.ids[fr]
		if !ok {
			id = int32(len(f.t.Frames))
			f.ids[fr] = id
			f.t.Frames = append(f.t.Frames, fr)
		}
		next, ok := f.kids[[2]int32{at, id}]
		if !ok {
			next = int32(len(f.t.Nodes))
			f.kids[[2]int32{at, id}] = next
			f.t.Nodes = append(f.t.Nodes, report.Node{Frame: id, Parent: at})
		}
		at = next
		f.t.Nodes[at].Total += v
	}
	f.t.Nodes[at].Self += v
}

// shape is one titled rectangle of an SVG.
type shape struct {
	X     int    `xml:"x,attr"`
	Y     int    `xml:"y,attr"`
	Width int    `xml:"width,attr"`
	Fill  string `xml:"fill,attr"`
	Title string `xml:"title"`
}

type drawing struct {
	Label  string   `xml:"aria-label,attr"`
	Title  string   `xml:"title"`
	Rects  []shape  `xml:"rect"`
	Texts  []string `xml:"text"`
	Script []string `xml:"script"`
}

func draw(tb testing.TB, r *report.Report) drawing {
	tb.Helper()
	var b bytes.Buffer
	if err := flame.SVG(&b, r); err != nil {
		tb.Fatal(err)
	}
	return parse(tb, b.Bytes())
}

func parse(tb testing.TB, b []byte) drawing {
	tb.Helper()
	dec := xml.NewDecoder(bytes.NewReader(b))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatalf("the SVG is not well-formed: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok && !strings.Contains(" svg title rect text ", " "+e.Name.Local+" ") {
			tb.Fatalf("the SVG holds a <%s>", e.Name.Local)
		}
	}
	var d drawing
	if err := xml.Unmarshal(b, &d); err != nil {
		tb.Fatal(err)
	}
	return d
}

func (d drawing) boxes(prefix string) (list []shape) {
	for _, s := range d.Rects {
		if strings.HasPrefix(s.Title, prefix) {
			list = append(list, s)
		}
	}
	return list
}

func TestLayout(t *testing.T) {
	d := draw(t, grown(t, "main;light 100", "main;heavy 600", "main;beta 150", "main;alpha 150"))
	var order []string
	x := -1
	for _, s := range d.Rects {
		if s.Title == "" || strings.HasPrefix(s.Title, "main") || strings.HasPrefix(s.Title, "busy") {
			continue
		}
		name, _, _ := strings.Cut(s.Title, " ")
		order = append(order, name)
		if s.X <= x {
			t.Errorf("%s starts at %d, left of its sibling at %d", s.Title, s.X, x)
		}
		x = s.X
	}
	if got, want := strings.Join(order, " "), "heavy alpha beta light"; got != want {
		t.Errorf("siblings are %q, want weight then name: %q", got, want)
	}
	heavy, main := d.boxes("heavy")[0], d.boxes("main")[0]
	if got, want := float64(heavy.Width)/float64(main.Width), 0.6; got < want-0.01 || got > want+0.01 {
		t.Errorf("heavy takes %.3f of its caller's width, want %.3f", got, want)
	}
	if heavy.Y <= main.Y {
		t.Errorf("the callee stands at %d, its caller at %d, want the caller above", heavy.Y, main.Y)
	}
}

func TestNarrowBoxesAreMerged(t *testing.T) {
	paths := []string{"main;wide 100000"}
	for i := range 200 {
		paths = append(paths, fmt.Sprintf("main;narrow%d 100", i))
	}
	d := draw(t, grown(t, paths...))
	if got := d.boxes("narrow"); len(got) != 0 {
		t.Errorf("%d boxes of a pixel are drawn by themselves, want none", len(got))
	}
	if got := d.boxes("200 narrow frames, 16.7 %"); len(got) != 1 {
		t.Errorf("got %d merged boxes, want one that says what it holds", len(got))
	}
}

func TestRecursionTakesOneRow(t *testing.T) {
	d := draw(t, grown(t, "main"+strings.Repeat(";walk", 3000)+";leaf 100"))
	if got := len(d.boxes("walk ×3,000")); got != 1 {
		t.Errorf("recursion 3,000 deep has %d boxes, want 1", got)
	}
	leaf := d.boxes("leaf")
	if len(leaf) != 1 || leaf[0].Width < 1500 {
		t.Errorf("what the recursion calls is %v, want one box of full width", leaf)
	}
}

func TestDepthIsCutAndSaid(t *testing.T) {
	path := make([]string, 10_000)
	for i := range path {
		path[i] = fmt.Sprintf("f%d", i)
	}
	r := grown(t, strings.Join(path, ";")+" 100")
	d := draw(t, r)
	if n := len(d.Rects); n > 100 {
		t.Errorf("a stack of 10,000 frames draws %d boxes", n)
	}
	if all := strings.Join(d.Texts, "\n"); !strings.Contains(all, "deeper rows are not shown") {
		t.Errorf("the picture does not say that rows are missing: %s", all)
	}
	var b bytes.Buffer
	if err := flame.PNG(&b, r); err != nil {
		t.Fatal(err)
	}
	decode(t, b.Bytes())
	if data, err := flame.Data(r); err != nil || len(data) > 1<<20 {
		t.Errorf("the page's data has %d bytes, %v", len(data), err)
	}
}

func TestMillionFunctions(t *testing.T) {
	const n = 1_000_000
	tree := &report.Tree{Unit: "nanoseconds", Nodes: []report.Node{{Frame: -1, Parent: -1, Total: n * 1000}}}
	for i := range int32(n) {
		tree.Frames = append(tree.Frames, report.Frame{Name: "f", Line: int64(i), Kind: report.KindApp})
		tree.Nodes = append(tree.Nodes, report.Node{Frame: i, Self: 1000, Total: 1000})
	}
	r := &report.Report{Type: report.CPU, Verdict: report.Conclusive, Tree: tree, BusyNS: n * 1000}
	for name, f := range map[string]func(io.Writer, *report.Report) error{
		"PNG": flame.PNG, "SVG": flame.SVG, "HTML": flame.HTML,
	} {
		var b bytes.Buffer
		if err := f(&b, r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b.Len() > 4<<20 {
			t.Errorf("%s of a million functions has %d bytes, want at most 4 MiB", name, b.Len())
		}
	}
	data, err := flame.Data(r)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Up   []int32 `json:"up"`
		Self []int64 `json:"self"`
		Left int     `json:"left"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Up) > 61_000 || d.Left < 900_000 {
		t.Errorf("the page has %d nodes and says %d are left out, want at most 60,000 and the rest", len(d.Up), d.Left)
	}
	var sum int64
	for _, v := range d.Self {
		sum += v
	}
	if want := int64(n) * 1000; sum != want {
		t.Errorf("the page's nodes sum to %d, want %d: what is left out must still count", sum, want)
	}
}

func TestRefusals(t *testing.T) {
	ok := grown(t, "main 100")
	empty := *ok
	empty.Verdict = report.Empty
	noTree := *ok
	noTree.Tree = nil
	idle := report.Report{Type: report.CPU, Tree: &report.Tree{Nodes: []report.Node{{Frame: -1, Parent: -1}}}}
	bad := *ok
	bad.Tree = &report.Tree{Frames: ok.Tree.Frames, Nodes: []report.Node{{Frame: -1, Parent: -1, Total: 2}, {Parent: 5, Total: 2}}}
	type draws = map[string]func(io.Writer, *report.Report) error
	all := draws{"PNG": flame.PNG, "SVG": flame.SVG, "HTML": flame.HTML}
	for _, c := range []struct {
		name string
		r    *report.Report
		want error
		in   draws
	}{
		{"nil", nil, flame.ErrEmpty, all},
		{"nil compared", nil, flame.ErrEmpty, draws{"DiffPNG": flame.DiffPNG}},
		{"empty", &empty, flame.ErrEmpty, all},
		{"no tree", &noTree, flame.ErrEmpty, all},
		{"root only", &idle, flame.ErrEmpty, all},
		{"not in preorder", &bad, flame.ErrTree, all},
		{"no base", ok, flame.ErrNoBase, draws{"DiffPNG": flame.DiffPNG}},
	} {
		for name, f := range c.in {
			var b bytes.Buffer
			if err := f(&b, c.r); !errors.Is(err, c.want) {
				t.Errorf("%s of %s: got %v, want %v", name, c.name, err, c.want)
			}
			if b.Len() > 0 {
				t.Errorf("%s of %s wrote %d bytes before it refused", name, c.name, b.Len())
			}
		}
	}
}
