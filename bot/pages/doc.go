// Package pages shows incidents, objects and captures to people: which errors
// does this capture explain, and which capture explains this error?
//
// The pages are rendered on the server with html/template and work without a
// script; the one small script refreshes lists, sorts tables and opens the
// minute that a bar of the chart stands for. There is no build step and no
// request to anywhere else, and the policy in headers.go allows none.
//
// Correlation is arithmetic on times and says its resolution: errors are
// counted in slots of ten seconds, so "inside the window" is exact to one slot
// at each end. A capture of the incident's own target is said to explain an
// error; one that only overlaps it in time is said to overlap.
//
// It checks nothing about who asks: package access stands in front.
package pages
