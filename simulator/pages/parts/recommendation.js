// SPDX-License-Identifier: Apache-2.0
// How many of which GPUs a training run needs: the answers, what lies between them, and all that was tried.
const answerKinds = [["fewest", "fewest GPUs"], ["cheapest", "cheapest"], ["fewest_gpu_hours", "fewest GPU-hours"], ["fastest", "fastest"]];

const priceText = (run) => (run.price === undefined ? "–" : `${large(run.price)} ${run.currency}`);
const energyText = (run) => (run.energy_kwh >= 1e4 ? `${large(run.energy_kwh / 1000)} MWh` : `${figure(run.energy_kwh)} kWh`);
const daysText = (days) => thin(days, days < 10 ? 2 : 1);
const endsText = (interval, show) => (interval ? `80 %: ${show(interval[0])} to ${show(interval[1])}` : null);
const provenText = (one) => (one.proven ? "the best of all plans" : "the best found");

// [{gpu, path, names, one}]: a candidate once, whatever it answers. `path` is where the report has it.
function answersOf(answer, place) {
  const found = [];
  for (const [key, name] of answerKinds.filter(([kind]) => answer[kind])) {
    const known = found.find(({ one }) => one.gpus === answer[key].gpus && one.days === answer[key].days);
    if (known) known.names.push(name);
    else found.push({ gpu: answer.gpu, path: `answers.${place}.${key}`, names: [name], one: answer[key] });
  }
  return found;
}

const figured = (path, key, text) => el("span", { "data-figure": `${path}.${key}` }, text);

// The best of all GPUs in each respect; prices are compared among those that have one.
function answerTiles(one) {
  const measured = { fewest: (run) => run.gpus, cheapest: (run) => run.price, fewest_gpu_hours: (run) => run.gpu_hours, fastest: (run) => run.days };
  return el("div", { class: "tiles" }, answerKinds.map(([kind, name]) => {
    const all = one.answers.map((answer, i) => ({ gpu: answer.gpu, path: `answers.${i}.${kind}`, run: answer[kind] })).filter(({ run }) => run);
    if (!all.length) return null;
    const { gpu, path, run } = all.reduce((a, b) => (measured[kind](b.run) < measured[kind](a.run) ? b : a));
    return tile({ name, lead: kind === "cheapest" || kind === "fewest_gpu_hours", value: `${count(run.gpus)} x ${gpu}`, figure: `${path}.gpus`, under: [
      el("b", {}, figured(path, "days", `${daysText(run.days)} days`)), endsText(run.interval_80?.days, daysText),
      run.price === undefined ? `${large(run.gpu_hours)} GPU-hours` : el("b", {}, figured(path, "price", priceText(run))),
      run.price === undefined ? null : endsText(run.interval_80?.price, large), figured(path, "energy_kwh", energyText(run))] });
  }));
}

function answerTable(answers) {
  const heads = ["", "answer", "GPUs", "days", "80 % interval", "GPU-hours", "price", "energy", "tokens/s/GPU", "plan"];
  return table("answers", heads, answers.map(({ gpu, path, names, one }) => [gpu, names.join(", "), figured(path, "gpus", count(one.gpus)),
    figured(path, "days", daysText(one.days)), one.interval_80?.days ? one.interval_80.days.map(daysText).join(" to ") : "–",
    figured(path, "gpu_hours", large(one.gpu_hours)), one.price === undefined ? "–" : figured(path, "price", priceText(one)),
    figured(path, "energy_kwh", energyText(one)), figured(path, "tokens_per_second_per_gpu", rate(one.tokens_per_second_per_gpu)),
    el("div", { class: "long" }, one.plan)]),
  [false, false, ...Array(7).fill(true), false]);
}

