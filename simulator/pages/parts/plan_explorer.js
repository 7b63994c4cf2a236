// SPDX-License-Identifier: Apache-2.0
// The plans of a sweep: a scatter and a table of the same plans, with filters over both.

// {plans, value(key, i), keys}: the columns of plan_columns.hpp.
function planTable(packed) {
  const byKey = new Map(packed.columns.map((column) => [column.key, column]));
  const value = (key, i) => {
    const column = byKey.get(key);
    if (!column) return null;
    if ("all" in column) return column.all;
    return "names" in column ? column.names[column.places[i]] : column.values[i];
  };
  const varies = (key) => { const column = byKey.get(key); return column !== undefined && !("all" in column); };
  return { plans: packed.plans, keys: [...byKey.keys()], value, varies };
}

const measures = [
  { key: "tokens_per_second_per_gpu", name: "tokens/s/GPU", of: (v) => v, text: rate },
  { key: "peak_memory_bytes", name: "peak memory, GiB", of: (v) => v / 2 ** 30, text: (v) => thin(v, 2) },
  { key: "step_time_s", name: "step time, s", of: (v) => v, text: figure },
  { key: "mfu", name: "MFU, %", of: (v) => 100 * v, text: (v) => thin(v, 1) },
  { key: "time.pipeline_bubble_s", name: "pipeline bubble, s", of: (v) => v, text: figure },
  { key: "power_w", name: "power, W", of: (v) => v, text: (v) => thin(v, 0) },
];

const shortNames = { micro_batch_size: "mbs", global_batch_size: "gbs", sequence_length: "seq", sequence_parallel: "sp",
  micro_batches: "m" };

// The keys of plans that differ and say something of their own: an axis also stands in the plan.
function differing(table) {
  const shown = new Map();
  for (const key of table.keys.filter((one) => /^(axes|plan)\./.test(one) && table.varies(one))) {
    const short = key.replace(/^(axes|plan)\./, "").replace(/^(plan|training|software|cluster)\./, "");
    if (!shown.has(short)) shown.set(short, key);
  }
  return [...shown].map(([name, key]) => ({ name, key, short: shortNames[name] ?? name }));
}

const choices = (table, key) => {
  const seen = new Set();
  for (let i = 0; i < table.plans; ++i) seen.add(table.value(key, i));
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en"));
  return [...seen].sort(compare);
};

