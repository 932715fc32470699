# A stateless Worker (edge) and the owner of its Durable Objects (meter), each
# with the Tail Worker. workerd gives no script names to tails, so each has a
# Tail Worker of its own that knows one. Built files stand beside this one.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ( name = "edge", worker = .edge ),
    ( name = "meter", worker = .meter ),
    ( name = "edge-tail", worker = .edgeTail ),
    ( name = "meter-tail", worker = .meterTail ),
    ( name = "loopback", network = ( allow = [ "127.0.0.1/32" ] ) ),
    ( name = "objects", disk = ( path = "objects", writable = true ) ),
  ],
  sockets = [ ( name = "http", address = "127.0.0.1:0", http = (), service = "edge" ) ],
  # Of the code that was optimised before a capture began, V8's profiler does not
  # know what was replaced on the stack (OSR), nor what was inlined: that time
  # goes to the caller. A test that wants a function by its name does without.
  v8Flags = [ "--no-use-osr", "--no-turbo-inlining" ],
);

const edge :Workerd.Worker = (
  modules = [ ( name = "app.js", esModule = embed "app.js" ) ],
  compatibilityDate = "2026-06-01",
  bindings = [ ( name = "METER", durableObjectNamespace = ( className = "Meter", serviceName = "meter" ) ) ],
  tails = [ "edge-tail" ],
);

const meter :Workerd.Worker = (
  modules = [ ( name = "app.js", esModule = embed "app.js" ) ],
  compatibilityDate = "2026-06-01",
  durableObjectNamespaces = [ ( className = "Meter", uniqueKey = "test-meter", enableSql = true ) ],
  durableObjectStorage = ( localDisk = "objects" ),
  bindings = [ ( name = "METER", durableObjectNamespace = "Meter" ) ],
  tails = [ "meter-tail" ],
);

const edgeTail :Workerd.Worker = (
  modules = [ ( name = "tail.js", esModule = embed "tail.js" ) ],
  compatibilityDate = "2026-06-01",
  globalOutbound = "loopback",
  bindings = [
    ( name = "SCRIPT_NAME", text = "edge" ),
    ( name = "SNAPFLAME_URL", fromEnvironment = "SNAPFLAME_URL" ),
    ( name = "SNAPFLAME_TOKEN", fromEnvironment = "SNAPFLAME_TOKEN" ),
    ( name = "NATS_WS_URL", fromEnvironment = "NATS_WS_URL" ),
    ( name = "NATS_TOKEN", fromEnvironment = "NATS_TOKEN" ),
  ],
);

const meterTail :Workerd.Worker = (
  modules = [ ( name = "tail.js", esModule = embed "tail.js" ) ],
  compatibilityDate = "2026-06-01",
  globalOutbound = "loopback",
  bindings = [
    ( name = "SCRIPT_NAME", text = "meter" ),
    ( name = "LOAD_MS", text = "500" ),
    ( name = "SNAPFLAME_URL", fromEnvironment = "SNAPFLAME_URL" ),
    ( name = "SNAPFLAME_TOKEN", fromEnvironment = "SNAPFLAME_TOKEN" ),
    ( name = "NATS_WS_URL", fromEnvironment = "NATS_WS_URL" ),
    ( name = "NATS_TOKEN", fromEnvironment = "NATS_TOKEN" ),
  ],
);
