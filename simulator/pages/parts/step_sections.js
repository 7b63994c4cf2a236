// SPDX-License-Identifier: Apache-2.0
// The sections about one step.
const timeParts = (time) => Object.entries(time).map(([key, value]) =>
  ({ key, name: words(key), value, colour: timeColours[key] ?? "var(--other)", text: seconds(value) }));

function memoryParts(stage) {
  const names = { optimizer_bytes: "optimizer states", outside_bytes: "driver, communicators" };
  return Object.keys(memoryColours).filter((key) => key in stage && (key !== "outside_bytes" || stage[key]))
    .map((key) => ({ key, name: names[key] ?? words(key), value: stage[key], colour: memoryColours[key], text: gib(stage[key]) }));
}

function reasonSection(report) {
  if (report.feasible !== false || !report.reasons?.length) return null;
  const fit = report.nearest_fit;
  const settings = (changes) => Object.entries(changes).map(([key, value]) => `--set '${key}=${value}'`).join(" ");
  const remedies = (report.savings ?? []).map((one) =>
    el("li", {}, `${gib(one.peak_memory_bytes)} at peak, ${rate(one.tokens_per_second_per_gpu)} tokens/s/GPU: `, el("code", {}, settings(one.changes))));
  const lines = [...report.reasons];
  if (fit?.changes) {
    const changes = Object.entries(fit.changes).map(([key, value]) => `${key} ${value}`).join(" and ");
    lines.push(`It fits with ${changes}: ${rate(fit.tokens_per_second_per_gpu)} tokens/s/GPU, ${gib(fit.peak_memory_bytes)} at peak.`);
  } else if (fit?.fewest_gpus) {
    lines.push(`No plan near it fits; the fewest GPUs found with one that does are ${fit.fewest_gpus}.`);
  }
  const list = section("This plan cannot run", null, el("ul", { class: "plain" }, lines.map((line) => el("li", {}, line))),
    remedies.length ? [el("h3", {}, "What saves memory"), el("ul", { class: "plain" }, remedies)] : null,
    report.step_time_s === undefined ? null : el("p", { class: "soft" }, "The figures below are those of a GPU with enough memory."));
  list.classList.add("reasons");
  return list;
}

function rateTile(report) {
  const value = report.tokens_per_second_per_gpu;
  const error = report.expected_error;
  const range = (interval) => `${rate(interval[0] * value)} to ${rate(interval[1] * value)}`;
  return tile({
    name: "tokens/s/GPU", value: rate(value), figure: "tokens_per_second_per_gpu", lead: true,
    drawing: error?.interval_80 ? intervalLine(value, error.interval_80, error.interval_90 ?? error.interval_80) : null,
    under: error?.interval_80
      ? [`80 %: ${range(error.interval_80)}`, error.interval_90 ? `90 %: ${range(error.interval_90)}` : null, error.basis]
      : ["no interval: nothing like it was measured"],
  });
}

function memoryTile(report, capacity) {
  const fullest = (report.memory_by_stage ?? []).reduce((a, b) => (!a || b.total_bytes > a.total_bytes ? b : a), null);
  const verdict = fullest?.verdict;
  const tone = verdict === "fits" ? "good" : verdict === "tight" ? "warn" : "bad";
  return tile({
    name: "peak memory of a GPU", value: gib(report.peak_memory_bytes), figure: "peak_memory_bytes",
    under: [capacity ? `${percent(report.peak_memory_bytes / capacity)} of ${gib(capacity)}` : null,
      verdict ? el("span", { class: tone }, `${verdict}, rank ${fullest.rank}`) : null],
  });
}

