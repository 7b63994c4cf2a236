// SPDX-License-Identifier: Apache-2.0
// Each kind of report as its sections.
const text = document.getElementById("report").textContent;
const report = JSON.parse(text);
const page = JSON.parse(document.getElementById("charts").textContent);

const pair = (...both) => {
  const found = both.filter(Boolean);
  return found.length > 1 ? el("div", { class: "pair" }, found) : found[0] ?? null;
};

function projection(one) {
  const charts = page.charts ?? {};
  const explained = charts.explanation ?? {};
  return [facts(one.context?.input), reasonSection(one), headline(one, charts.capacity_bytes),
    // The figures of several ranks are a wide table.
    (one.memory_by_stage?.length > 1 ? (...both) => both : pair)(timeSection(one, one.step_time_s), memorySection(one, charts.capacity_bytes)),
    timelineSection(charts.pipeline, page),
    pair(boundSection(explained.bound_by), sensitivitySection(explained.sensitivities)),
    operatorSections(explained.operators, charts.roofline),
    pair(provenanceSection(one.provenance), noteSection(one)), inputSection(one.context)];
}

function explanation(one) {
  const charts = page.charts ?? {};
  return [facts(one.context?.input), reasonSection(one),
    one.step_time_s === undefined ? null : el("div", { class: "tiles" },
      tile({ name: "step time", value: seconds(one.step_time_s), figure: "step_time_s", lead: true, under: `at ${thin(one.clock_mhz, 0)} MHz` }),
      tile({ name: "computation", value: seconds(one.computation_s), figure: "computation_s", under: `of pipeline rank ${one.pipeline_rank}, the slowest` }),
      tile({ name: "communication", value: seconds(one.communication_s), figure: "communication_s", under: "before anything hides it" })),
    waterfallSection(one.waterfall), boundByMemory(one.waterfall), adviceSection(one.advice),
    pair(boundSection(one.bound_by), sensitivitySection(one.sensitivities)),
    operatorSections(one.operators, charts.roofline), timelineSection(charts.pipeline, page),
    pair(pathSection(one.critical_path, one.step_time_s), noteSection(one)), inputSection(one.context)];
}

// Rows of two times and how far they are apart.
function differenceTable(label, rows) {
  return sortable({ label, rows, first: 20, columns: [
    { name: "name", text: (row) => row.name, value: (row) => row.name, wrap: true },
    { name: "A", number: true, key: "a_us", text: (row) => seconds(row.a_us / 1e6), value: (row) => row.a_us },
    { name: "B", number: true, key: "b_us", text: (row) => seconds(row.b_us / 1e6), value: (row) => row.b_us },
    { name: "B − A", number: true, key: "difference_us", text: (row) => seconds(row.difference_us / 1e6), value: (row) => row.difference_us },
  ] }).element;
}

// The settings of two inputs that differ, but for those that follow from others, as [key, of A, of B].
function differingSettings(first, second) {
  const derived = /^(nodes$|gpus$|plan\.(given|dp|edp|micro_batches|expert_exchange)|[a-z]+_assumed|software_date)/;
  const [a, b] = [new Map(flat(first)), new Map(flat(second))];
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => !derived.test(key) && plain(a.get(key) ?? "–") !== plain(b.get(key) ?? "–"))
    .map((key) => [key, a.get(key) ?? "–", b.get(key) ?? "–"]);
}

// What tells A and B apart, where model and GPUs do not: "tp 1, zero 3" and "tp 8, zero 0".
function differenceNames(one) {
  const [a, b] = [one.a.context.input, one.b.context.input];
  const name = (input) => `${input.model} on ${input.gpus} x ${input.gpu}`;
  if (name(a) !== name(b)) return { names: [name(a), name(b)], title: `${name(a)} and ${name(b)}` };
  const all = differingSettings(a, b);
  const inBoth = all.filter((setting) => !setting.includes("–"));
  const differing = (inBoth.length ? inBoth : all).slice(0, 3);
  if (!differing.length) return { names: ["as given", "as given"], title: `${name(a)}, twice alike` };
  const told = (side) => differing.map(([key, ...values]) => `${key.replace(/^(plan|training|software)\./, "")} ${plain(values[side])}`).join(", ");
  return { names: [told(0), told(1)], title: `${name(a)}: ${told(0)} and ${told(1)}` };
}

