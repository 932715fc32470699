package api

// Patterns are the routes, for the test that holds the OpenAPI file to them.
func Patterns() []string {
	var out []string
	for p := range (&api{}).routes() {
		out = append(out, p)
	}
	return out
}
