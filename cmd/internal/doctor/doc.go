// Package doctor finds out what keeps snapflame from working, before an
// incident does: one named check for each thing that it depends on, all at the
// same time, one line each that says what is wrong and what to do.
//
// Checks read and never write: no message is posted, no stream made, no profile
// taken. The one call that resembles a capture asks for a version that cannot
// exist, since only the answer to it tells whether the token may profile. What
// a check cannot know it says, and it refuses to call something fine that it
// has not asked.
package doctor