// Days to the right in powers of ten, cost upwards: points [{days, cost, colour, within, answer, title, lines}].
function runPlot({ points, front, limits, axis }) {
  return pointed((width) => {
    const [left, top, right, bottom, height] = [66, 22, 14, 44, Math.max(280, Math.min(400, width * 0.5))];
    const days = points.map((point) => point.days);
    const costs = points.map((point) => point.cost);
    const [x0, x1] = [Math.log10(Math.min(...days) / 1.25), Math.log10(Math.max(...days) * 1.25)];
    const pad = (Math.max(...costs) - Math.min(...costs)) * 0.08 || Math.max(...costs) * 0.08 || 1;
    const [y0, y1] = [Math.max(0, Math.min(...costs) - pad), Math.max(...costs) + pad];
    const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - right);
    const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);
    const inside = (at, from, to) => at >= from && at <= to;
    const up = ticks(y0, y1, 5);
    const spaced = markNames(width);
    const marks = points.map((point) => ({ x: x(point.days), y: y(point.cost), title: point.title, lines: point.lines, name: count(point.gpus),
      element: svg("g", {},
        svg("circle", { cx: x(point.days), cy: y(point.cost), r: 16, fill: "transparent" }),
        svg("circle", { cx: x(point.days), cy: y(point.cost), r: point.answer ? 7 : 5, fill: point.colour, "fill-opacity": point.within ? 0.85 : 0.25,
          stroke: point.answer ? "var(--ink)" : point.colour, "stroke-width": point.answer ? 2 : 1 })) }))
      .sort((a, b) => a.x - b.x);
    const drawing = picture(width, height, "days and cost of every number of GPUs",
      up.map((tick) => [
        svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        svg("text", { class: "soft", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick, up[1] - up[0]))]),
      powerMarks(x0, x1).map((tick) => [
        svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: height - bottom }),
        spaced(x(tick), height - bottom + 17, tickText(tick, tick))]),
      svg("text", { class: "soft", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "days"),
      svg("text", { class: "soft", x: 0, y: 12 }, axis),
      limits.days && inside(Math.log10(limits.days), x0, x1) ? [
        svg("line", { x1: x(limits.days), x2: x(limits.days), y1: top, y2: height - bottom, stroke: "var(--bad)", "stroke-dasharray": "4 3" }),
        svg("text", { x: x(limits.days) - 5, y: top + 11, "text-anchor": "end", style: "fill:var(--bad)" }, `at most ${figure(limits.days)} days`)] : null,
      limits.budget && inside(limits.budget, y0, y1) ? [
        svg("line", { x1: left, x2: width - right, y1: y(limits.budget), y2: y(limits.budget), stroke: "var(--bad)", "stroke-dasharray": "4 3" }),
        svg("text", { x: left + 6, y: y(limits.budget) - 5, style: "fill:var(--bad)" }, `at most ${large(limits.budget)}`)] : null,
      front.length > 1 ? svg("path", { d: front.map((point, i) => `${i ? "L" : "M"}${x(point.days)} ${y(point.cost)}`).join(""), fill: "none",
        stroke: "var(--front)", "stroke-width": 1.6 }) : null,
      marks.map((mark) => mark.element), gpuNumbers(marks, width - right));
    return { drawing, marks };
  });
}

// The number of GPUs above each mark, or below it where another name or mark stands there; none where both places are taken.
function gpuNumbers(marks, width) {
  const named = [];
  return marks.map((mark) => {
    const half = 3.6 * mark.name.length;
    const at = Math.min(mark.x, width - half);
    const free = (y) => named.every((other) => Math.abs(other.y - y) > 12 || Math.abs(other.at - at) > other.half + half + 2)
      && marks.every((other) => other === mark || Math.abs(other.y - (y - 4)) > 12 || Math.abs(other.x - at) > half + 8);
    const y = [mark.y - 11, mark.y + 20].find(free);
    if (y === undefined) return null;
    named.push({ y, at, half });
    return svg("text", { class: "soft", x: at, y, "text-anchor": "middle" }, mark.name);
  });
}

