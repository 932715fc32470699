// The focus, what moves it, and the keys. A key that types a letter works only
// while nothing is being typed.

function focusOn(tree, node) {
  state.focusTree = tree;
  state.focus = node;
  if (plan) {
    detail();
    paint();
  }
}

function placeOfBox(tree, node) {
  for (let r = 0; r < plan.rows.length; r++) {
    const k = plan.rows[r].findIndex((b) => b.node === node && b.tree === tree);
    if (k >= 0) return {r, k};
  }
  return null;
}

function reveal() {
  const at = placeOfBox(state.focusTree, state.focus);
  if (!at) return;
  const y = topOf(at.r);
  if (y < stage.scrollTop) stage.scrollTop = y;
  if (y + ROW > stage.scrollTop + height) stage.scrollTop = y + ROW - height;
  paint();
}

// move takes the focus to the box next to it, as the eye sees them.
function move(dx, dy) {
  const at = placeOfBox(state.focusTree, state.focus) || {r: plan.focusRow, k: 0};
  const here = plan.rows[at.r][at.k];
  let target = null;
  if (dx) {
    for (let k = at.k + dx; k >= 0 && k < plan.rows[at.r].length && !target; k += dx) {
      if (plan.rows[at.r][k].node >= 0) target = plan.rows[at.r][k];
    }
  } else {
    const row = plan.rows[at.r + (state.flip ? -dy : dy)] || [];
    target = row.find((b) => b.node >= 0 && b.x1 > here.x0 + 0.01 && b.x0 < here.x1 - 0.01) || null;
  }
  if (target) focusOn(target.tree, target.node);
  reveal();
}

function activate(box) {
  if (box.node < 0) return;
  if (state.view === 'sandwich') openSandwich(box.tree.frame[box.node]);
  else zoomTo(box.node);
}

async function copyName() {
  const name = data.names[state.focusTree.frame[state.focus]];
  try {
    await navigator.clipboard.writeText(name);
  } catch {
    const area = element('textarea', name, 'sf-hide');
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    stage.focus();
  }
  say('Copied ' + name);
  $('sf-copy').textContent = 'Copied';
  setTimeout(() => { $('sf-copy').textContent = 'Copy name'; }, 1200);
}

const toggles = {
  flip() {
    state.flip = !state.flip;
    $('sf-flip').setAttribute('aria-pressed', state.flip ? 'true' : 'false');
    redraw();
    stage.scrollTop = state.flip ? stage.scrollHeight : 0;
  },
  theme() { setTheme(!state.dark, true); },
  compare() {
    if (!data.base) return;
    state.compare = !state.compare;
    $('sf-compare').setAttribute('aria-pressed', state.compare ? 'true' : 'false');
    redraw();
  },
};

function setTheme(dark, chosen) {
  state.dark = dark;
  if (chosen) {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    try { localStorage.setItem('sf-theme', dark ? 'dark' : 'light'); } catch { /* private mode */ }
  }
  $('sf-theme').textContent = dark ? 'Light' : 'Dark';
  redraw();
}

const keys = {
  '/': () => { query.focus(); query.select(); },
  Escape: reset,
  Backspace: out,
  t: () => show(state.view === 'table' ? 'flame' : 'table'),
  f: toggles.flip,
  d: toggles.theme,
  c: copyName,
  s: () => openSandwich(state.focusTree.frame[state.focus]),
  '?': () => $('sf-dialog').showModal(),
};
const stageKeys = {
  ArrowUp: () => move(0, -1), ArrowDown: () => move(0, 1),
  ArrowLeft: () => move(-1, 0), ArrowRight: () => move(1, 0),
  Home: () => { focusOn(state.view === 'sandwich' ? state.sandwich.callees : main, 0); reveal(); },
  Enter: () => activate({tree: state.focusTree, node: state.focus}),
  ' ': () => activate({tree: state.focusTree, node: state.focus}),
};

document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || $('sf-dialog').open) return;
  if (e.target === query) {
    if (e.key === 'Enter') {
      if (query.value !== searched) search();
      nextHit();
    }
    if (e.key === 'Escape') {
      if (!query.value) {
        if (state.view === 'table') query.blur();
        else stage.focus();
      }
      query.value = '';
      search();
      e.preventDefault();
    }
    return;
  }
  if (e.target.closest && e.target.closest('input, textarea, select')) return;
  const act = e.target === stage && stageKeys[e.key] ? stageKeys[e.key] : keys[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});

