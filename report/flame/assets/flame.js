// The page: its state, what changes it, and what is redrawn then. The state is
// in the link, so that a link shows what its sender saw.

const $ = (id) => document.getElementById(id);
const query = $('sf-q');
const tip = $('sf-tip');

const state = {
  view: 'flame', zoom: 0, sandwich: null, trail: [],
  focus: 0, focusTree: main,
  matched: null, test: () => true, flip: false, compare: !!data.base, dark: false,
};

function say(text) { $('sf-say').textContent = text; }

// ---- views

function show(view) {
  if (view === 'sandwich' && !state.sandwich) {
    const f = state.focusTree.frame[state.focus];
    state.sandwich = sandwichOf(isFunction(f) ? f : hottest());
  }
  state.view = view;
  for (const b of document.querySelectorAll('[data-view]')) {
    b.setAttribute('aria-pressed', b.dataset.view === view ? 'true' : 'false');
  }
  $('sf-picture').hidden = view === 'table';
  $('sf-list').hidden = view !== 'table';
  if (view === 'flame') focusOn(main, state.focusTree === main ? state.focus : state.zoom);
  if (view === 'sandwich') focusOn(state.sandwich.callees, 0);
  redraw();
  saveLink();
}

// hottest is the function with the most self time.
function hottest() {
  let best = 1;
  for (let f = 1; f < frameCount; f++) if (isFunction(f) && data.fself[f] > data.fself[best]) best = f;
  return best;
}

function openSandwich(frame, back) {
  if (!isFunction(frame)) return;
  if (state.sandwich && !back) state.trail.push(state.sandwich.frame);
  state.sandwich = sandwichOf(frame);
  stage.scrollTop = 0;
  show('sandwich');
  say('Callers and callees of ' + data.names[frame]);
}

function zoomTo(node) {
  if (node < 0) return;
  state.zoom = node;
  state.focusTree = main;
  state.focus = node;
  show('flame');
  stage.scrollTop = state.flip ? stage.scrollHeight : Math.max(0, (main.depth[node] - 4) * ROW);
  paint();
  say(node === 0 ? 'All frames' : 'Zoomed to ' + data.names[main.frame[node]] + ', ' + percent(shareOf(main.total[node])));
}

// out goes one step back: up in the zoom, or to the function seen before.
function out() {
  if (state.view === 'sandwich') {
    if (state.trail.length) openSandwich(state.trail.pop(), true);
    else show('flame');
  } else if (state.view === 'table') show('flame');
  else if (state.zoom > 0) zoomTo(main.parent[state.zoom]);
}

function reset() {
  if (query.value) {
    query.value = '';
    search();
    return;
  }
  state.trail = [];
  zoomTo(0);
}

// ---- drawing

let planned = '';
function redraw() {
  crumbs();
  if (state.view === 'table') {
    drawTable();
    matchText();
    return;
  }
  width = stage.clientWidth;
  planned = width + '';
  plan = fillPlan(state.view === 'sandwich' ? planSandwich(state.sandwich) : planMain(state.zoom));
  resize();
  paint();
  detail();
  legend();
  matchText();
}

function crumbs() {
  const nav = $('sf-crumbs');
  const list = [];
  const button = (text, act) => {
    const b = element('button', text);
    b.type = 'button';
    b.addEventListener('click', act);
    list.push(b);
  };
  const here = (text) => {
    const e = element('span', text);
    e.setAttribute('aria-current', 'location');
    list.push(e);
  };
  if (state.view === 'sandwich') {
    button('All frames', () => { state.trail = []; zoomTo(0); });
    here('Callers above and callees below ' + data.names[state.sandwich.frame]);
  } else if (state.view === 'table') {
    button('All frames', () => zoomTo(0));
    here('Table of ' + entries.length.toLocaleString('en') + ' functions');
  } else if (state.zoom === 0) here('All frames');
  else {
    const path = [];
    for (let i = main.parent[state.zoom]; i > 0; i = main.parent[i]) path.unshift(i);
    button('All frames', () => zoomTo(0));
    if (path.length > 5) list.push(element('span', '… ' + (path.length - 4) + ' more'));
    for (const i of path.length > 5 ? path.slice(-4) : path) button(data.names[main.frame[i]], () => zoomTo(i));
    here(data.names[main.frame[state.zoom]] + ' ' + percent(shareOf(main.total[state.zoom])));
  }
  nav.replaceChildren(...list);
}

// lines say everything about a frame; the tip and the detail line use them.
function lines(tree, node) {
  const f = tree.frame[node];
  const list = [data.names[f]];
  if (placeOf(f)) list.push(placeOf(f));
  if (node === 0 && tree === main) list.push(amount(data.total));
  else if (!isFunction(f)) list.push(percent(shareOf(tree.total[node])));
  else {
    list.push('here: ' + percent(shareOf(tree.total[node])) + ' of ' + data.whole + ', ' + amount(tree.total[node]) +
      (tree === main ? ' (self ' + percent(shareOf(tree.self[node])) + ', ' + amount(tree.self[node]) + ')' : ''));
    list.push('everywhere: total ' + percent(shareOf(data.ftotal[f])) + ', self ' + percent(shareOf(data.fself[f])));
    if (changeOf(f)) list.push(changeText(changeOf(f)));
  }
  return list;
}

function detail() {
  const what = $('sf-what');
  const [name, ...rest] = lines(state.focusTree, state.focus);
  what.replaceChildren(element('b', name), ...rest.map((l) => element('span', l)));
  const f = state.focusTree.frame[state.focus];
  $('sf-sandwich').disabled = !isFunction(f);
  $('sf-zoom').disabled = state.view === 'sandwich' || state.focus === state.zoom;
  tellTree();
}

