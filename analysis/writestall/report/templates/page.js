// SPDX-License-Identifier: GPL-2.0-only
// page: show the chains of a chosen cell; zoom into and search the flame graph
"use strict";

const byId = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Enter and the space bar activate elements with the role of a button.
function press(element, action) {
  element.addEventListener("click", action);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      action();
    }
  });
}

// One of a group can be reached with Tab, the others with the arrow keys.
function focusOne(group, element) {
  for (const other of group) other.setAttribute("tabindex", "-1");
  element.setAttribute("tabindex", "0");
  element.focus();
}

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function heatMap(record) {
  const cells = all("#heat .cell");
  const convoys = all("#convoys .convoy");
  const everything = byId("chosen")?.textContent;

  function members(key) {
    const table = element("table");
    const most = record.cells[key].length === record.most;
    const which = most ? `the ${record.most} slowest` : "the stalled writes";
    element("caption", `${which} of this cell`, table);
    const body = element("tbody", undefined, table);
    for (const [took, at, path, task, root, number, convoy] of record.cells[key]) {
      const row = element("tr", undefined, body);
      element("th", took, row).scope = "row";
      element("td", `at ${at}`, row);
      for (const name of [path, task, root]) element("td", record.names[name], row);
      element("td", convoy < 0 ? `explain --write ${number}` : "", row);
    }
    return table;
  }

  function choose(cell) {
    const key = cell?.dataset.cell;
    for (const other of cells) other.setAttribute("aria-pressed", other === cell);
    const cellsOf = (convoy) => convoy.dataset.cells.split(" ");
    const shown = convoys.filter((convoy) => !cell || cellsOf(convoy).includes(key));
    // A convoy's own cell is its first; the others are of those that waited with it.
    const best = shown.find((convoy) => cellsOf(convoy)[0] === key) ?? shown[0];
    for (const convoy of convoys) {
      convoy.hidden = !shown.includes(convoy);
      convoy.open = convoy === best;
    }
    byId("chosen").textContent = cell ? cell.getAttribute("aria-label") : everything;
    byId("all").hidden = !cell;
    byId("members").hidden = !cell;
    byId("members").replaceChildren(...(cell ? [members(key)] : []));
    fit();
  }

  // The nearest cell in the arrow's direction; sideways counts double.
  function step(from, dx, dy) {
    const place = (cell) => cell.querySelector("rect").getBoundingClientRect();
    const here = place(from);
    let best = null;
    let least = Infinity;
    for (const cell of cells) {
      const there = place(cell);
      const x = there.x - here.x;
      const y = there.y - here.y;
      const ahead = x * dx + y * dy;
      const far = ahead + 2 * Math.abs(dx ? y : x);
      if (ahead > 0.5 && far < least) [best, least] = [cell, far];
    }
    if (best) focusOne(cells, best);
  }

  const arrows = {
    ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
  };
  for (const cell of cells) {
    press(cell, () => choose(cell));
    cell.addEventListener("keydown", (event) => {
      if (event.key === "Escape") choose(null);
      if (!(event.key in arrows)) return;
      event.preventDefault();
      step(cell, ...arrows[event.key]);
    });
  }
  byId("all")?.addEventListener("click", () => choose(null));
  for (const radio of all("input[name=cause]")) {
    radio.addEventListener("change", () => {
      for (const cell of cells) {
        const kind = cell.dataset[radio.value];
        cell.querySelector("rect").setAttribute("fill", `url(#k-${kind})`);
      }
    });
  }
}

