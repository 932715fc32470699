package triggers

// Advice is what a responder should know about a class: what the error means
// and what usually helps. The overload texts mean different things and are not
// answered alike.
func Advice(c Class, s Subclass) string {
	switch c {
	case ClassOverloaded:
		return overloadAdvice(s)
	case ClassExceededMemory:
		return "The isolate passed 128 MB and was thrown away, with every object in it. A heap capture sees what the replacement isolate allocates from now on, not what was retained before: look for buffers of whole bodies, caches without a bound and large list() results."
	case ClassExceededCPU:
		return "One invocation used up its CPU limit and was stopped. Look at the widest function of the flamegraph; split the work, stream it, or raise limits.cpu_ms when it is meant to be long."
	case ClassAccountOverloaded:
		return "Durable Objects refuse work for the whole account, so there is no single object to profile. Back off with jitter, look for a retry storm or a fan-out, and spread load over time; Cloudflare support can tell which limit it was."
	default:
		return ""
	}
}

func overloadAdvice(s Subclass) string {
	switch s {
	case SubclassRequestsQueued:
		return "Requests reach the object faster than it finishes them, and its queue is full. An object runs on one thread: make each request cheaper (see the flamegraph), do not await storage or fetch inside blockConcurrencyWhile, or spread the load over more objects. Do not retry at once."
	case SubclassDataQueued:
		return "The bodies that wait in the object's queue are too large together. Send less per request, send large bodies past the object (R2, streams), or read and answer sooner; fewer but larger requests cause this as well."
	case SubclassQueuedTooLong:
		return "Requests waited too long before the object took them: something holds it up. Look for long synchronous work in the flamegraph, and for awaits under an input gate (storage, blockConcurrencyWhile) when the capture shows little CPU."
	case SubclassTooManyInWindow:
		return "One object got too many requests within 10 seconds, whatever each costs; a single object handles about 1,000 requests a second at most. Shard the object, batch requests, or answer from a cache in front of it; a faster function alone will not do."
	default:
		return "The object could not keep up with what it was sent. An object runs on one thread: look at the widest function of the flamegraph, and at how much is sent to this one object."
	}
}
