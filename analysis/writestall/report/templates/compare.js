// SPDX-License-Identifier: GPL-2.0-only
// compare: sort the rows by a chosen column
"use strict";

const table = document.getElementById("options");
const body = table.tBodies[0];

// The best rows first, then the worst; rows without a number stay below.
function sort(button) {
  const head = button.parentElement;
  const column = Number(button.dataset.column) + 1;
  const down = head.getAttribute("aria-sort") === "ascending";
  const raw = (row) => row.cells[column].dataset.raw;
  const rows = [...body.rows].sort((a, b) => {
    if (raw(a) === "" || raw(b) === "") return (raw(a) === "") - (raw(b) === "");
    return (down ? -1 : 1) * (Number(raw(a)) - Number(raw(b)));
  });
  for (const other of table.querySelectorAll("[aria-sort]")) {
    other.removeAttribute("aria-sort");
  }
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows);
}

for (const button of table.querySelectorAll("thead button")) {
  button.addEventListener("click", () => sort(button));
}
