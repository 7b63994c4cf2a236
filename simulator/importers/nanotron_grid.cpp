// SPDX-License-Identifier: Apache-2.0
#include "importers/nanotron_grid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "importers/nanotron_network.hpp"
#include "stepcast/base/real.hpp"
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

std::int64_t whole(MappingReader& fields, std::string_view key) {
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

ModelSpec model_from(MappingReader& fields, const std::string& name) {
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

Record record_of(const ModelSpec& model) {
  return {{"name", model.name},
          {"hidden_size", model.hidden},
          {"layers", model.layers},
          {"vocabulary", model.vocabulary},
          {"tied_embeddings", model.tied_embeddings},
          {"attention",
           {{"heads", model.attention.heads.same()},
            {"kv_heads", model.attention.kv_heads.same()},
            {"head_dim", model.attention.qk_head_dim.same()}}},
          {"mlp", {{"ffn_hidden", model.mlp.ffn_hidden.same()}}}};
}

// NOLINTNEXTLINE(bugprone-exception-escape): JSON values move without throwing
struct Row {
  std::int64_t nodes = 1;
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t zero = 0;
  Record plan;
  Record training;
  double tokens = 0.0;    // of a step
  double messages = 0.0;  // one after the other in a step, of a pipeline
  Outcome outcome = Outcome::kOther;
  bool after_fix = false;
};

Row row_from(MappingReader& fields) {
  Row row;
  row.nodes = whole(fields, "nodes");
  const std::int64_t dp = fields.required_count("dp", kMeasuredDegree);
  row.tp = fields.required_count("tp", kMeasuredDegree);
  row.pp = fields.required_count("pp", kMeasuredDegree);
  row.zero = fields.required_count("zero_stage", {0, 3});
  const bool scatters = fields.required_choice<bool>("tp_mode", kTpModes) && row.tp > 1;
  row.plan = {{"tp", row.tp},
              {"pp", row.pp},
              {"dp", dp},
              {"zero", row.zero},
              {"sequence_parallel", scatters}};
  const std::int64_t sequence = fields.required_count("seq_len", kWidth);
  const std::int64_t mbs = fields.required_count("mbs", kMeasuredDegree);
  const std::int64_t micro_batches = whole(fields, "batch_accum");
  row.training = {{"sequence_length", sequence},
                  {"micro_batch_size", mbs},
                  {"global_batch_size", mbs * micro_batches * dp}};
  row.tokens = static_cast<double>(mbs * micro_batches * dp) * static_cast<double>(sequence);
  row.messages = 2.0 * static_cast<double>(micro_batches + row.pp - 1);
  row.outcome = fields.required_choice<Outcome>("status", kOutcomes);
  row.after_fix = fields.required_choice<bool>("after_pp_fix", kFlags);
  return row;
}

// Some runs lost 0.2 to 0.5 s at each message of their pipeline, whatever its size: a fault of the
// machine on that day, which says nothing of pipelines. Told by the measurement alone: what a step
// takes besides its products, these taken at a rate that no run of the grid reaches by much.
bool loses_messages(const Row& row, double parameters, double rate) {
  constexpr double kFlopsPerSecond = 200e12;
  constexpr double kFault = 0.2;  // seconds a message
  const double of_gpu = row.tokens / static_cast<double>(row.nodes * kGpusPerNode);
  const double besides = of_gpu * (1.0 / rate - 6.0 * parameters / kFlopsPerSecond);
  return row.pp > 1 && row.tp <= kGpusPerNode && besides / row.messages > kFault;
}

std::string group_of(const Row& row, const std::optional<MeasuredNetwork>& network) {
  const std::string grid = "h100_sxm nanotron ";
  if (row.pp > 1 && !row.after_fix) {
    return grid + "pp>1, before the fix";
  }
  if (row.pp > 1 && row.tp <= kGpusPerNode && network &&
      state_of(*network) == "no fabric inside nodes") {
    return grid + "pp>1, no fabric inside nodes";
  }
  return grid + (row.tp > kGpusPerNode ? "tp>8" : row.pp > 1 ? "pp>1" : "pp1 tp<=8");
}

void add_measured(MappingReader& fields, const Row& row, const ModelSpec& model,
                  const std::optional<MeasuredNetwork>& network, Record& record) {
  constexpr const char* kRate = "tokens_per_second_per_gpu";
  if (row.outcome == Outcome::kOther) {
    record["measured"] = {{kRate, 0.0}};
    record["group"] = "h100_sxm nanotron, ended by a fault";
    record["skipped"] = "input missing: the run ended by a timeout or another fault";
    return;
  }
  record["group"] = {{kRate, group_of(row, network)}, {"fits", "h100_sxm nanotron memory"}};
  record["measured"] = Record::object();
  if (row.outcome == Outcome::kSuccess) {
    const double rate = fields.required_number("tok/s/gpu", {1e-3, 1e9});
    record["measured"][kRate] = rate;
    if (row.after_fix &&
        loses_messages(row, static_cast<double>(count_parameters(model).total), rate)) {
      record["group"][kRate] = "h100_sxm nanotron pp>1, messages held up";
    }
    if (row.pp > 1 && !row.after_fix) {
      record["skipped"] = {{kRate, "not trusted: measured before the fix of the pipeline"}};
    } else if (!network) {
      record["skipped"] = {{kRate, "input missing: bandwidth of the network"}};
    }
  }
  record["measured"]["fits"] = row.outcome == Outcome::kSuccess;
}

// DDP's hook reduces whole buckets beside backward. Where ZeRO divides them the runs take longer by
// about what that is alone.
Record software_of(const Row& row, Record& assumed) {
  assumed.push_back(
      row.zero == 0
          ? "software.overlap_grad_reduce true: DDP's hook reduces whole buckets beside backward"
          : "software.overlap_grad_reduce false: with ZeRO the division of a bucket waits for it");
  return {{"base", "nanotron"}, {"overlap_grad_reduce", row.zero == 0}};
}

}  // namespace

std::string nanotron_stages(const ModelSpec& model, std::int64_t ranks) {
  const double hidden = real(model.hidden);
  const double layer = hidden * (4.0 * hidden + 3.0 * real(model.mlp.ffn_hidden));
  const double all = real(model.layers) * layer + hidden * real(model.vocabulary);
  std::vector<std::int64_t> layers(static_cast<std::size_t>(ranks));
  std::size_t rank = 0;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    ++layers[rank];
    const double until_here = real(i + 1) * layer;
    if (rank + 1 < layers.size() &&
        until_here > all * (static_cast<double>(rank + 1) / real(ranks))) {
      ++rank;
    }
  }
  std::string text = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    text += i > 0 ? "|" : "";
    text += layers[i] > 0 ? "t*" + std::to_string(layers[i]) : "";
  }
  return text + "L";
}