function difference(one) {
  const total = one.total;
  const both = [one.a, one.b];
  const letters = ["A", "B"];
  const { names } = differenceNames(one);
  const differing = differingSettings(one.a.context.input, one.b.context.input);
  const changed = (one.difference ?? []).filter((row) => Math.max(Math.abs(row.a_us), Math.abs(row.b_us)) > 1e-6);
  return [section("A and B", null, both.map((half, i) => [el("h3", {}, `${letters[i]}: ${names[i]}`), facts(half.context.input)]),
    table("A and B", ["", ...letters], comparisonRows(both, [{ label: "A" }, { label: "B" }]), [false, true, true])),
  total ? el("div", { class: "tiles" },
    tile({ name: "A, for a token on a GPU", value: seconds(total.a_us / 1e6), figure: "total.a_us" }),
    tile({ name: "B, for a token on a GPU", value: seconds(total.b_us / 1e6), figure: "total.b_us" }),
    tile({ name: "B − A", value: seconds(total.difference_us / 1e6), figure: "total.difference_us", lead: true })) : null,
  changed.length ? section("Where the two differ", "B less A, in time for a token on a GPU; the parts add up.",
    signedRows([...changed].sort((a, b) => Math.abs(b.difference_us) - Math.abs(a.difference_us)).map((row) => ({ name: words(row.name), value: row.difference_us, text: seconds(row.difference_us / 1e6) })),
      { label: "difference by part", more: "var(--bad)", less: "var(--good)" }),
    legend([["B takes longer", "var(--bad)"], ["B is faster", "var(--good)"]]), differenceTable("difference by part", changed)) : null,
  one.operators?.length ? section("By operator", null, differenceTable("difference by operator", one.operators)) : null,
  differing.length ? section("Settings that differ", null, table("settings that differ", ["", ...letters], differing.map(([key, ...values]) => [key, ...values.map(plain)]), [false, false, false])) : null,
  section("Inputs", "Of both, as settled.", both.map((half, i) => el("details", {}, el("summary", {}, letters[i]), pairs(flat(half.context.input))))),
  noteSection(one)];
}

function constants(one) {
  const columns = [
    { name: "constant", text: (row) => row.name, value: (row) => row.name },
    { name: "value", number: true, text: (row) => row.value },
    { name: "kind", text: (row) => row.kind, value: (row) => row.kind },
    { name: "share", number: true, key: "share", text: (row) => percent(row.share), value: (row) => row.share },
    { name: "what it is", text: (row) => row.meaning, wrap: true },
    { name: "source", text: (row) => [row.source, row.file].filter(Boolean).join(" · "), wrap: true },
  ];
  return [facts(one.context?.input), reasonSection(one), provenanceSection(one.provenance),
    one.constants?.length ? section("Constants", "Share of the step's time that follows each.",
      sortable({ label: "constants", columns, rows: one.constants, first: 40, sort: { column: 3, way: "descending" } }).element) : null,
    inputSection(one.context)];
}

