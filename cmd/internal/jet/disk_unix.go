//go:build unix

package jet

import (
	"fmt"
	"syscall"
)

// diskFree is the space in bytes that an ordinary user may still fill.
func diskFree(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:gosec,unconvert // signedness differs by system
}
