// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/nanotron_grid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "stepcast/graph/parameter_inventory.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kDegree{1, 1 << 16};
constexpr Range<std::int64_t> kWidth{1, 1 << 24};
constexpr Range<double> kWhole{1.0, 1e9};  // written with a decimal point: 8.0
constexpr Range<double> kGigabytes{1e-3, 1e4};
constexpr std::int64_t kGpusPerNode = 8;
constexpr std::int64_t kKeyHeadsOfFew = 8;  // of runs whose name ends in gqa8
// Of the tensor that the runs measured their network with. It is not stated: at this size the time
// of a hop that follows is the one that tensor-parallel groups over 2 and 4 nodes show, 0.3 ms a
// node while the network was sound and 2.4 ms while it was not, whatever the size of their
// messages.
constexpr Bytes kBenchmarkTensor{1024.0 * 1024 * 1024};

// Inside a node the runs measured either 450 to 461 GB/s or 419 to 427. In the latter everything
// waits: groups inside a node, too, take a hop of the network's length at each rank. In the former
// groups inside a node are as fast as on one node alone.
constexpr BytesPerSecond kSoundInside{438e9};

// Some runs measured 45 GB/s there: their GPUs did not reach each other over the scale-up fabric.
constexpr BytesPerSecond kAnyFabricInside = 0.5 * kSoundInside;

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
  model.layers = fields.required_count("num_layers", kDegree);
  model.vocabulary = fields.required_count("vocab_size", kWidth);
  AttentionSpec& attention = model.attention;
  attention.heads = fields.required_count("num_heads", kDegree);
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

// Bus bandwidths that a run measured over all of its ranks, and inside a node.
struct MeasuredNetwork {
  BytesPerSecond all_reduce;
  BytesPerSecond rings;  // all-gather and reduce-scatter, by time
  BytesPerSecond all_reduce_inside;
};

std::optional<MeasuredNetwork> network_from(JsonFields& fields) {
  for (const char* column :
       {"AllReduce (GB/s)", "AllGather (GB/s)", "ReduceScatter (GB/s)", "AR Intra-node (GB/s)"}) {
    if (!fields.has(column)) {
      return std::nullopt;
    }
  }
  const auto rate = [&fields](const char* column) {
    return BytesPerSecond(1e9 * fields.required_number(column, kGigabytes));
  };
  const BytesPerSecond gather = rate("AllGather (GB/s)");
  const BytesPerSecond scatter = rate("ReduceScatter (GB/s)");
  return MeasuredNetwork{rate("AllReduce (GB/s)"),
                         BytesPerSecond(2.0 / (1.0 / gather.value() + 1.0 / scatter.value())),
                         rate("AR Intra-node (GB/s)")};
}

std::string state_of(const MeasuredNetwork& network) {
  const BytesPerSecond inside = network.all_reduce_inside;
  return inside >= kSoundInside       ? "sound"
         : inside >= kAnyFabricInside ? "slow inside nodes"
                                      : "no fabric inside nodes";
}

// What a ring over all ranks takes a rank besides the time of its bytes at the NICs' full rate.
Seconds hop_of_rank(const MeasuredNetwork& network, const ClusterSpec& cluster) {
  const ScaleOutSpec& nics = cluster.device.scale_out;
  const BytesPerSecond node =
      static_cast<double>(kGpusPerNode) * nics.nics_per_gpu * nics.efficiency * nics.nic_rate;
  const auto ranks = static_cast<double>(cluster.gpus());
  const Bytes sent = (ranks - 1.0) / ranks * kBenchmarkTensor;
  return max(Seconds{}, sent / network.rings - sent / node) / ranks;
}

void set_network(const MeasuredNetwork& network, bool reduces_whole, ClusterSpec& cluster) {
  DeviceSpec& device = cluster.device;
  CollectiveConstants& library = device.collectives;
  const Seconds hop = hop_of_rank(network, cluster);
  const bool disturbed = network.all_reduce_inside < kSoundInside;
  const double hops = disturbed ? 1.0 : static_cast<double>(kGpusPerNode);
  for (ProtocolConstants* protocol : {&library.ll, &library.ll128, &library.simple}) {
    if (disturbed) {
      protocol->hop = max(protocol->hop, hop);
    }
    protocol->network_hop = max(protocol->network_hop, hops * hop);
  }
  if (reduces_whole) {
    ScaleOutSpec& nics = device.scale_out;
    const BytesPerSecond nominal = nics.nics_per_gpu * nics.efficiency * nics.nic_rate;
    nics.nic_rate = min(nominal, network.all_reduce / static_cast<double>(kGpusPerNode));
    nics.nics_per_gpu = 1.0;
    nics.efficiency = 1.0;
  }
}

void set_scale_up(const MeasuredNetwork& network, DeviceSpec& device) {
  if (!device.collectives.in_switch) {
    return;
  }
  const auto members = static_cast<double>(kGpusPerNode);
  const BytesPerSecond bus = 2.0 * (members - 1.0) / members * device.collectives.in_switch->share *
                             static_cast<double>(device.scale_up.links) * device.scale_up.link_rate;
  device.scale_up.link_rate =
      std::min(1.0, network.all_reduce_inside / bus) * device.scale_up.link_rate;
}

// The cluster on which collectives take as long as the run measured.
ClusterSpec cluster_from(const MeasuredNetwork& network, const Row& row, ClusterSpec cluster) {
  if (row.nodes > 1) {
    set_network(network, row.plan.zero == 0 && row.plan.tp <= kGpusPerNode, cluster);
  }
  set_scale_up(network, cluster.device);
  return cluster;
}

Row row_from(JsonFields& fields) {
  Row row;
  row.nodes = whole(fields, "nodes");
  const std::int64_t dp = fields.required_count("dp", kDegree);
  PlanRequest& plan = row.plan;
  plan.given = true;
  plan.tp = fields.required_count("tp", kDegree);
  plan.pp = fields.required_count("pp", kDegree);
  plan.dp = dp;
  plan.zero = fields.required_count("zero_stage", {0, 3});
  plan.sequence_parallel = fields.required_choice<bool>("tp_mode", kTpModes) && plan.tp > 1;
  plan.layout = "balanced";
  TrainingRecipe& training = row.training;
  training.sequence_length = fields.required_count("seq_len", kWidth);
  training.micro_batch_size = fields.required_count("mbs", kDegree);
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
  const std::optional<MeasuredNetwork> network = network_from(fields);
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
    experiment.cluster = cluster_from(*network, read, std::move(experiment.cluster));
  }
  experiment.software = row.profiles.software("nanotron");
  // DDP's hook reduces whole buckets beside backward. Where ZeRO divides them the runs take longer
  // by about what that is alone.
  experiment.software.overlap_grad_reduce = read.plan.zero == 0;
  run.experiment = std::move(experiment);
  return run;
}

}  // namespace stepcast
