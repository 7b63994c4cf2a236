// SPDX-License-Identifier: Apache-2.0
// Drawings that do not move, as SVG of the width that there is.

// A drawing of this size, which shrinks with what holds it.
const picture = (width, height, label, ...parts) => svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parts);

// One bar of parts: [{name, value, colour, text}].
function strip(parts, label) {
  const whole = sum(parts.map((part) => part.value)) || 1;
  return el("div", { class: "strip", role: "img", "aria-label": label },
    parts.filter((part) => part.value > 0).map((part) =>
      el("div", { style: `width:${(100 * part.value) / whole}%;background:${part.colour}`, title: `${part.name}: ${part.text}` })));
}

// Where a figure may lie: both intervals around it on a line of `width`.
function intervalLine(value, inner, outer) {
  const [low, high] = [outer[0] * value, outer[1] * value];
  const pad = (high - low) * 0.04 || 1;
  return responsive((width) => {
    const x = (at) => ((at - low + pad) / (high - low + 2 * pad)) * width;
    return picture(width, 18, `80 % between ${rate(inner[0] * value)} and ${rate(inner[1] * value)}`,
      svg("line", { x1: x(low), x2: x(high), y1: 9, y2: 9, stroke: "var(--accent)", "stroke-width": 2, opacity: 0.45 }),
      svg("rect", { x: x(inner[0] * value), width: x(inner[1] * value) - x(inner[0] * value), y: 5, height: 8, rx: 2, fill: "var(--accent)", opacity: 0.45 }),
      svg("line", { x1: x(value), x2: x(value), y1: 1, y2: 17, stroke: "var(--ink)", "stroke-width": 2 }));
  });
}

// Rows of bars: how much is left of the bars for their names, which stand above them where that would be too much; how far
// rows are apart; and a name at the top `y` of its row.
function barRows(width, names, thick) {
  const longest = Math.max(...names.map((name) => name.length)) * 7.2 + 12;
  const above = longest > Math.max(120, width * 0.3);
  const left = above ? 0 : longest;
  return { left, height: thick + (above ? 24 : 8), bar: above ? 18 : 3,
    name: (text, y) => svg("text", above ? { x: 0, y: y + 13 } : { x: left - 8, y: y + 3 + thick / 2 + 4, "text-anchor": "end" }, text) };
}

// Bars from left to right, each of parts, under each other: rows [{name, parts, text, over}], `limit` a line across all; `over`
// marks a row beyond what there is.
function stackedRows(rows, { label, limit = null, limitName = "", whole = null }) {
  return responsive((width) => {
    const frame = barRows(width, rows.map((row) => row.name), 17);
    const { left, height } = frame;
    const right = Math.max(...rows.map((row) => row.text.length)) * 6.9 + 16;
    const most = whole ?? Math.max(limit ?? 0, ...rows.map((row) => sum(row.parts.map((part) => part.value))));
    const x = (value) => left + (value / most) * (width - left - right);
    const marks = rows.map((row, i) => {
      let at = 0;
      const y = i * height + frame.bar;
      return [
        frame.name(row.name, i * height),
        row.parts.filter((part) => part.value > 0).map((part) => {
          const from = x(at);
          at += part.value;
          return svg("rect", { x: from, y, width: Math.max(x(at) - from, 0.5), height: 17, fill: part.colour },
            svg("title", {}, `${row.name}, ${part.name}: ${part.text}`));
        }),
        svg("text", { x: width, y: y + 13, class: row.over ? null : "soft", style: row.over ? "fill:var(--bad)" : null, "text-anchor": "end" }, row.text),
      ];
    });
    const bottom = rows.length * height + 4;
    const line = limit === null ? [] : [
      svg("line", { x1: x(limit), x2: x(limit), y1: 0, y2: bottom, stroke: "var(--bad)", "stroke-dasharray": "4 3" }),
      svg("text", { x: x(limit), y: bottom + 14, "text-anchor": x(limit) - left > 8 * limitName.length ? "end" : "start", style: "fill:var(--bad)" }, limitName)];
    return picture(width, bottom + (limit === null ? 2 : 20), label, marks, line);
  });
}

