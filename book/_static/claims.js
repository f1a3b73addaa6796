// The list of claims can be filtered by chapter and verdict. Without this script it is a plain table, complete.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector(".claims-list table");
  if (table) addFilter(table);
  openClaim();
  window.addEventListener("hashchange", openClaim);
});

// a link to a claim unfolds its numbers; the id stands on the card itself, inside it or on the target right before it
function openClaim() {
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  const near = target ? [target.closest(".claim-card"), target.querySelector(".claim-card"), target.nextElementSibling] : [];
  const card = near.find((one) => one?.matches(".claim-card"));
  if (!card) return;
  card.open = true;
  card.scrollIntoView();
}

function addFilter(table) {
  const rows = [...table.tBodies[0].rows];
  const columns = { verdict: 0, chapter: 3 };
  const asked = new URLSearchParams(location.search);
  const text = (row, column) => row.cells[column].textContent.trim();

  function selector(name, column) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    const values = [...new Set(rows.map((row) => text(row, column)))];
    select.id = `claims-${name}`;
    select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    const wanted = asked.get(name);
    select.value = values.find((value) => wanted && value.endsWith(wanted)) ?? "";
    label.htmlFor = select.id;
    label.textContent = `${name} `;
    label.append(select);
    select.addEventListener("change", show);
    return { label, select, column, name };
  }

  const search = document.createElement("input");
  const searchLabel = document.createElement("label");
  search.type = "search";
  search.id = "claims-words";
  search.value = asked.get("words") ?? "";
  search.addEventListener("input", show);
  searchLabel.htmlFor = search.id;
  searchLabel.textContent = "words ";
  searchLabel.append(search);

  const selectors = Object.entries(columns).map(([name, column]) => selector(name, column));
  const count = document.createElement("output");
  count.setAttribute("aria-live", "polite");
  const reset = document.createElement("button");
  reset.type = "reset";
  reset.textContent = "show all";
  const form = document.createElement("form");
  form.className = "claims-filter";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "Filter the claims");
  form.append(...selectors.map((one) => one.label), searchLabel, reset, count);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show));
  const list = table.closest(".claims-list");
  list.before(form);
  list.classList.add("scrolls");
  list.tabIndex = 0;
  list.setAttribute("role", "region");
  list.setAttribute("aria-label", "All claims, scrollable");

  function show() {
    const words = search.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = selectors.every((one) => !one.select.value || text(row, one.column) === one.select.value);
      row.hidden = !(fits && (!words || row.textContent.toLowerCase().includes(words)));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} claims`;
    const query = new URLSearchParams();
    for (const one of selectors) if (one.select.value) query.set(one.name, one.select.value.replace(/^[✓◐✗?–] /, ""));
    if (words) query.set("words", words);
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
  }

  show();
}
