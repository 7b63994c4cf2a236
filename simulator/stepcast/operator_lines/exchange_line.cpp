// SPDX-License-Identifier: Apache-2.0
// A dispatch or a combine written as a JSON object; operator_line.hpp has the form of a line.
//
//   {"kind": "dispatch", "dispatcher": "deepep", "tokens": 4096, "hidden": 7168, "experts": 256,
//    "topk": 8, "ep": 32, "dtype": "fp8", "routing": {"kind": "group_limited", "groups": 4,
//    "groups_per_token": 4}}
//
//   routing   uniform, round_robin_forced or independent; or an object with one of them as `kind`,
//             or {"kind": "zipf", "alpha": 1.0}, {"kind": "group_limited", "groups": 8,
//             "groups_per_token": 4}, {"counts": [...]} with the tokens of each expert over all
//             ranks, {"counts_file": "counts.txt"} with the same as a text of whole numbers
//   pass      fwd or bwd. The gradient of a dispatch is combined and that of a combine dispatched:
//             bwd is the price of the other kind in 16 bits, its primitive the mirrored one
//   optional  primitive (auto), stride (1), num_sms (0: the dispatcher's own), capacity_factor (0:
//             none); `version` 2 and `low_latency` true stand for deepep_v2 and deepep_low_latency
#include "stepcast/operator_lines/work_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/value_message.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/model/op.hpp"
#include "stepcast/model/weighted_choice.hpp"
#include "stepcast/plan/exchange_spec.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kTokens{1, std::int64_t{1} << 30U};
constexpr Range<std::int64_t> kHidden{1, std::int64_t{1} << 20U};
constexpr Range<std::int64_t> kExperts{1, 65'536};
constexpr Range<std::int64_t> kTopK{1, 256};
constexpr Range<std::int64_t> kRanks{1, std::int64_t{1} << 20U};
constexpr Range<std::int64_t> kUnits{0, 1024};
constexpr Range<std::int64_t> kRoutedTokens{0, std::int64_t{1} << 40U};
constexpr Range<double> kFactor{0.0, 1024.0};
constexpr double kSteepestZipf = 8.0;
constexpr std::size_t kLargestCounts = std::size_t{1} << 20U;  // bytes

bool within(Range<std::int64_t> range, std::int64_t value) {
  return value >= range.lowest && value <= range.highest;
}

// The object of a `routing`: what it holds is read key by key, and nothing else may be there.
class RoutingObject {
 public:
  RoutingObject(MappingReader& fields, const ConfigNode& object)
      : fields_(&fields), object_(&object) {}

  Routing read() {
    Routing routing;
    const bool listed = find("counts") != nullptr;
    const bool in_file = find("counts_file") != nullptr;
    routing.kind = listed || in_file ? RoutingKind::kCounts : kind();
    if (listed && in_file) {
      error("has both 'counts' and 'counts_file'; keep one of them");
    }
    read_kind(routing, listed, in_file);
    refuse_unknown();
    return with_shared_loads(std::move(routing));
  }

 private:
  void read_kind(Routing& routing, bool listed, bool in_file) {
    if (routing.kind == RoutingKind::kZipf) {
      routing.zipf_exponent =
          number("alpha", kSteepestZipf, "of kind zipf needs an 'alpha' from 0 to 8, the exponent");
    } else if (routing.kind == RoutingKind::kLearned) {
      routing.max_violation =
          number("max_violation", kLargestViolation,
                 "of kind learned needs a 'max_violation' from 0 to 1000, the load of the fullest "
                 "expert over the mean, less 1");
    } else if (routing.kind == RoutingKind::kGroupLimited) {
      routing.groups = count("groups");
      routing.groups_per_token = count("groups_per_token");
    } else if (routing.kind == RoutingKind::kCounts) {
      if (listed) {
        routing.counts = counts();
      } else if (in_file) {
        routing.counts = counts_of_file();
      } else {
        error("of kind counts needs 'counts', a list, or 'counts_file'");
      }
      known_.emplace_back("kind");
    }
  }

  RoutingKind kind() {
    const ConfigNode* value = find("kind");
    const std::string text = value == nullptr || !value->quoted ? "" : value->text;
    std::vector<std::string> names;
    for (const NamedValue<RoutingKind>& entry : enum_names<RoutingKind>()) {
      if (text == entry.name) {
        return entry.value;
      }
      names.emplace_back(entry.name);
    }
    error("needs a 'kind', one of " + text_list(names) + did_you_mean(text, names));
    return RoutingKind::kUniform;
  }

  // From 0 to `most`; `needs` says what is wrong with any other.
  double number(const char* key, double most, const std::string& needs) {
    const ConfigNode* value = find(key);
    const std::optional<double> given = value == nullptr ? std::nullopt : number_of(*value);
    if (!given || !(*given >= 0.0 && *given <= most)) {
      error(needs);
      return 0.0;
    }
    return *given;
  }

  std::int64_t count(const char* key) {
    const ConfigNode* value = find(key);
    const ScannedNumber<std::int64_t> number =
        scan_whole(value == nullptr ? ConfigNode{} : *value, kExperts);
    if (number.fault != NumberFault::kNone) {
      error("of kind group_limited needs '" + std::string(key) + "', a whole number from 1");
      return 1;
    }
    return number.value;
  }

  std::vector<std::int64_t> counts() {
    std::vector<std::int64_t> result;
    const ConfigNode* list = find("counts");
    for (const ConfigNode& item : list->items) {
      const ScannedNumber<std::int64_t> number = scan_whole(item, kRoutedTokens);
      if (number.fault != NumberFault::kNone) {
        error("has a list 'counts' with " + shown(item) + "; give whole numbers of tokens");
        return {};
      }
      result.push_back(number.value);
    }
    if (result.empty()) {
      error("has 'counts' that is no list of numbers; give one for each expert");
    }
    return result;
  }

  std::vector<std::int64_t> counts_of_file() {
    const ConfigNode* value = find("counts_file");
    std::string text;
    try {
      text = read_file(value->text, kLargestCounts);
    } catch (const ConfigError&) {
      error("names the 'counts_file' " + shown(*value) + ", which cannot be read");
      return {};
    }
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == ',' || c == '\n' || c == '\r'; }, ' ');
    std::vector<std::int64_t> result;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at = std::find_if(at, end, [](char c) { return c != ' ' && c != '\t'; }), at != end) {
      std::int64_t count = -1;
      const auto [next, problem] = std::from_chars(at, end, count);
      if (problem != std::errc{} || !within(kRoutedTokens, count)) {
        error("names a 'counts_file' that holds more than whole numbers of tokens");
        return {};
      }
      result.push_back(count);
      at = next;
    }
    return result;
  }

  const ConfigNode* find(const char* key) {
    known_.emplace_back(key);
    return object_->find(key);
  }

  void refuse_unknown() {
    for (const ConfigEntry& entry : object_->entries) {
      if (std::find(known_.begin(), known_.end(), entry.key) == known_.end()) {
        error("has an unknown key '" + shown(entry.key) + "'" + did_you_mean(entry.key, known_));
        return;
      }
    }
  }

  void error(const std::string& message) { fields_->error("routing", message); }

  MappingReader* fields_;
  const ConfigNode* object_;
  std::vector<std::string> known_;
};

