// What the interactive figures share: elements, numbers, areas, curves. A plain script (no module), so that a page
// that is opened as a file works too. No animation: what is on the page is what was computed last.
window.insdelPlay = (() => {
  const SVG = "http://www.w3.org/2000/svg"; // a name, not an address: nothing is loaded

  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  const number = (value) => String(Number(value.toPrecision(4))).replace("-", "−");
  const percent = (share) => `${(100 * share).toFixed(1).replace("-", "−")} %`;

  // Equations 1 and 2 of the paper: sums over the n + 1 points of a curve.
  const auc = (curve) => curve.reduce((total, value) => total + value, 0);
  const aul = (curve) => ((curve[0] + curve[curve.length - 1]) * curve.length) / 2;

  // float32 numbers, base64 with - and _ for + and /
  const decode = (text) => {
    const bytes = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return new Float32Array(Uint8Array.from(bytes, (character) => character.charCodeAt(0)).buffer);
  };

  // Predictions while the features of `order` change one by one; bit k of an index says that feature k has changed.
  const walk = (values, order) => {
    let subset = 0;
    return [values[0], ...order.map((k) => values[(subset |= 1 << k)])];
  };

  // Features by decreasing score, ties in feature order, as insdel.order sorts them.
  const ranking = (scores) => scores.map((_, j) => j).sort((a, b) => scores[b] - scores[a] || a - b);

  const ticks = (low, high, count = 5) => {
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((multiple) => multiple * power >= rough);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
    return found;
  };

  const range = (curves) => {
    const all = curves.flatMap((curve) => curve.points);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const room = (high - low || 1) * 0.06;
    return [low - room, high + room];
  };

  // An SVG of curves: [{points, kind, shade}], `kind` names a class of play.css; they all have the same ends.
  const chart = (width, curves, label, unit) => {
    const [left, right, top, bottom, height] = [58, 10, 10, 42, Math.min(320, 180 + width / 4)];
    const n = curves[0].points.length - 1;
    const [low, high] = range(curves);
    const x = (step) => left + ((width - left - right) * step) / n;
    const y = (value) => top + ((height - top - bottom) * (high - value)) / (high - low);
    const path = (points) => points.map((value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "play-chart" });
    for (const value of ticks(low, high)) {
      picture.append(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }));
      picture.append(svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)));
    }
    for (let step = 0; step <= n; step += n > 12 && width < 500 ? 2 : 1) {
      picture.append(svg("text", { x: x(step), y: height - bottom + 18, "text-anchor": "middle" }, String(step)));
    }
    const middle = { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" };
    picture.append(svg("text", middle, "features changed so far" + (unit ? `; height: ${unit}` : "")));
    const first = curves[0].points;
    const line = [first[0], first[n]];
    for (const { points, kind } of curves.filter((curve) => curve.shade)) {
      const back = `${x(n)},${y(line[1])} ${x(0)},${y(line[0])}`;
      picture.append(svg("polygon", { points: `${path(points)} ${back}`, class: `shade ${kind}` }));
    }
    const ends = { x1: x(0), y1: y(line[0]), x2: x(n), y2: y(line[1]) };
    picture.append(svg("line", { ...ends, class: "straight" }));
    for (const { points, kind } of curves) {
      picture.append(svg("polyline", { points: path(points), class: `curve ${kind}` }));
      if (kind === "other") continue;
      points.forEach((value, step) => {
        picture.append(svg("circle", { cx: x(step), cy: y(value), r: 3.5, class: `dot ${kind}` }));
      });
    }
    return picture;
  };

  const legend = (entries) =>
    element("p", { class: "play-legend" }, ...entries.map(([kind, text]) =>
      element("span", {}, element("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), text)));

  // The still picture stays at hand, folded, so that references to it keep their target.
  const foldStill = (root) => {
    const still = document.getElementById(root.dataset.still);
    if (!still) return;
    const fold = element("details", { class: "play-still" }, element("summary", {}, "The still picture for pages without scripts"));
    still.before(fold);
    fold.append(still);
  };

  // Run `build(root, data)` for every figure of that kind, then `redraw` whenever its width changes.
  const start = (kind, build) => {
    const begin = () => {
      for (const root of document.querySelectorAll(`.play[data-play="${kind}"]`)) {
        const data = JSON.parse(root.querySelector("script").textContent);
        root.querySelector(".play-note").remove();
        const redraw = build(root, data);
        foldStill(root);
        let width = root.clientWidth;
        new ResizeObserver(() => {
          if (root.clientWidth !== width) redraw();
          width = root.clientWidth;
        }).observe(root);
        root.dataset.ready = "true";
      }
    };
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
    else begin();
  };

  return { element, svg, number, percent, auc, aul, decode, walk, ranking, chart, legend, start };
})();
