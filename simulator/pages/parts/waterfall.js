// SPDX-License-Identifier: Apache-2.0
// From the peak to the MFU, loss by loss, and what other settings would give.

// One row a cause: what it takes from the MFU before it, as a bar from there to what is left.
function waterfallSection(steps) {
  if (!steps?.length) return null;
  const rows = steps.map((step, i) => ({ name: words(step.cause), from: i === 0 ? 1 : steps[i - 1].mfu_after, to: step.mfu_after, text: `× ${thin(step.factor, 3)}` }))
    .filter((row, i) => i === steps.length - 1 || Math.abs(row.from - row.to) >= 0.0005);
  const drawing = responsive((width) => {
    const frame = barRows(width, [...rows.map((row) => row.name), "MFU"], 18);
    const { left } = frame;
    const room = width - left - 66;
    const most = Math.max(1, ...rows.map((row) => Math.max(row.from, row.to)));
    const x = (share) => left + (share / most) * room;
    const height = (rows.length + 1) * frame.height + 20;
    const last = steps[steps.length - 1].mfu_after;
    const bar = (y, from, to, fill, text, title) => [
      svg("rect", { x: Math.min(x(from), x(to)), y, width: Math.max(Math.abs(x(from) - x(to)), 1), height: 18, rx: 2, fill }, svg("title", {}, title)),
      svg("text", { class: "soft", x: Math.max(x(from), x(to)) + 6, y: y + 14 }, text)];
    return picture(width, height, "from the peak to the MFU",
      ticks(0, most, 4).map((tick) => [svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: height - 18 }),
        svg("text", { class: "soft", x: x(tick), y: height - 4, "text-anchor": tick === 0 ? "start" : "middle" }, percent(tick, 0))]),
      rows.map((row, i) => [frame.name(row.name, i * frame.height),
        bar(i * frame.height + frame.bar, row.from, row.to, row.to > row.from ? "var(--good)" : "var(--bad)", row.text, `${row.name}: MFU ${percent(row.from)} to ${percent(row.to)}`)]),
      frame.name("MFU", rows.length * frame.height),
      bar(rows.length * frame.height + frame.bar, 0, last, "var(--mfu)", percent(last), `MFU ${percent(last)}`));
  });
  const mask = steps.find((step) => step.cause === "mask");
  const about = ["Each row takes its factor from what the one above leaves.",
    mask?.factor > 1 ? "The MFU counts the pairs of attention that the mask cuts, and kernels leave them out: what is not run lifts it, in this row above what the peak allows." : null];
  return section("From the peak to the MFU", about.filter(Boolean).join(" "), drawing,
    legend([["lost", "var(--bad)"], ...(rows.some((row) => row.to > row.from) ? [["gained", "var(--good)"]] : []), ["what is left", "var(--mfu)"]]));
}

// The kinds of kernels in the row of what memory bounds.
function boundByMemory(steps) {
  const parts = steps?.find((step) => step.parts)?.parts;
  if (!parts?.length) return null;
  return section("What memory bounds, by kinds of kernels", "Of the row of that name above.",
    sortable({ label: "kinds of kernels that memory bounds", rows: parts, first: 8, columns: [
      { name: "kind", text: (row) => words(row.kind), value: (row) => row.kind },
      { name: "time", number: true, key: "time_s", text: (row) => seconds(row.time_s), value: (row) => row.time_s }] }).element);
}

function adviceSection(advice) {
  if (!advice?.length) return null;
  const settings = (row) => Object.entries(row.changes).map(([key, value]) => `--set '${key}=${value}'`).join(" ");
  const tone = (row) => ({ fits: "good", tight: "warn" }[row.verdict] ?? "bad");
  const signedPercent = (share) => `${share < 0 ? "−" : "+"}${percent(Math.abs(share))}`;
  return section("What another setting gives", "One setting moved by a step, and every two of the best five together.",
    sortable({ label: "settings moved by a step", rows: advice, first: 15, columns: [
      { name: "setting", text: (row) => el("span", { title: settings(row) }, row.what), value: (row) => row.what, wrap: true },
      { name: "tokens/s/GPU", number: true, key: "tokens_per_second_per_gpu", text: (row) => rate(row.tokens_per_second_per_gpu), value: (row) => row.tokens_per_second_per_gpu },
      { name: "gain", number: true, text: (row) => signedPercent(row.gain), value: (row) => row.gain },
      { name: "peak memory", number: true, key: "peak_memory_bytes", text: (row) => gib(row.peak_memory_bytes), value: (row) => row.peak_memory_bytes },
      { name: "verdict", text: (row) => el("span", { class: tone(row) }, row.verdict), value: (row) => row.verdict }] }).element);
}
