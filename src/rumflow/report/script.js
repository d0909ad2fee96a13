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

// Numbers as local readers expect them, with the digits that they have; labels, and what others wrote, stay as they are.
function localise(root, labels) {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const number = /(?<![\w.,])(\d{1,3}(?:,\d{3})+(?=\D)|\d+(?=\.\d))(?:\.(\d+))?(?!\w|[.,]\d)/g;
  const local = (text, whole, part = "") => {
    const digits = { minimumFractionDigits: part.length, maximumFractionDigits: part.length };
    return Number(`${whole.replaceAll(",", "")}.${part || 0}`).toLocaleString(undefined, digits);
  };
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement?.closest("pre, svg, style, script") || labels.some((label) => node.data.includes(label))) continue;
    node.data = node.data.replace(number, local);
  }
}

sortTables(document);
for (const page of document.querySelectorAll("main[data-labels]")) localise(page, JSON.parse(page.dataset.labels));
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
