package report

import "math"

// z95 is the two-sided 95 % quantile of the normal distribution.
const z95 = 1.959963984540054

// tQuantile is the two-sided 95 % quantile of Student's t, by the expansion
// of Cornish and Fisher around the normal one: right to 0.1 % from 5 degrees
// of freedom on, where a comparison begins to be possible at all.
func tQuantile(degrees int) float64 {
	v, z := float64(max(degrees, 1)), z95
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z7+19*z5+17*z3-15*z)/(384*v*v*v)
}

// interval is a share with its bounds at 95 %.
type interval struct{ p, low, high float64 }

// wilson is the score interval of a share p seen in n independent samples.
func wilson(p, n, t float64) interval {
	if n <= 0 {
		return interval{p, 0, 1}
	}
	d := 1 + t*t/n
	mid := (p + t*t/(2*n)) / d
	half := t / d * math.Sqrt(p*(1-p)/n+t*t/(4*n*n))
	return interval{p, max(0, min(p, mid-half)), min(1, max(p, mid+half))}
}

// newcombe bounds after-before by the hybrid of the two score intervals.
// floor is a drift in points that is to be expected anyway; it is added in
// quadrature.
func newcombe(before, after interval, floor float64) (low, high float64) {
	d := after.p - before.p
	low = d - math.Sqrt(sq(after.p-after.low)+sq(before.high-before.p)+sq(floor))
	high = d + math.Sqrt(sq(after.high-after.p)+sq(before.p-before.low)+sq(floor))
	return max(low, -1), min(high, 1)
}

func sq(x float64) float64 { return x * x }

// pValue is how likely a difference as large as d is by chance, when its
// interval towards zero is half wide.
func pValue(d, half float64) float64 {
	if half <= 0 {
		return 1
	}
	return math.Erfc(math.Abs(d) / (half / z95) / math.Sqrt2)
}

// discoveries marks which of the p values stand at a false discovery rate of
// q (Benjamini and Hochberg): with 30 functions looked at, one in 20 would
// "change" by chance otherwise.
func discoveries(p []float64, q float64) []bool {
	limit := -1.0
	for _, x := range p {
		rank := 0
		for _, y := range p {
			if y <= x {
				rank++
			}
		}
		if x <= q*float64(rank)/float64(len(p)) {
			limit = max(limit, x)
		}
	}
	out := make([]bool, len(p))
	for i, x := range p {
		out[i] = x <= limit
	}
	return out
}
