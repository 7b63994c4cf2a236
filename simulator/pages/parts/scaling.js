// SPDX-License-Identifier: Apache-2.0
// The page of a scaling curve: the rate of a GPU over their number, and what takes it.

// The numbers of GPUs in powers of two from left to right; the 80 % interval as a band around the curve.
function scalingCurve(sizes) {
  return pointed((width) => {
    const [left, top, bottom, height] = [62, 22, 44, Math.max(260, Math.min(360, width * 0.45))];
    const ends = (size, end) => (size.expected_error?.interval_80 ? size.expected_error.interval_80[end] : 1) * size.tokens_per_second_per_gpu;
    const most = Math.max(...sizes.map((size) => ends(size, 1))) * 1.05;
    const logs = sizes.map((size) => Math.log2(size.gpus));
    const [first, last] = [logs[0], logs[logs.length - 1]];
    const x = (gpus) => left + 14 + (last > first ? (Math.log2(gpus) - first) / (last - first) : 0.5) * (width - left - 40);
    const y = (value) => height - bottom - (value / most) * (height - top - bottom);
    const path = (value) => sizes.map((size, i) => `${i === 0 ? "M" : "L"}${x(size.gpus)} ${y(value(size))}`).join("");
    const back = [...sizes].reverse().map((size) => `L${x(size.gpus)} ${y(ends(size, 0))}`).join("");
    const level = y(sizes[0].tokens_per_second_per_gpu);
    const spaced = markNames(width);
    const marks = sizes.map((size) => ({
      element: svg("circle", { cx: x(size.gpus), cy: y(size.tokens_per_second_per_gpu), r: 5, fill: "var(--projected)" }),
      x: x(size.gpus), y: y(size.tokens_per_second_per_gpu), title: `${count(size.gpus)} GPUs`,
      lines: [`${rate(size.tokens_per_second_per_gpu)} tokens/s/GPU`, size.loss <= -0.0005 ? `gains ${percent(-size.loss)}` : `lost ${percent(size.loss)}`, `step ${seconds(size.step_time_s)}`] }));
    const drawing = picture(width, height, "tokens/s/GPU over the number of GPUs",
      ticks(0, most, 5).map((tick, _, all) => [
        svg("line", { class: "grid", x1: left, x2: width, y1: y(tick), y2: y(tick) }),
        svg("text", { class: "soft", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick, all[1] - all[0]))]),
      svg("text", { class: "soft", x: 0, y: 12 }, "tokens/s/GPU"),
      svg("text", { class: "soft", x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "GPUs"),
      svg("path", { d: `${path((size) => ends(size, 1))}${back}Z`, fill: "var(--projected)", opacity: 0.16 }),
      svg("line", { x1: x(sizes[0].gpus), x2: width - 8, y1: level, y2: level, stroke: "var(--ink)", "stroke-dasharray": "4 3" }),
      svg("path", { d: path((size) => size.tokens_per_second_per_gpu), fill: "none", stroke: "var(--projected)", "stroke-width": 2 }),
      sizes.map((size) => spaced(x(size.gpus), height - bottom + 18, count(size.gpus))),
      marks.map((mark) => mark.element));
    return { drawing, marks };
  });
}

// Causes that take a half per mille at some size, and what is left of the loss.
function scalingCauses(sizes) {
  const causes = sizes[0].parts.map((part, at) => ({ cause: part.cause, at }));
  return causes.filter(({ at }) => sizes.some((size) => Math.abs(size.parts[at].share) >= 0.0005));
}

// As many colours as tell causes apart, and as many of their columns as a page is wide.
const causeColours = 8;
const causeColumns = 6;

// The largest by `of`, in the order of all.
function largestCauses(causes, many, of) {
  const large = new Set([...causes].sort((a, b) => of(b) - of(a)).slice(0, many));
  return causes.filter((one) => large.has(one));
}

// Of the causes those that are drawn, each in a colour of its own; the smallest beyond that are one.
function drawnCauses(sizes, causes) {
  const most = ({ at }) => Math.max(...sizes.map((size) => size.parts[at].share));
  const taking = causes.filter((one) => most(one) > 0);
  const large = largestCauses(taking, causeColours, most);
  const own = large.map((one, i) => ({ cause: one.cause, of: [one], colour: seriesColour(i) }));
  const rest = taking.filter((one) => !large.includes(one));
  return rest.length ? [...own, { cause: "other", of: rest, colour: "var(--other)" }] : own;
}

// Sizes that lose, each as a bar of what takes it; of those that gain there is a word.
function scalingLosses(sizes, causes) {
  const [first, ...more] = sizes;
  if (!more.length || !causes.length) return null;
  const losing = more.filter((size) => size.loss > 0);
  const gaining = more.filter((size) => size.loss <= -0.0005);
  const drawn = losing.length ? drawnCauses(losing, causes) : [];
  const share = (size, { of }) => sum(of.map(({ at }) => Math.max(0, size.parts[at].share)));
  const bars = losing.map((size) => ({ name: `${count(size.gpus)} GPUs`, text: percent(size.loss),
    parts: drawn.map((one) => ({ name: one.cause, value: share(size, one), colour: one.colour, text: percent(share(size, one)) })) }));
  const gains = gaining.map((size) => `${count(size.gpus)} GPUs gain ${percent(-size.loss)}`).join(", ");
  return section("What takes it", `Of the rate of ${count(first.gpus)} GPUs, cause by cause, each beside those after it; what gives some back is not drawn.`,
    drawn.length ? [stackedRows(bars, { label: "what takes the rate, by size" }), legend(drawn.map(({ cause, colour }) => [cause, colour]))] : null,
    gains ? el("p", {}, `${gains}: nothing to draw.`) : null,
    drawn.length || gains ? null : el("p", {}, "No size loses anything."));
}

function scalingTable(sizes, all) {
  const causes = largestCauses(all, causeColumns, ({ at }) => Math.max(...sizes.map((size) => Math.abs(size.parts?.[at].share ?? 0))));
  const lost = (share) => `${share <= -0.0005 ? "−" : ""}${percent(Math.abs(share))}`;
  const priced = (of) => (row) => (row.tokens_per_second_per_gpu === undefined ? "–" : of(row));
  const running = (of) => (row) => (row.parts ? of(row) : "–");
  const others = (row) => row.loss - sum(causes.map(({ at }) => row.parts[at].share));
  return sortable({ label: "sizes", rows: sizes, first: 40, columns: [
    { name: "GPUs", number: true, key: "gpus", text: (row) => count(row.gpus), value: (row) => row.gpus },
    { name: "global batch", number: true, text: (row) => (row.global_batch_size === undefined ? "–" : count(row.global_batch_size)), value: (row) => row.global_batch_size ?? null },
    { name: "tokens/s/GPU", number: true, key: "tokens_per_second_per_gpu", text: priced((row) => rate(row.tokens_per_second_per_gpu)), value: (row) => row.tokens_per_second_per_gpu ?? null },
    { name: "step", number: true, text: priced((row) => seconds(row.step_time_s)), value: (row) => row.step_time_s ?? null },
    { name: "lost", number: true, text: running((row) => lost(row.loss)), value: (row) => row.loss ?? null },
    ...causes.map(({ cause, at }) => ({ name: cause, number: true, text: running((row) => lost(row.parts[at].share)), value: (row) => row.parts?.[at].share ?? null })),
    { name: "others", number: true, text: running((row) => lost(others(row))) }] }).element;
}

// With what each size runs; a pipeline of one rank has no schedule to tell.
function scalingPlans(sizes) {
  return sortable({ label: "plans", rows: sizes, first: 40, columns: [
    { name: "GPUs", number: true, key: "gpus", text: (row) => count(row.gpus), value: (row) => row.gpus },
    { name: "micro-batch", number: true, key: "micro_batch_size", text: (row) => count(row.micro_batch_size), value: (row) => row.micro_batch_size },
    { name: "recompute", text: (row) => row.recompute, value: (row) => row.recompute },
    { name: "schedule", text: (row) => (/\bpp 1\b/.test(row.plan) ? "–" : row.schedule), value: (row) => row.schedule },
    { name: "plan", text: (row) => row.plan, wrap: true }] }).element;
}

function scaling(one) {
  const sizes = one.sizes ?? [];
  const running = sizes.filter((size) => size.parts);
  const planned = sizes.filter((size) => size.plan);
  const refused = sizes.filter((size) => size.reasons?.length);
  const causes = running.length ? scalingCauses(running) : [];
  const scales = one.scaling === "weak" ? "Weak scaling: the global batch grows with the GPUs." : "Strong scaling: the global batch stays.";
  return [facts(one.context?.input),
    running.length ? section("The rate of a GPU", `${scales} The band is what 80 % of the errors leave; the dashed line loses nothing.`, scalingCurve(running)) : null,
    running.length ? scalingLosses(running, causes) : null,
    sizes.length ? section("Sizes", null, scalingTable(sizes, causes)) : null,
    planned.length ? section("The plan of each size", null, scalingPlans(planned)) : null,
    refused.length ? section("What cannot run", null, el("ul", { class: "plain" }, refused.map((size) =>
      el("li", {}, el("b", {}, `${count(size.gpus)} GPUs: `), size.reasons.join("; "))))) : null,
    noteSection(one), inputSection(one.context)];
}
