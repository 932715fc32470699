// The table of functions: the same figures for people who read rather than
// look, and for screen readers.

const rowsBody = document.getElementById('sf-rows');
const more = document.getElementById('sf-more');
const FIRST_ROWS = 200;

const columns = [
  {id: 'name', label: 'Function', of: (r) => r.name, text: true},
  {id: 'file', label: 'Where', of: (r) => r.file + ':' + String(r.line).padStart(9, '0'), text: true},
  {id: 'self', label: 'Self', of: (r) => r.self},
  {id: 'selfShare', label: 'Self %', of: (r) => r.self},
  {id: 'total', label: 'Total', of: (r) => r.total},
  {id: 'totalShare', label: 'Total %', of: (r) => r.total},
];
if (data.type === 'heap') {
  columns.push({id: 'charge', label: 'With built-ins %', of: (r) => r.charge});
}
if (data.base) {
  columns.push({id: 'before', label: 'Before', of: (r) => (r.change ? r.change.before : 0)});
  columns.push({id: 'change', label: 'Change, points (95%)', of: (r) => (r.change ? r.change.after - r.change.before : 0)});
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

function shareCell(share) {
  const td = element('td', undefined, 'sf-number sf-share');
  const bar = element('span', undefined, 'sf-fill');
  bar.style.width = Math.max(0, Math.min(100, share * 100)).toFixed(2) + '%';
  td.append(bar, element('span', percent(share)));
  return td;
}

function rowOf(e) {
  const tr = document.createElement('tr');
  const name = element('th', undefined, 'sf-text');
  name.scope = 'row';
  const dot = element('span', undefined, 'sf-dot');
  const tones = PALETTES[state.dark ? 'dark' : 'light'];
  dot.style.background = e.frame < 0 ? 'transparent' : state.compare ? tones.change[data.change[e.frame]] : tones.kind[data.kind[e.frame]];
  name.append(dot);
  if (e.frame >= 0) {
    const b = element('button', e.name, 'sf-link');
    b.type = 'button';
    b.title = 'Callers and callees of ' + e.name;
    b.addEventListener('click', () => openSandwich(e.frame));
    name.append(b);
  } else {
    name.append(element('span', e.name + ' (gone)'));
  }
  const where = element('td', e.frame >= 0 ? shortPlace(e.frame) : e.file.split('/').slice(-2).join('/'), 'sf-text sf-where');
  where.title = e.frame >= 0 ? placeOf(e.frame) : e.file;
  tr.append(name, where,
    element('td', amount(e.self), 'sf-number'), shareCell(shareOf(e.self)),
    element('td', amount(e.total), 'sf-number'), shareCell(shareOf(e.total)));
  if (data.type === 'heap') tr.append(shareCell(e.charge));
  if (data.base) {
    const c = e.change;
    const clear = c && c.verdict !== 'no_clear_change';
    tr.append(element('td', c ? percent(c.before) : '', 'sf-number'));
    const td = element('td', c ? points(c.after - c.before) + ' (' + points(c.low) + ' to ' + points(c.high) + ')' : '', 'sf-number');
    if (c) td.append(element('span', ' ' + verdictWord[c.verdict], clear ? 'sf-clear' : 'sf-unclear'));
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
  rowsBody.replaceChildren(...shown.map(rowOf));
  more.hidden = shown.length === list.length;
  more.textContent = 'Show all ' + list.length.toLocaleString('en') + ' functions';
}