function comparisonRows(columns, relations) {
  const of = (key, show) => columns.map((column) => (column[key] === undefined ? "–" : el("span", { "data-figure": key }, show(column[key]))));
  const interval = (column) => (column.expected_error?.interval_80 && column.tokens_per_second_per_gpu
    ? column.expected_error.interval_80.map((factor) => rate(factor * column.tokens_per_second_per_gpu)).join(" to ") : "–");
  const degrees = (plan) => ["tp", "cp", "pp", "vpp", "ep", "dp", "fsdp", "zero"].filter((key) => plan[key] > (key === "zero" ? 0 : 1))
    .map((key) => `${key} ${plan[key]}`).join(" ");
  const some = (name, cells) => (cells.every((cell) => cell === "–") ? null : [name, ...cells]);
  return [
    some("verdict", columns.map((column) => (column.feasible ? el("span", { class: "good" }, "can run") : el("span", { class: "bad" }, "cannot run")))),
    some("tokens/s/GPU", of("tokens_per_second_per_gpu", rate)), some("80 % interval", columns.map(interval)),
    some(`ratio to ${relations[0]?.label ?? "the first"}`, relations.map((one) => (one.ratio === undefined ? "–" : thin(one.ratio, 3)))),
    some("told apart", relations.map((one) => (one.told_apart === undefined ? "–" : one.told_apart ? "yes" : "no"))),
    some("price a million tokens", relations.map((one, i) => (one.price_per_million_tokens === undefined ? "–"
      : `${figure(one.price_per_million_tokens)} ${columns[i].training_run?.currency ?? ""}`))),
    some("step time", of("step_time_s", seconds)), some("MFU", of("mfu", (share) => percent(share))),
    some("peak memory", of("peak_memory_bytes", gib)), some("clock", of("clock_mhz", (mhz) => `${thin(mhz, 0)} MHz`)),
    some("power of a GPU", of("power_w", (watts) => `${thin(watts, 0)} W`)),
    some("days", columns.map((column) => (column.training_run ? thin(column.training_run.days, 1) : "–"))),
    some("GPU-hours", columns.map((column) => (column.training_run ? large(column.training_run.gpu_hours) : "–"))),
    some("price", columns.map((column) => (column.training_run?.price === undefined ? "–" : `${large(column.training_run.price)} ${column.training_run.currency}`))),
    some("GPUs", columns.map((column) => count(column.context?.input?.gpus ?? 0))),
    some("plan", columns.map((column) => (column.context?.input?.plan ? degrees(column.context.input.plan) || "one GPU" : "–"))),
    some("software", columns.map((column) => String(column.context?.input?.software ?? "–"))),
  ].filter(Boolean);
}

// Rows [name, ...cells] of which all columns that have a time say the same are told once, in a line. Many columns become rows.
function comparisonTable(rows, columns, names) {
  const said = (cell) => (typeof cell === "string" ? cell : cell.textContent);
  const timed = columns.map((column) => column.step_time_s !== undefined);
  const ofTimed = (row) => row.slice(1).filter((_, i) => timed[i]);
  const alike = (row) => ofTimed(row).length > 1 && ofTimed(row).every((cell) => said(cell) === said(ofTimed(row)[0]))
    && row.slice(1).every((cell, i) => timed[i] || said(cell) === "–" || said(cell) === said(ofTimed(row)[0]));
  const shared = rows.filter(alike);
  const own = rows.filter((row) => !alike(row));
  const many = names.length > 5;
  const heads = many ? ["", ...own.map(([name]) => name)] : ["", ...names];
  const cells = many ? names.map((name, i) => [name, ...own.map((row) => row[i + 1])]) : own;
  return [own.length ? table("comparison", heads, cells, [false, ...heads.slice(1).map(() => true)]) : null,
    shared.length ? el("p", { class: "sub alike" }, timed.every(Boolean) ? "The same for all: " : "The same for all that have a time: ",
      shared.map((row, i) => [i ? "; " : "", `${row[0]} `, ofTimed(row)[0]])) : null];
}

// The notes of all columns: what several say, once, behind the names of those that say it.
function columnNotes(columns, label) {
  const all = new Map();
  columns.forEach((column, i) => (column.context?.notes ?? []).forEach((note) => all.set(note, [...(all.get(note) ?? []), label(i)])));
  if (!all.size) return null;
  return section("Notes", null, el("ul", { class: "plain" }, [...all].map(([note, names]) =>
    el("li", {}, names.length === columns.length ? null : el("b", {}, `${names.join(", ")}: `), note))));
}

