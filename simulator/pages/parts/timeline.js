// SPDX-License-Identifier: Apache-2.0
// The pipeline of a step: a line for each rank, a block for each pass. Drag, pinch, Ctrl and wheel, buttons and keys move
// and zoom it.
function pipelineTimeline(chart) {
  const used = [...new Set(chart.rows.map((row) => row[1]))].sort((a, b) => a - b);
  const step = chart.step_s * 1e6;
  const byRank = Array.from({ length: chart.ranks }, () => []);
  for (const row of chart.rows) byRank[row[0]].push(row);
  const [left, top, bottom] = [58, 4, 26];
  const line = chart.ranks > 24 ? 14 : chart.ranks > 8 ? 20 : 28;
  const height = top + chart.ranks * line + bottom;
  const canvas = el("canvas", { tabindex: 0, role: "img", style: `width:100%;height:${height}px;touch-action:pan-y`,
    "aria-label": `Pipeline timeline of ${chart.ranks} ranks; arrow keys move, plus and minus zoom, 0 shows all` });
  const holder = el("div", { class: "plot" }, canvas);
  const tip = tooltip(holder);
  let width = 0;
  let view = d3.zoomIdentity;
  const x = (time) => left + view.applyX((time / step) * (width - left));
  const timeAt = (at) => (view.invertX(at - left) / (width - left)) * step;

  function drawBlocks(pen) {
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, width - left, height);
    pen.clip();
    const colours = chart.parts.map((part) => colour(passColours[part] ?? "--other"));
    const label = colour("--card");
    pen.font = "11px system-ui, sans-serif";
    for (const [rank, part, micro, , start, end] of chart.rows) {
      const [from, to] = [x(start), x(end)];
      if (to < left || from > width) continue;
      const y = top + rank * line;
      pen.fillStyle = colours[part];
      pen.fillRect(from, y + 2, Math.max(to - from - (to - from > 6 ? 1 : 0), 0.5), line - 4);
      const room = to - from - 5;
      if (room > 6 && micro >= 0 && line > 14 && pen.measureText(String(micro)).width < room) {
        pen.fillStyle = label;
        pen.fillText(String(micro), from + 2, y + line / 2 + 4);
      }
    }
    pen.restore();
  }

  function drawAxes(pen) {
    pen.fillStyle = colour("--soft");
    pen.strokeStyle = colour("--line");
    pen.font = "12px system-ui, sans-serif";
    for (let rank = 0; rank < chart.ranks; rank += line < 20 ? 4 : 1) {
      pen.fillText(`rank ${rank}`, 0, top + rank * line + line / 2 + 4);
    }
    const [from, to] = [timeAt(left), timeAt(width)];
    const marks = ticks(from / 1e6, to / 1e6, Math.max(2, Math.floor(width / 110)));
    for (const tick of marks) {
      const at = x(tick * 1e6);
      pen.beginPath();
      pen.moveTo(at, top);
      pen.lineTo(at, height - bottom + 4);
      pen.stroke();
      const text = `${tickText(tick, marks.length > 1 ? marks[1] - marks[0] : tick || 1)} s`;
      pen.fillText(text, Math.min(at + 2, width - pen.measureText(text).width), height - 8);
    }
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    drawAxes(pen);
    drawBlocks(pen);
    canvas.dataset.zoom = view.k.toFixed(3);
  }

  const zoom = d3.zoom().scaleExtent([1, 400])
    .filter(() => {
      const event = d3.event;
      if (event.type === "wheel") return event.ctrlKey || event.metaKey;
      return event.touches ? event.touches.length > 1 : !event.button;
    })
    .on("zoom", () => { view = d3.event.transform; draw(); });
  const selected = d3.select(canvas).call(zoom).on("dblclick.zoom", null);
  const by = (factor) => selected.call(zoom.scaleBy, factor, [(width - left) / 2, 0]);
  const whole = () => selected.call(zoom.transform, d3.zoomIdentity);
  const move = (share) => selected.call(zoom.translateBy, (share * width) / view.k, 0);
  const keys = { "+": () => by(1.6), "=": () => by(1.6), "-": () => by(1 / 1.6), 0: whole,
    ArrowLeft: () => move(0.15), ArrowRight: () => move(-0.15) };
  canvas.addEventListener("keydown", (event) => {
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) {
      keys[event.key]();
      event.preventDefault();
    }
  });
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const time = timeAt(px);
    const found = px < left ? null : byRank[Math.floor((py - top) / line)]?.find((row) => row[4] <= time && time < row[5]);
    if (!found) return tip.hide();
    const [rank, part, micro, stage, start, end] = found;
    return tip.show(px, py, `${chart.parts[part]}${micro >= 0 ? ` of micro-batch ${micro}` : ""}`, [
      `rank ${rank}${stage >= 0 ? `, stage ${stage}` : ""}`, `${seconds((end - start) / 1e6)}, from ${seconds(start / 1e6)}`]);
  });
  canvas.addEventListener("mouseleave", tip.hide);
  onWidth(holder, (now) => {
    width = now;
    const extent = [[0, 0], [width - left, height]];
    zoom.extent(extent).translateExtent([[0, -Infinity], [width - left, Infinity]]);
    draw();
  });
  onScheme(draw);
  const button = (text, name, act) => el("button", { class: "button", type: "button", "aria-label": name, on: { click: act } }, text);
  return el("div", {},
    el("div", { class: "controls" }, button("+", "zoom in", () => by(1.6)), button("−", "zoom out", () => by(1 / 1.6)),
      button("◀", "earlier", () => move(0.15)), button("▶", "later", () => move(-0.15)), button("whole step", "show the whole step", whole)),
    holder, legend(used.map((part) => [chart.parts[part], `var(${passColours[chart.parts[part]] ?? "--other"})`])));
}