function headline(report, capacity) {
  if (report.tokens_per_second_per_gpu === undefined) return null;
  const run = report.training_run;
  const ends = (interval, text) => (interval ? `80 %: ${text(interval[0])} to ${text(interval[1])}` : null);
  return el("div", { class: report.feasible === false ? "tiles unreal" : "tiles" },
    rateTile(report),
    tile({ name: "step time", value: seconds(report.step_time_s), figure: "step_time_s",
      under: `at ${thin(report.clock_mhz, 0)} MHz, ${thin(report.power_w, 0)} W a GPU` }),
    tile({ name: "MFU", value: percent(report.mfu), figure: "mfu",
      under: `${thin(report.model_tflops_per_gpu, 1)} model TFLOP/s a GPU` }),
    memoryTile(report, capacity),
    run ? tile({ name: `${large(run.tokens)} tokens`, value: thin(run.days, 1), unit: "days", figure: "training_run.days",
      under: [ends(run.interval_80?.days, (days) => thin(days, 1)), `${large(run.gpu_hours)} GPU-hours`, run.goodput < 1 ? `goodput ${percent(run.goodput)}` : "without interruptions"] }) : null,
    run?.price !== undefined ? tile({ name: "price", value: `${large(run.price)} ${run.currency}`, figure: "training_run.price",
      under: [ends(run.interval_80?.price, large), `${figure(run.price_per_gpu_hour)} ${run.currency} a GPU-hour`] }) : null,
    run ? tile({ name: "energy", value: `${large(run.energy_kwh / 1000)}`, unit: "MWh", figure: "training_run.energy_kwh",
      under: `${figure(run.joules_per_token)} J a token` }) : null);
}

function timeSection(report, step) {
  if (!report.time) return null;
  const parts = timeParts(report.time);
  const rows = parts.filter((part) => part.value > 0).map((part) => [
    [swatch(part.colour), part.name], el("span", { "data-figure": `time.${part.key}` }, part.text), percent(part.value / step)]);
  return section("Where the time goes", "Of the slowest pipeline rank; every instant counts once.",
    strip(parts, "time of a step by what it is spent on"),
    table("time of a step", ["part", "time", "of the step"], rows, [false, true, true],
      [["step", seconds(step), "100.0 %"]]));
}

// Where all GPUs hold the same: one bar of what a GPU has, and a table as that of the time.
function loneMemorySection(stage, capacity) {
  const parts = memoryParts(stage);
  const used = sum(parts.map((part) => part.value));
  const free = capacity > used ? [{ name: "free", value: capacity - used, colour: "var(--faint)", text: gib(capacity - used) }] : [];
  const share = (value) => (capacity ? percent(value / capacity) : "–");
  const totals = [["all", gib(used), share(used)], stage.reserved_bytes ? ["reserved by the allocator", gib(stage.reserved_bytes), share(stage.reserved_bytes)] : null];
  return section("Memory of every GPU", `At its peak${stage.peak_moment ? `, in ${stage.peak_moment}` : ""}${capacity ? `; the bar is the ${gib(capacity)} of a GPU${capacity < used ? " and what is missing" : ""}` : ""}.`,
    strip([...parts, ...free], "memory of a GPU by what it holds"),
    table("memory of a GPU", ["part", "memory", "of the GPU"], parts.map((part) => [[swatch(part.colour), part.name],
      el("span", { "data-figure": `memory_by_stage.0.${part.key}` }, part.text), share(part.value)]), [false, true, true], totals.filter(Boolean)));
}

function memorySection(report, capacity) {
  const stages = report.memory_by_stage ?? [];
  if (!stages.length) return null;
  if (stages.length === 1) return loneMemorySection(stages[0], capacity);
  const rows = stages.map((stage) => ({ name: `rank ${stage.rank}`, parts: memoryParts(stage),
    text: gib(sum(memoryParts(stage).map((part) => part.value))) }));
  const kinds = [...memoryParts(stages[0])].map((part) => part.key);
  const cells = stages.map((stage) => [`rank ${stage.rank}`, ...kinds.map((key) => thin((stage[key] ?? 0) / 2 ** 30, 2)),
    thin(stage.total_bytes / 2 ** 30, 2), stage.reserved_bytes ? thin(stage.reserved_bytes / 2 ** 30, 2) : "–", stage.peak_moment ?? "–",
    stage.verdict ?? "–"]);
  return section("Memory by pipeline rank", "At each rank's peak; the dashed line is what a GPU has.",
    stackedRows(rows, { label: "memory of each pipeline rank", limit: capacity ?? null,
      limitName: capacity ? gib(capacity) : "" }),
    legend(memoryParts(stages[0]).map((part) => [part.name, part.colour])),
    el("details", { class: "unfolds" }, el("summary", {}, "Figures in GiB"),
      table("memory in GiB", ["", ...kinds.map((key) => (key === "outside_bytes" ? "outside" : words(key))), "allocated", "reserved", "peak in", "verdict"],
        cells, [false, ...kinds.map(() => true), true, true, false, false])));
}