const legends = {
  kind: [[4, 'your code'], [6, 'dependencies'], [8, 'runtime'], [10, 'V8 built-ins'], [12, 'garbage collector'], [13, 'wasm']],
  change: [[7, 'grew'], [5, 'grew a little'], [11, 'shrank'], [9, 'shrank a little'], [12, 'no clear change']],
};
function legend() {
  const tones = PALETTES[state.dark ? 'dark' : 'light'];
  const set = state.compare ? tones.change : tones.kind;
  const used = new Map();
  for (let f = 1; f < frameCount; f++) {
    const tone = data.kind[f] >= 4 && data.kind[f] < 12 ? data.kind[f] & ~1 : data.kind[f];
    used.set(tone, (used.get(tone) || 0) + data.fself[f]);
  }
  const list = [];
  for (const [tone, label] of state.compare ? legends.change : legends.kind) {
    if (!state.compare && !used.has(tone)) continue;
    const e = element('span', undefined, 'sf-key');
    const dot = element('span', undefined, 'sf-dot');
    dot.style.background = set[tone];
    e.append(dot, element('span', state.compare ? label : label + ' ' + percent(shareOf(used.get(tone)))));
    list.push(e);
  }
  if (state.compare) list.push(element('span', 'width: share now', 'sf-key'));
  if (data.left) list.push(element('span', data.left.toLocaleString('en') + ' light paths left out', 'sf-key'));
  $('sf-legend').replaceChildren(...list);
}

// ---- the link

let saved = '';
function saveLink() {
  const p = new URLSearchParams();
  if (state.view === 'sandwich') p.set('f', frameHash(state.sandwich.frame));
  else if (state.view === 'table') p.set('v', 'table');
  if (state.zoom > 0) p.set('z', pathHash(state.zoom));
  if (query.value) p.set('q', query.value);
  saved = p.toString();
  const now = location.hash.replace(/^#/, '');
  if (saved !== now) history.replaceState(null, '', saved ? '#' + saved : location.pathname + location.search);
}

function readLink() {
  const hash = location.hash.replace(/^#/, '');
  if (hash === saved) return;
  const p = new URLSearchParams(hash);
  query.value = (p.get('q') || '').slice(0, 200);
  const z = p.get('z') ? nodeOfHash(p.get('z')) : 0;
  const f = p.get('f') ? frameOfHash(p.get('f')) : -1;
  search();
  zoomTo(Math.max(z, 0));
  if (f > 0) openSandwich(f);
  else if (p.get('v') === 'table') show('table');
}

// ---- wiring

function moveTip(e) {
  const rect = canvas.getBoundingClientRect();
  const box = hit(e.clientX - rect.left, e.clientY - rect.top);
  tip.hidden = !box;
  stage.style.cursor = box && box.node >= 0 ? 'pointer' : 'default';
  if (!box) return;
  const text = box.node < 0 ? [box.many + ' narrow frames: zoom to see them'] : lines(box.tree, box.node);
  tip.replaceChildren(...text.map((l, i) => element(i ? 'span' : 'b', l)));
  const x = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const y = e.clientY + 18 + tip.offsetHeight > window.innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18;
  tip.style.left = Math.max(x, 4) + 'px';
  tip.style.top = Math.max(y, 4) + 'px';
}

function wire() {
  stage.addEventListener('click', (e) => {
    const rect = canvas.getBoundingClientRect();
    const box = hit(e.clientX - rect.left, e.clientY - rect.top);
    tip.hidden = true;
    if (box) activate(box);
  });
  stage.addEventListener('pointermove', (e) => { if (e.pointerType !== 'touch') moveTip(e); });
  stage.addEventListener('pointerleave', () => { tip.hidden = true; });
  stage.addEventListener('scroll', paint, {passive: true});
  for (const b of document.querySelectorAll('[data-view]')) b.addEventListener('click', () => show(b.dataset.view));
  let typing = 0;
  query.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(search, main.n > 20000 ? 120 : 0);
  });
  $('sf-zoom').addEventListener('click', () => { zoomTo(state.focus); stage.focus(); });
  $('sf-sandwich').addEventListener('click', () => openSandwich(state.focusTree.frame[state.focus]));
  $('sf-copy').addEventListener('click', copyName);
  $('sf-flip').addEventListener('click', toggles.flip);
  $('sf-theme').addEventListener('click', toggles.theme);
  if (data.base) $('sf-compare').addEventListener('click', toggles.compare);
  $('sf-keys').addEventListener('click', keys['?']);
  $('sf-close').addEventListener('click', () => $('sf-dialog').close());
  more.addEventListener('click', () => { order.all = true; drawTable(); });
  window.addEventListener('hashchange', readLink);
  new ResizeObserver(() => { if (state.view !== 'table' && stage.clientWidth + '' !== planned) redraw(); }).observe(stage);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (e) => {
    if (!document.documentElement.dataset.theme) setTheme(e.matches, false);
  });
}

let remembered = document.documentElement.dataset.theme || '';
try { remembered = remembered || localStorage.getItem('sf-theme') || ''; } catch { /* private mode */ }
drawColumns();
if (remembered) setTheme(remembered === 'dark', true);
else setTheme(matchMedia('(prefers-color-scheme: dark)').matches, false);
wire();
if (location.hash.length > 1) readLink();
