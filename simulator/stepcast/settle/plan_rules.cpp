// SPDX-License-Identifier: Apache-2.0
#include "stepcast/settle/plan_rules.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "stepcast/layer/context_parallel.hpp"
#include "stepcast/layer/mixer_expansion.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {
namespace {

// --- layers --------------------------------------------------------------------------------------

class DivisionReasons {
 public:
  DivisionReasons(const ModelSpec& model, const ParallelPlan& plan) : model_(model), plan_(plan) {}

  std::vector<Reason> reasons() {
    divide_heads();
    divide_mixers();
    divide_first("tp", plan_.tp, model_.mlp.ffn_hidden.pattern(), "ffn_hidden");
    if (model_.moe && model_.moe->shared_expert_ffn_hidden > 0) {
      divides("tp", plan_.tp, model_.moe->shared_expert_ffn_hidden, "shared_expert_ffn_hidden");
    }
    return std::move(reasons_);
  }

 private:
  void divides(const std::string& name, std::int64_t divisor, std::int64_t value,
               const std::string& of) {
    if (divisor <= 0 || value % divisor != 0) {
      reasons_.push_back(does_not_divide(name, divisor, of, value));
    }
  }

  // All of `values`, of which one that it does not divide is told.
  void divide_first(const std::string& name, std::int64_t divisor,
                    const std::vector<std::int64_t>& values, const std::string& of) {
    const auto odd = std::ranges::find_if(
        values, [divisor](std::int64_t value) { return divisor <= 0 || value % divisor != 0; });
    if (odd != values.end()) {
      divides(name, divisor, *odd, of);
    }
  }

  void divide_heads() {
    const std::int64_t tp = plan_.tp;
    std::int64_t odd = 0;
    std::int64_t apart = 0;
    for (const AttentionHeads& heads : attention_heads(model_)) {
      odd = odd > 0 || (tp > 0 && heads.query % tp == 0) ? odd : heads.query;
      const bool fits = heads.kv % tp == 0 || tp % heads.kv == 0;
      apart = apart > 0 || fits ? apart : heads.kv;
    }
    if (odd > 0) {
      divides("tp", tp, odd, "the number of attention heads");
    }
    if (apart > 0) {
      reasons_.push_back({"tp", of_plan(" = ", tp), " neither divides the", of_plan(" ", apart),
                          " key/value heads nor is a multiple of them"});
    }
  }

  void divide_mixers() {
    if (model_.mixers.has(Mixer::kConvolution)) {
      divides("tp", plan_.tp, model_.hidden, "the channels of the convolution");
    }
    if (model_.attention.output_lora_rank > 0) {
      divides("tp", plan_.tp, model_.attention.output_groups, "the groups of the output");
    }
    const auto& linear = model_.mixers.linear_attention;
    constexpr const char* kOfLinear = "the query heads of the linear attention";
    if (linear) {
      divides("tp", plan_.tp, linear->qk_heads, kOfLinear);
    }
    const bool by_heads = plan_.cp_heads() > 1;
    if (by_heads && linear) {
      divides("cp * tp (cp by all_to_all splits heads)", plan_.cp * plan_.tp, linear->qk_heads,
              kOfLinear);
    }
    if (by_heads && (model_.attention.indexer || !model_.attention.compression.ratios.empty())) {
      reasons_.push_back(
          {"cp by all_to_all splits key heads, and " + model_.name +
           " has one that all queries choose from; cp_algorithm ring or all_gather gathers it"});
    }
  }

  const ModelSpec& model_;
  const ParallelPlan& plan_;
  std::vector<Reason> reasons_;
};

// --- context parallelism -------------------------------------------------------------------------

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

  std::vector<Reason> all() {
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
    const Reason reason = does_not_divide(name, divisor, of, value);
    if (value % divisor != 0 && std::ranges::find(reasons_, reason) == reasons_.end()) {
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
      reasons_.push_back({"cp_all_to_all", of_plan(" = ", *request_.cp_all_to_all),
                          ", but cp_algorithm " + std::string(name(plan_.cp_algorithm)) +
                              " makes it " + std::to_string(plan_.cp_heads()) +
                              "; leave it out, or set cp_algorithm: all_to_all_ring"});
    }
  }

