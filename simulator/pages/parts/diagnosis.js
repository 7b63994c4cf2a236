// SPDX-License-Identifier: Apache-2.0
// Why a run is slow: what was measured beside what is projected, and which causes explain it.

const paceTexts = { slow: "slow: below the 80 % interval", fast: "fast: above the 80 % interval", as_expected: "as expected: within the 80 % interval" };
// A figure as its metric is written; the name of the metric without its unit.
const metricText = (metric, value) => ({ step_time_s: seconds, mfu: percent, peak_memory_bytes: gib })[metric]?.(value) ?? figure(value);
const metricName = (metric) => ({ tokens_per_second_per_gpu: "tokens/s/GPU", model_tflops_per_gpu: "TFLOP/s/GPU", tflops_per_gpu: "TFLOP/s/GPU", mfu: "MFU" })[metric] ?? words(metric);
const settingsText = (settings) => Object.entries(settings ?? {}).map(([key, value]) => `--set '${key}=${value}'`).join(" ");

// The measured rate and the interval on one line, as shares of the projected rate.
function paceSection(one) {
  const [low, high] = one.pace_interval_80 ?? [1, 1];
  const drawing = responsive((width) => {
    const [left, right] = [14, 14];
    const most = 1.1 * Math.max(high, one.pace_ratio, 1);
    const x = (share) => left + (share / most) * (width - left - right);
    const anchor = (share) => (x(share) < width * 0.2 ? "start" : x(share) > width * 0.8 ? "end" : "middle");
    return picture(width, 96, "measured tokens/s beside those projected",
      ticks(0, most, 5).map((tick) => [svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 26, y2: 74 }),
        svg("text", { class: "soft", x: x(tick), y: 90, "text-anchor": "middle" }, percent(tick, 0))]),
      svg("rect", { x: x(low), y: 42, width: Math.max(x(high) - x(low), 2), height: 16, rx: 3, fill: "var(--projected)", "fill-opacity": 0.35 },
        svg("title", {}, `80 % of such runs: ${percent(low, 0)} to ${percent(high, 0)} of the projected tokens/s`)),
      svg("line", { x1: x(1), x2: x(1), y1: 36, y2: 64, stroke: "var(--ink)", "stroke-width": 2 }),
      svg("circle", { cx: x(one.pace_ratio), cy: 50, r: 7, fill: "var(--measured)" },
        svg("title", {}, `measured: ${percent(one.pace_ratio)} of the projected tokens/s`)),
      svg("text", { x: x(one.pace_ratio), y: 18, "text-anchor": anchor(one.pace_ratio) }, `measured ${percent(one.pace_ratio)}`));
  });
  return section("Is it slow", "Tokens/s as a share of the projected ones, which the line marks; the band is where 80 % of such runs lie.", drawing);
}

function wayTile(name, key, way) {
  if (!way?.tried) return null;
  const under = Object.keys(way.settings).length ? settingsText(way.settings) : `none of ${count(way.tried)} is faster`;
  return tile({ name, value: rate(way.tokens_per_second_per_gpu), unit: "tokens/s/GPU", figure: `${key}.tokens_per_second_per_gpu`,
    under: [way.gain > 1 ? `${thin(way.gain, 2)} times the projected` : null, under] });
}

const sizeText = (cause) => (cause.size === null ? cause.form : `${figure(Number(cause.size.toPrecision(3)))} ${cause.unit}${cause.at_bound ? ", the bound" : ""}`);

// One bar a cause, as long as its score.
function causeBars(causes) {
  return responsive((width) => {
    const frame = barRows(width, causes.map((cause) => words(cause.cause)), 18);
    const { left, height } = frame;
    const x = (score) => left + score * (width - left - 62);
    return picture(width, causes.length * frame.height + 4, "score of each cause",
      causes.map((cause, i) => [
        frame.name(words(cause.cause), i * height),
        svg("rect", { x: left, y: i * height + frame.bar, width: Math.max(x(cause.score) - left, 1), height: 18, rx: 2, fill: "var(--score)", opacity: cause.meets ? 1 : 0.4 },
          svg("title", {}, `${words(cause.cause)}, ${sizeText(cause)}: ${percent(cause.score)}`)),
        svg("text", { class: "soft", x: x(cause.score) + 6, y: i * height + frame.bar + 14 }, percent(cause.score))]));
  });
}

function causeSection(one) {
  if (!one.causes.length) {
    const nothing = one.trace ? "no cause is nearer to the figures and the trace than none" : "no figure is off by more than the noise of a measurement";
    return section("Causes", one.pace === "as_expected" ? `Nothing to explain: ${nothing}.` : "No cause that has a key explains it.");
  }
  const told = one.causes.some((cause) => cause.meets) ? null
    : el("p", { class: "bad" }, "None of them leaves as little of the figures as chance does: something else is the cause, or several are.");
  return section("Causes, the likeliest first", "The bar is the score among all causes; of paler ones more is left of the figures than chance leaves.",
    causeBars(one.causes), told,
    sortable({ label: "causes", rows: one.causes, columns: [
      { name: "cause", text: (row) => words(row.cause), value: (row) => row.cause },
      { name: "size", text: (row) => sizeText(row), wrap: true },
      { name: "score", number: true, text: (row) => percent(row.score), value: (row) => row.score },
      { name: "meets all", text: (row) => plain(row.meets), value: (row) => Number(row.meets) },
      { name: "gain without it", number: true, text: (row) => `${thin(row.gain, 2)} ×`, value: (row) => row.gain },
      { name: "as settings", text: (row) => settingsText(row.settings), wrap: true }] }).element);
}

