package report

import "fmt"

// findAllocation stands beside every heap capture: what was allocated in the
// window is not what is kept.
func findAllocation(r *Report, _ *sums) []Finding {
	if r.Type != Heap || r.Verdict == Empty || r.parts[0].live {
		return nil
	}
	return one(FindAllocation,
		fmt.Sprintf("These %s are allocations in the window, most of them collected again; a leak keeps memory and can be a small part of them.", size(r.BusyBytes)),
		"They say who feeds the garbage collector. For a leak, look for what grows: caches without bound, listeners, arrays in module scope or in the object.")
}

// size writes bytes in decimal units, as the pictures do.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
}
