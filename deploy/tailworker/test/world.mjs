// What stands around a real workerd with the Tail Worker: a collector in place
// of snapflame, and a folder for the objects. Ports are the kernel's choice.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const dist = path.join(path.dirname(fileURLToPath(import.meta.url)), "../dist");
const workerdPath = createRequire(import.meta.url)("workerd").default;

/** A collector: answer(request) gives the status of each post, 202 by default. */
export async function startCollector() {
  const c = { posts: [], answer: () => 202 };
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const post = { url: request.url, method: request.method, headers: request.headers, body, at: Date.now() };
    post.status = await c.answer(post, c.posts.length);
    c.posts.push(post);
    if (post.status === 0) return request.socket.destroy();
    response.writeHead(post.status).end("said the collector");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  c.url = `http://127.0.0.1:${server.address().port}`;
  c.stop = () => { server.closeAllConnections(); server.close(); };
  /** The lines of all posts that were taken. */
  c.lines = () => c.posts.filter((p) => p.status < 300 && p.status > 0).flatMap((p) => p.body.split("\n").map((l) => JSON.parse(l)));
  c.records = () => c.lines().filter((l) => l.snapflame === undefined);
  c.loads = () => c.lines().filter((l) => l.snapflame === "load");
  c.clear = () => { c.posts = []; c.answer = () => 202; };
  return c;
}

/** until waits for a condition; its deadline is generous, for loaded machines. */
export async function until(what, ok) {
  const end = Date.now() + 45_000;
  while (!(await ok())) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await pause(20);
  }
}

/** workerd on test/world.capnp. get(path) asks the app. */
export async function startWorkerd(env) {
  const disk = mkdtempSync(path.join(tmpdir(), "snapflame-tail-"));
  mkdirSync(path.join(disk, "objects"));
  copyFileSync(path.join(dist, "../test/world.capnp"), path.join(dist, "world.capnp"));
  const child = spawn(workerdPath, ["serve", path.join(dist, "world.capnp"), "--experimental", "--verbose", "--control-fd=3",
    "--socket-addr=http=127.0.0.1:0", `--directory-path=objects=${path.join(disk, "objects")}`],
  { stdio: ["ignore", "pipe", "pipe", "pipe"], env: { PATH: process.env.PATH, ...env } });
  const w = { log: "" };
  for (const s of [child.stdout, child.stderr]) s.on("data", (data) => { w.log += data; });
  const exited = once(child, "exit");
  w.stop = async () => {
    child.kill("SIGTERM");
    await exited;
    rmSync(disk, { recursive: true, force: true });
  };
  const listening = new Promise((resolve) => createInterface({ input: child.stdio[3] }).on("line", (line) => {
    const told = JSON.parse(line);
    if (told.event === "listen") resolve(told.port);
  }));
  const port = await Promise.race([listening, exited.then(() => { throw new Error(`workerd ended\n${w.log}`); })]);
  w.get = async (where) => {
    const answer = await fetch(`http://127.0.0.1:${port}${where}`);
    return { status: answer.status, text: await answer.text() };
  };
  return w;
}