function comparison(one) {
  const relations = one.comparison ?? [];
  const { columns } = one;
  const label = (i) => page.charts?.labels?.[i] ?? relations[i]?.label ?? columns[i].context?.input?.gpu ?? `column ${i + 1}`;
  const priced = columns.map((column, i) => ({ column, i })).filter(({ column }) => column.step_time_s !== undefined);
  const cannot = columns.map((column, i) => ({ column, i })).filter(({ column }) => column.feasible === false);
  const capacities = page.charts?.capacity_bytes ?? [];
  const perToken = (i) => (relations[i]?.time_per_token_gpu_s ?? 0) / columns[i].step_time_s;
  const byToken = priced.some(({ i }) => Math.abs(perToken(i) / perToken(priced[0].i) - 1) > 1e-9);
  const share = (i) => (byToken ? perToken(i) : 1);
  const ends = (column, end) => column.expected_error?.interval_80 && column.expected_error.interval_80[end] * column.tokens_per_second_per_gpu;
  return [
    section("Side by side", priced.length ? "The bar is the projection, the line what 80 % of the errors leave." : null,
      priced.length ? whiskerColumns(priced.map(({ column, i }) => ({ name: label(i), value: column.tokens_per_second_per_gpu,
        low: ends(column, 0), high: ends(column, 1), text: rate(column.tokens_per_second_per_gpu), faint: column.feasible ? null : "cannot run" })),
      { label: "tokens/s/GPU of each column", axis: "tokens/s/GPU" }) : null,
      comparisonTable(comparisonRows(columns, relations), columns, columns.map((_, i) => label(i)))),
    cannot.length ? section("What cannot run", null, el("ul", { class: "plain" }, cannot.map(({ column, i }) =>
      el("li", {}, el("b", {}, `${label(i)}: `), (column.reasons ?? []).join("; "))))) : null,
    priced.length ? section("Where the time goes", byToken ? "Of one token on one GPU, since the steps differ in size." : "Each step in full.",
      stackedRows(priced.map(({ column, i }) => ({ name: label(i), parts: timeParts(column.time).map((part) => ({ ...part, value: part.value * share(i), text: seconds(part.value * share(i)) })),
        text: seconds(column.step_time_s * share(i)) })),
        { label: byToken ? "time of a token on a GPU, by column" : "time of each column's step" }),
      legend(timeParts(priced[0].column.time).filter((part) => priced.some(({ column }) => column.time[part.key] > 0)).map((part) => [part.name, part.colour]))) : null,
    priced.length ? section("Memory of the fullest GPU", null,
      stackedRows(priced.map(({ column, i }) => {
        const stage = column.memory_by_stage.reduce((a, b) => (b.total_bytes > a.total_bytes ? b : a));
        const capacity = capacities[i];
        return { name: label(i), parts: [...memoryParts(stage), ...(capacity ? [{ name: "free", value: Math.max(0, capacity - sum(memoryParts(stage).map((part) => part.value))),
          colour: "var(--faint)", text: gib(capacity) }] : [])], text: capacity ? `of ${gib(capacity)}` : gib(stage.total_bytes),
          over: capacity > 0 && sum(memoryParts(stage).map((part) => part.value)) > capacity };
      }), { label: "memory of each column" }), legend(memoryParts(priced[0].column.memory_by_stage[0]).map((part) => [part.name, part.colour]))) : null,
    columnNotes(columns, label),
    section("Inputs", "Of each column, as settled.", columns.map((column, i) => el("details", {}, el("summary", {}, label(i)),
      facts(column.context?.input), column.context?.input ? pairs(flat(column.context.input)) : null))),
  ];
}

function scheduleTable(rows) {
  // How much memory is missing stands beside it, rank by rank in the report.
  const refusal = (row) => (row.step_time_s === undefined ? (row.reasons ?? []).join("; ") : "does not fit");
  const interval = (row) => (row.expected_error?.interval_80 && row.tokens_per_second_per_gpu
    ? row.expected_error.interval_80.map((factor) => rate(factor * row.tokens_per_second_per_gpu)).join(" to ") : "–");
  const measure = (name, key, show) => ({ name, key, number: true, text: (row) => (row[key] === undefined ? "–" : show(row[key])), value: (row) => row[key] ?? null });
  const columns = [
    { name: "schedule", text: (row) => row.schedule, value: (row) => row.schedule },
    measure("vpp", "vpp", count), measure("step time", "step_time_s", seconds), measure("tokens/s/GPU", "tokens_per_second_per_gpu", rate),
    { name: "80 % interval", number: true, text: interval },
    measure("bubble", "bubble_share", percent), measure("in flight", "in_flight", figure), measure("peak memory", "peak_memory_bytes", gib),
    { name: "verdict", title: "whether a GPU's memory holds it, or why there is no such schedule", wrap: true, value: (row) => Number(row.feasible), text: (row) => (row.feasible ? el("span", { class: "good" }, "can run")
      : el("span", { class: "bad" }, refusal(row))) }];
  return sortable({ label: "schedules", columns, rows, first: 40 }).element;
}