  void heads() {
    if (!exchanges_heads(plan_.cp_algorithm)) {
      return;
    }
    if (software_.ring_attention != Implementation::kFused) {
      reasons_.push_back({"cp_algorithm must be ring or all_gather: " + software_.name +
                          " has PyTorch's context parallelism, which exchanges no heads"});
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
      reasons_.push_back(
          {"cp must be 1: without a fused kernel (attention: unfused) attention does "
           "not run over parts of the keys"});
    }
    if (software_.ring_attention != Implementation::kFused) {
      return;
    }
    if (plan_.passes_keys_round() && model_.attention.sliding_window.most() > 0) {
      reasons_.push_back({"cp_algorithm " + std::string(name(plan_.cp_algorithm)) +
                          " has no sliding window, which " + model_.name +
                          " needs; set cp_algorithm to all_gather or all_to_all"});
    }
    if (model_.attention.sinks && plan_.cp_algorithm != CpAlgorithm::kAllToAll) {
      reasons_.push_back({"cp_algorithm " + std::string(name(plan_.cp_algorithm)) +
                          " has no attention sinks, which " + model_.name +
                          " needs; set cp_algorithm: all_to_all"});
    }
  }

  const PlanRequest& request_;
  const ModelSpec& model_;
  const TrainingRecipe& training_;
  const SoftwareSpec& software_;
  const ParallelPlan& plan_;
  std::vector<Reason> reasons_;
};

}  // namespace

std::vector<Reason> layer_division_reasons(const ModelSpec& model, const ParallelPlan& plan) {
  return DivisionReasons(model, plan).reasons();
}

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

std::vector<Reason> context_parallel_reasons(const PlanRequest& request, const ModelSpec& model,
                                             const TrainingRecipe& training,
                                             const SoftwareSpec& software,
                                             const ParallelPlan& plan) {
  return ContextReasons(request, model, training, software, plan).all();
}

std::vector<Reason> paired_order_reasons(const ParallelPlan& plan, const ModelSpec& model,
                                         const TrainingRecipe& training,
                                         const SoftwareSpec& software) {
  std::vector<Reason> reasons;
  const auto refuse_if = [&](bool broken, std::initializer_list<ReasonWords> reason) {
    if (broken) {
      reasons.emplace_back(reason);
    }
  };
  if (!software.ep_overlap || !model.moe) {
    return reasons;
  }
  const PairRule rule = info(plan.schedule).pairs;
  refuse_if(plan.ep == 1, {"software.ep_overlap needs ep > 1: there is no exchange to overlap"});
  refuse_if(plan.pp > 1 && rule == PairRule::kNone,
            {"software.ep_overlap pairs no passes under schedule " +
             std::string(name(plan.schedule)) + "; set vpp > 1 (interleaved_1f1b), or pp: 1"});
  refuse_if(plan.vpp > 1 && plan.zero == 3 && rule == PairRule::kAsSoftware,
            {"software.ep_overlap with zero: 3 needs vpp", of_plan(" = 1")});
  refuse_if(training.recompute.kind == RecomputeKind::kFull,
            {"software.ep_overlap needs recompute other than full: a layer's backward begins with "
             "its exchange"});
  refuse_if(training.recompute.selected().meets({RecomputeModule::kMoe}),
            {"software.ep_overlap recomputes no moe; leave it out of recompute_modules"});
  refuse_if(software.shared_expert_overlap,
            {"software.ep_overlap and shared_expert_overlap exclude each other"});
  refuse_if(model.mtp_layers > 1, {"software.ep_overlap needs one mtp_layer at most, of " +
                                   std::to_string(model.mtp_layers)});
  return reasons;
}

}  // namespace stepcast
