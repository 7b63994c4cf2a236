// SPDX-License-Identifier: Apache-2.0
// The page of accuracy: measured runs by what they have in common.

const axisTitles = {
  population: ["By population", "As the makers of a framework or of a GPU tune their own runs, and as stacks come to who uses them."],
  source: ["By source", "Who published the runs. Constants were fitted to the half of the runs that is not held out."],
  gpu: ["By GPU", null], family: ["By family of models", null], software: ["By software", "The set that describes the framework of its date."],
  dtype: ["By format", null],
};

// Each run as a mark at measured over predicted tokens/s, one row for each of the GPUs that most runs are on.
function errorStrips(runs, label) {
  const byGpu = new Map();
  for (const run of runs) byGpu.set(run.gpu, [...(byGpu.get(run.gpu) ?? []), run]);
  const rows = [...byGpu].sort((a, b) => b[1].length - a[1].length);
  return responsive((width) => {
    const left = Math.min(Math.max(...rows.map(([gpu]) => gpu.length)) * 7.2 + 12, width * 0.45);
    const [top, each] = [34, 30];
    const height = top + each * rows.length + 30;
    const [least, most] = [Math.log(0.4), Math.log(2)];
    const x = (factor) => left + ((Math.min(most, Math.max(least, Math.log(factor))) - least) / (most - least)) * (width - left - 14);
    const marks = width < 480 ? [0.5, 1, 2] : [0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2];
    return picture(width, height, label,
      marks.map((mark) => [
        svg("line", { class: "grid", x1: x(mark), x2: x(mark), y1: top - 6, y2: height - 24, "stroke-width": mark === 1 ? 2 : 1 }),
        svg("text", { class: "soft", x: x(mark), y: height - 8, "text-anchor": "middle" }, thin(mark, 2))]),
      svg("text", { class: "soft", x: left, y: 12 }, "slower than predicted"),
      svg("text", { class: "soft", x: width - 4, y: 12, "text-anchor": "end" }, "faster"),
      rows.map(([gpu, own], i) => {
        const y = top + each * (i + 0.5);
        return [svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, gpu),
          own.map((run, k) => svg("circle", { cx: x(run.factor), cy: y + ((k * 7) % 15) - 7, r: 2.6, fill: "var(--measured)", "fill-opacity": 0.45 },
            svg("title", {}, `${run.id} (${run.source}): ${thin(run.factor, 3)}`)))];
      }));
  });
}

function groupTable(label, groups) {
  const share = (value) => (value === null || value === undefined ? "–" : percent(value));
  const before = groups.some((group) => group.median_before !== null && group.median_before !== undefined);
  const columns = [
    { name: "group", text: (row) => row.name, value: (row) => row.name },
    { name: "runs", number: true, text: (row) => count(row.runs), value: (row) => row.runs },
    { name: "median error", number: true, key: "median_abs_error", text: (row) => percent(row.median_abs_error), value: (row) => row.median_abs_error },
    before ? { name: "in the last release", number: true, text: (row) => share(row.median_before), value: (row) => row.median_before ?? null } : null,
    { name: "bias", number: true, title: "mean of predicted / measured − 1: above zero is too fast", text: (row) => percent(row.bias), value: (row) => row.bias },
    { name: "in 80 %", number: true, title: "share of runs inside the interval that holds 80 %", text: (row) => share(row.inside_80), value: (row) => row.inside_80 },
    { name: "in 90 %", number: true, text: (row) => share(row.inside_90), value: (row) => row.inside_90 },
    { name: "sources", number: true, text: (row) => count(row.sources), value: (row) => row.sources },
  ].filter(Boolean);
  return sortable({ label, rows: groups, first: 40, sort: { column: 1, way: "descending" }, columns }).element;
}

function accuracy(one) {
  const all = one.groups.find((group) => group.axis === "all");
  const runs = (page.charts?.runs ?? []).map(([id, source, gpu, factor]) => ({ id, source, gpu, factor }));
  const of = (axis) => one.groups.filter((group) => group.axis === axis);
  const metric = (row) => `${row.group} ${words(row.metric)}`;
  return [
    all ? el("div", { class: "tiles" },
      tile({ name: "measured runs", value: count(all.runs), under: `of ${count(all.sources)} sources` }),
      tile({ name: "median error of tokens/s", value: percent(all.median_abs_error), figure: "groups.0.median_abs_error", lead: true,
        under: all.median_before !== null && all.median_before !== undefined ? `${percent(all.median_before)} in the last release` : null }),
      tile({ name: "inside the 80 % interval", value: all.inside_80 === null ? "–" : percent(all.inside_80) }),
      tile({ name: "inside the 90 % interval", value: all.inside_90 === null ? "–" : percent(all.inside_90) })) : null,
    one.worse?.length ? section("Worse than in the last release", "By two points or more, of groups of five runs or more.", groupTable("worse groups", one.worse)) : null,
    runs.length ? section("Every run", "Measured over predicted tokens/s; beyond the ends marks stand at the ends.", errorStrips(runs, "measured over predicted rate of every run, by GPU")) : null,
    Object.entries(axisTitles).map(([axis, [title, about]]) => (of(axis).length ? section(title, about, groupTable(title, of(axis))) : null)),
    one.coverage?.length ? section("Intervals of runs whose source was left out", "What the intervals would have been had nobody known the source.",
      table("coverage", ["runs", "n", "sources", "in 80 %", "in 90 %", "half of the 80 %, median"], one.coverage.map((row) =>
        [row.group, count(row.runs), count(row.sources), percent(row.inside_80), percent(row.inside_90), percent(row.half_width_80)]), [false, true, true, true, true, true])) : null,
    one.odds?.length ? section("Does it fit", "How sure runs were told to run, and how many did.",
      table("odds", ["told", "runs", "mean told", "ran"], one.odds.map((row) => [`${percent(row.from, 0)} to ${percent(row.to, 0)}`, count(row.runs), percent(row.told), percent(row.ran)]), [false, true, true, true])) : null,
    one.summary?.length ? section("Every group of every file", "Kernels, collectives, clocks, memory and rates.",
      sortable({ label: "groups of files", first: 25, rows: one.summary.filter((row) => row.count > 0 && row.group !== "all"), columns: [
        { name: "file", text: (row) => row.file, value: (row) => row.file },
        { name: "group", text: metric, value: metric, wrap: true },
        { name: "rows", number: true, text: (row) => count(row.count), value: (row) => row.count },
        { name: "skipped", number: true, text: (row) => count(row.skipped), value: (row) => row.skipped },
        { name: "median error", number: true, text: (row) => percent(row.median_abs_error), value: (row) => row.median_abs_error },
        { name: "mean", number: true, text: (row) => percent(row.mean_abs_error), value: (row) => row.mean_abs_error },
        { name: "bias", number: true, text: (row) => percent(row.bias), value: (row) => row.bias }] }).element) : null,
  ];
}
