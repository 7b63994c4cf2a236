// SPDX-License-Identifier: Apache-2.0
#include "importers/nanotron_grid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "importers/degree_range.hpp"
#include "importers/nanotron_network.hpp"
#include "stepcast/graph/model_ranges.hpp"
#include "stepcast/graph/parameter_inventory.hpp"

namespace stepcast {
namespace {

constexpr Range<double> kWhole{1.0, 1e9};  // written with a decimal point: 8.0
constexpr std::int64_t kGpusPerNode = 8;
constexpr std::int64_t kKeyHeadsOfFew = 8;  // of runs whose name ends in gqa8

enum class Outcome { kSuccess, kOutOfMemory, kOther };
constexpr std::array<NamedValue<Outcome>, 3> kOutcomes = {
    {{"Success", Outcome::kSuccess}, {"OOM", Outcome::kOutOfMemory}, {"Other", Outcome::kOther}}};
constexpr std::array<NamedValue<bool>, 2> kFlags = {{{"True", true}, {"False", false}}};
constexpr std::array<NamedValue<bool>, 2> kTpModes = {
    {{"REDUCE_SCATTER", true}, {"ALL_REDUCE", false}}};

std::int64_t whole(JsonFields& fields, std::string_view key) {
  return static_cast<std::int64_t>(std::llround(fields.required_number(key, kWhole)));
}

// "1.34G_dp8_..." names the model by its parameters.
double named_parameters(const std::string& name) {
  double billions = 0.0;
  const char* end = name.data() + name.size();
  const auto [stopped, fault] = std::from_chars(name.data(), end, billions);
  return fault == std::errc{} && stopped != end && *stopped == 'G' ? billions * 1e9 : 0.0;
}

// Runs that failed do not say whether the embeddings are tied; the model's name does.
bool is_tied(ModelSpec model, double named) {
  const auto off = [&](bool tied) {
    model.tied_embeddings = tied;
    return std::abs(static_cast<double>(count_parameters(model).total) - named);
  };
  return named > 0.0 && off(true) < off(false);
}

// Of the model whose size a name gives: variants with fewer key heads or another vocabulary keep
// it.
std::int64_t named_width(ModelSpec model, double named) {
  constexpr std::int64_t kStep = 1024;  // all widths of the grid are multiples
  model.vocabulary = 131'072;
  model.attention.kv_heads = model.attention.heads;
  const auto parameters = [&](std::int64_t width) {
    model.mlp.ffn_hidden = width;
    return static_cast<double>(count_parameters(model).total);
  };
  const double narrow = parameters(kStep);
  const double steps = (named - narrow) / (parameters(2 * kStep) - narrow);
  return kStep * std::max<std::int64_t>(1, 1 + std::llround(steps));
}

ModelSpec model_from(JsonFields& fields, const std::string& name) {
  ModelSpec model;
  model.name = name.substr(0, name.find('_'));
  model.hidden = fields.required_count("hidden_size", kWidth);
  model.layers = fields.required_count("num_layers", kMeasuredDegree);
  model.vocabulary = fields.required_count("vocab_size", kWidth);
  AttentionSpec& attention = model.attention;
  attention.heads = fields.required_count("num_heads", kMeasuredDegree);
  attention.qk_head_dim = std::max<std::int64_t>(1, model.hidden / attention.heads);
  attention.v_head_dim = attention.qk_head_dim;
  const double named = named_parameters(name);
  model.mlp.ffn_hidden = fields.has("interm_dim") ? fields.required_count("interm_dim", kWidth)
                         : named > 0.0            ? named_width(model, named)
                                                  : 0;
  const bool few = name.ends_with("_gqa8");
  attention.kv_heads = fields.has("num_kv_heads") ? whole(fields, "num_kv_heads")
                       : few                      ? kKeyHeadsOfFew
                                                  : attention.heads;
  model.tied_embeddings = fields.has("tie_word_embeddings")
                              ? fields.required_choice<bool>("tie_word_embeddings", kFlags)
                              : is_tied(model, named);
  return model;
}

struct Row {
  std::int64_t nodes = 1;
  PlanRequest plan;
  TrainingRecipe training;
  Outcome outcome = Outcome::kOther;
  bool after_fix = false;
};

Row row_from(JsonFields& fields) {
  Row row;
  row.nodes = whole(fields, "nodes");
  const std::int64_t dp = fields.required_count("dp", kMeasuredDegree);
  PlanRequest& plan = row.plan;
  plan.given = true;
  plan.tp = fields.required_count("tp", kMeasuredDegree);
  plan.pp = fields.required_count("pp", kMeasuredDegree);
  plan.dp = dp;
  plan.zero = fields.required_count("zero_stage", {0, 3});
  plan.sequence_parallel = fields.required_choice<bool>("tp_mode", kTpModes) && plan.tp > 1;
  plan.layout = "balanced";
  TrainingRecipe& training = row.training;
  training.sequence_length = fields.required_count("seq_len", kWidth);
  training.micro_batch_size = fields.required_count("mbs", kMeasuredDegree);
  training.global_batch_size = training.micro_batch_size * whole(fields, "batch_accum") * dp;
  row.outcome = fields.required_choice<Outcome>("status", kOutcomes);
  row.after_fix = fields.required_choice<bool>("after_pp_fix", kFlags);
  return row;
}

std::string group_of(const Row& row) {
  const std::string grid = "h100_sxm nanotron ";
  if (row.plan.pp > 1 && !row.after_fix) {
    return grid + "pp>1, before the fix";
  }
  return grid + (row.plan.tp > kGpusPerNode ? "tp>8" : row.plan.pp > 1 ? "pp>1" : "pp1 tp<=8");
}

std::vector<MeasuredQuantity> quantities_of(JsonFields& fields, const Row& row, bool measured) {
  std::vector<MeasuredQuantity> quantities;
  if (row.outcome == Outcome::kOther) {
    return {{"tokens_per_second_per_gpu", 0.0, "h100_sxm nanotron, ended by a fault",
             "input missing: the run ended by a timeout or another fault"}};
  }
  if (row.outcome == Outcome::kSuccess) {
    MeasuredQuantity rate{"tokens_per_second_per_gpu",
                          fields.required_number("tok/s/gpu", {1e-3, 1e9}), group_of(row), ""};
    if (row.plan.pp > 1 && !row.after_fix) {
      rate.skipped = "not trusted: measured before the fix of the pipeline";
    } else if (!measured) {
      rate.skipped = "input missing: bandwidth of the network";
    }
    quantities.push_back(std::move(rate));
  }
  quantities.push_back(
      {"fits", row.outcome == Outcome::kSuccess ? 1.0 : 0.0, "h100_sxm nanotron memory", ""});
  return quantities;
}

}  // namespace

MeasuredRun read_nanotron_run(KernelRow row) {
  MeasuredRun run;
  if (const auto name = row.object.find("name"); name != row.object.end()) {
    run.id = name->second.text;  // whole: long names differ in their ends
  }
  JsonFields fields = row.fields();
  fields.required_text("name");
  run.gpu = "h100_sxm";
  const Row read = row_from(fields);
  Experiment experiment;
  experiment.model = model_from(fields, run.id);
  const std::optional<MeasuredNetwork> network = read_measured_network(fields);
  run.group = group_of(read);
  run.quantities = quantities_of(fields, read, network.has_value());
  fields.finish();
  if (experiment.model.mlp.ffn_hidden == 0) {
    run.skipped = "input missing: interm_dim, the width of the model's feed-forward blocks";
    return run;
  }
  experiment.plan = read.plan;
  experiment.training = read.training;
  experiment.cluster = cluster_of(row.profiles.gpu(run.gpu), read.nodes);
  if (network) {
    run.network = state_of(*network);
    const GridGroups groups{read.plan.tp, read.plan.zero == 0};
    experiment.cluster = with_network(*network, groups, std::move(experiment.cluster));
  }
  experiment.software = row.profiles.software("nanotron");
  // DDP's hook reduces whole buckets beside backward. Where ZeRO divides them the runs take longer
  // by about what that is alone.
  experiment.software.overlap_grad_reduce = read.plan.zero == 0;
  run.experiment = std::move(experiment);
  return run;
}

}  // namespace stepcast
