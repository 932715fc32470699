// The data and the trees made of it. Nodes are in preorder, so every walk is a
// loop and no depth can overflow the stack.

const data = JSON.parse(document.getElementById('sf-data').textContent);
const frameCount = data.names.length;
const HIDDEN = 1; // the colour of paths left out; such frames are no functions

// hashOf is FNV-1a, to name a path in a link without naming a function.
function hashOf(text, seed) {
  let h = seed === undefined ? 0x811c9dc5 : seed;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  return h >>> 0;
}

// treeOf completes a tree from parents, frames and self values in preorder.
function treeOf(parent, frame, self) {
  const n = parent.length;
  const t = {
    n, parent, frame, self,
    total: new Float64Array(n), x: new Float64Array(n),
    depth: new Int32Array(n), end: new Int32Array(n), first: new Int32Array(n).fill(-1),
    next: new Int32Array(n).fill(-1),
  };
  for (let i = n - 1; i >= 0; i--) {
    t.total[i] += self[i];
    if (t.end[i] < i + 1) t.end[i] = i + 1;
    const p = parent[i];
    if (p < 0) continue;
    t.total[p] += t.total[i];
    if (t.end[p] < t.end[i]) t.end[p] = t.end[i];
    t.next[i] = t.first[p];
    t.first[p] = i;
  }
  const used = new Float64Array(n);
  for (let i = 1; i < n; i++) {
    const p = parent[i];
    t.depth[i] = t.depth[p] + 1;
    t.x[i] = t.x[p] + used[p];
    used[p] += t.total[i];
  }
  return t;
}

function mainTree() {
  const n = data.up.length;
  const parent = new Int32Array(n);
  for (let i = 0; i < n; i++) parent[i] = i === 0 ? -1 : i - data.up[i];
  return treeOf(parent, Int32Array.from(data.frame), Float64Array.from(data.self));
}

const main = mainTree();

// pathHash names a node by the frames above it, so that a link still finds it
// when the page is made again.
let pathHashes = null;
function pathHash(node) {
  if (!pathHashes) {
    pathHashes = new Uint32Array(main.n);
    for (let i = 1; i < main.n; i++) {
      pathHashes[i] = hashOf(data.names[main.frame[i]] + '\n' + data.line[main.frame[i]], pathHashes[main.parent[i]]);
    }
  }
  return pathHashes[node].toString(16);
}
function nodeOfHash(hash) {
  pathHash(0);
  for (let i = 1; i < main.n; i++) if (pathHashes[i].toString(16) === hash) return i;
  return -1;
}
const frameHash = (f) => hashOf(data.names[f] + '\n' + fileOf(f) + '\n' + data.line[f]).toString(16);
function frameOfHash(hash) {
  for (let f = 1; f < frameCount; f++) if (frameHash(f) === hash) return f;
  return -1;
}

// outermost lists the nodes of a frame that stand below no other of it: the
// ones that count once per stack.
function outermost(frame) {
  const list = [];
  for (let i = 1; i < main.n;) {
    if (main.frame[i] === frame) {
      list.push(i);
      i = main.end[i];
    } else i++;
  }
  return list;
}

