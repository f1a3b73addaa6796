// The list of claims can be filtered by chapter and verdict. Without this script it is a plain table, complete.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector(".claims-list table");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const cards = new Map([...document.querySelectorAll(".claim-card")].map((card) => [cardName(card), card]));
  const columns = { verdict: 0, chapter: 3 };
  const asked = new URLSearchParams(location.search);

  // the id stands on the card itself or on the target right before it
  function cardName(card) {
    const at = card.id || card.querySelector("[id^=claim-]")?.id || card.previousElementSibling?.id || "";
    return at.replace(/^claim-/, "");
  }

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
  table.closest(".claims-list").before(form);

  function show() {
    const words = search.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = selectors.every((one) => !one.select.value || text(row, one.column) === one.select.value);
      const hit = fits && (!words || row.textContent.toLowerCase().includes(words));
      row.hidden = !hit;
      shown += hit;
      const card = cards.get(row.cells[2].querySelector("a")?.hash.replace(/^#claim-/, ""));
      if (card) card.hidden = !hit;
    }
    count.textContent = `${shown} of ${rows.length} claims`;
    const query = new URLSearchParams();
    for (const one of selectors) if (one.select.value) query.set(one.name, one.select.value.replace(/^[✓◐✗–] /, ""));
    if (words) query.set("words", words);
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
  }

  // a link to a claim opens its numbers, even if a filter hides them
  function openTarget() {
    const name = decodeURIComponent(location.hash).replace(/^#claim-/, "");
    const card = cards.get(name);
    if (!card) return;
    card.hidden = false;
    card.open = true;
    card.scrollIntoView();
  }

  show();
  openTarget();
  window.addEventListener("hashchange", openTarget);
});
