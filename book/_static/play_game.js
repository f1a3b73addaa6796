// A three-feature game whose interactions Δ_u the reader sets: curves, Shapley values and AUC of all six orders.
(() => {
  const { element, number, auc, aul, walk, ranking, chart, legend, start } = window.insdelPlay;
  const ORDERS = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
  const BELOW = "₀₁₂₃";
  const symbol = (subset) => `Δ${subset.map((j) => BELOW[j]).join("")}`;
  const bits = (subset) => subset.reduce((total, j) => total | (1 << (j - 1)), 0);

  class Game {
    constructor(root, data) {
      Object.assign(this, { root, data, dividends: [] });
      this.id = `game-${document.querySelectorAll(".play[data-ready]").length}`;
      root.append(this.presets(), this.sliders(), this.verdict());
      root.append(legend([["best", "best order"], ["shapley", "Shapley’s order"], ["other", "the other orders"], ["straight", "straight line"]]));
      root.append((this.picture = element("div")), this.tables());
      this.set(Object.values(data.games)[0]);
    }

    presets() {
      const bar = element("div", { class: "play-line", role: "group", "aria-label": "Set the sliders to" });
      for (const [title, dividends] of Object.entries(this.data.games)) {
        const button = element("button", { type: "button" }, title);
        button.addEventListener("click", () => this.set(dividends));
        bar.append(button);
      }
      return bar;
    }

    sliders() {
      const { subsets, largest, step } = this.data;
      this.inputs = subsets.map((subset, k) => {
        const input = element("input", { type: "range", min: -largest, max: largest, step, id: `${this.id}-${subset.join("")}`, "data-subset": subset.join("") });
        input.addEventListener("input", () => { this.dividends[k] = Number(input.value); this.show(); });
        return input;
      });
      this.outputs = this.inputs.map((input) => element("output", { for: input.id }));
      const lines = this.inputs.map((input, k) =>
        element("p", { class: "play-line play-knob" }, element("label", { for: input.id }, symbol(subsets[k])), input, this.outputs[k]));
      return element("div", { class: "play-sliders" }, ...lines);
    }

    verdict() {
      this.status = element("p", { class: "play-status", role: "status", "aria-live": "polite" });
      return this.status;
    }

    tables() {
      this.bodies = [element("tbody"), element("tbody")];
      const table = (caption, titles, body) => {
        const head = element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title))));
        return element("table", { class: "play-table" }, element("caption", {}, caption), head, body);
      };
      return element("div", { class: "play-tables" },
        table("Shapley values", ["feature", "alone", "Shapley"], this.bodies[0]),
        table("All six orders", ["order", "AUC", "ABC", "which"], this.bodies[1]));
    }

    set(dividends) {
      this.dividends = [...dividends];
      this.inputs.forEach((input, k) => { input.value = dividends[k]; });
      this.show();
    }

    // f(S) = Σ of Δ_u over u ⊆ S; a Shapley value takes an equal share of every Δ_u.
    solve() {
      const sets = this.data.subsets.map(bits);
      const values = [...Array(8).keys()].map((s) =>
        this.dividends.reduce((total, delta, k) => total + ((sets[k] & s) === sets[k] ? delta : 0), 0));
      const shapley = [1, 2, 3].map((j) =>
        this.dividends.reduce((total, delta, k) => total + (this.data.subsets[k].includes(j) ? delta / this.data.subsets[k].length : 0), 0));
      const walks = ORDERS.map((order) => walk(values, order));
      return { values, shapley, walks, areas: walks.map(auc), scores: walks.map((curve) => auc(curve) - aul(curve)) };
    }

    show() {
      const found = this.solve();
      // nine digits: thirds must neither part equals nor make them
      const rounded = (values) => values.map((value) => Math.round(value * 1e9) / 1e9);
      const most = Math.max(...rounded(found.areas));
      const chosen = ranking(rounded(found.shapley)).join();
      this.marks = ORDERS.map((order, k) => ({ shapley: order.join() === chosen, best: rounded(found.areas)[k] === most }));
      this.outputs.forEach((output, k) => { output.textContent = number(this.dividends[k]); });
      this.inputs.forEach((input, k) => input.setAttribute("aria-valuetext", number(this.dividends[k])));
      this.fill(found);
      const mine = this.marks.findIndex((mark) => mark.shapley);
      const lead = most - found.areas[mine];
      this.status.textContent = this.marks[mine].best
        ? "Shapley’s order has the largest AUC."
        : `Shapley’s order is not the best: its AUC is ${number(lead)} short.`;
      this.found = found;
      this.draw();
      this.root.dataset.dividends = this.dividends.join(",");
    }

    fill({ shapley, areas, scores }) {
      const cell = (text, value, name) => element("td", value === undefined ? {} : { "data-value": value, "data-cell": name }, text);
      this.bodies[0].replaceChildren(...shapley.map((value, j) =>
        element("tr", {}, element("th", { scope: "row" }, String(j + 1)), cell(number(this.dividends[this.data.subsets.findIndex((u) => u.join() === String(j + 1))])), cell(number(value), value, `shapley-${j + 1}`))));
      this.bodies[1].replaceChildren(...ORDERS.map((order, k) => {
        const name = order.map((j) => j + 1).join("");
        const which = [this.marks[k].best && "best", this.marks[k].shapley && "Shapley"].filter(Boolean).join(", ");
        const row = element("tr", {}, element("th", { scope: "row" }, order.map((j) => j + 1).join(", ")),
          cell(number(areas[k]), areas[k], `auc-${name}`), cell(number(scores[k]), scores[k], `abc-${name}`), cell(which));
        row.classList.toggle("play-goal", this.marks[k].best);
        return row;
      }));
    }

    draw() {
      const kind = ({ best, shapley }) => (shapley ? "shapley" : best ? "best" : "other");
      const rank = { other: 0, best: 1, shapley: 2 };
      const curves = this.found.walks.map((points, k) => ({ points, kind: kind(this.marks[k]) }));
      curves.sort((a, b) => rank[a.kind] - rank[b.kind]);
      const top = this.marks.findIndex((mark) => mark.best);
      if (!curves.some((curve) => curve.kind === "best")) curves.splice(-1, 0, { points: this.found.walks[top], kind: "best" });
      const label = `Curves of six orders. The best, ${ORDERS[top].map((j) => j + 1).join(", ")}: ${this.found.walks[top].map(number).join(", ")}.`;
      this.picture.replaceChildren(chart(Math.max(260, this.root.clientWidth), curves, label, ""));
    }
  }

  start("game", (root, data) => {
    const game = new Game(root, data);
    return () => game.draw();
  });
})();