// A trie collects paths with weights and turns into a tree. Its size is bounded:
// what comes after the limit stays with the last node it reached.
const TRIE_LIMIT = 60000;
const DEPTH_LIMIT = 256;
function newTrie(frame) {
  return {frame: [frame], self: [0], parent: [-1], kids: [null]};
}
function step(trie, at, frame) {
  let kids = trie.kids[at];
  if (!kids) kids = trie.kids[at] = new Map();
  let k = kids.get(frame);
  if (k === undefined) {
    if (trie.frame.length >= TRIE_LIMIT) return -1;
    k = trie.frame.length;
    kids.set(frame, k);
    trie.frame.push(frame);
    trie.self.push(0);
    trie.parent.push(at);
    trie.kids.push(null);
  }
  return k;
}
function treeOfTrie(trie) {
  const n = trie.frame.length;
  const total = Float64Array.from(trie.self);
  for (let i = n - 1; i > 0; i--) total[trie.parent[i]] += total[i];
  const parent = [], frame = [], self = [];
  const stack = [[0, -1]];
  while (stack.length) {
    const [i, up] = stack.pop();
    const at = parent.length;
    parent.push(up);
    frame.push(trie.frame[i]);
    self.push(trie.self[i]);
    if (!trie.kids[i]) continue;
    const kids = [...trie.kids[i].values()].sort((a, b) =>
      total[a] - total[b] || (data.names[trie.frame[a]] < data.names[trie.frame[b]] ? 1 : -1));
    for (const k of kids) stack.push([k, at]);
  }
  return treeOf(Int32Array.from(parent), Int32Array.from(frame), Float64Array.from(self));
}

// sandwichOf makes the two trees of one function: who calls it, what it calls.
function sandwichOf(frame) {
  const callers = newTrie(frame), callees = newTrie(frame);
  for (const top of outermost(frame)) {
    let at = 0;
    for (let i = main.parent[top], d = 0; i > 0 && d < DEPTH_LIMIT; i = main.parent[i], d++) {
      const k = step(callers, at, main.frame[i]);
      if (k < 0) break;
      at = k;
    }
    callers.self[at] += main.total[top];
    const map = new Int32Array(main.end[top] - top);
    for (let i = top; i < main.end[top]; i++) {
      if (i > top) {
        const up = map[main.parent[i] - top];
        const k = step(callees, up, main.frame[i]);
        map[i - top] = k < 0 ? up : k;
      }
      callees.self[map[i - top]] += main.self[i];
    }
  }
  return {frame, callers: treeOfTrie(callers), callees: treeOfTrie(callees)};
}

const fileOf = (f) => data.files[data.file[f]] || '';
function placeOf(f) {
  const file = fileOf(f);
  return file && data.line[f] > 0 ? file + ':' + data.line[f] : file;
}
function shortPlace(f) {
  const parts = placeOf(f).replace(/^[a-z]+:\/+/, '').split('/');
  return parts.slice(-2).join('/');
}
const isFunction = (f) => f > 0 && data.kind[f] !== HIDDEN;

function percent(share) {
  const p = share * 100;
  if (!isFinite(p)) return '?';
  if (p > 0 && p < 0.05) return '<0.1 %';
  return p > 99.95 && p < 100.05 ? '100 %' : p.toFixed(1) + ' %';
}
const shareOf = (v) => (data.total > 0 ? v / data.total : 0);
function points(d) {
  const p = Math.abs(d * 100).toFixed(1);
  return p === '0.0' ? '±0' : (d < 0 ? '−' : '+') + p;
}
function amount(v) {
  const units = data.unit === 'bytes'
    ? [[1e12, ' TB'], [1e9, ' GB'], [1e6, ' MB'], [1e3, ' kB'], [1, ' B']]
    : [[1e9, ' s'], [1e6, ' ms'], [1e3, ' µs'], [1, ' ns']];
  for (const [size, unit] of units) {
    if (v >= size) return (v / size).toPrecision(v / size >= 1000 ? 4 : 3) + unit;
  }
  return '0' + units[units.length - 1][1];
}
const changeOf = (f) => (data.base && data.base.of[f] >= 0 ? data.base.changes[data.base.of[f]] : null);
const verdictWord = {grew: 'grew', shrank: 'shrank', new: 'new', gone: 'gone', no_clear_change: 'no clear change'};
function changeText(c) {
  if (!c) return '';
  return percent(c.before) + ' → ' + percent(c.after) + ', ' + points(c.after - c.before) +
    ' points (95 % ' + points(c.low) + ' to ' + points(c.high) + '), ' + (verdictWord[c.verdict] || '');
}