Routing read_routing(MappingReader& fields) {
  const ConfigNode* value = fields.take("routing");
  if (value != nullptr && value->kind == ConfigNode::Kind::kMapping) {
    return RoutingObject(fields, *value).read();
  }
  Routing routing;
  routing.kind = fields.optional_choice<RoutingKind>("routing", enum_names<RoutingKind>(),
                                                     RoutingKind::kUniform);
  if (routing.kind == RoutingKind::kZipf || routing.kind == RoutingKind::kGroupLimited ||
      routing.kind == RoutingKind::kCounts || routing.kind == RoutingKind::kLearned) {
    fields.error("routing", "is " + std::string(name(routing.kind)) +
                                ", which needs more; give an object such as {\"kind\": \"zipf\", "
                                "\"alpha\": 1.0}");
  }
  return routing;
}

void check_routing(MappingReader& fields, const ExpertExchange& op) {
  const Routing& routing = op.routing;
  const auto complain = [&](const std::string& message) { fields.error("routing", message); };
  if (routing.kind == RoutingKind::kGroupLimited) {
    if (op.experts % routing.groups != 0) {
      complain("has " + std::to_string(routing.groups) +
               " groups, which do not divide 'experts' (" + std::to_string(op.experts) + ")");
    } else if (routing.groups_per_token > routing.groups) {
      complain("takes more groups a token than there are");
    } else if (routing.groups_per_token * (op.experts / routing.groups) < op.topk) {
      complain("leaves a token fewer experts than 'topk'; allow more groups");
    }
  }
  if (routing.kind == RoutingKind::kCounts) {
    if (static_cast<std::int64_t>(routing.counts.size()) != op.experts) {
      complain("has " + std::to_string(routing.counts.size()) + " counts for " +
               std::to_string(op.experts) + " 'experts'; give one for each");
    } else if (*std::max_element(routing.counts.begin(), routing.counts.end()) == 0) {
      complain("has counts that are all 0");
    }
  }
}

bool has_variants(const DispatcherModel& model) {
  return model.second_version || model.low_latency;
}

