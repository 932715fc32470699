package flame

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// encoder writes paletted PNGs. image/png takes twice the time over the same
// pixels: it stores palette indices unfiltered, though most rows of an icicle
// are their upper neighbour, which filter 2 writes as a row of zeros. Rows that
// differ stay unfiltered: their text compresses better as it is.
type encoder struct {
	z    *zlib.Writer
	data bytes.Buffer
	row  []byte // as it is
	same []byte // no difference to the row above
}

var encoders = sync.Pool{New: func() any { return new(encoder) }} //nolint:gochecknoglobals // keeps its buffers

// The file format's constants: PNG specification, third edition, 5.2, 11.2 and 9.2.
const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	colourType   = 3 // palette
	filterUp     = 2
)

func encode(w io.Writer, img *image.Paletted) error {
	e, ok := encoders.Get().(*encoder)
	if !ok {
		e = new(encoder)
	}
	defer encoders.Put(e)
	if err := e.deflate(img); err != nil {
		return fmt.Errorf("compress the picture: %w", err)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(img.Rect.Dx())) //nolint:gosec // 1600
	head = binary.BigEndian.AppendUint32(head, uint32(img.Rect.Dy())) //nolint:gosec // at most 900
	head = append(head, 8, colourType, 0, 0, 0)
	colours := make([]byte, 0, 3*len(img.Palette))
	for _, c := range img.Palette {
		if rgb, ok := c.(color.RGBA); ok {
			colours = append(colours, rgb.R, rgb.G, rgb.B)
		}
	}
	if _, err := io.WriteString(w, pngSignature); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		data []byte
	}{{"IHDR", head}, {"PLTE", colours}, {"IDAT", e.data.Bytes()}, {"IEND", nil}} {
		if err := chunk(w, c.name, c.data); err != nil {
			return err
		}
	}
	return nil
}

func chunk(w io.Writer, name string, data []byte) error {
	sum := crc32.Update(crc32.ChecksumIEEE([]byte(name)), crc32.IEEETable, data)
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(data))) //nolint:gosec // under a megabyte
	if _, err := w.Write(append(frame, name...)); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	_, err := w.Write(binary.BigEndian.AppendUint32(nil, sum))
	return err
}

// deflate compresses the rows into e.data.
func (e *encoder) deflate(img *image.Paletted) error {
	e.data.Reset()
	if e.z == nil {
		z, err := zlib.NewWriterLevel(&e.data, zlib.BestSpeed)
		if err != nil {
			return err
		}
		e.z = z
	} else {
		e.z.Reset(&e.data)
	}
	width := img.Rect.Dx()
	if len(e.row) != width+1 {
		e.row = make([]byte, width+1)
		e.same = make([]byte, width+1)
		e.same[0] = filterUp
	}
	above := e.same[1:] // the row above the first counts as zeros
	for y := range img.Rect.Dy() {
		line := img.Pix[y*img.Stride:][:width]
		out := e.same
		if !bytes.Equal(line, above) {
			out = e.row
			copy(out[1:], line)
		}
		if _, err := e.z.Write(out); err != nil {
			return err
		}
		above = line
	}
	return e.z.Close()
}
