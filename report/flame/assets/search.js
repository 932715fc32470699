// The search: which functions match, and how much of the capture stands below
// them.

let hits = [], atHit = -1, searched = '';
function search() {
  const text = searched = query.value;
  hits = [];
  atHit = -1;
  if (!text) {
    state.matched = null;
    state.test = () => true;
  } else {
    let re = null;
    try { re = new RegExp(text, 'i'); } catch { re = null; }
    const low = text.toLowerCase();
    const one = (s) => (re ? re.test(s) : s.toLowerCase().includes(low));
    state.test = (name, file) => one(name) || (file !== '' && one(file));
    state.matched = new Uint8Array(frameCount);
    for (let f = 1; f < frameCount; f++) if (isFunction(f) && state.test(data.names[f], fileOf(f))) state.matched[f] = 1;
    for (let i = 1; i < main.n; i++) if (state.matched[main.frame[i]]) hits.push(i);
    hits.sort((a, b) => main.total[b] - main.total[a] || a - b);
  }
  redraw();
  saveLink();
}

// matchedBelow sums what matches below a node, each stack once.
function matchedBelow(top) {
  let sum = 0;
  for (let i = top; i < main.end[top];) {
    if (i > 0 && state.matched[main.frame[i]]) {
      sum += main.total[i];
      i = main.end[i];
    } else i++;
  }
  return sum;
}

function matchText() {
  let text = '';
  if (state.matched) {
    const n = state.matched.reduce((a, b) => a + b, 0);
    text = percent(shareOf(matchedBelow(0))) + ' in ' + n.toLocaleString('en') + (n === 1 ? ' function' : ' functions');
    if (state.zoom > 0 && state.view === 'flame' && main.total[state.zoom] > 0) {
      text += ', ' + percent(matchedBelow(state.zoom) / main.total[state.zoom]) + ' of the zoom';
    }
  }
  if ($('sf-match').textContent !== text) $('sf-match').textContent = text;
}

function nextHit() {
  if (!hits.length) return;
  atHit = (atHit + 1) % hits.length;
  if (state.view !== 'flame') show('flame');
  const node = hits[atHit];
  if (node < state.zoom || node >= main.end[state.zoom]) zoomTo(0);
  focusOn(main, node);
  if (!placeOfBox(main, node)) zoomTo(node);
  reveal();
}