function schedules(one) {
  const rows = one.schedules ?? [];
  const timed = rows.filter((row) => row.step_time_s !== undefined && row.bubble_share !== undefined);
  const split = (row) => [
    { name: "computation and exposed communication", value: row.step_time_s * (1 - row.bubble_share), colour: "var(--busy)", text: seconds(row.step_time_s * (1 - row.bubble_share)) },
    { name: "pipeline bubble", value: row.step_time_s * row.bubble_share, colour: "var(--bubble)", text: seconds(row.step_time_s * row.bubble_share) }];
  return [facts(one.context?.input), timed.length ? section("Step time by schedule", "Of the slowest rank; red where a GPU's memory does not hold it.",
    stackedRows(timed.map((row) => ({ name: row.schedule, parts: split(row), text: row.feasible ? seconds(row.step_time_s) : `${seconds(row.step_time_s)}, does not fit`, over: !row.feasible })),
      { label: "step time of each schedule" }),
    legend([["computation and exposed communication", "var(--busy)"], ["pipeline bubble", "var(--bubble)"]])) : null,
  section("Schedules", one.fastest_that_fits ? `The fastest that fits is ${one.fastest_that_fits}.` : null, scheduleTable(rows)), noteSection(one), inputSection(one.context)];
}

function sweep(one) {
  const best = one.plans[0];
  const refused = Object.entries(one.refused ?? {});
  const axes = (one.context.axes ?? []).filter((axis) => axis.values.length > 1);
  return [
    el("div", { class: "tiles" },
      best ? tile({ name: "best plan, tokens/s/GPU", value: rate(best.tokens_per_second_per_gpu), figure: "plans.0.tokens_per_second_per_gpu", lead: true,
        drawing: best.expected_error?.interval_80 ? intervalLine(best.tokens_per_second_per_gpu, best.expected_error.interval_80, best.expected_error.interval_90) : null,
        under: [best.expected_error?.interval_80 ? `80 %: ${best.expected_error.interval_80.map((factor) => rate(factor * best.tokens_per_second_per_gpu)).join(" to ")}` : null,
          `step ${seconds(best.step_time_s)}, MFU ${percent(best.mfu)}, ${gib(best.peak_memory_bytes)}`] }) : null,
      tile({ name: "plans of the space", value: count(one.space_size), figure: "space_size" }),
      tile({ name: "priced", value: count(one.priced), figure: "priced", under: one.bounded ? `${count(one.bounded)} bounded away: surely not among the best` : null }),
      tile({ name: "refused", value: count(sum(refused.map(([, plans]) => plans))), under: `${count(refused.length)} reasons` })),
    one.context.notes?.length ? noteSection(one) : null,
    page.charts?.plans ? planExplorer(page.charts, one) : null,
    pair(refused.length ? section("Why plans were refused", null, table("refused", ["reason", "plans"], refused.map(([reason, plans]) => [reason, count(plans)]), [false, true])) : null,
      section("What was swept", null, table("axes", ["key", "values"], axes.map((axis) => [axis.keys.join(", "),
        axis.values.map((value) => value.map((one) => (one === "" ? "–" : one)).join(" ")).join(", ")]), [false, false]),
        one.context.constraints?.length ? [el("h3", {}, "Constraints"), el("ul", { class: "plain" }, one.context.constraints.map((constraint) => el("li", {}, el("code", {}, constraint))))] : null)),
  ];
}

