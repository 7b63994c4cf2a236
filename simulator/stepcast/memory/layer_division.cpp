// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/layer_division.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {
namespace {

class DivisionReasons {
 public:
  DivisionReasons(const ModelSpec& model, const ParallelPlan& plan) : model_(model), plan_(plan) {}

  std::vector<std::string> reasons() {
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
      reasons_.push_back(name + " = " + std::to_string(divisor) + " does not divide " + of + " = " +
                         std::to_string(value));
    }
  }

  // All of `values`, of which one that it does not divide is told.
  void divide_first(const std::string& name, std::int64_t divisor,
                    const std::vector<std::int64_t>& values, const std::string& of) {
    const auto odd = std::find_if(values.begin(), values.end(), [divisor](std::int64_t value) {
      return divisor <= 0 || value % divisor != 0;
    });
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
      reasons_.push_back("tp = " + std::to_string(tp) + " neither divides the " +
                         std::to_string(apart) + " key/value heads nor is a multiple of them");
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
          "cp by all_to_all splits key heads, and " + model_.name +
          " has one that all queries choose from; cp_algorithm ring or all_gather gathers it");
    }
  }

  const ModelSpec& model_;
  const ParallelPlan& plan_;
  std::vector<std::string> reasons_;
};

}  // namespace

std::vector<std::string> layer_division_reasons(const ModelSpec& model, const ParallelPlan& plan) {
  return DivisionReasons(model, plan).reasons();
}

}  // namespace stepcast