function scatter({ table, fronts, tip: describe, choose }) {
  const canvas = el("canvas", { tabindex: 0, role: "img", style: "width:100%;height:420px;touch-action:pan-y",
    "aria-label": "scatter of the plans; arrow keys go from plan to plan in the order of the table, plus and minus zoom, 0 shows all" });
  const holder = el("div", { class: "plot" }, canvas);
  const tip = tooltip(holder);
  const [left, top, right, bottom, height] = [64, 18, 12, 44, 420];
  let state = { x: measures[1], y: measures[0], plans: [], colour: null, chosen: null };
  let width = 0;
  let view = d3.zoomIdentity;
  let tree = null;
  let range = null;
  const number = (measure, i) => measure.of(table.value(measure.key, i));
  const spread = (measure) => {
    const all = state.plans.map((i) => number(measure, i));
    const [least, most] = [all.reduce((a, b) => Math.min(a, b), Infinity), all.reduce((a, b) => Math.max(a, b), -Infinity)];
    const pad = (most - least) * 0.05 || Math.abs(most) * 0.05 || 1;
    return all.length ? [least - pad, most + pad] : [0, 1];
  };
  const inner = () => [width - left - right, height - top - bottom];
  const px = (v) => left + view.applyX(((v - range[0][0]) / (range[0][1] - range[0][0])) * inner()[0]);
  const py = (v) => top + view.applyY((1 - (v - range[1][0]) / (range[1][1] - range[1][0])) * inner()[1]);
  const unX = (at) => range[0][0] + (view.invertX(at - left) / inner()[0]) * (range[0][1] - range[0][0]);
  const unY = (at) => range[1][0] + (1 - view.invertY(at - top) / inner()[1]) * (range[1][1] - range[1][0]);

  function axes(pen) {
    pen.font = "12px system-ui, sans-serif";
    pen.strokeStyle = colour("--line");
    pen.fillStyle = colour("--soft");
    pen.textAlign = "center";
    const across = ticks(unX(left), unX(width - right), Math.max(5, Math.floor(width / 120)));
    const up = ticks(unY(height - bottom), unY(top), 5);
    for (const tick of across) {
      pen.beginPath(); pen.moveTo(px(tick), top); pen.lineTo(px(tick), height - bottom); pen.stroke();
      pen.fillText(tickText(tick, across[1] - across[0]), px(tick), height - bottom + 17);
    }
    pen.textAlign = "right";
    for (const tick of up) {
      pen.beginPath(); pen.moveTo(left, py(tick)); pen.lineTo(width - right, py(tick)); pen.stroke();
      pen.fillText(tickText(tick, up[1] - up[0]), left - 8, py(tick) + 4);
    }
    pen.textAlign = "center";
    pen.fillText(state.x.name, left + inner()[0] / 2, height - 6);
    pen.textAlign = "left";
    pen.fillText(state.y.name, 0, 12);
  }

  function front(pen, list) {
    const shown = list.filter((i) => state.visible.has(i)).map((i) => [px(number(state.x, i)), py(number(state.y, i))]);
    pen.strokeStyle = colour("--front");
    pen.fillStyle = colour("--front");
    pen.lineWidth = 1.5;
    if (fronts.joins(state.x.key, state.y.key)) {
      pen.beginPath();
      shown.forEach(([x, y], i) => (i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
      pen.stroke();
    }
    for (const [x, y] of shown) { pen.beginPath(); pen.arc(x, y, 3.6, 0, 7); pen.fill(); }
  }

  function draw() {
    if (!width || !range) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    axes(pen);
    pen.save();
    pen.beginPath(); pen.rect(left, top, ...inner()); pen.clip();
    const tones = Array.from({ length: 8 }, (_, i) => colour(`--s${i + 1}`));
    pen.globalAlpha = state.plans.length > 2000 ? 0.45 : 0.7;
    for (const i of state.plans) {
      pen.fillStyle = tones[state.colour ? state.colour.of(i) % 8 : 0];
      pen.beginPath(); pen.arc(px(number(state.x, i)), py(number(state.y, i)), 3, 0, 7); pen.fill();
    }
    pen.globalAlpha = 1;
    front(pen, fronts.memory);
    if (state.chosen !== null && state.visible.has(state.chosen)) {
      pen.strokeStyle = colour("--ink"); pen.lineWidth = 2;
      pen.beginPath(); pen.arc(px(number(state.x, state.chosen)), py(number(state.y, state.chosen)), 7, 0, 7); pen.stroke();
    }
    pen.restore();
    canvas.dataset.shown = state.plans.length;
  }

  function nearest(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (!tree || !range) return null;
    // The tree is in shares of the plot, as it is without zoom.
    const at = [(view.invertX(x - left)) / inner()[0], view.invertY(y - top) / inner()[1]];
    const found = tree.find(at[0], at[1], 0.03 / view.k);
    return found ? { i: found[2], x, y } : null;
  }
  canvas.addEventListener("mousemove", (event) => {
    const found = nearest(event);
    if (!found) return tip.hide();
    const { title, lines } = describe(found.i);
    return tip.show(found.x, found.y, title, lines);
  });
  canvas.addEventListener("mouseleave", tip.hide);
  canvas.addEventListener("click", (event) => { const found = nearest(event); if (found) choose(found.i); });
  const zoom = d3.zoom().scaleExtent([1, 60])
    .filter(() => (d3.event.type === "wheel" ? d3.event.ctrlKey || d3.event.metaKey : d3.event.touches ? d3.event.touches.length > 1 : !d3.event.button))
    .on("zoom", () => { view = d3.event.transform; draw(); });
  const selected = d3.select(canvas).call(zoom).on("dblclick.zoom", null);
  const by = (factor) => selected.call(zoom.scaleBy, factor, [inner()[0] / 2, inner()[1] / 2]);
  const whole = () => selected.call(zoom.transform, d3.zoomIdentity);
  const keys = { "+": () => by(1.5), "=": () => by(1.5), "-": () => by(1 / 1.5), 0: whole,
    ArrowRight: () => choose(null, 1), ArrowDown: () => choose(null, 1), ArrowLeft: () => choose(null, -1), ArrowUp: () => choose(null, -1) };
  canvas.addEventListener("keydown", (event) => {
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) { keys[event.key](); event.preventDefault(); }
  });
  onWidth(holder, (now) => {
    width = now;
    zoom.extent([[0, 0], inner()]).translateExtent([[0, 0], inner()]);
    draw();
  });
  onScheme(draw);
  return {
    element: holder, zoomIn: () => by(1.5), zoomOut: () => by(1 / 1.5), whole,
    set(change) {
      state = { ...state, ...change };
      state.visible = new Set(state.plans);
      range = [spread(state.x), spread(state.y)];
      const share = (measure, [from, to], i) => (number(measure, i) - from) / (to - from);
      tree = d3.quadtree(state.plans.map((i) => [share(state.x, range[0], i), 1 - share(state.y, range[1], i), i]));
      draw();
    },
  };
}

const select = (label, options, change) => {
  const box = el("select", { on: { change: () => change(box.selectedIndex) } }, options.map((name) => el("option", {}, name)));
  return { element: el("label", {}, label, box), box };
};

function planExplorer(packed, report) {
  const plans = planTable(packed);
  const places = new Map(Array.from({ length: plans.plans }, (_, i) => [plans.value("index", i), i]));
  const onFront = (list) => (list ?? []).map((plan) => places.get(plan.index)).filter((i) => i !== undefined);
  const fronts = { memory: onFront(report.pareto?.memory),
    joins: (x, y) => x === "peak_memory_bytes" && y === "tokens_per_second_per_gpu" };
  const best = new Set(fronts.memory);
  const keys = differing(plans);
  const filters = keys.map((key) => ({ ...key, choices: choices(plans, key.key), wanted: null })).filter((one) => one.choices.length <= 40);
  const bounds = { rate: 0, memory: Infinity };
  const name = (i) => keys.map((key) => `${key.short} ${plain(plans.value(key.key, i))}`).join(", ");
  const everyone = Array.from({ length: plans.plans }, (_, i) => i);
  let chosen = null;

  const columns = [
    { name: "rank", number: true, text: (i) => count(i + 1), value: (i) => -i },
    { name: "plan", number: true, title: "its number in the sweep", text: (i) => count(plans.value("index", i)), value: (i) => plans.value("index", i) },
    ...measures.slice(0, 4).map((measure) => ({ name: measure.name, number: true, key: measure.key,
      text: (i) => measure.text(measure.of(plans.value(measure.key, i))), value: (i) => plans.value(measure.key, i) })),
    ...keys.map((key) => ({ name: key.short, title: key.name, number: typeof plans.value(key.key, 0) === "number", text: (i) => plain(plans.value(key.key, i)),
      value: (i) => plans.value(key.key, i) })),
  ];
  const list = sortable({ label: "plans", columns, rows: everyone, first: 25, choose: (i) => pick(i),
    mark: (i) => [best.has(i) ? "front" : "", i === chosen ? "chosen" : ""].join(" ").trim() || null });
  const detail = el("div", { "aria-live": "polite" });
  const plot = scatter({ table: plans, fronts, choose: (i, by) => pick(i, by),
    tip: (i) => ({ title: `plan ${count(plans.value("index", i))}`, lines: [
      `${rate(plans.value("tokens_per_second_per_gpu", i))} tokens/s/GPU, ${gib(plans.value("peak_memory_bytes", i))}`, name(i)] }) });

  function pick(i, by = 0) {
    const order = list.sorted();
    if (i === null) {
      const at = order.indexOf(chosen);
      i = order[Math.max(0, Math.min(order.length - 1, at + by))];
    }
    if (i === undefined) return;
    chosen = i;
    plot.set({ chosen });
    list.redraw();
    const time = Object.fromEntries(plans.keys.filter((key) => key.startsWith("time.")).map((key) => [key.slice(5), plans.value(key, i)]));
    detail.replaceChildren(el("h3", {}, `Plan ${count(plans.value("index", i))}`),
      el("p", {}, `${rate(plans.value("tokens_per_second_per_gpu", i))} tokens/s/GPU, step ${seconds(plans.value("step_time_s", i))}, ${gib(plans.value("peak_memory_bytes", i))}`),
      strip(timeParts(time), "time of its step"), legend(timeParts(time).filter((part) => part.value > 0).map((part) => [`${part.name} ${part.text}`, part.colour])),
      el("details", {}, el("summary", {}, "Whole plan"), pairs(plans.keys.filter((key) => /^(axes|plan)\./.test(key)).map((key) => [key.replace(/^axes\./, ""), plans.value(key, i)]))));
  }

  const told = el("p", { class: "soft", role: "status" });
  function apply() {
    const shown = everyone.filter((i) => plans.value("tokens_per_second_per_gpu", i) >= bounds.rate
      && plans.value("peak_memory_bytes", i) <= bounds.memory * 2 ** 30
      && filters.every((one) => one.wanted === null || plans.value(one.key, i) === one.wanted));
    plot.set({ plans: shown });
    list.show(shown);
    told.textContent = `${count(shown.length)} of ${count(plans.plans)} plans shown${plans.plans < report.priced ? `: of ${count(report.priced)} priced ones the best, and the Pareto set` : ""}.`;
  }
  const limit = (label, key, none) => {
    const box = el("input", { type: "number", min: 0, step: "any", size: 8, on: { input: () => {
      bounds[key] = box.value === "" ? none : Number(box.value);
      apply();
    } } });
    return el("label", {}, label, box);
  };
  const pickers = filters.map((one) => select(one.name, ["any", ...one.choices.map(plain)], (at) => {
    one.wanted = at === 0 ? null : one.choices[at - 1];
    apply();
  }).element);
  const across = select("across", measures.map((measure) => measure.name), (at) => plot.set({ x: measures[at] }));
  across.box.selectedIndex = 1;
  const up = select("up", measures.map((measure) => measure.name), (at) => plot.set({ y: measures[at] }));
  const key = el("div", {});
  const tone = select("colour by", ["one colour", ...filters.map((one) => one.name)], (at) => {
    const by = at === 0 ? null : filters[at - 1];
    plot.set({ colour: by ? { of: (i) => by.choices.indexOf(plans.value(by.key, i)) } : null });
    key.replaceChildren(by ? legend(by.choices.map((one, i) => [`${by.name} ${plain(one)}`, seriesColour(i)])) : "");
  });
  const button = (text, label, act) => el("button", { class: "button", type: "button", "aria-label": label, on: { click: act } }, text);
  const front = legend([["plans that no other beats in memory and speed", "var(--front)"]]);
  const explorer = [
    section("Plans", "Point at a plan for its keys, choose one for its step. The filters are of the picture and of the table.",
      el("div", { class: "controls" }, limit("tokens/s/GPU at least", "rate", 0), limit("peak memory at most, GiB", "memory", Infinity), pickers),
      told,
      el("div", { class: "controls" }, across.element, up.element, tone.element, button("+", "zoom in", plot.zoomIn), button("−", "zoom out", plot.zoomOut), button("whole", "show all plans", plot.whole)),
      plot.element, front, key, detail),
    section("Table of the plans", "A heading sorts; an orange edge marks the Pareto set.", list.element),
  ];
  apply();
  return explorer;
}
