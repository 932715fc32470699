package jet

import (
	"errors"
	"fmt"
	"strings"
)

const hexDigits = "0123456789ABCDEF"

// encodeKey makes any string a key and a subject suffix: letters, digits, "-",
// "_" and inner single dots stay, so that keys read well and can be watched by
// their words; everything else becomes =XX.
func encodeKey(s string) (string, error) {
	if s == "" {
		return "", errors.New("an empty key")
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		case c == '.' && i > 0 && i < len(s)-1 && s[i-1] != '.':
			b.WriteByte(c)
		default:
			b.WriteByte('=')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	if b.Len() > keyMaxBytes {
		return "", fmt.Errorf("key %.40q… is longer than %d bytes", s, keyMaxBytes)
	}
	return b.String(), nil
}

func decodeKey(s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '=' && i+2 < len(s) {
			hi, lo := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo)) //nolint:gosec // both are below 16
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
