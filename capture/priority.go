package capture

// Trouble is what went wrong with the target; the names are the contract's classes.
type Trouble string

// The troubles that lead to a capture. NoTrouble is somebody who asks.
const (
	NoTrouble      Trouble = ""
	Overloaded     Trouble = "overloaded"
	ExceededMemory Trouble = "exceeded_memory"
	ExceededCPU    Trouble = "exceeded_cpu"
)

// Priorities is how many there are: 0 to Priorities-1, 0 first.
const Priorities = 5

// PriorityOf orders the queue: what is failing now and soon gone, then a person
// who waits, then what fails more slowly, then seconds of what has been
// captured once, then quiet times. Within one priority the older is first.
func PriorityOf(c Cause, t Trouble) int {
	switch {
	case c == CauseBaseline:
		return 4
	case c == CauseFollowUp:
		return 3
	case c == CauseCommand:
		return 1
	case t == Overloaded, t == ExceededMemory:
		return 0
	default:
		return 2
	}
}
