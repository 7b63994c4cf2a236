// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/optimizer_spec.hpp"

#include <array>

#include "stepcast/config/enum_fields.hpp"

namespace stepcast {
namespace {

// As a text, "adam" is what many frameworks call it.
constexpr std::array<NamedValue<OptimizerKind>, 5> kOptimizers = {
    {{"adamw", OptimizerKind::kAdamW},
     {"adam", OptimizerKind::kAdamW},
     {"sgd", OptimizerKind::kSgd},
     {"adafactor", OptimizerKind::kAdafactor},
     {"muon", OptimizerKind::kMuon}}};

constexpr Range<std::int64_t> kCores{1, 4096};

constexpr double kBlock = 256.0;  // elements with one scale, of bitsandbytes and of torchao

// --- reading ----------------------------------------------------------------------------------

std::optional<StateFormat> read_format(MappingReader& reader, std::string_view key,
                                       std::optional<StateFormat> fallback) {
  const ConfigNode* value = reader.take(key);
  return value == nullptr ? fallback
                          : reader.choice<StateFormat>(key, *value, enum_names<StateFormat>());
}

constexpr std::string_view kMomentumKey = "momentum_dtype";

// A format, or "none".
MomentumSpec read_momentum(MappingReader& reader, MomentumSpec fallback) {
  const ConfigNode* value = reader.take(kMomentumKey);
  if (value == nullptr) {
    return fallback;
  }
  std::vector<NamedValue<MomentumSpec>> choices;
  for (const NamedValue<StateFormat>& format : enum_names<StateFormat>()) {
    choices.push_back({format.name, {true, format.value}});
  }
  choices.push_back({"none", {false, {}}});
  return reader.choice<MomentumSpec>(kMomentumKey, *value, choices).value_or(fallback);
}

AdamWSpec read_adamw(MappingReader& reader) {
  AdamWSpec spec;
  spec.first = spec.second = read_format(reader, "moments", std::nullopt);
  for (const std::string_view key : {"first_moment", "second_moment"}) {
    if (reader.has("moments") && reader.has(key)) {
      reader.error(key, "must be left out where moments says the format of both");
    }
  }
  spec.first = read_format(reader, "first_moment", spec.first);
  spec.second = read_format(reader, "second_moment", spec.second);
  if (spec.first.has_value() != spec.second.has_value()) {
    const bool first = spec.first.has_value();
    reader.error(first ? "first_moment" : "second_moment",
                 std::string("needs ") + (first ? "second_moment" : "first_moment") +
                     " beside it; or write moments for both");
    spec = {};
  }
  return spec;
}

MuonSpec read_muon(MappingReader& reader) {
  constexpr Range<std::int64_t> kSteps{1, 100};
  MuonSpec spec;
  spec.steps = reader.optional_count("steps", spec.steps, kSteps);
  spec.momentum = read_format(reader, kMomentumKey, spec.momentum);
  spec.nesterov = reader.optional_flag("nesterov").value_or(spec.nesterov);
  spec.qkv = reader.optional_choice("qkv", enum_names<QkvMatrices>(), spec.qkv);
  spec.tp_mode = reader.optional_choice("tp_mode", enum_names<MuonTensorParallel>(), spec.tp_mode);
  if (const ConfigNode* sharding = reader.take("sharding")) {
    spec.sharding = reader.choice<MuonSharding>("sharding", *sharding, enum_names<MuonSharding>());
  }
  if (std::optional<MappingReader> adamw = reader.optional_mapping("adamw")) {
    spec.adamw = read_adamw(*adamw);
    adamw->finish();
  }
  return spec;
}

// `true`, or what differs from it.
std::optional<OptimizerOffload> read_offload(MappingReader& reader) {
  const ConfigNode* value = reader.take("offload");
  if (value == nullptr) {
    return std::nullopt;
  }
  OptimizerOffload offload;
  if (value->kind != ConfigNode::Kind::kMapping) {
    return reader.flag("offload", *value).value_or(false) ? std::optional(offload) : std::nullopt;
  }
  MappingReader mapping(*value, reader.path_of("offload"), reader.diagnostics());
  offload.share = mapping.optional_number("share", offload.share, kFraction);
  offload.overlap = mapping.optional_flag("overlap").value_or(offload.overlap);
  offload.states = mapping.optional_choice("states", enum_names<OffloadedStates>(), offload.states);
  if (const ConfigNode* cores = mapping.take("cores")) {
    offload.cores = mapping.count("cores", *cores, kCores);
  }
  mapping.finish();
  return offload;
}

OptimizerSpec of_kind(OptimizerKind kind) {
  using Rule = decltype(OptimizerSpec::rule);
  const std::array<Rule, 4> rules = {AdamWSpec{}, SgdSpec{}, AdafactorSpec{}, MuonSpec{}};
  return {rules.at(static_cast<std::size_t>(kind)), {}, {}};
}

// Reads into the rule that the kind has.
struct RuleReader {
  MappingReader& reader;
  void operator()(AdamWSpec& rule) const { rule = read_adamw(reader); }
  void operator()(SgdSpec& rule) const { rule.momentum = read_momentum(reader, rule.momentum); }
  void operator()(AdafactorSpec& rule) const {
    rule.momentum = read_momentum(reader, rule.momentum);
  }
  void operator()(MuonSpec& rule) const { rule = read_muon(reader); }
};

// --- writing ----------------------------------------------------------------------------------

void write_adamw(const AdamWSpec& spec, ConfigWriter& writer) {
  if (!spec.first || !spec.second) {
    return;
  }
  if (spec.first == spec.second) {
    writer.field("moments", name(*spec.first));
    return;
  }
  writer.field("first_moment", name(*spec.first));
  writer.field("second_moment", name(*spec.second));
}

void write_momentum(const MomentumSpec& momentum, ConfigWriter& writer) {
  if (!momentum.kept) {
    writer.field(kMomentumKey, "none");
  } else if (momentum.format) {
    writer.field(kMomentumKey, name(*momentum.format));
  }
}

struct RuleWriter {
  ConfigWriter& writer;
  void operator()(const AdamWSpec& rule) const { write_adamw(rule, writer); }
  void operator()(const SgdSpec& rule) const { write_momentum(rule.momentum, writer); }
  void operator()(const AdafactorSpec& rule) const { write_momentum(rule.momentum, writer); }
  void operator()(const MuonSpec& rule) const {
    writer.field("steps", rule.steps);
    write_momentum({true, rule.momentum}, writer);
    writer.field("nesterov", rule.nesterov);
    writer.field("qkv", name(rule.qkv));
    writer.field("tp_mode", name(rule.tp_mode));
    if (rule.sharding) {
      writer.field("sharding", name(*rule.sharding));
    }
    if (rule.adamw != AdamWSpec{}) {
      writer.begin("adamw");
      write_adamw(rule.adamw, writer);
      writer.end();
    }
  }
};

}  // namespace

Bytes size_of(StateFormat format) {
  constexpr std::array<Bytes, 5> kSizes = {Bytes(4), Bytes(2), Bytes(2), Bytes(1),
                                           Bytes(1.0 + 4.0 / kBlock)};
  return kSizes.at(static_cast<std::size_t>(format));
}

Bytes size_of(MasterCopy master) {
  constexpr std::array<Bytes, 5> kSizes = {Bytes(0), Bytes(4), Bytes(2), Bytes(2), Bytes(2)};
  return kSizes.at(static_cast<std::size_t>(master));
}

OptimizerSpec read_optimizer(MappingReader& recipe) {
  constexpr std::string_view kKey = "optimizer";
  const ConfigNode* value = recipe.take(kKey);
  if (value == nullptr) {
    return {};
  }
  if (value->kind != ConfigNode::Kind::kMapping) {
    return of_kind(
        recipe.choice<OptimizerKind>(kKey, *value, kOptimizers).value_or(OptimizerKind::kAdamW));
  }
  MappingReader reader(*value, recipe.path_of(kKey), recipe.diagnostics());
  OptimizerSpec spec = of_kind(reader.required_choice<OptimizerKind>("kind", kOptimizers));
  std::visit(RuleReader{reader}, spec.rule);
  if (const ConfigNode* master = reader.take("master")) {
    spec.master = reader.choice<MasterCopy>("master", *master, enum_names<MasterCopy>());
  }
  spec.offload = read_offload(reader);
  if (spec.offload && spec.kind() == OptimizerKind::kMuon) {
    reader.error("offload", "must be left out of muon, whose matrices no host iterates on");
    spec.offload.reset();
  }
  spec.paged = reader.optional_flag("paged").value_or(spec.paged);
  if (spec.paged && spec.kind() != OptimizerKind::kAdamW) {
    reader.error("paged", "must be left out of any optimizer but adamw, whose moments are paged");
  } else if (spec.paged && spec.offload) {
    reader.error("paged", "must be left out beside offload, which has the moments on the host");
  }
  reader.finish();
  return spec;
}

ConfigNode written_optimizer(const OptimizerSpec& optimizer) {
  const std::string_view kind = name(optimizer.kind());
  if (optimizer == of_kind(optimizer.kind())) {
    return scalar_node(kind);
  }
  ConfigWriter writer;
  writer.field("kind", kind);
  std::visit(RuleWriter{writer}, optimizer.rule);
  if (optimizer.master) {
    writer.field("master", name(*optimizer.master));
  }
  if (optimizer.offload) {
    writer.begin("offload");
    writer.field("share", optimizer.offload->share);
    writer.field("overlap", optimizer.offload->overlap);
    writer.field("states", name(optimizer.offload->states));
    if (optimizer.offload->cores) {
      writer.field("cores", *optimizer.offload->cores);
    }
    writer.end();
  }
  if (optimizer.paged) {
    writer.field("paged", optimizer.paged);
  }
  return writer.take();
}

}  // namespace stepcast
