//go:build !unix

package jet

import "errors"

// diskFree is unknown here; the streams' own bounds are all there is.
func diskFree(string) (int64, error) { return 0, errors.ErrUnsupported }
