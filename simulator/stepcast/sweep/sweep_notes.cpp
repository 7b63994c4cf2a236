// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_notes.hpp"

#include <algorithm>

#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

// Of a plan that was priced.
std::string note_of(const Experiment& experiment) {
  const ParallelPlan plan = settle_plan(experiment.plan, experiment.model, experiment.training,
                                        experiment.cluster, experiment.software)
                                .plan;
  return plan.ep == 1 ? "" : assumed_exchange(experiment.cluster.device, plan.exchange.dispatcher);
}

}  // namespace

std::vector<std::string> sweep_notes(const SweepSpace& space, const SweepSummary& summary) {
  std::vector<std::string> notes;
  // A dispatcher belongs to the site: one plan of it that exchanges tokens says all.
  std::vector<std::size_t> known;
  for (const std::vector<PlanNumbers>* plans :
       {&summary.best, &summary.memory_front, &summary.gpu_front}) {
    for (const PlanNumbers& numbers : *plans) {
      const std::size_t site = space.site_of(numbers.plan);
      if (!space.sites()[site].model.moe ||
          std::find(known.begin(), known.end(), site) != known.end()) {
        continue;
      }
      if (std::string note = note_of(space.experiment(numbers.plan)); !note.empty()) {
        known.push_back(site);
        notes.push_back(std::move(note));
      }
    }
  }
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return notes;
}

}  // namespace stepcast
