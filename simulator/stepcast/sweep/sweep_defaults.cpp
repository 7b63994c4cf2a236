// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_defaults.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

constexpr std::int64_t kTokensARank = 4096;  // that cp leaves at least
constexpr std::array<std::int64_t, 4> kTriedMicroBatches = {1, 2, 4, 8};

class AllPlans {
 public:
  AllPlans(const std::vector<Experiment>& sites, const GivenTexts& given, ScheduleScope scope,
           const ConfigNode& place)
      : sites_(sites), given_(given), scope_(scope), place_(place) {}

  std::vector<WrittenAxis> axes() {
    add_tensor_axes();
    add_context_axis();
    add_expert_axes();
    add_sharding_axis();
    add_pipeline_axis();
    add_training_axes();
    return std::move(axes_);
  }

 private:
  using Texts = std::vector<std::pair<std::string, std::string>>;  // key -> text

  [[nodiscard]] bool is_given(std::string_view key) const { return given_.contains(key); }

  void add_axis(const std::vector<Texts>& values) {
    WrittenAxis axis;
    axis.place = place_;
    for (const Texts& texts : values) {
      AxisValue value;
      for (const auto& [key, text] : texts) {
        value.push_back({key, scalar_at(place_, text), place_.line, place_.column});
        if (std::find(axis.keys.begin(), axis.keys.end(), key) == axis.keys.end()) {
          axis.keys.push_back(key);
        }
      }
      axis.values.push_back(std::move(value));
    }
    if (!axis.values.empty() && !axis.keys.empty()) {
      axes_.push_back(std::move(axis));
    }
  }

  void add_degrees(const std::string& key, const Degrees& degrees) {
    std::vector<Texts> values;
    for (const std::int64_t degree : degrees) {
      values.push_back({{key, std::to_string(degree)}});
    }
    add_axis(values);
  }

  [[nodiscard]] bool has_experts() const {
    return std::any_of(sites_.begin(), sites_.end(),
                       [](const Experiment& site) { return site.model.moe.has_value(); });
  }

  static bool splits(const ModelSpec& model, std::int64_t tp) {
    const std::vector<AttentionHeads> heads = attention_heads(model);
    const std::vector<std::int64_t>& widths = model.mlp.ffn_hidden.pattern();
    const std::int64_t shared = model.moe ? model.moe->shared_expert_ffn_hidden : 0;
    return std::all_of(heads.begin(), heads.end(),
                       [tp](const AttentionHeads& of_layer) {
                         return of_layer.query % tp == 0 &&
                                (of_layer.kv % tp == 0 || tp % of_layer.kv == 0);
                       }) &&
           std::all_of(widths.begin(), widths.end(),
                       [tp](std::int64_t width) { return width % tp == 0; }) &&
           shared % tp == 0;
  }

  void add_tensor_axes() {
    tensor_ = given_degrees(given_, "plan.tp");
    if (!is_given("plan.tp")) {
      for (const Experiment& site : sites_) {
        for (const std::int64_t tp : divisors(site.cluster.gpus())) {
          if (tp <= site.cluster.domain_size() && splits(site.model, tp)) {
            tensor_.insert(tp);
          }
        }
      }
    }
    if (is_given("plan.sequence_parallel")) {
      if (!is_given("plan.tp")) {
        add_degrees("plan.tp", tensor_);
      }
      return;
    }
    std::vector<Texts> values;
    if (is_given("plan.tp")) {
      // The value of a tp of 1 is settled to off either way.
      values.push_back({{"plan.sequence_parallel", "true"}});
      if (!has_experts() && tensor_ != Degrees{1}) {
        values.push_back({{"plan.sequence_parallel", "false"}});
      }
      return add_axis(values);
    }
    for (const std::int64_t tp : tensor_) {
      const std::pair<std::string, std::string> degree = {"plan.tp", std::to_string(tp)};
      if (tp == 1) {
        values.push_back({degree});
        continue;
      }
      values.push_back({degree, {"plan.sequence_parallel", "true"}});
      if (!has_experts()) {
        values.push_back({degree, {"plan.sequence_parallel", "false"}});
      }
    }
    add_axis(values);
  }