// Bars that start at zero in the middle: rows [{name, value, text}]. `more` is the colour of what is above zero, `less` of
// what is below.
function signedRows(rows, { label, more, less }) {
  return responsive((width) => {
    const frame = barRows(width, rows.map((row) => row.name), 18);
    const { left, height } = frame;
    const least = Math.min(0, ...rows.map((row) => row.value));
    const most = Math.max(1e-12, ...rows.map((row) => row.value));
    const room = width - left - 8 - Math.max(...rows.map((row) => row.text.length)) * 6.9 - (least < 0 ? 10 : 0);
    const x = (value) => left + ((value - least) / (most - least)) * room;
    return picture(width, rows.length * height + 4, label, rows.map((row, i) => {
      const y = i * height + frame.bar;
      const from = Math.min(x(0), x(row.value));
      return [
        frame.name(row.name, i * height),
        svg("rect", { x: from, y, width: Math.max(Math.abs(x(row.value) - x(0)), 1), height: 18, rx: 2,
          fill: row.value < 0 ? less : more }),
        svg("text", { x: Math.max(x(0), x(row.value)) + 6, y: y + 14, class: "soft" }, row.text)];
    }));
  });
}

// Columns with a value and the range around it: [{name, value, low, high, text, faint}], or rows of them where names or
// values would touch.
function whiskerColumns(columns, { label, axis }) {
  const wide = 7.2 * Math.max(...columns.map((column) => Math.max(column.name.length, (column.faint ?? column.text).length))) + 10;
  return responsive((width) => (wide * columns.length > width - 64 ? whiskerRows(columns, label, axis, width) : standingColumns(columns, label, axis, width)));
}

function whiskerRows(columns, label, axis, width) {
  const frame = barRows(width, columns.map((column) => column.name), 18);
  const { left, height } = frame;
  const right = 7 * Math.max(...columns.map((column) => (column.faint ?? column.text).length)) + 10;
  const most = Math.max(1e-12, ...columns.map((column) => column.high ?? column.value)) * 1.02;
  const x = (value) => left + (value / most) * (width - left - right);
  const bottom = columns.length * height + 4;
  return picture(width, bottom + 34, label,
    ticks(0, most, Math.max(2, Math.floor((width - left - right) / 90))).map((tick, _, all) => [
      svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: bottom }),
      svg("text", { class: "soft", x: x(tick), y: bottom + 14, "text-anchor": tick === 0 ? "start" : "middle" }, tickText(tick, all[1] - all[0]))]),
    svg("text", { class: "soft", x: (left + width - right) / 2, y: bottom + 30, "text-anchor": "middle" }, axis),
    columns.map((column, i) => {
      const y = i * height + frame.bar;
      return [frame.name(column.name, i * height),
        svg("rect", { x: left, y, width: Math.max(x(column.value) - left, 1), height: 18, rx: 2, fill: "var(--projected)", opacity: column.faint ? 0.35 : 1 }),
        column.high ? svg("path", { d: `M${x(column.low)} ${y + 4}v10m0 -5H${x(column.high)}m0 -5v10`, fill: "none", stroke: "var(--ink)", "stroke-width": 1.4 }) : null,
        svg("text", { class: "soft", x: width, y: y + 13, "text-anchor": "end" }, column.faint ?? column.text)];
    }));
}

function standingColumns(columns, label, axis, width) {
  const [left, top, bottom, height] = [58, 22, 44, 260];
  const most = Math.max(1e-12, ...columns.map((column) => column.high ?? column.value)) * 1.06;
  const y = (value) => height - bottom - (value / most) * (height - top - bottom);
  const slot = (width - left - 6) / columns.length;
  const wide = Math.min(84, slot * 0.6);
  return picture(width, height, label,
    ticks(0, most, 5).map((tick, _, all) => [
      svg("line", { class: "grid", x1: left, x2: width, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "soft", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick, all[1] - all[0]))]),
    svg("text", { class: "soft", x: 0, y: 12 }, axis),
    columns.map((column, i) => {
      const middle = left + slot * (i + 0.5);
      return [
        svg("rect", { x: middle - wide / 2, width: wide, y: y(column.value), height: height - bottom - y(column.value), rx: 2,
          fill: "var(--projected)", opacity: column.faint ? 0.35 : 1 }, svg("title", {}, `${column.name}: ${column.text}`)),
        column.high ? svg("path", { d: `M${middle - 7} ${y(column.high)}h14m-7 0V${y(column.low)}m-7 0h14`, fill: "none",
          stroke: "var(--ink)", "stroke-width": 1.4 }) : null,
        svg("text", { x: middle, y: height - bottom + 18, "text-anchor": "middle" }, column.name),
        svg("text", { x: middle, y: height - bottom + 35, "text-anchor": "middle", class: "soft" }, column.faint ?? column.text)];
    }));
}