function timelineSection(chart, page) {
  if (!chart) return null;
  if (chart.trace) {
    const experiment = page.command.replace(/^stepcast \S+/, "stepcast trace")
      .replace(/ --(html|out|format)(=| )('[^']*'|\S+)/g, "");
    return section("Pipeline timeline", `${count(chart.blocks)} passes on ${chart.ranks} ranks: more than a page can show.`,
      el("p", {}, "The step as a trace, for Perfetto (ui.perfetto.dev) or TraceLens; --ranks all with a folder gives every rank:"),
      el("pre", {}, `${experiment} --out step.json.gz`));
  }
  return section("Pipeline timeline",
    `${count(chart.blocks)} passes on ${chart.ranks} pipeline rank${chart.ranks > 1 ? "s" : ""}; a number is a micro-batch.`,
    pipelineTimeline(chart));
}

// m × n × k of a product; of others what differs from call to call.
function shapeText(shape) {
  if (!shape) return "–";
  if ("m" in shape && "n" in shape && "k" in shape) {
    return `${count(shape.m)} × ${count(shape.n)} × ${count(shape.k)}${shape.batch > 1 ? `, ${shape.batch} of them` : ""}`;
  }
  const said = new Set(["pass", "implementation", "op", "axis", "causal", "window", "element_bytes"]);
  return Object.entries(shape).filter(([key, value]) => !said.has(key) && value !== 1 && value !== false && typeof value !== "object")
    .map(([key, value]) => (key === "bytes" ? si(value, "B") : `${words(key)} ${typeof value === "number" ? count(value) : value}`)).join(", ");
}

function operatorTable(operators) {
  const columns = [
    { name: "operator", text: (op) => op.name, value: (op) => op.name },
    { name: "pass", text: (op) => op.pass, value: (op) => op.pass },
    { name: "category", text: (op) => op.category ?? op.kind, value: (op) => op.category ?? op.kind },
    { name: "shape", text: (op) => shapeText(op.shape), wrap: true },
    { name: "count", number: true, text: (op) => count(op.count), value: (op) => op.count },
    { name: "each", number: true, text: (op) => seconds(op.time_s), value: (op) => op.time_s },
    { name: "in a step", number: true, key: "total_time_s", text: (op) => seconds(op.total_time_s), value: (op) => op.total_time_s },
    { name: "share", number: true, title: "of all computation", text: (op) => ("wire_bytes" in op ? "–" : percent(op.share_of_computation ?? 0)),
      value: (op) => ("wire_bytes" in op ? null : op.share_of_computation ?? 0) },
    { name: "bound by", text: (op) => op.bound ?? "–", value: (op) => op.bound ?? "" },
    { name: "of roofline", number: true, title: "time that no kernel beats / predicted time",
      text: (op) => (op.roofline_share ? percent(op.roofline_share, 0) : "–"), value: (op) => op.roofline_share ?? null },
  ];
  const list = sortable({ label: "operators of a step", columns, rows: operators, first: 12, sort: { column: 6, way: "descending" } });
  const filter = el("input", { type: "search", placeholder: "attention, GEMM, backward …", on: { input: () => {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.show(operators.filter((op) => {
      const text = `${op.name} ${op.pass} ${op.kind} ${op.category ?? ""} ${op.bound ?? ""}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    }));
  } } });
  return el("div", {}, el("div", { class: "controls" }, el("label", { class: "grow" }, "Filter operators", filter)), list.element);
}

function operatorSections(operators, chart) {
  if (!operators?.length) return [];
  const points = (chart?.operators ?? []).map(({ operator, flops, bytes }) => ({ op: operators[operator], flops, bytes }))
    .filter(({ op }) => op.time_s > 0);
  const tones = [...new Set(points.map(({ op }) => op.category ?? op.kind))];
  const tone = (name) => categoryColours[name] ?? seriesColour(tones.indexOf(name));
  const roof = points.length && chart.peaks.length ? section("Roofline of the operators",
    `At the step's clock, ${thin(chart.clock_mhz, 0)} MHz. A point's area is its time in the step; a touch, the pointer or the arrow keys show its figures.`,
    roofline({ label: "roofline of the operators", slope: chart.memory_bytes_per_s,
      roofs: chart.peaks.map((peak) => ({ name: peak.dtype, peak: peak.flop_per_s })),
      points: points.sort((a, b) => b.op.total_time_s - a.op.total_time_s).map(({ op, flops, bytes }) => ({
        x: flops / bytes, y: flops / op.time_s, size: op.total_time_s, colour: tone(op.category ?? op.kind),
        name: op.name, title: `${op.name}, ${op.pass}`, lines: [si(flops / op.time_s, "FLOP/s"), `${figure(flops / bytes)} FLOP a byte`,
          `${seconds(op.total_time_s)} in a step`, `bound by ${op.bound}`] })) }),
    legend(tones.map((name) => [name, tone(name)]))) : null;
  return [roof, section("Operators", "Of the slowest pipeline rank, communication before anything hides it.", operatorTable(operators))];
}

function boundSection(limits) {
  if (!limits?.length) return null;
  const tone = (limit) => limitColours[limit.limit] ?? "var(--other)";
  const parts = limits.map((limit) => ({ name: limit.limit, value: limit.time_s, colour: tone(limit), text: seconds(limit.time_s) }));
  return section("What bounds the step", null, strip(parts, "time of a step by what bounds it"),
    table("what bounds the step", ["bound by", "time", "of the step"],
      limits.map((limit) => [[swatch(tone(limit)), limit.limit], seconds(limit.time_s), percent(limit.share)]), [false, true, true]));
}

function sensitivitySection(sensitivities) {
  const rows = Object.entries(sensitivities ?? {}).filter(([, one]) => one && one.change_percent !== undefined);
  if (!rows.length) return null;
  const factor = rows[0][1].factor;
  return section(`What ${percent(factor - 1, 0)} more would buy`, "Change of tokens/s/GPU with more of one resource and all else equal.",
    signedRows(rows.map(([key, one]) => ({ name: words(key), value: one.change_percent,
      text: `${one.change_percent >= 0 ? "+" : "−"}${thin(Math.abs(one.change_percent), 3)} %` })), { label: "sensitivities", more: "var(--good)", less: "var(--bad)" }));
}

function provenanceSection(shares) {
  if (!shares) return null;
  const parts = Object.entries(shares).map(([name, value]) => ({ name, value, colour: provenanceColours[name] ?? "var(--other)", text: percent(value) }));
  return section("What the time rests on", "How the constants came about that the predicted time follows from.",
    strip(parts, "share of the time by provenance of constants"),
    table("provenance", ["constants", "share of the time"], parts.map((part) => [[swatch(part.colour), part.name], part.text]), [false, true]));
}

function pathSection(path, step) {
  if (!path?.length) return null;
  const kinds = new Map();
  for (const segment of path) {
    const known = kinds.get(segment.kind) ?? { times: 0, time: 0 };
    kinds.set(segment.kind, { times: known.times + segment.count, time: known.time + segment.time_s });
  }
  const rows = [...kinds].sort((a, b) => b[1].time - a[1].time);
  return section("Critical path", "The chain of passes, transfers and waits that sets the step's length.",
    table("critical path", ["kind", "times", "time", "of the step"],
      rows.map(([kind, one]) => [kind, count(one.times), seconds(one.time), percent(one.time / step)]), [false, true, true, true]));
}