function withinLimits(run, limits) {
  return run.days <= (limits.days ?? Infinity) && run.gpus <= (limits.gpus ?? Infinity)
    && (limits.budget === undefined || (run.price !== undefined && run.price <= limits.budget));
}

// The plan of each answer, and what all of them assume.
function planSection(answers) {
  if (!answers.length) return null;
  const assumed = new Map();
  for (const { gpu, one: run } of answers) {
    for (const line of run.assumptions ?? []) assumed.set(line, [...(assumed.get(line) ?? []), `${count(run.gpus)} x ${gpu}`]);
  }
  const shared = [...assumed].filter(([, names]) => names.length > 1 || answers.length === 1);
  const owners = (names) => (names.length === answers.length ? "" : `${[...new Set(names)].join(", ")}: `);
  const own = (run) => (run.assumptions ?? []).filter((line) => !shared.some(([known]) => known === line));
  return [shared.length ? section("Assumptions", null, el("ul", { class: "plain" },
    shared.sort((a, b) => b[1].length - a[1].length).map(([line, names]) => el("li", {}, owners(names), line)))) : null,
    section("Plans", "Settings as --set takes them.", answers.map(({ gpu, path, names, one: run }) =>
      el("details", { class: "unfolds" }, el("summary", {}, `${count(run.gpus)} x ${gpu}: ${names.join(", ")}`),
        el("p", {}, `${run.plan}; ${provenText(run)}: ${count(run.searched.priced)} of ${count(run.searched.plans)} priced. Step `,
          figured(path, "step_time_s", seconds(run.step_time_s)), ", MFU ", figured(path, "mfu", percent(run.mfu)), ", ",
          figured(path, "peak_memory_bytes", gib(run.peak_memory_bytes)), ", ", figured(path, "power_w", `${thin(run.power_w, 0)} W`), " a GPU."),
        el("pre", {}, Object.entries(run.settings).map(([key, value]) => `--set ${key}=${value}`).join(" ")),
        own(run).length ? el("ul", { class: "plain" }, own(run).map((line) => el("li", {}, line))) : null)))];
}