Dispatcher dispatcher_of_line(MappingReader& fields) {
  const auto dispatcher =
      fields.required_choice<Dispatcher>("dispatcher", enum_names<Dispatcher>());
  const std::int64_t version = fields.optional_count("version", 1, {1, 2});
  const bool low_latency = fields.optional_flag("low_latency").value_or(false);
  const bool special = version == 2 || low_latency;
  if (!special || !fields.good({"dispatcher", "version", "low_latency"})) {
    return dispatcher;
  }
  const DispatcherModel& model = model_of(dispatcher);
  const std::optional<Dispatcher> variant = low_latency ? model.low_latency : model.second_version;
  if (!variant || (version == 2 && low_latency)) {
    fields.error(low_latency ? "low_latency" : "version", "belongs to the dispatcher " +
                                                              dispatchers_that(has_variants) +
                                                              ", one of the two at a time");
  }
  return variant.value_or(dispatcher);
}

// What the dispatcher's kernels do not take is refused as an experiment's `expert_exchange` refuses
// it.
void check_units(MappingReader& fields, const ExpertExchange& op) {
  ExchangeSpec spec;
  spec.dispatcher = op.dispatcher;
  spec.compute_units = op.compute_units;
  for (const ExchangeProblem& problem : exchange_problems(spec, std::nullopt)) {
    fields.error(problem.key, problem.message);
  }
}

// The exchange that carries gradients back: the other phase by the mirrored primitive, in 16 bits
// unless the rows are fp32.
ExpertExchange gradient_of(ExpertExchange op) {
  op.phase =
      op.phase == ExchangePhase::kDispatch ? ExchangePhase::kCombine : ExchangePhase::kDispatch;
  if (op.primitive == ExchangePrimitive::kAllGather) {
    op.primitive = ExchangePrimitive::kReduceScatter;
  } else if (op.primitive == ExchangePrimitive::kReduceScatter) {
    op.primitive = ExchangePrimitive::kAllGather;
  }
  const bool wide = size_of(op.dtype) >= size_of(Dtype::kBf16);
  op.dtype = wide ? op.dtype : Dtype::kBf16;
  return op;
}

ExpertExchange read_exchange(MappingReader& fields, ExchangePhase phase, Dtype dtype) {
  ExpertExchange op;
  op.phase = phase;
  op.dtype = dtype;
  op.dispatcher = dispatcher_of_line(fields);
  op.primitive = fields.optional_choice<ExchangePrimitive>(
      "primitive", enum_names<ExchangePrimitive>(), ExchangePrimitive::kAuto);
  op.tokens = fields.required_count("tokens", kTokens);
  op.hidden = fields.required_count("hidden", kHidden);
  op.experts = fields.required_count("experts", kExperts);
  op.topk = fields.required_count("topk", kTopK);
  op.group.size = fields.required_count("ep", kRanks);
  op.group.stride = fields.optional_count("stride", 1, kRanks);
  op.compute_units = fields.optional_count("num_sms", 0, kUnits);
  op.capacity_factor = fields.optional_number("capacity_factor", 0.0, kFactor);
  op.routing = read_routing(fields);
  const auto pass =
      fields.optional_choice<Direction>("pass", enum_names<Direction>(), Direction::kForward);
  if (fields.good({"dispatcher", "num_sms"})) {
    check_units(fields, op);
  }
  if (fields.good({"primitive", "dispatcher"}) && op.primitive != ExchangePrimitive::kAuto &&
      !model_of(op.dispatcher).primitives(op.phase).has(op.primitive)) {
    fields.error("primitive", "is " + std::string(name(op.primitive)) + ", which " +
                                  std::string(name(op.dispatcher)) + " has no " +
                                  std::string(name(op.phase)) + " for; leave it out for auto");
  }
  if (fields.good({"topk", "experts"}) && op.topk > op.experts) {
    fields.error("topk", "is " + std::to_string(op.topk) + " of " + std::to_string(op.experts) +
                             " 'experts'; give at most as many");
  }
  if (fields.good({"ep", "experts"}) && op.experts % op.group.size != 0) {
    fields.error("ep", "is " + std::to_string(op.group.size) + ", which does not divide " +
                           std::to_string(op.experts) + " 'experts'");
  }
  if (fields.good({"routing", "topk", "experts"})) {
    check_routing(fields, op);
  }
  return pass == Direction::kForward ? op : gradient_of(op);
}

}  // namespace

Op read_dispatch(MappingReader& fields, Dtype dtype, const DeviceSpec& /*device*/) {
  return {.work = read_exchange(fields, ExchangePhase::kDispatch, dtype)};
}

Op read_combine(MappingReader& fields, Dtype dtype, const DeviceSpec& /*device*/) {
  return {.work = read_exchange(fields, ExchangePhase::kCombine, dtype)};
}

}  // namespace stepcast
