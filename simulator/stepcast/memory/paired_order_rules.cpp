// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/paired_order_rules.hpp"

#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {

std::vector<std::string> paired_order_reasons(const ParallelPlan& plan, const ModelSpec& model,
                                              const TrainingRecipe& training,
                                              const SoftwareSpec& software) {
  std::vector<std::string> reasons;
  const auto refuse_if = [&](bool broken, const std::string& reason) {
    if (broken) {
      reasons.push_back(reason);
    }
  };
  if (!software.ep_overlap || !model.moe) {
    return reasons;
  }
  const PairRule rule = info(plan.schedule).pairs;
  refuse_if(plan.ep == 1, "software.ep_overlap needs ep > 1: there is no exchange to overlap");
  refuse_if(plan.pp > 1 && rule == PairRule::kNone,
            "software.ep_overlap pairs no passes under schedule " +
                std::string(name(plan.schedule)) + "; set vpp > 1 (interleaved_1f1b), or pp: 1");
  refuse_if(plan.vpp > 1 && plan.zero == 3 && rule == PairRule::kAsSoftware,
            "software.ep_overlap with zero: 3 needs vpp = 1");
  refuse_if(training.recompute.kind == RecomputeKind::kFull,
            "software.ep_overlap needs recompute other than full: a layer's backward begins with "
            "its exchange");
  refuse_if(training.recompute.selected().meets({RecomputeModule::kMoe}),
            "software.ep_overlap recomputes no moe; leave it out of recompute_modules");
  refuse_if(software.shared_expert_overlap,
            "software.ep_overlap and shared_expert_overlap exclude each other");
  refuse_if(model.mtp_layers > 1, "software.ep_overlap needs one mtp_layer at most, of " +
                                      std::to_string(model.mtp_layers));
  return reasons;
}

}  // namespace stepcast