function flameGraph() {
  const graph = byId("flame");
  if (!graph) return;
  const boxes = all(".box", graph).map((box) => ({
    box,
    x: parseFloat(box.getAttribute("x")),
    width: parseFloat(box.getAttribute("width")),
    y: parseFloat(box.getAttribute("y")),
    name: box.querySelector("text").textContent,
    title: box.getAttribute("aria-label"),
  }));
  const elements = boxes.map((row) => row.box);
  const of = (element) => boxes[elements.indexOf(element)];
  const EDGE = 0.002;
  const covers = (outer, inner) =>
    outer.y <= inner.y && outer.x <= inner.x + EDGE &&
    outer.x + outer.width >= inner.x + inner.width - EDGE;
  let zoomed = boxes[0];

  function zoom(to) {
    zoomed = to;
    for (const row of boxes) {
      const above = row !== to && covers(row, to);
      const inside = covers(to, row);
      row.box.classList.toggle("above", above);
      row.box.toggleAttribute("hidden", !above && !inside);
      row.box.style.display = above || inside ? "" : "none";
      const x = above ? 0 : (100 * (row.x - to.x)) / to.width;
      const width = above ? 100 : (100 * row.width) / to.width;
      row.box.setAttribute("x", `${x}%`);
      row.box.setAttribute("width", `${width}%`);
    }
    byId("unzoom").disabled = to === boxes[0];
    fitLabels();
    tell(to);
  }

  function tell(row) {
    byId("box").textContent = row.title;
  }

  function find(words) {
    const wanted = words.trim().toLowerCase();
    const hits = boxes.filter((row) => {
      const hit = wanted !== "" && row.name.toLowerCase().includes(wanted);
      row.box.classList.toggle("hit", hit);
      return hit;
    });
    // A box above another hit would count its time twice.
    const outer = hits.filter((a) => !hits.some((b) => b !== a && covers(b, a)));
    const share = outer.reduce((sum, row) => sum + row.width, 0);
    byId("found").textContent = wanted === "" ? ""
      : `${hits.length} boxes, ${share.toFixed(1)} % of the stall time`;
  }

  const visible = (row) => row.box.style.display !== "none";
  const near = {
    ArrowUp: (row) => boxes.filter((b) => b.y < row.y && covers(b, row)).at(-1),
    ArrowDown: (row) => boxes.find((b) => b.y > row.y && covers(row, b)),
    ArrowRight: (row) => boxes.find((b) => b.y === row.y && b.x > row.x && visible(b)),
    ArrowLeft: (row) =>
      boxes.filter((b) => b.y === row.y && b.x < row.x && visible(b)).at(-1),
  };
  for (const row of boxes) {
    press(row.box, () => zoom(row));
    row.box.addEventListener("focus", () => tell(row));
    row.box.addEventListener("mouseenter", () => tell(row));
  }
  graph.addEventListener("mouseleave", () => tell(zoomed));
  graph.addEventListener("keydown", (event) => {
    const row = of(event.target);
    if (event.key === "Escape") zoom(boxes[0]);
    const next = row && event.key in near ? near[event.key](row) : undefined;
    if (!next) return;
    event.preventDefault();
    focusOne(elements, next.box);
  });
  byId("unzoom").addEventListener("click", () => zoom(boxes[0]));
  byId("find").addEventListener("input", (event) => find(event.target.value));
  tell(zoomed);
}

// A label that is wider than its bar ends in an ellipsis. All are measured before the
// first is changed: a change makes the browser lay the page out again.
const LABEL_EDGE_PX = 4;
const ELLIPSIS_PX = 11;

function fitLabels() {
  const labels = all(".timeline rect + text, .box rect + text");
  for (const label of labels) {
    label.dataset.whole ??= label.textContent;
    if (label.textContent !== label.dataset.whole) label.textContent = label.dataset.whole;
  }
  const fitting = labels.map((label) => {
    const whole = label.dataset.whole;
    const bar = label.previousElementSibling.getBoundingClientRect().width;
    const room = bar - 2 * LABEL_EDGE_PX;
    if (!bar || label.getComputedTextLength() <= room) return whole;
    let letters = whole.length;
    while (letters && label.getSubStringLength(0, letters) > room - ELLIPSIS_PX) letters -= 1;
    return letters > 1 ? `${whole.slice(0, letters)}\u2026` : "";
  });
  labels.forEach((label, at) => {
    if (label.textContent !== fitting[at]) label.textContent = fitting[at];
  });
}

// The edge of what can be scrolled further fades.
function markEdges() {
  for (const list of all("#convoys, #members")) {
    const hidden = list.scrollHeight - list.clientHeight - list.scrollTop;
    list.classList.toggle("below", hidden > 1);
  }
  for (const box of all(".scroll, .tree")) {
    const hidden = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("more", hidden > 1);
  }
}

function fit() {
  fitLabels();
  markEdges();
}

// Print the three slowest chains, and the opened ones.
window.addEventListener("beforeprint", () => {
  for (const convoy of all("#convoys .convoy:not([hidden])").slice(0, 3)) convoy.open = true;
});

heatMap(JSON.parse(byId("record").textContent));
flameGraph();
fit();
window.addEventListener("resize", fit);
// A closed one has no widths.
for (const details of all("details")) details.addEventListener("toggle", fit);
document.addEventListener("scroll", markEdges, true);
