// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operator_lines/operator_line.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "stepcast/base/real.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/value_message.hpp"
#include "stepcast/operator_lines/work_line.hpp"

namespace stepcast {
namespace {

constexpr Range<double> kLockedMhz{1.0, 1e5};
constexpr std::int64_t kFabricNodes = std::int64_t{1} << 20U;  // beyond any group of ranks

// --- names ------------------------------------------------------------------------------------

constexpr std::array kLaunches = {
    NamedValue<Launch>{"stream", Launch::kStream}, NamedValue<Launch>{"graph", Launch::kGraph},
    NamedValue<Launch>{"none", Launch::kNone}, NamedValue<Launch>{"eager", Launch::kEager}};

// Names that others give to what has one of ours.
constexpr std::array kDtypeAliases = {
    NamedValue<Dtype>{"bfloat16", Dtype::kBf16}, NamedValue<Dtype>{"float16", Dtype::kFp16},
    NamedValue<Dtype>{"fp8_e4m3", Dtype::kFp8},  NamedValue<Dtype>{"nvfp4", Dtype::kFp4},
    NamedValue<Dtype>{"mxfp4", Dtype::kFp4},     NamedValue<Dtype>{"float32", Dtype::kFp32}};
using Kind = MemoryBoundKind;
constexpr std::array kMemoryBoundAliases = {
    NamedValue<Kind>{"add", Kind::kResidual},
    NamedValue<Kind>{"rms_norm", Kind::kNorm},
    NamedValue<Kind>{"layer_norm", Kind::kNorm},  // a kind itself, which is found first
    NamedValue<Kind>{"gather", Kind::kPermute},
    NamedValue<Kind>{"gather_rows", Kind::kPermute},
    NamedValue<Kind>{"swiglu", Kind::kGatedActivation},
    NamedValue<Kind>{"swiglu_fused", Kind::kGatedActivation},
    NamedValue<Kind>{"cross_entropy_fused", Kind::kCrossEntropy},
};

enum class Units { kMatrix, kOther };

// --- fields -----------------------------------------------------------------------------------

Dtype read_dtype(MappingReader& fields, const DeviceSpec& device, Units units) {
  const auto dtype = fields.optional_choice<Dtype>("dtype", dtype_names(), device.base_format());
  if (units == Units::kMatrix && !device.matrix_rate[slot(dtype)]) {
    std::string has;
    for (const DtypeInfo& known : kDtypes) {
      if (device.matrix_rate[slot(known.dtype)]) {
        has += (has.empty() ? "" : ", ") + std::string(known.name);
      }
    }
    fields.error("dtype", "is " + std::string(name(dtype)) + ", which " + device.name +
                              " has no rate for; it has " + has);
  }
  return dtype;
}

ClockState locked_state(MappingReader& fields, const ConfigNode& value, const DeviceSpec& device) {
  if (value.entries.size() != 1 || value.entries.front().key != "locked_mhz") {
    fields.error("state",
                 "must be warm, cool or {\"locked_mhz\": 1500}; the object holds other keys");
    return {};
  }
  const std::optional<double> mhz = number_of(value.entries.front().value);
  const double peak = device.clock.peak.value() / 1e6;
  if (!mhz || !(*mhz >= kLockedMhz.lowest) || *mhz > peak) {
    fields.error("state", "has a 'locked_mhz' of " + shown(value.entries.front().value) +
                              "; give 1 to the peak of " + device.name + ", " +
                              shortest_text(peak));
    return {};
  }
  return {PowerState::kLocked, Hertz(*mhz * 1e6)};
}

ClockState read_state(MappingReader& fields, const DeviceSpec& device) {
  const ConfigNode* value = fields.take("state");
  if (value != nullptr && value->kind == ConfigNode::Kind::kMapping) {
    return locked_state(fields, *value, device);
  }
  return {fields.optional_choice<PowerState>("state", kOperatorStates, PowerState::kWarm), {}};
}

// --- kinds ------------------------------------------------------------------------------------

Op read_memory_bound(MappingReader& fields, Dtype dtype, const DeviceSpec& /*device*/) {
  static const auto kinds = with_aliases(named_values<Kind>(), kMemoryBoundAliases);
  MemoryBound op;
  op.kind = fields.required_choice<Kind>("op", kinds);
  op.rows = fields.required_count("rows", kSize);
  op.cols = fields.required_count("cols", kSize);
  op.element = size_of(dtype);
  op.direction =
      fields.optional_choice<Direction>("pass", enum_names<Direction>(), Direction::kForward);
  op.implementation = fields.optional_choice<Implementation>(
      "implementation", enum_names<Implementation>(), Implementation::kFused);
  op.taps = fields.optional_count("taps", 1, kTaps);
  check_elements(fields, "rows", real(op.rows) * real(op.cols));
  return {.work = op};
}

struct LineKind {
  std::string_view name;
  Units units;  // that must have a rate of the operator's format
  Op (*read)(MappingReader& fields, Dtype dtype, const DeviceSpec& device);
  // Besides those of all; those before the semicolon must be there.
  std::string_view keys;
};
constexpr std::string_view kExchangeKeys =
    "tokens, hidden, experts, topk, ep; dispatcher, version, low_latency, primitive, pass, stride, "
    "num_sms, groups, groups_per_token, capacity_factor, routing";
constexpr auto kLineKinds = std::to_array<LineKind>({
    {"gemm", Units::kMatrix, &read_gemm,
     "m, n, k; batch, pass, accumulate, fp32_result, precise_accumulation, cached_bytes, launch"},
    {"grouped_gemm", Units::kMatrix, &read_grouped_gemm,
     "n, k; groups, m_total, counts, pass, accumulate, fp32_result, precise_accumulation, launch"},
    {"attention", Units::kMatrix, &read_attention,
     "batch, seq, heads, d_qk; implementation, seq_kv, kv_heads, d_v, causal, window, sinks, "
     "dropout, document_length, document_lengths, pass, launch"},
    {"linear_attention", Units::kMatrix, &read_linear_attention,
     "batch, seq, heads, d_k; qk_heads, d_v, chunk, rule, pass, launch"},
    {"sparse_attention", Units::kMatrix, &read_sparse_attention,
     "batch, seq, heads, d_qk, chosen; seq_kv, kv_heads, d_v, ratio, window, sinks, "
     "implementation, pass, launch"},
    {"index_scores", Units::kMatrix, &read_index_scores,
     "batch, seq, heads, d, chosen; seq_kv, ratio, teacher_heads, teacher_d, pass, launch"},
    {"memory_bound", Units::kOther, &read_memory_bound,
     "op, rows, cols; pass, implementation, taps, launch"},
    {"collective", Units::kOther, &read_collective,
     "op, bytes, ranks; stride, algorithm, protocol, imbalance, launch"},
    {"dispatch", Units::kOther, &read_dispatch, kExchangeKeys},
    {"combine", Units::kOther, &read_combine, kExchangeKeys},
});

const LineKind& read_kind(MappingReader& fields) {
  static const std::vector<NamedValue<const LineKind*>> kinds = [] {
    std::vector<NamedValue<const LineKind*>> values;
    values.reserve(kLineKinds.size());
    for (const LineKind& kind : kLineKinds) {
      values.push_back({kind.name, &kind});
    }
    return values;
  }();
  return *fields.required_choice<const LineKind*>("kind", kinds);
}

// Whether `key` is one of a list's words.
bool lists(std::string_view keys, std::string_view key) {
  while (!keys.empty()) {
    const std::size_t end = keys.find_first_of(",;");
    if (keys.substr(0, end) == key) {
      return true;
    }
    keys = end == std::string_view::npos ? std::string_view{} : keys.substr(end + 2);
  }
  return false;
}

// `graph` and `launch` are two ways of saying it, which must not contradict each other.
Launch read_launch(MappingReader& fields, const LineKind& kind) {
  const Launch by_graph =
      fields.optional_flag("graph").value_or(false) ? Launch::kGraph : Launch::kStream;
  if (!fields.has("launch")) {
    return by_graph;
  }
  const auto launch = fields.required_choice<Launch>("launch", kLaunches);
  if (!fields.good({"launch", "graph"})) {
    return launch;
  }
  if (fields.has("graph") && (launch == Launch::kGraph) != (by_graph == Launch::kGraph)) {
    fields.error("graph", "contradicts 'launch'; leave one of them out");
  }
  if (launch == Launch::kEager && kind.read != &read_collective) {
    fields.error("launch",
                 "is eager, which only a collective can be: its host launches call after call; "
                 "give stream, graph or none");
  }
  return launch;
}

KernelContext context_of(const OperatorLine& line, const DeviceSpec& device, Detail detail) {
  const Seconds launch = line.launch == Launch::kStream  ? device.launch_latency
                         : line.launch == Launch::kGraph ? device.graph_launch_latency
                                                         : Seconds{};
  const Seconds captured = line.launch == Launch::kGraph ? device.collectives.captured : Seconds{};
  return {device, device.clock.peak, device.compute_units, launch, detail, line.cached, captured};
}

}  // namespace

std::span<const NamedValue<Dtype>> dtype_names() {
  static const std::vector<NamedValue<Dtype>> names = [] {
    std::vector<NamedValue<Dtype>> values;
    values.reserve(kDtypes.size());
    for (const DtypeInfo& dtype : kDtypes) {
      values.push_back({dtype.name, dtype.dtype});
    }
    return with_aliases(std::move(values), kDtypeAliases);
  }();
  return names;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  std::ranges::transform(kLineKinds, std::back_inserter(names),
                         [](const LineKind& kind) { return std::string(kind.name); });
  return names;
}

std::string keys_of_operator(std::string_view name) {
  const auto* const kind = std::ranges::find(kLineKinds, name, &LineKind::name);
  return kind == kLineKinds.end() ? "" : std::string(kind->keys) + "; dtype, state, graph";
}

ClusterSpec fabric_of(const DeviceSpec& device, const HostSpec& host) {
  ClusterSpec fabric = cluster_of(device, kFabricNodes);
  fabric.host = host;
  return fabric;
}

OperatorLine read_operator(MappingReader& fields, const DeviceSpec& device) {
  OperatorLine line;
  const LineKind& kind = read_kind(fields);
  if (!fields.good({"kind"})) {
    return line;  // what the other fields mean is not known
  }
  line.dtype = read_dtype(fields, device, kind.units);
  line.state = read_state(fields, device);
  line.launch = read_launch(fields, kind);
  line.op = kind.read(fields, line.dtype, device);
  if (std::holds_alternative<Gemm>(line.op.work)) {
    line.cached = Bytes(real(fields.optional_count("cached_bytes", 0, kSizeOrNone)));
  }
  fields.refuse_misspelt({"count", "group"});
  return line;
}

void refuse_keys_of_other_kinds(MappingReader& fields) {
  if (!fields.good({"kind"})) {
    return;
  }
  for (const ConfigEntry& entry : fields.node().entries) {
    const bool of_a_kind = std::ranges::any_of(
        kLineKinds, [&entry](std::string_view keys) { return lists(keys, entry.key); },
        &LineKind::keys);
    if (of_a_kind && !fields.asked(entry.key)) {
      fields.error(entry.key,
                   "says nothing of this kind of operator and would not be priced; leave it out");
    }
  }
}

PricedOp price(const OperatorLine& line, const CostModel& model, const ClusterSpec& cluster,
               Detail detail) {
  PricedOp priced =
      price_at(line.state, line.op, model, context_of(line, cluster.device, detail), cluster);
  const auto* collective = std::get_if<Collective>(&line.op.work);
  if (line.launch == Launch::kEager && collective != nullptr && collective->group.size > 1) {
    wait_for_host(*collective, cluster, detail, priced);
  }
  return priced;
}

OpCost price_at_clock(const OperatorLine& line, const CostModel& model, const ClusterSpec& cluster,
                      Hertz clock) {
  KernelContext context = context_of(line, cluster.device, Detail::kDuration);
  context.clock = clock;
  return model.cost(line.op, context, cluster);
}

}  // namespace stepcast
