// SPDX-License-Identifier: Apache-2.0
// What a report was made from, and how to make it again.
function flat(value, prefix = "") {
  return Object.entries(value).flatMap(([key, one]) =>
    one !== null && typeof one === "object" && !Array.isArray(one) ? flat(one, `${prefix}${key}.`) : [[prefix + key, one]]);
}

function facts(input) {
  if (!input) return null;
  const { training = {}, plan = {} } = input;
  const degrees = ["tp", "cp", "pp", "vpp", "ep", "dp", "fsdp"].filter((key) => (plan[key] ?? 1) > 1).map((key) => `${key} ${plan[key]}`);
  const list = [
    ["plan", degrees.join(", ") || "one GPU"], plan.zero > 0 ? ["ZeRO", plan.zero] : null, plan.pp > 1 && plan.schedule ? ["schedule", plan.schedule] : null,
    ["batch", `${training.global_batch_size}, micro-batch ${training.micro_batch_size}`], ["sequence", count(training.sequence_length ?? 0)],
    ["dtype", training.dtype], ["recompute", plain(training.recompute)], ["software", input.software], ["nodes", input.nodes]];
  return el("ul", { class: "facts" }, list.filter(Boolean).map(([name, value]) => el("li", {}, el("b", {}, name), String(value))));
}

const pairs = (entries) => el("dl", { class: "inputs" }, entries.map(([key, value]) => [el("dt", {}, key), el("dd", {}, plain(value))]));

function inputSection(context) {
  if (!context?.input) return null;
  const { model, gpu, cluster, nodes, gpus, software, ...rest } = context.input;
  const groups = Object.entries(rest).filter(([, value]) => value !== null && typeof value === "object");
  const single = Object.entries(rest).filter(([, value]) => value === null || typeof value !== "object");
  return section("Inputs", "As settled, with everything that was left out and chosen.",
    pairs([["model", model], ["gpu", gpu], ["cluster", cluster], ["nodes", nodes], ["gpus", gpus], ["software", software], ...single]
      .filter(([, value]) => value !== undefined)),
    groups.map(([name, value]) => el("details", { open: name === "training" }, el("summary", {}, words(name)),
      pairs(Array.isArray(value) ? [[name, value]] : flat(value)))));
}

function noteSection(report) {
  const lists = [["Notes", report.context?.notes ?? report.notes], ["Assumed of the run", report.training_run?.assumptions]];
  const found = lists.filter(([, list]) => list?.length);
  if (!found.length && !report.context?.flop_convention) return null;
  return section("Notes", null,
    found.map(([name, list]) => [found.length > 1 ? el("h3", {}, name) : null, el("ul", { class: "plain" }, list.map((note) => el("li", {}, note)))]),
    report.context?.flop_convention ? el("p", { class: "soft" }, `FLOPs: ${report.context.flop_convention}`) : null);
}

function makingSection(report, page, text) {
  const said = el("span", { class: "soft", role: "status" });
  const save = () => {
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "stepcast_report.json" });
    link.click();
    URL.revokeObjectURL(link.href);
    said.textContent = " saved";
  };
  return section("How this was made", null, el("pre", {}, page.command),
    el("p", {}, el("button", { class: "button", type: "button", on: { click: save } }, "Save the figures as JSON"), said));
}
