// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_defaults.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <set>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/experiment/plan_changes.hpp"
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {
namespace {

using Degrees = std::set<std::int64_t>;

// The numbers given for a key. What is no number, or none that a degree can be, is left out: it is
// reported where it is read.
Degrees given_degrees(const GivenTexts& given, std::string_view key) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  Degrees degrees;
  const auto found = given.find(key);
  if (found == given.end()) {
    return degrees;
  }
  for (const std::string& text : found->second) {
    if (const auto value = parse_number<std::int64_t>(text);
        value && *value > 0 && *value <= kLargest) {
      degrees.insert(*value);
    }
  }
  return degrees;
}

// How the layers of a model are cut, and a schedule that runs it.
struct Pipeline {
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  bool balanced = false;  // pp does not divide the layers
  Schedule schedule = Schedule::kOneFOneB;
  auto operator<=>(const Pipeline&) const = default;
};

class PipelineCollector {
 public:
  PipelineCollector(const GivenTexts& given, ScheduleScope scope) : given_(given), scope_(scope) {}

  void collect(const Experiment& site, std::set<Pipeline>& found) const {
    for (const std::int64_t pp : ranks_of(site)) {
      for (const std::int64_t vpp : chunks_of(site, pp)) {
        for (std::size_t i = 0; i < names_of<Schedule>().size(); ++i) {
          const auto schedule = static_cast<Schedule>(i);
          if (wants(site, schedule, pp) && schedule_reasons(schedule, pp, vpp).empty()) {
            found.insert({pp, vpp, site.model.layers % pp != 0, schedule});
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] bool is_given(std::string_view key) const { return given_.contains(key); }

  // Whether the model's layers make so many stages: evenly or, where pp does not divide them,
  // balanced, with one or two stages a rank or as many as come out even with both ends.
  [[nodiscard]] bool makes_stages(const Experiment& site, std::int64_t pp, std::int64_t vpp) const {
    return is_given("plan.stage_layout") ? cuts_balanced(site.model.layers, pp, vpp)
                                         : cuts_layers(site.model.layers, pp, vpp);
  }

  [[nodiscard]] Degrees ranks_of(const Experiment& site) const {
    if (is_given("plan.pp")) {
      return given_degrees(given_, "plan.pp");
    }
    return divisors(site.cluster.gpus());
  }

  [[nodiscard]] Degrees chunks_of(const Experiment& site, std::int64_t pp) const {
    Degrees chunks = given_degrees(given_, "plan.vpp");
    if (!is_given("plan.vpp")) {
      chunks.insert(1);
      for (std::int64_t vpp = 2; pp > 1 && pp * vpp <= site.model.layers; ++vpp) {
        chunks.insert(vpp);
      }
    }
    std::erase_if(chunks, [&](std::int64_t vpp) { return !makes_stages(site, pp, vpp); });
    return chunks;
  }

  [[nodiscard]] bool wants(const Experiment& site, Schedule schedule, std::int64_t pp) const {
    const auto given = given_.find("plan.schedule");
    if (given != given_.end()) {
      const std::vector<std::string>& names = given->second;
      return std::ranges::find(names, name(schedule)) != names.end();
    }
    // With one rank all are the same, and GPipe takes as long as 1F1B and holds more.
    return pp > 1 ? schedule != Schedule::kGpipe &&
                        (scope_ == ScheduleScope::kEvery || is_offered(site.software, schedule))
                  : schedule == Schedule::kOneFOneB;
  }

  const GivenTexts& given_;
  ScheduleScope scope_;
};

// The pipelines of any of the sites. Where the file gives pp, vpp or schedule, only with those.
std::set<Pipeline> all_pipelines(const std::vector<Experiment>& sites, const GivenTexts& given,
                                 ScheduleScope scope) {
  const PipelineCollector collector(given, scope);
  std::set<Pipeline> found;
  for (const Experiment& site : sites) {
    collector.collect(site, found);
  }
  return found;
}

constexpr std::int64_t kTokensARank = 4096;  // that cp leaves at least
constexpr std::array<std::int64_t, 4> kTriedMicroBatches = {1, 2, 4, 8};

// What a value of an axis sets: key -> text.
using Texts = std::vector<std::pair<std::string, std::string>>;

WrittenAxis axis_of(const std::vector<Texts>& values, const ConfigNode& place) {
  WrittenAxis axis;
  axis.place = place;
  for (const Texts& texts : values) {
    AxisValue value;
    for (const auto& [key, text] : texts) {
      value.push_back({key, scalar_at(place, text), place.line, place.column});
      if (std::ranges::find(axis.keys, key) == axis.keys.end()) {
        axis.keys.push_back(key);
      }
    }
    axis.values.push_back(std::move(value));
  }
  return axis;
}

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
  [[nodiscard]] bool is_given(std::string_view key) const { return given_.contains(key); }

  void add_axis(const std::vector<Texts>& values) {
    WrittenAxis axis = axis_of(values, place_);
    if (!axis.values.empty() && !axis.keys.empty()) {
      axes_.push_back(std::move(axis));
    }
  }

  void add_degrees(const std::string& key, const Degrees& degrees) {
    add_axis(each_of(degrees, [&key](std::int64_t degree) {
      return Texts{{key, std::to_string(degree)}};
    }));
  }

  [[nodiscard]] bool has_experts() const {
    return std::ranges::any_of(sites_,
                               [](const Experiment& site) { return site.model.moe.has_value(); });
  }

  static bool splits(const ModelSpec& model, std::int64_t tp) {
    const std::vector<AttentionHeads> heads = attention_heads(model);
    const std::vector<std::int64_t>& widths = model.mlp.ffn_hidden.pattern();
    const std::int64_t shared = model.moe ? model.moe->shared_expert_ffn_hidden : 0;
    return std::ranges::all_of(heads,
                               [tp](const AttentionHeads& of_layer) {
                                 return of_layer.query % tp == 0 &&
                                        (of_layer.kv % tp == 0 || tp % of_layer.kv == 0);
                               }) &&
           std::ranges::all_of(widths, [tp](std::int64_t width) { return width % tp == 0; }) &&
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
      const bool divides = std::ranges::any_of(
          sites_, [cp](const Experiment& site) { return site.cluster.gpus() % cp == 0; });
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
    for (const std::string_view key : kShardingKeys) {
      if (is_given("plan." + std::string(key))) {
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
      if (!texts.empty() && std::ranges::find(values, texts) == values.end()) {
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
        const bool divides =
            std::ranges::any_of(batches, [size](std::int64_t all) { return all % size == 0; });
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

// What a software set offers, as axes of a sweep.
constexpr std::string_view kDispatcher = "dispatcher";

// Switches that make no difference to some models.
struct Needs {
  std::string_view key;
  bool (*has)(const ModelSpec& model);
};
bool has_experts(const ModelSpec& model) { return model.moe.has_value(); }
constexpr std::array<Needs, 3> kNeeds = {{
    {kDispatcher, has_experts},
    {"ep_overlap", has_experts},
    {"shared_expert_overlap",
     [](const ModelSpec& model) { return model.moe && model.moe->shared_expert_ffn_hidden > 0; }},
}};

bool makes_difference(std::string_view key, const ModelSpec& model) {
  return std::ranges::all_of(
      kNeeds, [&](const Needs& needs) { return needs.key != key || needs.has(model); });
}

// Keys of a sweep file that settle a switch.
std::vector<std::string> keys_of(std::string_view switched) {
  const std::string own = "software." + std::string(switched);
  return switched == kDispatcher
             ? std::vector<std::string>{"plan.dispatcher", own, "software.deepep"}
             : std::vector<std::string>{own};
}

bool offers(const SoftwareSpec& software, const std::string& key, const std::string& value) {
  return std::ranges::any_of(software.offers, [&](const auto& offer) {
    return offer.key == key && std::ranges::find(offer.values, value) != offer.values.end();
  });
}

// What every site can run with. The dispatcher that the software has by itself comes first, since
// of plans that are equal the first one is kept.
std::vector<std::string> values_for(const std::vector<Experiment>& sites,
                                    const SoftwareOffer& offer) {
  std::vector<std::string> values;
  for (const std::string& value : offer.values) {
    const bool possible = std::ranges::all_of(sites, [&](const Experiment& site) {
      return makes_difference(offer.key, site.model) && offers(site.software, offer.key, value) &&
             (offer.key != kDispatcher || dispatcher_for(site, value));
    });
    if (possible) {
      values.push_back(value);
    }
  }
  const std::string_view own = name(sites.front().software.exchange.dispatcher);
  std::stable_partition(values.begin(), values.end(),
                        [own](const std::string& value) { return value == own; });
  return values;
}

}  // namespace

GivenTexts given_texts(const WrittenSweep& sweep) {
  GivenTexts given;
  for (const ConfigEntry& section : sweep.base.entries) {
    for (const ConfigEntry& entry : section.value.entries) {
      if (entry.value.kind != ConfigNode::Kind::kNull) {
        given[section.key + "." + entry.key].push_back(entry.value.text);
      }
    }
  }
  for (const WrittenAxis& axis : sweep.axes) {
    for (const AxisValue& value : axis.values) {
      for (const AxisSetting& setting : value) {
        given[setting.key].push_back(setting.value.text);
      }
    }
  }
  return given;
}

std::vector<WrittenAxis> all_plan_axes(const std::vector<Experiment>& sites,
                                       const GivenTexts& given, ScheduleScope scope,
                                       const ConfigNode& place) {
  return AllPlans(sites, given, scope, place).axes();
}

std::vector<WrittenAxis> offered_axes(const std::vector<Experiment>& sites, const GivenTexts& given,
                                      Offered offered, const ConfigNode& place) {
  std::vector<WrittenAxis> axes;
  for (const SoftwareOffer& offer : sites.front().software.offers) {
    const bool dispatcher = offer.key == kDispatcher;
    const std::vector<std::string> keys = keys_of(offer.key);
    const bool is_given =
        std::ranges::any_of(keys, [&](const std::string& key) { return given.contains(key); });
    if (is_given || dispatcher != (offered == Offered::kDispatcher)) {
      continue;
    }
    const std::vector<std::string> values = values_for(sites, offer);
    if (values.size() > 1) {
      const auto set = [&keys](const std::string& value) { return Texts{{keys.front(), value}}; };
      axes.push_back(axis_of(each_of(values, set), place));
    }
  }
  return axes;
}

}  // namespace stepcast