void read_nanotron_run(ForeignRow& row, std::vector<Record>& records) {
  const std::string id = row.text("name");  // whole: long names differ in their ends
  MappingReader fields = row.fields();
  fields.required_text("name");
  Record record = {{"id", id}};
  const Row read = row_from(fields);
  const ModelSpec model = model_from(fields, id);
  const std::optional<MeasuredNetwork> network = read_measured_network(fields);
  add_measured(fields, read, model, network, record);
  fields.report_missing();
  if (model.mlp.ffn_hidden == 0) {
    record["gpu"] = "h100_sxm";
    record["skipped"] = "input missing: interm_dim, the width of the model's feed-forward blocks";
    records.push_back(std::move(record));
    return;
  }
  Record assumed = Record::array();
  Record cluster = {{"gpu", "h100_sxm"}, {"nodes", read.nodes}};
  if (network) {
    record["network"] = state_of(*network);
    const NetworkKeys keys = keys_of(*network, {read.tp, read.zero == 0},
                                     cluster_of(row.profiles.gpu("h100_sxm"), read.nodes));
    cluster.update(keys.cluster);
    assumed = keys.assumed;
  }
  Record plan = read.plan;
  if (read.pp > 1) {
    plan["stage_layout"] = nanotron_stages(model, read.pp);
    assumed.push_back("plan.stage_layout: by the cost of blocks, as nanotron divides them");
  }
  Record software = software_of(read, assumed);
  record["experiment"] = {{"model", record_of(model)},
                          {"cluster", cluster},
                          {"training", read.training},
                          {"plan", plan},
                          {"software", software}};
  record["assumed"] = assumed;
  records.push_back(std::move(record));
}

}  // namespace stepcast
