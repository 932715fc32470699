package triggers

// Class is what kind of trouble an event tells of.
type Class string

// The classes of the contract. ClassNone is everything else.
const (
	ClassOverloaded        Class = "overloaded"
	ClassExceededMemory    Class = "exceeded_memory"
	ClassExceededCPU       Class = "exceeded_cpu"
	ClassAccountOverloaded Class = "account_overloaded"
	ClassNone              Class = "none"
)

// Subclass tells the four overload texts apart; they mean different things.
type Subclass string

// The subclasses of ClassOverloaded.
const (
	SubclassRequestsQueued  Subclass = "requests_queued"
	SubclassDataQueued      Subclass = "data_queued"
	SubclassQueuedTooLong   Subclass = "queued_too_long"
	SubclassTooManyInWindow Subclass = "too_many_in_window"
)

// Shape is the wire form in which an event came.
type Shape string

// The shapes of the contract, told apart by content.
const (
	ShapeTail        Shape = "tail"
	ShapeWorkersLogs Shape = "workers_logs"
	ShapeLogpush     Shape = "logpush"
	ShapeOTLPLogs    Shape = "otlp_logs"
	ShapeOTLPTraces  Shape = "otlp_traces"
	ShapeWebhook     Shape = "webhook"
	// ShapeLoad is the compact line that the Tail Worker sends for healthy
	// Durable Object invocations; see the package documentation.
	ShapeLoad Shape = "load"
)
