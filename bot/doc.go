// Package bot holds the conversation: one case per incident, what its thread
// says, and the words people type. It is pure: no Slack, no NATS.
//
//   - Case is the state machine incident → capture → report → thread. Its
//     methods are functions of the case and the time and return the next case.
//   - Desk drives cases: it opens them by compare-and-set, joins events, hears
//     of captures, runs the timers.
//   - Writer says what each message of a case says, as a Card; whoever renders a
//     Card escapes it.
//   - ParseCommand is the one grammar; Commander answers it, and clicks.
//
// What a case wants done outside (queue a capture, post a message) stands in the
// case as a pending effect, written with the decision and cleared after it was
// handed over. A process may die in between at any point: the effect is found
// and done again, and all of them may be done twice. A pending post has no words:
// they are written when it is handed over, so that a message which waited out an
// outage says what is true afterwards, and two replicas cannot leave an older
// text behind (an overtaken post is owed again).
//
// Deadlines (the quiet close, a root revision held back, retries) are fields of
// the case. Every replica runs timers from what it watches, and compare-and-set
// decides who acts: there is no leader and no schedule to lose.
//
// It refuses: a second capture of a target that has one under way; a capture by
// whoever may not, also by a button; figures without their window; words from
// templates that fail.
package bot