// Names of marks from left to right; one that would touch the one before it is left out.
function markNames(width) {
  let end = -Infinity;
  return (at, y, name) => {
    const half = 3.5 * name.length;
    const middle = Math.min(at, width - half);
    if (middle - half < end + 5) return null;
    end = middle + half;
    return svg("text", { class: "soft", x: middle, y, "text-anchor": "middle" }, name);
  };
}

// Both axes in powers of ten. `points` [{x, y, size, colour, title, lines}], `roofs` [{name, peak}], `slope` bytes/s.
function roofline({ points, roofs, slope, label: about }) {
  return pointed((width) => {
    const [left, top, bottom, height] = [56, 16, 44, Math.max(280, Math.min(400, width * 0.5))];
    const peak = Math.max(...roofs.map((roof) => roof.peak));
    const knee = peak / slope;
    const xs = points.map((point) => point.x).concat(knee);
    const ys = points.map((point) => point.y).concat(peak);
    const [x0, x1] = [Math.log10(Math.min(...xs) / 1.8), Math.log10(Math.max(...xs) * 2.2)];
    const [y0, y1] = [Math.log10(Math.min(...ys) / 1.6), Math.log10(Math.max(...ys) * 1.5)];
    const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - 10);
    const y = (value) => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - top - bottom);
    const spaced = markNames(width);
    // A name to the right of a point, unless one stands there.
    const named = [];
    const told = new Set();
    const label = (point, radius) => {
      const up = y(point.y) + 4;
      const wide = point.name.length * 6.6;
      const taken = (at) => at < left || at + wide > width - 4 || named.some(([a, b, w]) => Math.abs(up - b) < 13 && at < a + w && a < at + wide)
        || points.some((other) => other !== point && Math.abs(y(other.y) - y(point.y)) < 11 && x(other.x) > at - 8 && x(other.x) < at + wide + 8);
      if (told.has(point.name)) return null;
      const at = [x(point.x) + radius + 4, x(point.x) - radius - 4 - wide].find((place) => !taken(place));
      if (at === undefined) return null;
      told.add(point.name);
      named.push([at, up, wide]);
      return svg("text", { x: at, y: up, class: "soft" }, point.name);
    };
    const most = Math.max(...points.map((point) => point.size));
    const start = Math.max(10 ** x0, 10 ** y0 / slope);
    const nodes = points.map((point) => {
      const radius = 3.5 + 9 * Math.sqrt(point.size / most);
      return { element: svg("circle", { cx: x(point.x), cy: y(point.y), r: radius, fill: point.colour, "fill-opacity": 0.6, stroke: point.colour }),
        x: x(point.x), y: y(point.y), title: point.title, lines: point.lines, name: label(point, radius) };
    });
    const drawing = picture(width, height, about,
      powerMarks(y0, y1).map((tick) => [
        svg("line", { class: "grid", x1: left, x2: width, y1: y(tick), y2: y(tick) }),
        svg("text", { class: "soft", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick, tick))]),
      powerMarks(x0, x1).map((tick) => [
        svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: height - bottom }),
        spaced(x(tick), height - bottom + 17, tickText(tick, tick))]),
      svg("text", { class: "soft", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "FLOP a byte that must move"),
      svg("text", { class: "soft", x: 0, y: 11 }, "FLOP/s"),
      roofs.map((roof) => [
        svg("path", { d: `M${x(start)} ${y(start * slope)}L${x(roof.peak / slope)} ${y(roof.peak)}H${width - 4}`, fill: "none",
          stroke: "var(--ink)", "stroke-width": 1.6 }),
        svg("text", { x: width - 8, y: y(roof.peak) - 6, "text-anchor": "end" }, `${roof.name} ${si(roof.peak, "FLOP/s")}`)]),
      nodes.map((node) => [node.element, node.name]));
    return { drawing, marks: nodes };
  });
}
