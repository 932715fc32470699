// The table of functions: the same figures for people who read rather than
// look, and for screen readers.

const rowsBody = document.getElementById('sf-rows');
const more = document.getElementById('sf-more');
const FIRST_ROWS = 100;

const columns = [
  {id: 'name', label: 'Function', of: (r) => r.name, text: true},
  {id: 'file', label: 'Where', of: (r) => r.file + ':' + String(r.line).padStart(9, '0'), text: true},
  {id: 'self', label: 'Self', of: (r) => r.self},
  {id: 'selfShare', label: 'Self %', of: (r) => r.self},
  {id: 'total', label: 'Total', of: (r) => r.total},
  {id: 'totalShare', label: 'Total %', of: (r) => r.total},
];
if (data.type === 'heap') {
  columns.splice(2, 0, {id: 'charge', label: 'With built-ins %', of: (r) => r.charge});
}
if (data.base) {
  columns.push({id: 'before', label: 'Before', of: (r) => (r.change ? r.change.before : 0)});
  columns.push({id: 'change', label: 'Change', of: (r) => (r.change ? r.change.after - r.change.before : 0)});
}

// entries are the functions of the tree, then those that are gone.
const entries = [];
for (let f = 1; f < frameCount; f++) {
  if (!isFunction(f)) continue;
  entries.push({
    frame: f, name: data.names[f], file: fileOf(f), line: data.line[f],
    self: data.fself[f], total: data.ftotal[f], charge: data.charge[f], change: changeOf(f),
  });
}
if (data.base) {
  for (const c of data.base.changes) {
    if (c.verdict !== 'gone') continue;
    entries.push({frame: -1, name: c.name, file: c.file, line: 0, self: 0, total: 0, charge: 0, change: c});
  }
}

const order = {id: data.type === 'heap' ? 'charge' : 'self', down: true, all: false};

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function drawColumns() {
  const head = document.getElementById('sf-columns');
  for (const c of columns) {
    const th = element('th', undefined, c.text ? 'sf-text' : 'sf-number');
    th.scope = 'col';
    th.dataset.column = c.id;
    const b = element('button', c.label);
    b.type = 'button';
    b.dataset.sort = c.id;
    b.addEventListener('click', () => {
      if (order.id === c.id) order.down = !order.down;
      else {
        order.id = c.id;
        order.down = !c.text;
      }
      drawTable();
    });
    th.append(b);
    head.append(th);
  }
}

function sorted() {
  const by = columns.find((c) => c.id === order.id).of;
  const sign = order.down ? -1 : 1;
  const list = entries.filter((e) => !state.matched || (e.frame >= 0 ? state.matched[e.frame] : state.test(e.name, e.file)));
  list.sort((a, b) => {
    const x = by(a), y = by(b);
    if (x !== y) return x < y ? -sign : sign;
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  });
  return list;
}

function shareOfCell(td, share) {
  const bar = element('span', undefined, 'sf-fill');
  bar.style.width = Math.max(0, Math.min(100, share * 100)).toFixed(2) + '%';
  td.classList.add('sf-share');
  td.append(bar, element('span', percent(share)));
}

function nameCell(e) {
  const th = element('th', undefined, 'sf-text');
  th.scope = 'row';
  const called = element('div', undefined, 'sf-called');
  const dot = element('span', undefined, 'sf-dot');
  const tones = PALETTES[state.dark ? 'dark' : 'light'];
  dot.style.background = e.frame < 0 ? 'transparent' : state.compare ? tones.change[data.change[e.frame]] : tones.kind[data.kind[e.frame]];
  called.append(dot);
  if (e.frame >= 0) {
    const b = element('button', e.name, 'sf-link');
    b.type = 'button';
    b.title = 'Callers and callees of ' + e.name;
    b.addEventListener('click', () => openSandwich(e.frame));
    called.append(b);
  } else {
    called.append(element('span', e.name + ' (gone)'));
  }
  th.append(called, element('span', whereOf(e), 'sf-under'));
  return th;
}

const whereOf = (e) => (e.frame >= 0 ? shortPlace(e.frame) : e.file.split('/').slice(-2).join('/'));

// cells fills a cell by its column.
const cells = {
  file(td, e) {
    td.className = 'sf-text sf-where';
    td.textContent = whereOf(e);
    td.title = e.frame >= 0 ? placeOf(e.frame) : e.file;
  },
  charge: (td, e) => shareOfCell(td, e.charge),
  self: (td, e) => { td.textContent = amount(e.self); },
  selfShare: (td, e) => shareOfCell(td, shareOf(e.self)),
  total: (td, e) => { td.textContent = amount(e.total); },
  totalShare: (td, e) => shareOfCell(td, shareOf(e.total)),
  before: (td, e) => { td.textContent = e.change ? percent(e.change.before) : ''; },
  change(td, e) {
    const c = e.change;
    if (!c) return;
    td.append(element('span', points(c.after - c.before)),
      element('span', ' (' + points(c.low) + ' to ' + points(c.high) + ')', 'sf-interval'),
      element('span', ' ' + verdictWord[c.verdict], c.verdict === 'no_clear_change' ? 'sf-unclear' : 'sf-clear'));
  },
};

function lineOf(e) {
  const tr = document.createElement('tr');
  tr.append(nameCell(e));
  for (const c of columns.slice(1)) {
    const td = element('td', undefined, 'sf-number');
    td.dataset.column = c.id;
    cells[c.id](td, e);
    tr.append(td);
  }
  return tr;
}

function drawTable() {
  for (const th of document.getElementById('sf-columns').children) {
    const on = th.firstChild.dataset.sort === order.id;
    if (on) th.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
    else th.removeAttribute('aria-sort');
  }
  const list = sorted();
  const shown = order.all ? list : list.slice(0, FIRST_ROWS);
  rowsBody.replaceChildren(...shown.map(lineOf));
  more.hidden = shown.length === list.length;
  more.textContent = 'Show all ' + list.length.toLocaleString('en') + ' functions';
}
