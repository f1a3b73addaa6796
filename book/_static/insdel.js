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