function checkSection(causes) {
  if (!causes.length) return null;
  return section("How to check", null, causes.slice(0, 5).map((cause) => [el("h3", {}, words(cause.cause)),
    el("ul", {}, cause.checks.map((check) => el("li", {}, check)))]));
}

function tracedSection(one) {
  if (!one.trace) return null;
  const moves = one.causes.slice(0, 5).flatMap((cause) => (cause.moves ?? []).map((move) => ({ cause: words(cause.cause), ...move })));
  return section("The traced step", `${one.trace.file}, ${seconds(one.trace.step_s)}. Kinds of work run beside each other, so that they do not add up.`,
    one.trace.doubts.map((doubt) => el("p", { class: "bad" }, doubt)),
    sortable({ label: "parts of the traced step", rows: one.trace.parts, first: 20, columns: [
      { name: "part", text: (row) => words(row.part), value: (row) => row.part },
      { name: "traced", number: true, key: "measured_s", text: (row) => seconds(row.measured_s), value: (row) => row.measured_s },
      { name: "projected", number: true, key: "projected_s", text: (row) => seconds(row.projected_s), value: (row) => row.projected_s },
      { name: "the trace has it", text: (row) => words(row.state), value: (row) => row.state }] }).element,
    moves.length === 0 ? null : [el("h3", {}, "What each cause moves"),
      sortable({ label: "parts that causes move", rows: moves, first: 30, columns: [
        { name: "cause", text: (row) => row.cause, value: (row) => row.cause },
        { name: "part", text: (row) => words(row.part), value: (row) => row.part },
        { name: "without it", number: true, key: "without_s", text: (row) => seconds(row.without_s), value: (row) => row.without_s },
        { name: "with it", number: true, key: "with_s", text: (row) => seconds(row.with_s), value: (row) => row.with_s },
        { name: "traced", number: true, key: "measured_s", text: (row) => seconds(row.measured_s), value: (row) => row.measured_s },
        { name: "seen", text: (row) => plain(row.seen), value: (row) => Number(row.seen) }] }).element]);
}

function publishedSection(runs) {
  if (!runs?.length) return null;
  return section("What others measured", "Of this model or one of its size, the nearest first.",
    sortable({ label: "published runs", rows: runs, columns: [
      { name: "model", text: (row) => row.model, value: (row) => row.model },
      { name: "GPUs", text: (row) => `${count(row.gpus)} x ${row.gpu}`, value: (row) => row.gpus },
      { name: "format", text: (row) => row.dtype, value: (row) => row.dtype },
      { name: "sequence", number: true, text: (row) => count(row.sequence_length), value: (row) => row.sequence_length },
      { name: "software", text: (row) => row.software, value: (row) => row.software },
      { name: "tokens/s/GPU", number: true, key: "tokens_per_second_per_gpu", text: (row) => rate(row.tokens_per_second_per_gpu), value: (row) => row.tokens_per_second_per_gpu },
      { name: "TFLOP/s/GPU", number: true, key: "model_tflops_per_gpu", text: (row) => thin(row.model_tflops_per_gpu, 1), value: (row) => row.model_tflops_per_gpu },
      { name: "source", text: (row) => row.source, wrap: true }] }).element);
}

function pointSection(figures) {
  if (!(figures?.length > 1)) return null;
  return section("Without any cause", "Each figure that was measured beside what is projected.",
    sortable({ label: "figures", rows: figures, columns: [
      { name: "settings", text: (row) => row.point || "as it is", value: (row) => row.point, wrap: true },
      { name: "of", text: (row) => metricName(row.metric), value: (row) => row.metric },
      { name: "measured", number: true, text: (row) => metricText(row.metric, row.measured), value: (row) => row.measured },
      { name: "projected", number: true, text: (row) => metricText(row.metric, row.projected), value: (row) => row.projected }] }).element);
}

function diagnosis(one) {
  if (one.pace === undefined) return [facts(one.context?.input), reasonSection(one), noteSection(one), inputSection(one.context)];
  const first = one.figures[0];
  return [facts(one.context?.input),
    el("div", { class: "tiles" },
      tile({ name: `measured, ${metricName(first.metric)}`, value: metricText(first.metric, first.measured), figure: "figures.0.measured", lead: true, under: paceTexts[one.pace] }),
      tile({ name: `projected, ${metricName(first.metric)}`, value: metricText(first.metric, first.projected), figure: "figures.0.projected", under: `tokens/s: ${thin(one.pace_ratio, 2)} times` }),
      wayTile("best plan", "best_plan", one.best_plan), wayTile("best software", "best_software", one.best_software)),
    paceSection(one), causeSection(one), checkSection(one.causes), tracedSection(one), pointSection(one.figures),
    publishedSection(one.published), noteSection(one), inputSection(one.context)];
}
