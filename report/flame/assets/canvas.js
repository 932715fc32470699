// The drawing. A plan says which boxes stand in which row; it changes with the
// zoom and the width. Painting a plan touches the visible rows only.

const ROW = 22;
const NARROW = 2; // pixels below which boxes are merged

// Colours by number, as the pictures have them: kinds from 4, changes from 4.
const PALETTES = {
  light: {
    kind: ['#fff', '#e4e7ec', '#dde1e7', '', '#f5a83f', '#f8b65c', '#5f9bea', '#4c8ee6', '#c58cc0', '#b57cb1', '#dcefbf', '#cfe6ac', '#e8504a', '#96ebe4'],
    change: ['#fff', '#e4e7ec', '#dde1e7', '', '#fde0d2', '#f9b99d', '#f08a62', '#e0623f', '#d6e8f5', '#a9cfe8', '#74afdb', '#4a8fc9', '#dadcdf'],
    ink: '#1d1c1d', page: '#ffffff', mark: '#1d1c1d',
  },
  dark: {
    kind: ['#1a1d21', '#33383f', '#454b54', '', '#dd9738', '#dfa553', '#5a8fd6', '#4a80ca', '#b57fb0', '#a674a3', '#cbdcb0', '#bdd09c', '#dc5048', '#8fdcd6'],
    change: ['#1a1d21', '#33383f', '#454b54', '', '#e8c9b9', '#e5a587', '#e07d56', '#dc6644', '#bcd0df', '#93bbd6', '#679fc9', '#4a8fc9', '#a3a7ad'],
    ink: '#16181b', page: '#1a1d21', mark: '#ffffff',
  },
};
// Light ink for the grounds that are dark in the dark palette.
const LIGHT_INK = '#e8eaed';

const stage = document.getElementById('sf-stage');
const canvas = document.getElementById('sf-canvas');
const tall = document.getElementById('sf-tall');
const pen = canvas.getContext('2d');

let width = 0, height = 0;
let plan = null; // {rows: [[{x0, x1, node, tree, faded, many}]], focusRow}

// span appends the boxes of one tree below top, scaled to the full width.
function span(rows, tree, top, rowOf, opts) {
  const scale = tree.total[top] > 0 ? width / tree.total[top] : 0;
  const left = tree.x[top];
  let merged = null;
  for (let i = top; i < tree.end[top];) {
    const w = tree.total[i] * scale, x = (tree.x[i] - left) * scale;
    const row = rowOf(tree.depth[i]);
    if (w < NARROW) {
      if (merged && merged.row === row && merged.parent === tree.parent[i]) {
        merged.box.x1 = x + w;
        merged.box.many++;
      } else {
        merged = {row, parent: tree.parent[i], box: {x0: x, x1: x + w, node: -1, tree, many: 1}};
        if (row >= 0) (rows[row] ||= []).push(merged.box);
      }
      i = tree.end[i];
      continue;
    }
    if (row >= 0) (rows[row] ||= []).push({x0: x, x1: x + w, node: i, tree, faded: false, many: 0, ...opts});
    i++;
  }
}

function planMain(zoom) {
  const rows = [];
  for (let i = main.parent[zoom]; i >= 0; i = main.parent[i]) {
    rows[main.depth[i]] = [{x0: 0, x1: width, node: i, tree: main, faded: true, many: 0}];
  }
  span(rows, main, zoom, (d) => d);
  return {rows, focusRow: main.depth[zoom]};
}

function planSandwich(s) {
  const above = [];
  span(above, s.callers, 0, (d) => d - 1);
  const rows = above.reverse();
  const at = rows.length;
  span(rows, s.callees, 0, (d) => d + at);
  return {rows, focusRow: at};
}

// fillPlan makes holes into empty rows, and drops merged boxes that show nothing
// and outer rows that hold nothing else.
function fillPlan(p) {
  for (let r = 0; r < p.rows.length; r++) {
    p.rows[r] = (p.rows[r] || []).filter((b) => b.node >= 0 || b.x1 - b.x0 >= 0.5);
  }
  const empty = (row) => !row.some((b) => b.node >= 0);
  while (p.rows.length > 1 && empty(p.rows[p.rows.length - 1])) p.rows.pop();
  while (p.focusRow > 0 && empty(p.rows[0])) {
    p.rows.shift();
    p.focusRow--;
  }
  return p;
}

