package report

// wallNS is how long the captures took together; what was asked for where the
// file does not say, and 0 when nobody knows.
func (r *Report) wallNS() float64 {
	var sum int64
	for _, p := range r.parts {
		d := p.duration
		if d == 0 {
			d = int64(r.Meta.Duration)
		}
		if d <= 0 {
			return 0
		}
		sum = plus(sum, d)
	}
	return float64(sum)
}
