// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "stepcast/base/real.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/model/model_ranges.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast {
namespace {

// --- the row ----------------------------------------------------------------------------------

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

// --- the network ------------------------------------------------------------------------------
// The network of a run of nanotron's grid, from the bus bandwidths (GB/s) that the run measured
// over all of its ranks and inside a node, as the keys of a cluster on which collectives take as
// long.
//
//   h = (S (n - 1) / n / B - S (g - 1) / g / b) / n
//
// is what a ring over all n ranks takes at each rank beyond its time inside a node: S the tensor
// measured with, B the mean rate of all-gather and reduce-scatter, b the rate of all-gather inside
// a node of g ranks.

struct MeasuredNetwork {
  BytesPerSecond all_reduce;
  BytesPerSecond rings;  // all-gather and reduce-scatter, by time
  BytesPerSecond all_reduce_inside;
  BytesPerSecond all_gather_inside;
};

constexpr Range<double> kGigabytes{1e-3, 1e4};

// Of the tensor that the runs measured their network with. It is not stated: at this size the time
// of a step that follows is the one that tensor-parallel groups over 2 and 4 nodes show, 40 us
// while the network was sound and 300 us while it was not, whatever the size of their messages.
constexpr Bytes kBenchmarkTensor{1024.0 * 1024 * 1024};

// Inside a node the runs gathered either at 256 to 266 GB/s or at 220 to 247. In the latter
// everything waits: groups inside a node, too, take a step of the network's length at each rank. In
// the former groups inside a node are as fast as on one node alone.
constexpr BytesPerSecond kSoundGather{250e9};

// Some runs all-reduced there at 45 GB/s, a NIC's rate, where others did at 420 to 460: their GPUs
// did not reach each other over the scale-up fabric.
constexpr BytesPerSecond kAnyFabricInside{219e9};

bool is_sound(const MeasuredNetwork& network) { return network.all_gather_inside >= kSoundGather; }

BytesPerSecond nominal_rate(const ScaleOutSpec& nics) {
  return nics.nics_per_gpu * nics.efficiency * nics.nic_rate;
}

Seconds step_of_rank(const MeasuredNetwork& network, const ClusterSpec& cluster) {
  const double ranks = real(cluster.gpus());
  const double inside = real(cluster.gpus_per_node);
  const Bytes sent = (ranks - 1.0) / ranks * kBenchmarkTensor;
  const Bytes sent_inside = (inside - 1.0) / inside * kBenchmarkTensor;
  const Seconds more = sent / network.rings - sent_inside / network.all_gather_inside;
  return max(Seconds{}, more) / ranks;
}

// Empty where the row lacks one of them.
std::optional<MeasuredNetwork> read_measured_network(MappingReader& fields) {
  for (const char* column : {"AllReduce (GB/s)", "AllGather (GB/s)", "ReduceScatter (GB/s)",
                             "AR Intra-node (GB/s)", "AG Intra-node (GB/s)"}) {
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
                         rate("AR Intra-node (GB/s)"), rate("AG Intra-node (GB/s)")};
}

// "sound", "slow inside nodes" or "no fabric inside nodes".
std::string state_of(const MeasuredNetwork& network) {
  return is_sound(network)                               ? "sound"
         : network.all_reduce_inside >= kAnyFabricInside ? "slow inside nodes"
                                                         : "no fabric inside nodes";
}

// What the cluster's keys say about the network of a row, on top of the nodes of the part.
class NetworkKeys {
 public:
  NetworkKeys(const MeasuredNetwork& network, const Row& row, const ClusterSpec& nodes)
      : network_(network), row_(row), nodes_(nodes) {
    if (nodes.gpus() > nodes.gpus_per_node) {
      add_steps(step_of_rank(network, nodes));
      add_rate();
    }
    add_scale_up();
  }

  Record cluster = Record::object();
  Record assumed = Record::array();

 private:
  void keep(const char* key, std::string value, const std::string& reason) {
    assumed.push_back("cluster." + std::string(key) + " " + value + ": " + reason);
    cluster[key] = std::move(value);
  }

  // Ranks in one node of the groups that leave it: of tensor-parallel groups if they do, else of
  // data-parallel ones.
  [[nodiscard]] double members_in_node() const {
    const double gpus = real(nodes_.gpus_per_node);
    return row_.tp > nodes_.gpus_per_node ? gpus : std::max(1.0, gpus / real(row_.tp));
  }

