// SPDX-License-Identifier: Apache-2.0
// From the peak to the MFU, loss by loss, and what other settings would give.

// One row a cause: what it takes from the MFU before it, as a bar from there to what is left.
function waterfallSection(steps) {
  if (!steps?.length) return null;
  const rows = steps.map((step, i) => ({ name: words(step.cause), from: i === 0 ? 1 : steps[i - 1].mfu_after, to: step.mfu_after, text: `× ${thin(step.factor, 3)}` }))
    .filter((row, i) => i === steps.length - 1 || Math.abs(row.from - row.to) >= 0.0005);
  const drawing = responsive((width) => {
    const left = Math.min(Math.max(...rows.map((row) => row.name.length)) * 7.2 + 12, width * 0.42);
    const room = width - left - 66;
    const most = Math.max(1, ...rows.map((row) => Math.max(row.from, row.to)));
    const x = (share) => left + (share / most) * room;
    const height = (rows.length + 1) * 26 + 20;
    const last = steps[steps.length - 1].mfu_after;
    const bar = (y, from, to, fill, text, title) => [
      svg("rect", { x: Math.min(x(from), x(to)), y, width: Math.max(Math.abs(x(from) - x(to)), 1), height: 18, rx: 2, fill }, svg("title", {}, title)),
      svg("text", { class: "soft", x: Math.max(x(from), x(to)) + 6, y: y + 14 }, text)];
    return svg("svg", { width, height, role: "img", "aria-label": "from the peak to the MFU" },
      ticks(0, most, 4).map((tick) => [svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: height - 18 }),
        svg("text", { class: "soft", x: x(tick), y: height - 4, "text-anchor": "middle" }, percent(tick, 0))]),
      rows.map((row, i) => [svg("text", { x: left - 8, y: i * 26 + 17, "text-anchor": "end" }, row.name),
        bar(i * 26 + 3, row.from, row.to, row.to > row.from ? "var(--c1)" : "var(--c2)", row.text, `${row.name}: MFU ${percent(row.from)} to ${percent(row.to)}`)]),
      svg("text", { x: left - 8, y: rows.length * 26 + 17, "text-anchor": "end" }, "MFU"),
      bar(rows.length * 26 + 3, 0, last, "var(--c3)", percent(last), `MFU ${percent(last)}`));
  });
  return section("From the peak to the MFU", "Each row takes its factor from what the one above leaves.", drawing);
}

function adviceSection(advice) {
  if (!advice?.length) return null;
  const settings = (row) => Object.entries(row.changes).map(([key, value]) => `--set '${key}=${value}'`).join(" ");
  const tone = (row) => (row.verdict === "fits" ? "good" : "bad");
  return section("What another setting gives", "One setting moved by a step, and every two of the best five together.",
    sortable({ label: "settings moved by a step", rows: advice, first: 15, columns: [
      { name: "setting", text: (row) => el("span", { title: settings(row) }, row.what), value: (row) => row.what, wrap: true },
      { name: "tokens/s/GPU", number: true, key: "tokens_per_second_per_gpu", text: (row) => rate(row.tokens_per_second_per_gpu), value: (row) => row.tokens_per_second_per_gpu },
      { name: "gain", number: true, text: (row) => percent(row.gain), value: (row) => row.gain },
      { name: "peak memory", number: true, key: "peak_memory_bytes", text: (row) => gib(row.peak_memory_bytes), value: (row) => row.peak_memory_bytes },
      { name: "memory", text: (row) => el("span", { class: tone(row) }, row.verdict), value: (row) => row.verdict }] }).element);
}