const rowAt = (y) => {
  const r = Math.floor((y + stage.scrollTop) / ROW);
  return state.flip ? plan.rows.length - 1 - r : r;
};
const topOf = (row) => (state.flip ? plan.rows.length - 1 - row : row) * ROW;

function hit(x, y) {
  const row = plan && plan.rows[rowAt(y)];
  if (!row) return null;
  return row.find((b) => x >= b.x0 && x < b.x1) || null;
}

function resize() {
  const ratio = window.devicePixelRatio || 1;
  const full = plan.rows.length * ROW;
  width = stage.clientWidth;
  height = Math.min(full, Math.max(ROW * 8, Math.round(window.innerHeight * 0.72)));
  stage.style.height = height + 'px';
  tall.style.height = Math.max(full - height, 0) + 'px';
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
}

const widths = new Map(); // of names, in the canvas's font
function cut(text, room) {
  let w = widths.get(text);
  if (w === undefined) {
    w = pen.measureText(text).width;
    widths.set(text, w);
  }
  if (w <= room) return text;
  const keep = Math.floor(text.length * ((room - 12) / w));
  return keep < 3 ? '' : text.slice(0, keep) + '…';
}

function paint() {
  if (!plan) return;
  const colours = PALETTES[state.dark ? 'dark' : 'light'];
  pen.globalAlpha = 1;
  pen.fillStyle = colours.page;
  pen.fillRect(0, 0, width, height);
  pen.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  pen.textBaseline = 'middle';
  const a = Math.floor(stage.scrollTop / ROW), b = Math.ceil((stage.scrollTop + height) / ROW);
  let focus = null;
  for (let r = a; r < b; r++) {
    const row = plan.rows[state.flip ? plan.rows.length - 1 - r : r];
    if (!row) continue;
    const y = r * ROW - stage.scrollTop;
    for (const box of row) {
      paintBox(box, y, colours);
      if (box.node >= 0 && box.node === state.focus && box.tree === state.focusTree) focus = {box, y};
    }
  }
  pen.globalAlpha = 1;
  if (focus) {
    pen.strokeStyle = colours.mark;
    pen.lineWidth = 2;
    pen.strokeRect(focus.box.x0 + 1, focus.y + 1, Math.max(focus.box.x1 - focus.box.x0 - 3, 1), ROW - 3);
  }
}

function paintBox(box, y, colours) {
  const set = state.compare ? colours.change : colours.kind;
  const frame = box.node < 0 ? -1 : box.tree.frame[box.node];
  const tone = frame < 0 ? HIDDEN : (state.compare ? data.change : data.kind)[frame];
  const w = box.x1 - box.x0;
  pen.globalAlpha = box.faded ? 0.55 : 1;
  if (state.matched && frame !== 0 && !(frame > 0 && state.matched[frame])) pen.globalAlpha = 0.28;
  pen.fillStyle = set[tone] || set[HIDDEN];
  pen.fillRect(box.x0, y, w > 4 ? w - 1 : Math.max(w - 0.5, 0.5), ROW - 1);
  if (w < 30 || frame < 0) return;
  pen.fillStyle = state.dark && (tone === HIDDEN || tone === 2) ? LIGHT_INK : colours.ink;
  pen.globalAlpha = Math.max(pen.globalAlpha, 0.6);
  const figure = w > 150 ? percent(shareOf(box.tree.total[box.node])) : '';
  const room = w - 10 - (figure ? pen.measureText(figure).width + 12 : 0);
  const name = cut(data.names[frame], room);
  if (!name) return;
  pen.fillText(name, box.x0 + 5, y + ROW / 2);
  if (figure) pen.fillText(figure, box.x1 - 6 - pen.measureText(figure).width, y + ROW / 2);
  const used = pen.measureText(name).width + 14;
  const place = w > 260 ? cut(shortPlace(frame), room - used) : '';
  if (place && !place.endsWith('…')) {
    pen.globalAlpha *= 0.75;
    pen.fillText(place, box.x0 + 5 + used, y + ROW / 2);
  }
}
