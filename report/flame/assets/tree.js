// The tree for screen readers: the frame in focus with what surrounds it, as
// treeitems. It is rebuilt on every move, so its size does not depend on the
// profile.

const items = document.getElementById('sf-items');
const AROUND = 12; // siblings and children told at most

function describe(tree, node) {
  const f = tree.frame[node];
  let text = data.names[f];
  const place = placeOf(f);
  if (place) text += ', ' + place;
  text += ', total ' + percent(shareOf(tree.total[node])) + ', ' + amount(tree.total[node]);
  const self = node === 0 ? 0 : tree.self[node];
  if (tree === main && node > 0) text += ', self ' + percent(shareOf(self));
  const c = changeOf(f);
  if (c) text += ', ' + changeText(c);
  return text;
}

function siblingsOf(tree, node) {
  const list = [];
  if (tree.parent[node] < 0) return [node];
  for (let i = tree.first[tree.parent[node]]; i >= 0; i = tree.next[i]) list.push(i);
  return list;
}

function item(tree, node, position, size) {
  const e = element('div', describe(tree, node));
  e.id = 'sf-item-' + node;
  e.setAttribute('role', 'treeitem');
  e.setAttribute('aria-level', tree.depth[node] + 1);
  e.setAttribute('aria-posinset', position);
  e.setAttribute('aria-setsize', size);
  e.setAttribute('aria-selected', node === state.focus ? 'true' : 'false');
  if (tree.first[node] >= 0) e.setAttribute('aria-expanded', 'true');
  return e;
}

function tellTree() {
  const tree = state.focusTree, node = state.focus;
  const list = [];
  const above = [];
  for (let i = tree.parent[node]; i >= 0 && above.length < AROUND; i = tree.parent[i]) above.unshift(i);
  for (const i of above) list.push(item(tree, i, 1, 1));
  const siblings = siblingsOf(tree, node);
  const at = siblings.indexOf(node);
  for (let k = Math.max(0, at - AROUND); k < Math.min(siblings.length, at + AROUND); k++) {
    list.push(item(tree, siblings[k], k + 1, siblings.length));
    if (siblings[k] !== node) continue;
    const kids = [];
    for (let i = tree.first[node]; i >= 0; i = tree.next[i]) kids.push(i);
    kids.slice(0, AROUND).forEach((i, n) => list.push(item(tree, i, n + 1, kids.length)));
  }
  items.replaceChildren(...list);
  stage.setAttribute('aria-activedescendant', 'sf-item-' + node);
}