function searchedSections(one, answers) {
  const gpus = [...new Set(one.searched.map((row) => row.gpu))];
  const runs = one.searched.filter((row) => row.days !== undefined);
  // What lacks a price stands in no picture of prices.
  const key = runs.some((row) => row.price !== undefined) ? "price" : "gpu_hours";
  const drawn = runs.filter((row) => row[key] !== undefined);
  const isAnswer = (row) => answers.some(({ gpu, one: run }) => gpu === row.gpu && run.gpus === row.gpus && run.days === row.days);
  const axis = key === "price" ? `price, ${drawn[0].currency}` : "GPU-hours";
  const front = (one.pareto ?? []).map((row) => ({ days: row.days, cost: row[key] })).filter((row) => row.cost !== undefined);
  const columns = [
    { name: "GPU", text: (row) => row.gpu, value: (row) => row.gpu },
    { name: "GPUs", number: true, key: "gpus", text: (row) => count(row.gpus), value: (row) => row.gpus },
    { name: "days", number: true, key: "days", text: (row) => (row.days === undefined ? "–" : daysText(row.days)), value: (row) => row.days ?? null },
    { name: "GPU-hours", number: true, key: "gpu_hours", text: (row) => (row.gpu_hours === undefined ? "–" : large(row.gpu_hours)), value: (row) => row.gpu_hours ?? null },
    { name: "price", number: true, key: "price", text: priceText, value: (row) => row.price ?? null },
    { name: "energy", number: true, key: "energy_kwh", text: (row) => (row.energy_kwh === undefined ? "–" : energyText(row)), value: (row) => row.energy_kwh ?? null },
    { name: "tokens/s/GPU", number: true, key: "tokens_per_second_per_gpu", text: (row) => (row.days === undefined ? "–" : rate(row.tokens_per_second_per_gpu)),
      value: (row) => row.tokens_per_second_per_gpu ?? null },
    { name: "in limits", text: (row) => (row.days !== undefined && withinLimits(row, one.limits) ? "yes" : "no"),
      value: (row) => (row.days !== undefined && withinLimits(row, one.limits) ? "yes" : "no") },
    { name: "plan", wrap: true, text: (row) => row.plan ?? (row.reasons ?? []).join("; ") },
    { name: "priced", number: true, title: "plans, of those of its space", text: (row) => `${count(row.searched.priced)} of ${count(row.searched.plans)}`,
      value: (row) => row.searched.priced },
    { name: "proven", title: "whether it is the best of all plans", text: (row) => plain(row.proven), value: (row) => plain(row.proven) },
  ];
  return [
    drawn.length ? section(key === "price" ? "Days and price" : "Days and GPU-hours",
      "Each number of GPUs with its best plan; a touch, the pointer or the arrow keys show its figures. A ring marks an answer, what is pale is beyond a limit.",
      runPlot({ front, limits: key === "price" ? one.limits : { days: one.limits.days }, axis, points: drawn.map((row) => ({ days: row.days, cost: row[key], gpus: row.gpus,
        colour: seriesColour(gpus.indexOf(row.gpu)), within: withinLimits(row, one.limits), answer: isAnswer(row), title: `${count(row.gpus)} x ${row.gpu}`,
        lines: [`${daysText(row.days)} days, ${priceText(row)}`, `${large(row.gpu_hours)} GPU-hours`, row.plan ?? ""] })) }),
      legend([...gpus.map((gpu, i) => [gpu, seriesColour(i)]), ...(front.length ? [["none other is both faster and cheaper", "var(--front)"]] : [])])) : null,
    planSection(answers),
    section("All that was tried", "A heading sorts.", sortable({ label: "numbers of GPUs", columns, rows: one.searched, first: 40, mark: (row) => (isAnswer(row) ? "front" : null) }).element),
  ];
}

function recommendation(one) {
  const answers = one.answers.flatMap(answersOf);
  const none = one.answers.filter((answer) => answer.emptied_by);
  const { days, budget, gpus } = one.limits ?? {};
  const { model, training = {} } = one.context?.input ?? {};
  const sets = [...new Set(one.answers.map((answer) => answer.software).filter(Boolean))];
  const work = [["model", model], ["format", training.dtype], ["sequence", training.sequence_length && count(training.sequence_length)],
    ["global batch", training.global_batch_size && count(training.global_batch_size)],
    ["software", sets.length > 1 ? one.answers.map((answer) => `${answer.software} on ${answer.gpu}`).join(", ") : sets[0]]].filter(([, value]) => value);
  const limits = [days ? ["at most", `${figure(days)} days`] : null, budget ? ["at most", `${large(budget)} ${answers[0]?.one.currency ?? ""}`] : null,
    gpus ? ["at most", `${count(gpus)} GPUs of a kind`] : null, answers.length ? ["tokens", large(answers[0].one.tokens)] : null].filter(Boolean);
  return [
    limits.length + work.length ? el("ul", { class: "facts" }, [...work, ...limits].map(([name, value]) => el("li", {}, el("b", {}, name), value))) : null,
    el("p", {}, one.headline), one.context?.notes?.length ? noteSection(one) : null, answerTiles(one),
    answers.length ? section("Answers", "Of each GPU; the plan of each is below.", answerTable(answers)) : null,
    none.length ? section("GPUs without an answer", null, none.map((answer) => [el("h3", {}, answer.gpu),
      table(`why ${answer.gpu} has no answer`, ["reason", "numbers of GPUs"], Object.entries(answer.emptied_by).map(([reason, times]) => [reason, count(times)]), [false, true])])) : null,
    searchedSections({ limits: {}, ...one }, answers),
  ];
}
