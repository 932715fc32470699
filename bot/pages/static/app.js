// Three things, none of which the pages need: refresh what is live, sort
// tables, and start a capture from the list of objects. Text from the server is
// already escaped HTML of our own templates, parsed without running anything.
"use strict";

const every = 5000;

async function refresh() {
  if (document.hidden || document.querySelector("details[data-busy]") || document.activeElement?.matches("input,select")) return;
  const part = document.querySelector("[data-part]");
  if (!part || String(getSelection())) return;
  try {
    const answer = await fetch(location.href, { headers: { "X-Refresh": "1" } });
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-part]");
    if (!next || next.innerHTML === part.innerHTML) return;
    const held = document.activeElement?.closest("[data-part]") ? document.activeElement.getAttribute("href") : null;
    part.replaceWith(document.adoptNode(next));
    if (held) document.querySelector(`[data-part] a[href="${CSS.escape(held)}"]`)?.focus();
    arm(document);
  } catch { /* offline: the next round tries again */ }
}

function arm(root) {
  for (const th of root.querySelectorAll(".sortable th")) {
    th.tabIndex = 0;
    th.setAttribute("role", "columnheader");
    const go = () => sort(th);
    th.onclick = go;
    th.onkeydown = (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); go(); } };
  }
  for (const b of root.querySelectorAll("button[data-capture]")) b.onclick = () => capture(b);
}

function sort(th) {
  const table = th.closest("table"), at = [...th.parentNode.children].indexOf(th);
  const up = th.getAttribute("aria-sort") === "descending";
  for (const other of th.parentNode.children) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", up ? "ascending" : "descending");
  const value = (row) => {
    const text = row.children[at].textContent.trim(), number = parseFloat(text.replace(/,/g, ""));
    return Number.isNaN(number) ? text : number;
  };
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const x = value(a), y = value(b);
    const d = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return up ? d : -d;
  });
  table.tBodies[0].append(...rows);
}

async function capture(button) {
  const said = document.getElementById("said"), d = button.dataset;
  button.disabled = true;
  said.textContent = "Asking for a capture…";
  try {
    const answer = await fetch("/api/v1/captures", {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ worker: d.worker, class: d.class, object_id: d.object, type: "cpu", duration: "10s" }),
    });
    const body = await answer.json();
    if (answer.ok) location.href = `/captures/${encodeURIComponent(body.capture)}`;
    else said.textContent = body.detail || body.title;
  } catch {
    said.textContent = "The service does not answer; try again.";
  }
  button.disabled = false;
}

arm(document);
if (document.body.hasAttribute("data-live")) setInterval(refresh, every);
