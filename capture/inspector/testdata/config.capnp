using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  # Code that was replaced on the stack, or inlined, before a capture has no frame of its own.
  v8Flags = [ "--no-use-osr", "--no-turbo-inlining" ],
  services = [ ( name = "shop", worker = .worker ), ( name = "other", worker = .worker ) ],
  sockets = [ ( name = "http", address = "127.0.0.1:0", http = (), service = "shop" ) ],
);

const worker :Workerd.Worker = (
  modules = [ ( name = "worker.js", esModule = embed "worker.js" ) ],
  compatibilityDate = "2026-06-01",
  compatibilityFlags = [ "new_module_registry" ],
);
