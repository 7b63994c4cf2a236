// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/context_parallel_rules.hpp"

#include <algorithm>
#include <numeric>

#include "stepcast/layer/context_parallel.hpp"
#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

bool exchanges_heads(CpAlgorithm algorithm) {
  return algorithm == CpAlgorithm::kAllToAll || algorithm == CpAlgorithm::kAllToAllRing;
}

// What the heads of a tensor-parallel rank divide into.
std::int64_t common_heads(const ModelSpec& model, const SoftwareSpec& software, std::int64_t tp) {
  std::int64_t common = 0;
  for (const AttentionHeads& heads : attention_heads(model)) {
    common = std::gcd(
        common, std::gcd(local_heads(heads.query, tp), attention_kv_heads(heads, software, tp)));
  }
  return std::max<std::int64_t>(1, common);
}

std::int64_t ranks_for_heads(const ModelSpec& model, const ClusterSpec& cluster,
                             const SoftwareSpec& software, const ParallelPlan& plan) {
  std::int64_t most = members_in_domain(plan.cp_group(), cluster.domain_size());
  const std::int64_t heads = common_heads(model, software, plan.tp);
  while (plan.cp % most != 0 || heads % most != 0) {
    --most;
  }
  return most;
}

class ContextReasons {
 public:
  ContextReasons(const PlanRequest& request, const ModelSpec& model, const TrainingRecipe& training,
                 const SoftwareSpec& software, const ParallelPlan& plan)
      : request_(request), model_(model), training_(training), software_(software), plan_(plan) {}

  std::vector<std::string> all() {
    given_degree();
    if (plan_.cp > 1) {
      // Two chunks a rank balance causal attention.
      divides("2 * cp", 2 * plan_.cp, "sequence_length", training_.sequence_length);
      heads();
      kernels();
    }
    return std::move(reasons_);
  }

 private:
  void divides(const std::string& name, std::int64_t divisor, const std::string& of,
               std::int64_t value) {
    const std::string reason = name + " = " + std::to_string(divisor) + " does not divide " + of +
                               " = " + std::to_string(value);
    if (value % divisor != 0 &&
        std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end()) {
      reasons_.push_back(reason);
    }
  }

  void given_degree() {
    if (!request_.cp_all_to_all) {
      return;
    }
    if (plan_.cp_algorithm == CpAlgorithm::kAllToAllRing) {
      return divides("cp_all_to_all", *request_.cp_all_to_all, "cp", plan_.cp);
    }
    if (*request_.cp_all_to_all != plan_.cp_heads()) {
      reasons_.push_back("cp_all_to_all = " + std::to_string(*request_.cp_all_to_all) +
                         ", but cp_algorithm " + std::string(name(plan_.cp_algorithm)) +
                         " makes it " + std::to_string(plan_.cp_heads()) +
                         "; leave it out, or set cp_algorithm: all_to_all_ring");
    }
  }

  void heads() {
    if (!exchanges_heads(plan_.cp_algorithm)) {
      return;
    }
    if (software_.ring_attention != Implementation::kFused) {
      reasons_.push_back("cp_algorithm must be ring or all_gather: " + software_.name +
                         " has PyTorch's context parallelism, which exchanges no heads");
      return;
    }
    const bool ring = plan_.cp_algorithm == CpAlgorithm::kAllToAllRing;
    const std::string ranks = ring ? "cp_all_to_all" : "cp";
    for (const AttentionHeads& heads : attention_heads(model_)) {
      divides(ranks + " * tp (cp by " + std::string(name(plan_.cp_algorithm)) + " splits heads)",
              plan_.cp_heads() * plan_.tp, "the number of attention heads", heads.query);
      divides(ranks + " (by which cp_algorithm " + std::string(name(plan_.cp_algorithm)) +
                  " divides key/value heads)",
              plan_.cp_heads(), "those of a tensor-parallel rank",
              attention_kv_heads(heads, software_, plan_.tp));
    }
  }

  void kernels() {
    if (software_.attention_kernel() == AttentionKernel::kUnfused) {
      reasons_.emplace_back(
          "cp must be 1: without a fused kernel (attention: unfused) attention does "
          "not run over parts of the keys");
    }
    if (software_.ring_attention != Implementation::kFused) {
      return;
    }
    if (plan_.passes_keys_round() && model_.attention.sliding_window.most() > 0) {
      reasons_.push_back("cp_algorithm " + std::string(name(plan_.cp_algorithm)) +
                         " has no sliding window, which " + model_.name +
                         " needs; set cp_algorithm to all_gather or all_to_all");
    }
    if (model_.attention.sinks && plan_.cp_algorithm != CpAlgorithm::kAllToAll) {
      reasons_.push_back("cp_algorithm " + std::string(name(plan_.cp_algorithm)) +
                         " has no attention sinks, which " + model_.name +
                         " needs; set cp_algorithm: all_to_all");
    }
  }

  const PlanRequest& request_;
  const ModelSpec& model_;
  const TrainingRecipe& training_;
  const SoftwareSpec& software_;
  const ParallelPlan& plan_;
  std::vector<std::string> reasons_;
};

}  // namespace

void settle_context_parallel(const PlanRequest& request, const ModelSpec& model,
                             const ClusterSpec& cluster, const SoftwareSpec& software,
                             ParallelPlan& plan) {
  const bool fused = software.ring_attention == Implementation::kFused;
  plan.cp_algorithm =
      request.cp_algorithm.value_or(fused ? CpAlgorithm::kRing : CpAlgorithm::kAllGather);
  if (plan.cp_algorithm == CpAlgorithm::kAllToAllRing) {
    const bool divides = request.cp_all_to_all && plan.cp % *request.cp_all_to_all == 0;
    plan.cp_all_to_all =
        divides ? *request.cp_all_to_all : ranks_for_heads(model, cluster, software, plan);
  }
}

std::vector<std::string> context_parallel_reasons(const PlanRequest& request,
                                                  const ModelSpec& model,
                                                  const TrainingRecipe& training,
                                                  const SoftwareSpec& software,
                                                  const ParallelPlan& plan) {
  return ContextReasons(request, model, training, software, plan).all();
}

}  // namespace stepcast
