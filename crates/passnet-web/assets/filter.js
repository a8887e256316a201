// Filters the rows of a table, or of all tables in an element. The address keeps the choice after `#~`.
for (const box of document.querySelectorAll(".filters[data-for]")) {
  const target = document.getElementById(box.dataset.for);
  const tables = target.matches("table") ? [target] : [...target.querySelectorAll("table")];
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const find = box.querySelector("[data-find]");
  const selects = [...box.querySelectorAll("select[data-filter]")];
  const hides = [...box.querySelectorAll("[data-hide]")];
  const shows = [...box.querySelectorAll("[data-show]")];
  const output = box.querySelector("[data-count]");
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  const fits = (row) =>
    find.value.toLowerCase().split(/\s+/).every((word) => texts.get(row).includes(word)) &&
    selects.every((select) => !select.value || row.dataset[select.dataset.filter] === select.value) &&
    hides.every((hide) => !hide.checked || !row.classList.contains(hide.dataset.hide)) &&
    shows.every((show) => show.checked || !row.classList.contains(show.dataset.show));

  const apply = () => {
    let shown = 0;
    const all = rows.filter((row) => shows.every((show) => show.checked || !row.classList.contains(show.dataset.show)));
    for (const row of rows) {
      row.hidden = !fits(row);
      shown += !row.hidden;
    }
    for (const table of tables) {
      const board = table.closest(".board");
      if (board) board.hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
    }
    output.textContent = shown === all.length ? "" : `${shown} of ${all.length}`;
  };

  const remember = () => {
    const state = new URLSearchParams();
    if (find.value) state.set("find", find.value);
    for (const select of selects) if (select.value) state.set(select.dataset.filter, select.value);
    for (const hide of hides) if (hide.checked) state.set("hide", hide.dataset.hide);
    for (const show of shows) if (show.checked) state.set("show", show.dataset.show);
    history.replaceState(null, "", state.size ? `#~${state}` : location.pathname + location.search);
  };

  const recall = () => {
    if (!location.hash.startsWith("#~")) return;
    const state = new URLSearchParams(location.hash.slice(2));
    find.value = state.get("find") ?? "";
    for (const select of selects) select.value = state.get(select.dataset.filter) ?? "";
    for (const hide of hides) hide.checked = state.get("hide") === hide.dataset.hide;
    for (const show of shows) show.checked = state.get("show") === show.dataset.show;
    for (const table of tables) {
      const sorted = [...table.tHead.rows[0].cells].find((cell) => cell.textContent === state.get("sort"));
      sorted?.querySelector("button")?.click();
    }
    apply();
  };

  for (const control of [find, ...selects, ...hides, ...shows]) {
    control.addEventListener("input", () => {
      apply();
      remember();
    });
  }
  addEventListener("hashchange", recall);
  if (shows.length) apply();
  recall();
}

// `/` focuses the search field.
addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
  const field = document.querySelector("[data-find]");
  if (event.key === "/" && !typing && field) {
    event.preventDefault();
    field.focus();
  }
});
