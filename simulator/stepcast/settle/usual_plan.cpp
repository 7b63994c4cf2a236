// SPDX-License-Identifier: Apache-2.0
// The plan that is chosen where none is given.
#include <algorithm>
#include <optional>

#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

class UsualPlan {
 public:
  UsualPlan(const PlanRequest& asked, const ModelSpec& model, const TrainingRecipe& training,
            const ClusterSpec& cluster, const SoftwareSpec& software)
      : asked_(asked), model_(model), training_(training), cluster_(cluster), software_(software) {}

  [[nodiscard]] ResolvedPlan settle() const {
    ResolvedPlan sharded = resolved(fully_sharded());
    if (runs(sharded)) {
      return noted(std::move(sharded), "");
    }
    if (std::optional<ResolvedPlan> pipelined = fitting_pipeline()) {
      return noted(std::move(*pipelined), "; full sharding does not fit");
    }
    return noted(std::move(sharded), "");
  }

 private:
  [[nodiscard]] ResolvedPlan resolved(const PlanRequest& request) const {
    return resolve_plan(request, model_, training_, cluster_, software_);
  }

  [[nodiscard]] bool runs(const ResolvedPlan& settled) const {
    if (!settled.reasons.empty()) {
      return false;
    }
    std::vector<StageMemory> memory =
        memory_by_stage(ExpansionContext{model_, settled.plan, training_, software_});
    judge_memory(memory, cluster_.device);
    return is_sure(memory);
  }

  [[nodiscard]] PlanRequest fully_sharded() const {
    std::int64_t tp = 1;
    while (tp < cluster_.gpus_per_node && !batch_divides(cluster_.gpus() / tp)) {
      tp *= 2;
    }
    PlanRequest request = with_experts(tp, 1);
    request.zero = 3;
    return request;
  }

  [[nodiscard]] std::optional<ResolvedPlan> fitting_pipeline() const {
    for (std::int64_t gpus = 2; gpus <= cluster_.gpus(); gpus *= 2) {
      for (std::int64_t tp = std::min(gpus, cluster_.gpus_per_node); tp >= 1; tp /= 2) {
        PlanRequest request = with_experts(tp, gpus / tp);
        request.zero = 1;
        ResolvedPlan settled =
            gpus % tp == 0 ? resolved(request) : ResolvedPlan{{}, {{"uneven"}}, {}};
        if (runs(settled)) {
          return settled;
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] PlanRequest with_experts(std::int64_t tp, std::int64_t pp) const {
    PlanRequest request = asked_;
    request.given = true;
    request.tp = tp;
    request.pp = pp;
    request.layout = model_.layers % pp == 0 ? "" : "balanced";
    if (model_.moe) {
      const std::int64_t ranks = cluster_.gpus() / (tp * pp);
      std::int64_t ep = std::min(cluster_.gpus_per_node / tp, ranks);
      while (ep > 1 && (model_.moe->experts % ep != 0 || ranks % ep != 0)) {
        --ep;
      }
      request.ep = std::max<std::int64_t>(ep, 1);
    }
    return request;
  }

  [[nodiscard]] bool batch_divides(std::int64_t dp) const {
    const std::int64_t samples = training_.micro_batch_size * dp;
    return samples > 0 && training_.global_batch_size % samples == 0;
  }

  [[nodiscard]] static ResolvedPlan noted(ResolvedPlan settled, const std::string& why) {
    const ParallelPlan& plan = settled.plan;
    const std::string pipelines = plan.pp > 1 ? "pp " + std::to_string(plan.pp) + ", " : "";
    const std::string sharding = plan.zero == 3 ? "full sharding (fsdp)" : "ZeRO 1";
    settled.notes.insert(settled.notes.begin(),
                         "no plan given: tp " + std::to_string(plan.tp) + ", " + pipelines + "ep " +
                             std::to_string(plan.ep) + " and " + sharding + " over the remaining " +
                             std::to_string(plan.dp * plan.cp) + " ranks" + why);
    return settled;
  }

  const PlanRequest& asked_;
  const ModelSpec& model_;
  const TrainingRecipe& training_;
  const ClusterSpec& cluster_;
  const SoftwareSpec& software_;
};

}  // namespace

ResolvedPlan settle_plan(const PlanRequest& request, const ModelSpec& model,
                         const TrainingRecipe& training, const ClusterSpec& cluster,
                         const SoftwareSpec& software, Wanted wanted) {
  return request.given ? resolve_plan(request, model, training, cluster, software, wanted)
                       : UsualPlan(request, model, training, cluster, software).settle();
}

}  // namespace stepcast