function traceTable(label, rows, calls = true) {
  const list = (texts) => (texts ?? []).join(", ");
  const columns = [
    { name: "category", text: (row) => row.category, value: (row) => row.category },
    { name: "shape", text: (row) => row.shape ?? "–", wrap: true },
    { name: "operators", text: (row) => list(row.operators) || list(row.traced) || "–", wrap: true },
    { name: "calls", number: true, title: "traced / projected", text: (row) => `${figure(row.traced_calls)} / ${figure(row.projected_calls)}` },
    { name: "measured", number: true, key: "measured_s", text: (row) => seconds(row.measured_s), value: (row) => row.measured_s },
    { name: "projected", number: true, key: "projected_s", text: (row) => seconds(row.projected_s), value: (row) => row.projected_s },
    { name: "error", number: true, text: (row) => (row.error === null ? "–" : percent(row.error)), value: (row) => row.error },
  ].filter((column) => calls || !["shape", "operators", "calls"].includes(column.name));
  const projected = columns.findIndex((column) => column.key === "projected_s");
  return sortable({ label, rows, first: 25, sort: { column: projected, way: "descending" }, columns }).element;
}

function traceComparison(one) {
  const { step } = one;
  const both = (label, rows, name) => stackedRows(rows.flatMap((row) => [
    { name: String(row[name]), parts: [{ name: "measured", value: row.measured_s, colour: "var(--measured)", text: seconds(row.measured_s) }], text: seconds(row.measured_s) },
    { name: "", parts: [{ name: "projected", value: row.projected_s, colour: "var(--projected)", text: seconds(row.projected_s) }], text: seconds(row.projected_s) }]), { label });
  const key = legend([["measured", "var(--measured)"], ["projected", "var(--projected)"]]);
  const lists = [["Operators of both", one.operators], ["Only in the trace", one.only_in_trace], ["Only in the projection", one.only_in_projection], ["Without a shape", one.without_shape]];
  return [facts(one.context?.input), reasonSection(one),
    step ? el("div", { class: "tiles" },
      tile({ name: "step measured", value: seconds(step.measured_s), figure: "step.measured_s", under: `${one.trace.step}, ${one.trace.file}` }),
      tile({ name: "step projected", value: seconds(step.projected_s), figure: "step.projected_s", under: `state: ${words(one.state)}` }),
      tile({ name: "error", value: percent(step.error), figure: "step.error", lead: true, under: "projected / measured − 1" }),
      tile({ name: "matched", value: percent(one.matched_share), figure: "matched_share", under: "of the measured time of products, attention and collectives" })) : null,
    one.notes?.length ? section("Notes", null, el("ul", { class: "plain" }, one.notes.map((note) => el("li", {}, note)))) : null,
    one.time ? section("Where the time goes", null, both("time, measured and projected", one.time, "name"), key) : null,
    one.categories ? section("By category", null, both("categories, measured and projected", one.categories.slice(0, 12), "category"), key.cloneNode(true),
      traceTable("categories", one.categories, false)) : null,
    lists.filter(([, rows]) => rows?.length).map(([name, rows]) => section(name, null, traceTable(name, rows))),
    inputSection(one.context)];
}

// The glossary's words that stand on the page, folded.
function wordSection(shown) {
  const stands = (name) => new RegExp(`(^|[^\\w])${name.replace(/[^\w]/g, "\\$&")}($|[^\\w])`, /^[A-Z]/.test(name) ? "" : "i").test(shown);
  const used = (page.words ?? []).filter((word) => word.names.some(stands));
  return used.length ? section("Words", null, el("details", { id: "words", class: "unfolds" }, el("summary", {}, `what ${used.length} words of this page mean`),
    el("dl", { class: "words" }, used.map((word) => [el("dt", {}, word.names[0]), el("dd", {}, word.means)])))) : null;
}

const kinds = { projection, schedules, explanation, difference, constants, comparison, sweep, trace_comparison: traceComparison, recommendation, accuracy, diagnosis, scaling };
const program = report.context ?? {};
if (page.kind === "difference") page.title = differenceNames(report).title;
document.title = page.title;
document.getElementById("page").append(
  el("header", {}, el("h1", {}, page.title)),
  ...[kinds[page.kind](report), makingSection(report, page, text)].flat(Infinity).filter(Boolean),
  el("footer", {}, `stepcast ${program.version ?? ""}: an analytical projection. No GPU ran for it.`));
const glossary = wordSection(document.getElementById("page").textContent);
if (glossary) document.querySelector("#page > footer").before(glossary);