  void add_context_axis() {
    if (is_given("plan.cp")) {
      return;
    }
    const Degrees sequences = given_degrees(given_, "training.sequence_length");
    const std::int64_t longest = sequences.empty() ? 0 : *sequences.rbegin();
    Degrees degrees = {1};
    for (std::int64_t cp = 2; cp * kTokensARank <= longest; cp *= 2) {
      const bool divides = std::any_of(sites_.begin(), sites_.end(), [cp](const Experiment& site) {
        return site.cluster.gpus() % cp == 0;
      });
      if (divides) {
        degrees.insert(cp);
      }
    }
    if (degrees.size() > 1) {
      add_degrees("plan.cp", degrees);
    }
  }

  void add_expert_axes() {
    if (!has_experts()) {
      return;
    }
    Degrees experts;
    Degrees tensors = {1};
    for (const Experiment& site : sites_) {
      if (!site.model.moe) {
        experts.insert(1);
        continue;
      }
      for (const std::int64_t ep : divisors(site.model.moe->experts)) {
        if (site.cluster.gpus() % ep == 0) {
          experts.insert(ep);
        }
      }
      for (const std::int64_t tp : tensor_) {
        if (site.model.moe->expert_ffn_hidden % tp == 0) {
          tensors.insert(tp);
        }
      }
    }
    if (!is_given("plan.ep")) {
      add_degrees("plan.ep", experts);
    }
    if (!is_given("plan.etp")) {
      add_degrees("plan.etp", tensors);
    }
  }

  void add_sharding_axis() {
    for (const char* key : {"plan.zero", "plan.fsdp", "plan.hsdp", "plan.fsdp_reshard"}) {
      if (is_given(key)) {
        return;
      }
    }
    std::vector<Texts> values = {{{"plan.zero", "0"}},
                                 {{"plan.zero", "1"}},
                                 {{"plan.zero", "2"}},
                                 {{"plan.zero", "3"}, {"plan.fsdp_reshard", "true"}},
                                 {{"plan.zero", "3"}, {"plan.fsdp_reshard", "false"}}};
    Degrees nodes;  // sizes of a node, where there are several
    for (const Experiment& site : sites_) {
      if (site.cluster.nodes > 1 && site.cluster.gpus_per_node > 1) {
        nodes.insert(site.cluster.gpus_per_node);
      }
    }
    for (const std::int64_t node : nodes) {
      for (const char* reshard : {"true", "false"}) {
        values.push_back({{"plan.zero", "3"},
                          {"plan.fsdp_reshard", reshard},
                          {"plan.hsdp", std::to_string(node)}});
      }
    }
    add_axis(values);
  }

  void add_pipeline_axis() {
    std::vector<Texts> values;
    for (const auto& [pp, vpp, balanced, schedule] : all_pipelines(sites_, given_, scope_)) {
      Texts texts;
      const auto add = [&](const char* key, std::string text) {
        if (!is_given(key)) {
          texts.emplace_back(key, std::move(text));
        }
      };
      add("plan.pp", std::to_string(pp));
      add("plan.vpp", std::to_string(vpp));
      add("plan.schedule", std::string(name(schedule)));
      if (balanced) {
        add("plan.stage_layout", "balanced");
      }
      if (!texts.empty() && std::find(values.begin(), values.end(), texts) == values.end()) {
        values.push_back(std::move(texts));
      }
    }
    add_axis(values);
  }

  void add_training_axes() {
    if (!is_given("training.micro_batch_size")) {
      const Degrees batches = given_degrees(given_, "training.global_batch_size");
      Degrees sizes;
      for (const std::int64_t size : kTriedMicroBatches) {
        const bool divides = std::any_of(batches.begin(), batches.end(),
                                         [size](std::int64_t all) { return all % size == 0; });
        if (divides) {
          sizes.insert(size);
        }
      }
      add_degrees("training.micro_batch_size", sizes);
    }
    if (!is_given("training.recompute")) {
      add_axis({{{"training.recompute", "none"}},
                {{"training.recompute", "selective"}},
                {{"training.recompute", "full"}}});
    }
  }

  const std::vector<Experiment>& sites_;
  const GivenTexts& given_;
  ScheduleScope scope_;
  const ConfigNode& place_;
  Degrees tensor_;
  std::vector<WrittenAxis> axes_;
};

}  // namespace

std::vector<WrittenAxis> all_plan_axes(const std::vector<Experiment>& sites,
                                       const GivenTexts& given, ScheduleScope scope,
                                       const ConfigNode& place) {
  return AllPlans(sites, given, scope, place).axes();
}

}  // namespace stepcast