  // A ring that leaves its node takes the step at each of its ranks.
  void add_steps(Seconds step) {
    const double steps = is_sound(network_) ? members_in_node() : 1.0;
    const std::string rings = "rings over all ranks take that long a rank beyond their time inside";
    if (!is_sound(network_)) {
      keep("least_hop", format_quantity(step), rings + "; groups inside a node wait as well");
    }
    keep("least_network_hop", format_quantity(steps * step), rings);
  }

  // Rings over all nodes have the rate that all-reduces over all nodes had, of each GPU its part.
  // Groups of neighbouring nodes keep the NICs' rate. So does, in steps that are longer than its
  // bytes would take, the one all-reduce of all gradients under ZeRO; buckets without ZeRO are
  // bound by such steps, and the rate says how long these are.
  void add_rate() {
    const bool over_all = row_.tp <= nodes_.gpus_per_node;
    if (!over_all || !(is_sound(network_) || row_.zero == 0)) {
      return;
    }
    const BytesPerSecond rate = min(nominal_rate(nodes_.device.scale_out),
                                    network_.all_reduce / real(nodes_.gpus_per_node));
    keep("nic_rate", format_quantity(rate), "the run's all-reduce over all nodes, a GPU's part");
    cluster["nics_per_gpu"] = 1;
    cluster["nic_efficiency"] = 1;
  }

  void add_scale_up() {
    const DeviceSpec& device = nodes_.device;
    if (!device.collectives.in_switch) {
      return;
    }
    const double members = real(nodes_.gpus_per_node);
    const BytesPerSecond bus = 2.0 * (members - 1.0) / members *
                               device.collectives.in_switch->share * real(device.scale_up.links) *
                               device.scale_up.link_rate;
    const BytesPerSecond rate =
        std::min(1.0, network_.all_reduce_inside / bus) * device.scale_up.link_rate;
    keep("link_rate", format_quantity(rate), "the run's all-reduce inside a node");
  }

  const MeasuredNetwork& network_;
  const Row& row_;
  const ClusterSpec& nodes_;
};

// --- what was measured ------------------------------------------------------------------------

// Some runs lost 0.2 to 0.5 s at each message of their pipeline, whatever its size: a fault of the
// machine on that day, which says nothing of pipelines. Told by the measurement alone: what a step
// takes besides its products and the traffic of its gradients and parameters, the products at a
// rate that no run of the grid reaches by much, the traffic at what the run's rings over all ranks
// moved.
bool loses_messages(const Row& row, double parameters, const MeasuredNetwork& network,
                    double rate) {
  constexpr double kFlopsPerSecond = 200e12;
  constexpr double kBytesAParameter = 8.0;  // an all-reduce of fp32 gradients, twice their 4 bytes
  constexpr double kFault = 0.2;            // seconds a message
  const double of_gpu = row.tokens / static_cast<double>(row.nodes * kGpusPerNode);
  const double held = parameters / static_cast<double>(row.tp * row.pp);
  const double besides = of_gpu * (1.0 / rate - 6.0 * parameters / kFlopsPerSecond) -
                         kBytesAParameter * held / network.rings.value();
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
    const auto parameters = static_cast<double>(count_parameters(model).total);
    if (row.after_fix && network && loses_messages(row, parameters, *network, rate)) {
      record["group"][kRate] = "h100_sxm nanotron pp>1, messages held up";
      record["skipped"] = {
          {kRate, "not trusted: the machine held up each message by 0.2 s or more"}};
    }
    if (row.pp > 1 && !row.after_fix) {
      record["skipped"] = {{kRate, "not trusted: measured before the fix of the pipeline"}};
    } else if (!network) {
      record["skipped"] = {{kRate, "input missing: bandwidth of the network"}};
    }
  }
  record["measured"]["fits"] = row.outcome == Outcome::kSuccess;
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
    const ClusterSpec nodes = cluster_of(row.profiles.gpu("h100_sxm"), read.nodes);
    const NetworkKeys keys(*network, read, nodes);
    cluster.update(keys.cluster);
    assumed = keys.assumed;
  }
  Record plan = read.plan;
  if (read.pp > 1) {
    plan["stage_layout"] = nanotron_stages(model, read.pp);
    assumed.push_back("plan.stage_layout: by the cost of blocks, as nanotron divides them");
  }
  record["experiment"] = {{"model", record_of(model)},
                          {"cluster", cluster},
                          {"training", read.training},
                          {"plan", plan},
                          {"software", "nanotron"}};
  record["assumed"] = assumed;
  records.push_back(std::move(record));
}

}  // namespace stepcast
