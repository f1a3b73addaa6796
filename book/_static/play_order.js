// Beat the Shapley order: cards that the reader puts in order, by mouse, touch or keyboard.
// The cards lie in the order of insertion; deletion takes them from the other end.
(() => {
  const { element, number, percent, auc, aul, decode, walk, chart, legend, start } = window.insdelPlay;
  const TESTS = ["insertion", "deletion", "both"];
  const reversed = (order) => [...order].reverse();

  // ABC of the cards in each test, and the two curves.
  const measure = (values, order) => {
    const up = walk(values, order);
    const down = walk(values, reversed(order));
    const insertion = auc(up) - aul(up);
    const deletion = aul(down) - auc(down);
    return { up, down, auc: [auc(up), auc(down), null], abc: { insertion, deletion, both: insertion + deletion } };
  };

  const shuffled = (order) => {
    const result = [...order];
    for (let k = result.length - 1; k > 0; k -= 1) {
      const other = Math.floor(Math.random() * (k + 1));
      [result[k], result[other]] = [result[other], result[k]];
    }
    return result;
  };

  class Cards {
    constructor(root, data) {
      Object.assign(this, { root, data, place: 0, test: "insertion", order: [], grips: [], drag: null });
      this.id = `play-${document.querySelectorAll(".play[data-ready]").length}`;
      root.append(this.chooser(), this.knob(), this.goal(), this.buttons(), this.help(), this.row(), this.verdict());
      root.append(legend([["insertion", "insertion: first card first"], ["deletion", "deletion: last card first"], ["straight", "straight line"]]));
      root.append((this.picture = element("div")), this.table());
      this.open(0);
    }

    chooser() {
      const select = element("select", { id: `${this.id}-pair` });
      this.data.boards.forEach((board, k) => select.append(element("option", { value: k }, board.title)));
      select.addEventListener("change", () => this.open(Number(select.value)));
      this.about = element("p", { class: "play-about" });
      const label = element("label", { for: select.id }, "Pair: ");
      return element("div", {}, element("p", { class: "play-line" }, label, select), this.about);
    }

    knob() {
      this.slider = element("input", { type: "range", id: `${this.id}-knob`, min: 0, step: 1 });
      this.slider.addEventListener("input", () => this.turn(Number(this.slider.value)));
      this.knobLabel = element("label", { for: this.slider.id });
      this.knobLine = element("p", { class: "play-line play-knob" }, this.knobLabel, this.slider);
      return this.knobLine;
    }

    goal() {
      const choices = TESTS.map((test) => {
        const input = element("input", { type: "radio", name: `${this.id}-test`, value: test });
        input.checked = test === this.test;
        input.addEventListener("change", () => { this.test = test; this.show(); });
        return element("label", {}, input, ` ${test}`);
      });
      return element("fieldset", { class: "play-line" }, element("legend", {}, "Play for"), ...choices);
    }

    buttons() {
      const bar = element("div", { class: "play-line", role: "group", "aria-label": "Lay the cards in the order of" });
      for (const [name, title] of Object.entries(this.data.buttons)) {
        const button = element("button", { type: "button", "data-lay": name }, title);
        button.addEventListener("click", () => this.lay(name, title));
        bar.append(button);
      }
      return bar;
    }

    help() {
      const text = "Drag a card to its place, or choose it and press the arrow keys, Home or End.";
      return element("p", { class: "play-help", id: `${this.id}-help` }, text);
    }

    row() {
      this.list = element("ol", { class: "play-cards", "aria-label": "Cards in the order of insertion" });
      return this.list;
    }

    verdict() {
      this.status = element("p", { class: "play-status", role: "status", "aria-live": "polite" });
      return this.status;
    }

    table() {
      this.cells = {};
      const body = element("tbody");
      for (const test of TESTS) {
        const cells = ["auc", "abc", "share", "shapley"].map((what) => element("td", { "data-cell": `${test}-${what}` }));
        this.cells[test] = cells;
        body.append(element("tr", {}, element("th", { scope: "row" }, test), ...cells));
      }
      const titles = ["test", "AUC", "ABC", "of best", "Shapley"];
      const head = element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title))));
      return element("table", { class: "play-table" }, element("caption", {}, "Your cards: AUC, ABC, its share of the best ABC, and the ABC of Shapley’s order"), head, body);
    }

    get board() { return this.data.boards[this.place]; }

    open(place) {
      this.place = place;
      const { about, names, deals, positions } = this.board;
      for (const deal of deals) if (typeof deal.values === "string") deal.values = decode(deal.values);
      this.about.textContent = about;
      this.knobLine.hidden = deals.length < 2;
      this.slider.max = deals.length - 1;
      this.order = names.map((_, k) => k);
      this.grips = names.map((_, k) => this.card(k));
      this.list.replaceChildren();
      this.turn(Math.floor(positions.length / 2));
    }

    // Another game of a family: the cards stay as they are.
    turn(position) {
      const { knob, deals, positions } = this.board;
      this.deal = deals[position];
      this.slider.value = position;
      if (deals.length > 1) {
        this.knobLabel.textContent = `${knob} = ${number(positions[position])}`;
        this.slider.setAttribute("aria-valuetext", number(positions[position]));
      }
      this.show();
      this.root.dataset.position = position;
    }

    card(k) {
      const name = this.board.names[k];
      const help = { type: "button", class: "play-grip", "aria-describedby": `${this.id}-help`, "data-card": k };
      const place = element("span", { class: "play-place" });
      const grip = element("button", help, place, element("strong", {}, name), element("small", {}, this.board.changes[k]));
      const item = element("li", { class: "play-card", "data-item": k }, grip);
      for (const [by, sign, word] of [[-1, "◀", "earlier"], [1, "▶", "later"]]) {
        // out of the tab order: a card's arrow keys do the same, and sixteen cards are stops enough
        const button = element("button", { type: "button", tabindex: -1, "aria-label": `Move ${name} ${word}`, "data-by": by }, sign);
        button.addEventListener("click", () => this.move(k, this.order.indexOf(k) + by));
        item.append(button);
      }
      grip.addEventListener("keydown", (event) => this.press(event, k));
      grip.addEventListener("pointerdown", (event) => this.grab(event, k));
      return { item, place };
    }

    press(event, k) {
      const here = this.order.indexOf(k);
      const by = { ArrowLeft: here - 1, ArrowUp: here - 1, ArrowRight: here + 1, ArrowDown: here + 1, Home: 0, End: this.order.length - 1 };
      if (!(event.key in by) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault(); // the page must not scroll instead
      event.stopPropagation(); // nor turn to the next chapter
      this.move(k, by[event.key]);
    }

    // Follow one pointer from the card until it is let go. The window listens, for cards move under the pointer.
    grab(event, k) {
      if (event.button !== 0 || this.drag) return;
      const { item } = this.grips[k];
      const follow = (next) => {
        if (next.pointerId !== this.drag.pointer) return;
        if (next.pointerType === "mouse" && next.buttons === 0) return end(next); // let go outside the window
        const under = document.elementFromPoint(next.clientX, next.clientY)?.closest("[data-item]");
        if (under && this.list.contains(under)) this.move(k, this.order.indexOf(Number(under.dataset.item)));
      };
      const end = (next) => {
        if (next.pointerId !== this.drag.pointer) return;
        this.drag.listening.abort();
        this.drag = null;
        item.classList.remove("play-dragged");
      };
      const listening = new AbortController();
      this.drag = { pointer: event.pointerId, listening };
      item.classList.add("play-dragged");
      item.querySelector(".play-grip").focus({ preventScroll: true });
      window.addEventListener("pointermove", follow, listening);
      window.addEventListener("pointerup", end, listening);
      window.addEventListener("pointercancel", end, listening);
    }

    move(k, to) {
      const place = Math.max(0, Math.min(this.order.length - 1, to));
      if (this.order[place] === k) return;
      this.order = this.order.filter((other) => other !== k);
      this.order.splice(place, 0, k);
      this.show(k, `${this.board.names[k]} is now ${place + 1} of ${this.order.length}. `);
    }

    lay(name, title) {
      const { orders } = this.deal;
      this.order = name === "random" ? shuffled(this.order) : [...orders[name][this.test]];
      this.show(null, `Laid: ${title}. `);
    }

    // Put the cards in order around `kept`, which never leaves the page: it has the focus, or the pointer.
    arrange(kept) {
      const fixed = kept === null ? null : this.grips[kept].item;
      let passed = false;
      this.order.forEach((k, place) => {
        const { item, place: sign } = this.grips[k];
        if (item === fixed) passed = true;
        else if (fixed && !passed) this.list.insertBefore(item, fixed);
        else this.list.append(item);
        sign.textContent = `${place + 1}. `;
        item.querySelector('[data-by="-1"]').setAttribute("aria-disabled", place === 0);
        item.querySelector('[data-by="1"]').setAttribute("aria-disabled", place === this.order.length - 1);
      });
    }

    show(kept = null, news = "") {
      this.arrange(kept);
      const found = measure(this.deal.values, this.order);
      const rivals = this.rivals();
      TESTS.forEach((test, row) => {
        const [area, score, share, shapley] = this.cells[test];
        const best = rivals.best[test];
        area.textContent = found.auc[row] === null ? "" : number(found.auc[row]);
        score.textContent = number(found.abc[test]);
        share.textContent = best > 0 ? percent(found.abc[test] / best) : "no area to win";
        shapley.textContent = number(rivals.shapley[test]);
        score.dataset.value = found.abc[test];
        area.dataset.value = found.auc[row];
        share.dataset.value = found.abc[test] / best;
      });
      this.root.querySelectorAll("tbody tr").forEach((row, k) => row.classList.toggle("play-goal", TESTS[k] === this.test));
      this.status.textContent = news + this.sentence(found.abc, rivals);
      this.found = found;
      this.draw();
      this.root.dataset.order = this.order.join(",");
    }

    // ABC of Shapley's order and of the best one, each test for itself.
    rivals() {
      const { values, orders } = this.deal;
      const score = (name) => Object.fromEntries(TESTS.map((test) => [test, measure(values, orders[name][test]).abc[test]]));
      return { shapley: score("kernel_shap"), best: score("best") };
    }

    sentence(abc, { shapley, best }) {
      const [yours, theirs, top] = [abc[this.test], shapley[this.test], best[this.test]];
      const near = 1e-6 * Math.max(...Object.values(best).map(Math.abs), 1e-9);
      const share = top > 0 ? ` (${percent(yours / top)} of the best)` : "";
      const score = `Your ABC for ${this.test}: ${number(yours)}${share}, Shapley’s order ${number(theirs)}. `;
      if (yours >= top - near) {
        return score + (theirs >= top - near ? "No order is better, and Shapley’s is as good." : "You beat the Shapley order, and no order is better.");
      }
      if (yours > theirs + near) return `${score}You beat the Shapley order.`;
      return score + (yours >= theirs - near ? "A draw with the Shapley order." : "The Shapley order is ahead.");
    }

    draw() {
      const { up, down } = this.found;
      const said = (curve) => curve.map(number).join(", ");
      const label = `Insertion curve: ${said(up)}. Deletion curve: ${said(down)}.`;
      const curves = [{ points: up, kind: "insertion", shade: true }, { points: down, kind: "deletion", shade: true }];
      this.picture.replaceChildren(chart(Math.max(260, this.root.clientWidth), curves, label, this.board.unit));
    }
  }

  start("order", (root, data) => {
    const cards = new Cards(root, data);
    return () => cards.draw();
  });
})();
