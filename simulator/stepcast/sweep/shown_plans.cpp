// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/shown_plans.hpp"

#include <set>

#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {

PlanErrors::PlanErrors(const SweepSpace& space, const std::vector<HeldOutRun>& known)
    : space_(&space), known_(&known) {}

const ExpectedError& PlanErrors::of(const PlanNumbers& numbers) {
  const Dtype dtype = space_->request(numbers.plan).training.dtype;
  const auto [entry, is_new] = errors_.try_emplace({space_->site_of(numbers.plan), dtype});
  if (is_new) {
    RunTraits traits = traits_of(space_->experiment_of(numbers.plan));
    traits.dtype = dtype;
    entry->second = expected_error(*known_, traits);
  }
  return entry->second;
}

bool PlanErrors::told_apart(const PlanNumbers& a, const PlanNumbers& b) {
  return can_be_told_apart(a.tokens_per_second_per_gpu / b.tokens_per_second_per_gpu, of(a), of(b));
}

SettledRequest settled_request(const SweepSpace& space, std::int64_t index) {
  SettledRequest settled{space.request(index), nullptr, {}};
  settled.site = &space.sites()[settled.request.site];
  const Experiment& site = *settled.site;
  settled.plan = settle_plan(settled.request.plan, site.model, settled.request.training,
                             site.cluster, site.software)
                     .plan;
  return settled;
}

std::vector<StageMemory> memory_of(const SettledRequest& settled) {
  const Experiment& site = *settled.site;
  std::vector<StageMemory> memory = memory_by_stage(
      ExpansionContext{site.model, settled.plan, settled.request.training, site.software});
  judge_memory(memory, site.cluster.device);
  return memory;
}

std::vector<std::string> sweep_notes(const SweepSpace& space, const SweepSummary& summary) {
  std::set<std::string> notes;
  for (const Experiment& site : space.sites()) {
    if (std::string note = estimate_note(site.cluster.device); !note.empty()) {
      notes.insert(std::move(note));
    }
  }
  // A dispatcher belongs to the site: one plan of it that exchanges tokens says all.
  std::set<std::size_t> known;
  for (const std::vector<PlanNumbers>* plans :
       {&summary.best, &summary.memory_front, &summary.gpu_front}) {
    for (const PlanNumbers& numbers : *plans) {
      const std::size_t site = space.site_of(numbers.plan);
      if (!space.sites()[site].model.moe || known.contains(site)) {
        continue;
      }
      const SettledRequest settled = settled_request(space, numbers.plan);
      const std::string note =
          settled.plan.ep == 1
              ? ""
              : assumed_exchange(settled.site->cluster.device, settled.plan.exchange.dispatcher);
      if (!note.empty()) {
        known.insert(site);
        notes.insert(note);
      }
    }
  }
  return {notes.begin(), notes.end()};
}

}  // namespace stepcast
