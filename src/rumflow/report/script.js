"use strict";
// Sort tables by the column whose heading was pressed; numbers by data-value, the rest by text.
function sortTables(root) {
  for (const table of root.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const upward = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", upward ? "ascending" : "descending");
        const body = table.tBodies[0];
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        const numeric = head.classList.contains("number");
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          return numeric ? Number(x) - Number(y) : x.localeCompare(y, undefined, { numeric: true });
        });
        body.append(...(upward ? rows : rows.reverse()));
      });
    });
  }
}

sortTables(document);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
