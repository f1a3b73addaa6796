// Where no one has chosen a theme yet, say so: the theme's own script takes an empty mode for an error.
document.documentElement.dataset.mode ||= "auto";

// A proof of class "dropdown" has no title to click on: fold it under one of its own.
document.addEventListener("DOMContentLoaded", () => {
  for (const proof of document.querySelectorAll(".proof.admonition.dropdown")) {
    const fold = document.createElement("details");
    const title = document.createElement("summary");
    fold.className = "proof-fold";
    title.textContent = "Show the proof";
    proof.before(fold);
    fold.append(title, proof);
  }
});

// Data frames: names of index levels go into the header row above, and columns of words begin at the left, as words do.
document.addEventListener("DOMContentLoaded", () => {
  const blank = (cell) => cell.textContent.trim() === "";
  for (const table of document.querySelectorAll(".bd-article table.dataframe")) {
    const body = [...(table.tBodies[0]?.rows ?? [])].map((row) => [...row.cells].filter((cell) => cell.tagName === "TD"));
    if (!table.tHead || !body.length) continue;
    const levels = table.tBodies[0].rows[0].cells.length - body[0].length;
    const [above, last] = [...table.tHead.rows].slice(-2);
    if (last && [...last.cells].slice(levels).every(blank)) {
      const corner = [...above.cells].slice(0, levels);
      if (corner.length && corner.every((cell) => blank(cell) && cell.colSpan === 1)) {
        corner.forEach((cell, level) => (cell.textContent = last.cells[level].textContent));
        last.remove();
      }
    }
    const heads = [...[...table.tHead.rows].at(-1).cells];
    heads.slice(0, levels).forEach((cell) => cell.classList.add("words"));
    body[0].forEach((_, column) => {
      const cells = body.map((row) => row[column]).filter(Boolean);
      if (cells.some((cell) => /^\p{L}/u.test(cell.textContent.trim()))) {
        [...cells, heads[levels + column]].forEach((cell) => cell?.classList.add("words"));
      }
    });
  }
});

// Tables tell which cells are headers. One that is wider than its column scrolls, says so, and takes the arrow keys.
document.addEventListener("DOMContentLoaded", () => {
  const mark = (frame) => {
    const wide = frame.scrollWidth > frame.clientWidth + 1;
    frame.classList.toggle("scrolls", wide);
    for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "Table, scrolls sideways"]]) {
      wide ? frame.setAttribute(name, value) : frame.removeAttribute(name);
    }
  };
  const watcher = new ResizeObserver((changes) => changes.forEach((change) => mark(change.target)));
  for (const table of document.querySelectorAll(".bd-article table")) {
    for (const cell of table.querySelectorAll("th:not([scope])")) {
      const [across, group] = cell.closest("thead") ? ["col", cell.colSpan > 1] : ["row", cell.rowSpan > 1];
      cell.scope = across + (group ? "group" : "");
    }
    if (table.closest(".play")) continue; // these change while one plays, and fit
    const frame = document.createElement("div");
    frame.className = "table-frame";
    table.before(frame);
    frame.append(table);
    watcher.observe(frame);
  }
});
