package triggers

import "bytes"

// The words without one of which a record can be of no class: see anchors and
// outcomeClass. JSON may write any of them with \u escapes, so a record that
// has one is looked at more closely.
//
//nolint:gochecknoglobals // constants that Go cannot declare
var (
	lookFor = [][]byte{[]byte("xceed"), []byte("verload"), []byte("our account"), []byte("XCEED"), []byte("VERLOAD"), []byte(`\u00`)}
)

// interesting says whether a record may be of a class, by its bytes alone.
func interesting(data []byte) bool {
	for _, w := range lookFor {
		if bytes.Contains(data, w) {
			return true
		}
	}
	return false
}

// interesting says whether a part of a message may be of a class. A TraceItem
// can say so in its texts and its outcome only.
func (p *part) interesting() bool {
	if p.shape != ShapeTail {
		return interesting(p.data)
	}
	for _, at := range [...]int{atOutcome, atExceptions, atLogs} {
		if raw := p.raw(at); len(raw) > 2 && interesting(raw) {
			return true
		}
	}
	return false
}
