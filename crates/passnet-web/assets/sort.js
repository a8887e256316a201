"use strict";
// Turns the column headings of each sortable table into buttons, so that tables are sorted by mouse or keyboard.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];

  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort ?? cell.textContent.trim();
  };

  // A dash is a missing value and stays last in both directions.
  const missing = (text) => text === "–";

  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  };

  const sort = (column, direction) => {
    const rows = original.map((row) => [key(row, column), row]);
    rows.sort(([a], [b]) => missing(a) - missing(b) || direction * compare(a, b));
    body.append(...rows.map(([, row]) => row));
  };

  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    // Numbers start with the largest, names in alphabetical order.
    const first = heading.classList.contains("number") ? "descending" : "ascending";
    const second = first === "descending" ? "ascending" : "descending";
    button.addEventListener("click", () => {
      const next = { [first]: second, [second]: "none" }[heading.getAttribute("aria-sort")] ?? first;
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      if (next === "none") {
        body.append(...original);
        return;
      }
      heading.setAttribute("aria-sort", next);
      sort(column, next === "ascending" ? 1 : -1);
    });
  });
}
