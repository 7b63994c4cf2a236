// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/job_size.hpp"
#include "frameworks/maxtext.hpp"
#include "frameworks/maxtext_launch.hpp"
#include "frameworks/maxtext_words.hpp"
#include "frameworks/setting.hpp"
#include "frameworks/setting_reader.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/framework_keys.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/plan/parallel_plan.hpp"

namespace stepcast {
namespace {

// The axes of MaxText's device mesh, each a part between nodes (dcn_) times one within (ici_).
struct MaxTextMesh {
  std::int64_t data = 1;
  std::int64_t fsdp = 1;     // with fsdp_transpose
  std::int64_t context = 1;  // with sequence
  std::int64_t ulysses = 1;  // of context: heads are exchanged
  std::int64_t tensor = 1;   // with tensor_transpose and tensor_sequence
  std::int64_t pipeline = 1;
  std::int64_t expert = 1;

  [[nodiscard]] std::int64_t gpus() const {
    return data * fsdp * context * tensor * pipeline * expert;
  }
  [[nodiscard]] std::int64_t dp() const { return data * fsdp * expert; }
};

struct MeshAxis {
  std::string_view name;
  std::string_view ours;
  std::int64_t MaxTextMesh::*degree = nullptr;  // null: no training divides by it
  std::int64_t dcn_default = 1;
  std::int64_t ici_default = 1;
};
constexpr std::array kMeshAxes = {
    MeshAxis{"data", "plan.dp", &MaxTextMesh::data, -1, 1},
    MeshAxis{"fsdp", "plan.fsdp", &MaxTextMesh::fsdp, 1, -1},
    MeshAxis{"fsdp_transpose", "plan.fsdp", &MaxTextMesh::fsdp},
    MeshAxis{"sequence", "plan.cp", &MaxTextMesh::context},
    MeshAxis{"context", "plan.cp", &MaxTextMesh::context},
    MeshAxis{"context_usp_ulysses", "plan.cp", &MaxTextMesh::ulysses},
    MeshAxis{"tensor", "plan.tp", &MaxTextMesh::tensor},
    MeshAxis{"tensor_transpose", "plan.tp", &MaxTextMesh::tensor},
    MeshAxis{"tensor_sequence", "plan.tp", &MaxTextMesh::tensor},
    MeshAxis{"pipeline", "plan.pp", &MaxTextMesh::pipeline},
    MeshAxis{"expert", "plan.ep", &MaxTextMesh::expert},
    MeshAxis{"autoregressive", "plan.tp"},
    MeshAxis{"context_autoregressive", "plan.cp"},
    MeshAxis{"diloco", "plan.dp"},
};

using Degrees = std::array<std::int64_t, kMeshAxes.size()>;

class MeshReader {
 public:
  MeshReader(FrameworkReader& settings, const ImportInput& input)
      : settings_(settings),
        node_(gpus_per_node(input)),
        given_ranks_(input.nodes ? bounded_product(*input.nodes, node_) : 0) {}

  // Problems go to the reader's diagnostics, and every axis is 1 then.
  MaxTextMesh mesh() {
    const std::size_t before = settings_.diagnostics().entries().size();
    Degrees dcn = degrees("dcn_");
    Degrees ici = degrees("ici_");
    const bool whole = settle("ici_", ici, is_open(ici) ? node_ : 1);
    const std::int64_t inner = std::max<std::int64_t>(1, product(ici));
    const std::int64_t nodes = given_ranks_ > 0 ? given_ranks_ / inner : product(dcn);
    if (!whole || !settle("dcn_", dcn, is_open(dcn) ? nodes : product(dcn))) {
      return {};
    }
    MaxTextMesh mesh;
    for (std::size_t i = 0; i < kMeshAxes.size(); ++i) {
      const std::int64_t degree = bounded_product(dcn.at(i), ici.at(i));
      put(kMeshAxes.at(i), degree, mesh);
    }
    mesh.context = bounded_product(mesh.context, mesh.ulysses);
    check_job(bounded_product(product(dcn), product(ici)));
    return settings_.diagnostics().entries().size() == before ? mesh : MaxTextMesh{};
  }

 private:
  static std::string name_of(std::string_view part, const MeshAxis& axis) {
    return std::string(part) + std::string(axis.name) + "_parallelism";
  }

  Degrees degrees(std::string_view part) {
    Degrees degrees{};
    for (std::size_t i = 0; i < kMeshAxes.size(); ++i) {
      const MeshAxis& axis = kMeshAxes.at(i);
      const std::string name = name_of(part, axis);
      const std::int64_t usual = part == "dcn_" ? axis.dcn_default : axis.ici_default;
      std::int64_t degree = usual == 1 ? settings_.count(name, axis.ours).value_or(1)
                                       : settings_.count_or(name, axis.ours, usual);
      if (degree != -1 && (degree < 1 || degree > kDegree.highest)) {
        settings_.error(name, "must be -1, which means what is left, or a degree from 1");
        degree = 1;
      }
      degrees.at(i) = degree;
    }
    return degrees;
  }

  static bool is_open(const Degrees& degrees) {
    return std::find(degrees.begin(), degrees.end(), -1) != degrees.end();
  }
  // Of those that are given.
  static std::int64_t product(const Degrees& degrees) {
    std::int64_t product = 1;
    for (const std::int64_t degree : degrees) {
      product = bounded_product(product, std::max<std::int64_t>(1, degree));
    }
    return product;
  }

  // Puts what is left of `all` in the place of -1.
  bool settle(std::string_view part, Degrees& degrees, std::int64_t all) {
    auto* const open = std::find(degrees.begin(), degrees.end(), -1);
    if (open == degrees.end()) {
      return true;
    }
    const std::string name =
        name_of(part, kMeshAxes.at(static_cast<std::size_t>(open - degrees.begin())));
    if (std::count(degrees.begin(), degrees.end(), -1) > 1) {
      settings_.error(name, "is -1, and another " + std::string(part) +
                                " axis is as well; one of them can take what is left");
      return false;
    }
    const std::int64_t given = product(degrees);
    if (all < given || all % given != 0) {
      settings_.error(name, "is what is left of " + std::to_string(all) + ", which the other " +
                                std::string(part) + " axes, " + std::to_string(given) +
                                ", do not divide");
      return false;
    }
    *open = all / given;
    return true;
  }

  void put(const MeshAxis& axis, std::int64_t degree, MaxTextMesh& mesh) {
    if (axis.degree != nullptr) {
      mesh.*axis.degree = bounded_product(mesh.*axis.degree, degree);
    } else if (degree > 1) {
      settings_.error(name_of("ici_", axis), "and dcn_ together are " + std::to_string(degree) +
                                                 "; there is no such axis here");
    }
  }

  void check_job(std::int64_t ranks) {
    if (ranks > kMostRanks) {
      settings_.error("ici_tensor_parallelism",
                      "with the other axes makes more ranks than any job");
    } else if (given_ranks_ > 0 && given_ranks_ != ranks) {
      settings_.error("dcn_data_parallelism",
                      "with the other axes makes " + std::to_string(ranks) + " ranks, not the " +
                          std::to_string(given_ranks_) + " GPUs that were given");
    }
  }

  FrameworkReader& settings_;
  std::int64_t node_;  // GPUs
  // GPUs of the whole job where something beside the file says; 0 where nothing does.
  std::int64_t given_ranks_;
};

// A value as if nobody had written it: what is wrong with it is told at the key that it came from.
ConfigNode without_place(ConfigNode value) {
  static_cast<ConfigPlace&>(value) = {};
  for (ConfigNode& item : value.items) {
    item = without_place(std::move(item));
  }
  return value;
}

class MaxTextReader {
 public:
  MaxTextReader(FrameworkReader& settings, const ImportInput& input,
                std::span<const std::string> of_file)
      : settings_(settings), input_(input), of_file_(of_file), words_(maxtext_words(input.data)) {}

  FrameworkExperiment experiment() {
    if (std::optional<KeptModel> read = read_maxtext_model(settings_, words_, input_, of_file_)) {
      knows_layers_ = read->knows_layers;
      parts_.model_name = read->model.name;
      parts_.model = std::move(read->model);
    }
    mesh_ = MeshReader(settings_, input_).mesh();
    read_batch();
    parts_.training = training();
    parts_.plan = plan();
    read_software();
    leave_out_maxtext_keys(settings_, words_,
                           parts_.model ? parts_.model->attention : AttentionSpec{});
    parts_.gpus = mesh_.gpus();
    return std::move(parts_);
  }

 private:
  [[nodiscard]] bool has_experts() const { return parts_.model && parts_.model->moe; }
  [[nodiscard]] std::int64_t layers() const { return parts_.model ? parts_.model->layers : 1; }

  std::int64_t positive(std::string_view name, std::string_view ours, std::int64_t fallback) {
    constexpr std::int64_t kMost = 1 << 28;
    const std::int64_t value = settings_.count_or(name, ours, fallback);
    if (value < 1 || value > kMost) {
      settings_.error(name, "must be at least 1, not " + std::to_string(value));
      return 1;
    }
    return value;
  }

  // --- batch ---

  void read_batch() {
    sequence_ = positive("max_target_length", "training.sequence_length", 2048);
    const std::int64_t steps =
        positive("gradient_accumulation_steps", "training.global_batch_size", 1);
    const std::int64_t rank = sequences_of_rank();
    const std::int64_t batches = micro_batches();
    if (rank % batches != 0) {
      settings_.error("num_pipeline_microbatches",
                      "must divide the " + std::to_string(rank) + " sequences of a replica");
    }
    micro_ = std::max<std::int64_t>(1, rank / batches);
    global_ = bounded_product(bounded_product(rank, mesh_.dp()), steps);
    if (mesh_.pipeline > 1 && steps > 1) {
      settings_.leave_out(
          "gradient_accumulation_steps", std::to_string(steps),
          "MaxText drains its pipeline each time; here all micro-batches run as one");
    }
  }

  // Of the GPUs that share a replica of the batch together.
  std::int64_t sequences_of_rank() {
    constexpr double kUsual = 12.0;
    constexpr double kMost = 1e9;
    const std::optional<double> given =
        settings_.number("per_device_batch_size", "training.micro_batch_size");
    const auto shared = static_cast<double>(
        bounded_product(bounded_product(mesh_.tensor, mesh_.context), mesh_.pipeline));
    const double sequences = given.value_or(kUsual) * shared;
    const double whole = std::round(sequences);
    if (!(whole >= 1.0 && whole <= kMost) || std::abs(sequences - whole) > 1e-6 * whole) {
      settings_.error("per_device_batch_size",
                      "times the GPUs of a replica must be a whole number of sequences");
      return 1;
    }
    return static_cast<std::int64_t>(whole);
  }

  std::int64_t micro_batches() {
    if (mesh_.pipeline == 1) {
      return 1;
    }
    const std::int64_t given =
        settings_.count("num_pipeline_microbatches", "training.micro_batch_size").value_or(-1);
    return given < 1 ? mesh_.pipeline : given;
  }

  // --- training ---

  ConfigNode training() {
    ConfigWriter writer;
    writer.field("sequence_length", sequence_);
    writer.field("micro_batch_size", micro_);
    writer.field("global_batch_size", global_);
    writer.field("dtype", dtype());
    write_recompute(writer);
    writer.field("optimizer", optimizer());
    return writer.take();
  }

  // optax.sgd has no momentum, optax.contrib.muon its own.
  ConfigNode optimizer() {
    const std::string theirs = settings_.text_or("opt_type", "training.optimizer", "adamw");
    if (theirs == "muon") {
      return scalar_node("muon");
    }
    ConfigWriter writer;
    if (theirs == "sgd") {
      writer.field("kind", "sgd");
      writer.field("momentum_dtype", "none");
      return writer.take();
    }
    if (!theirs.starts_with("adam")) {
      settings_.leave_out("opt_type", theirs.substr(0, 60), "priced as AdamW");
    }
    const bool narrow = settings_.text("mu_dtype", "training.optimizer.first_moment") == "bfloat16";
    if (!narrow) {
      return scalar_node("adamw");
    }
    writer.field("kind", "adamw");
    writer.field("first_moment", "bf16");
    writer.field("second_moment", "fp32");
    return writer.take();
  }

  std::string dtype() {
    const std::string given = settings_.text("quantization", "training.dtype").value_or("");
    if (given.empty()) {
      return "bf16";
    }
    const std::optional<std::string> known = words_.ours_of("quantization", given);
    if (!known) {
      settings_.error("quantization", "is '" + given.substr(0, 60) +
                                          "', which is not supported; fp8, te_mxfp8, te_nvfp4 and "
                                          "none are");
    }
    return known.value_or("bf16");
  }

  void write_recompute(ConfigWriter& writer) {
    constexpr std::string_view kKey = "remat_policy";
    const std::string policy = settings_.text_or(kKey, "training.recompute", "full");
    const ConfigNode* const known = words_.switches_of(kKey, policy);
    if (known == nullptr) {
      settings_.error(kKey, "is '" + policy.substr(0, 60) + "', which is not known here");
      return;
    }
    for (const ConfigEntry& entry : known->entries) {
      writer.field(entry.key, without_place(entry.value));
    }
    if (std::string note = words_.nearest_note(kKey, policy); !note.empty()) {
      settings_.leave_out(kKey, policy, std::move(note));
    }
  }

  // --- plan ---

  ConfigNode plan() {
    ConfigWriter writer;
    writer.field("tp", mesh_.tensor);
    writer.field("pp", mesh_.pipeline);
    if (mesh_.pipeline > 1 && knows_layers_) {
      write_pipeline(writer);
    }
    if (has_experts()) {
      writer.field("ep", mesh_.expert);
      if (mesh_.tensor > 1) {
        writer.field("etp", mesh_.tensor);  // a matrix of an expert is cut as any other
      }
    } else if (mesh_.expert > 1) {
      settings_.error("ici_expert_parallelism", "needs a model with experts");
    }
    write_sharding(writer);
    if (mesh_.context > 1) {
      const std::string strategy =
          settings_.text_or("context_parallel_strategy", "plan.cp_algorithm", "all_gather");
      writer.field("cp", mesh_.context);
      writer.field("cp_algorithm", mesh_.ulysses > 1    ? "all_to_all"
                                   : strategy == "ring" ? "ring"
                                                        : "all_gather");
    }
    return writer.take();
  }

  void write_sharding(ConfigWriter& writer) {
    const std::int64_t group = mesh_.fsdp * mesh_.context * mesh_.expert;
    if (group > 1) {
      writer.field(mesh_.data > 1 ? "hsdp" : "fsdp", group);
    } else {
      const bool spread = settings_.is_on("shard_optimizer_over_data", "plan.zero");
      writer.field("zero", std::int64_t{spread ? 1 : 0});
    }
  }

  // Layers that the pipeline holds unless a file says so: all but the dense ones that stand before
  // those with experts (configs/types.py, decoder blocks of DeepSeek).
  [[nodiscard]] std::int64_t usually_piped() const {
    const auto& moe = parts_.model ? parts_.model->moe : std::optional<MoeSpec>{};
    return layers() - (moe ? std::min(moe->first_dense_layers, layers() - 1) : 0);
  }

  void write_pipeline(ConfigWriter& writer) {
    const std::int64_t per_stage = positive("num_layers_per_pipeline_stage", "plan.vpp", 1);
    const std::int64_t given =
        settings_.count("pipeline_parallel_layers", "plan.stage_layout").value_or(-1);
    const std::int64_t piped = given > 0 ? std::min(given, layers()) : usually_piped();
    const std::int64_t once = bounded_product(mesh_.pipeline, per_stage);
    if (piped % once != 0) {
      settings_.error("num_layers_per_pipeline_stage", "times the stages, " + std::to_string(once) +
                                                           ", must divide the " +
                                                           std::to_string(piped) + " layers");
      return;
    }
    const std::int64_t repeats = std::max<std::int64_t>(1, piped / once);
    if (piped != layers()) {
      settings_.leave_out("pipeline_parallel_layers", std::to_string(piped),
                          "the other layers run outside the pipeline; here all are in it");
      writer.field("stage_layout", "balanced");
    }
    if (repeats > 1) {
      writer.field("vpp", repeats);
      settings_.leave_out(
          "num_layers_per_pipeline_stage", std::to_string(per_stage),
          "a circular pipeline runs all forward passes first; here it is interleaved");
    } else {
      writer.field("schedule", "gpipe");
    }
  }

  // --- software ---

  void read_software() {
    parts_.software = "maxtext";
    ConfigWriter changes;
    for (const auto& [theirs, ours] :
         {std::pair{"fused_qkv", "fused_qkv"}, std::pair{"fused_mlp", "fused_gate_up"}}) {
      if (settings_.is_on(theirs, std::string("software.") + ours)) {
        changes.field(ours, true);
      }
    }
    read_attention(changes);
    const bool narrow =
        settings_.text("weight_dtype", "software.state_bytes").value_or("float32") == "bfloat16";
    if (narrow) {
      write_narrow_states(changes);
    }
    write_copies(narrow ? "2 B" : "4 B", changes);
    read_experts(changes);
    parts_.software_changes = changes.take();
  }

  // The set runs cudnn_flash_te; "flash" and "autoselected", the default, take a kernel of Pallas
  // on GPUs (layers/attention_op.py).
  void read_attention(ConfigWriter& changes) {
    const std::string kernel = settings_.text_or("attention", "software.attention", "autoselected");
    if (kernel == "dot_product") {
      changes.field("attention", "unfused");
    } else if (!kernel.starts_with("cudnn_flash") && settings_.has("attention")) {
      settings_.leave_out("attention", kernel.substr(0, 60),
                          "a kernel of Pallas; here the one of the software set");
    }
  }

  void write_narrow_states(ConfigWriter& changes) {
    changes.field("fsdp_parameters_fp32", false);
    changes.field("gradient_reduce", "bf16");
    changes.begin("state_bytes");
    changes.field("parameter", "2 B");
    changes.field("gradient", "2 B");
    changes.field("optimizer", "4 B");
    changes.end();
  }

  // Of the weights that a loop over layers reads, in their format; without the loop there are none.
  void write_copies(std::string_view of_weights, ConfigWriter& changes) {
    const bool scans = settings_.flag("scan_layers", "software.memory.scans_layers").value_or(true);
    changes.begin("memory");
    changes.field("scans_layers", scans);
    changes.field("stacked_copies", scans ? of_weights : "0 B");
    if (!scans) {
      changes.field("stacked_expert_copies", "0 B");
    }
    changes.end();
  }

  // Without sparse products tokens go through einsums over rows of a capacity.
  void read_experts(ConfigWriter& changes) {
    const bool sparse = settings_.flag("sparse_matmul", "software.row_gather").value_or(true);
    const bool grouped = settings_.flag("megablox", "software.grouped_gemm").value_or(true);
    const double factor =
        settings_.number("capacity_factor", "expert_exchange.capacity_factor").value_or(-1.0);
    const bool random = settings_.is_on("use_random_routing", "expert_exchange.routing");
    if (!has_experts()) {
      return;
    }
    ConfigWriter exchange;
    if (!sparse && factor > 0.0) {
      changes.field("row_gather", "product");
      changes.field("expert_buffer", "received");
      exchange.field("capacity_factor", factor);
    } else if (!sparse || !grouped) {
      settings_.leave_out(sparse ? "megablox" : "sparse_matmul", "false",
                          "other products of the experts; here they are grouped");
    }
    if (random) {
      exchange.field("routing", "uniform");
    }
    parts_.expert_exchange = exchange.take();
  }

  FrameworkReader& settings_;
  const ImportInput& input_;
  std::span<const std::string> of_file_;
  FrameworkWords words_;
  FrameworkExperiment parts_;
  bool knows_layers_ = true;
  MaxTextMesh mesh_;
  std::int64_t sequence_ = 1;
  std::int64_t micro_ = 1;
  std::int64_t global_ = 1;
};

// Axes between nodes that take what is left are one where nobody says how many nodes there are.
void assume_one_node(const FrameworkExperiment& parts, const ImportInput& input,
                     FrameworkReader& reader) {
  constexpr std::string_view kNodes = "cluster.nodes=";
  const std::vector<std::string> kept = kept_assignments(input.text);
  const bool said = input.nodes || std::ranges::any_of(kept, [&](const std::string& line) {
                      return line.starts_with(kNodes);
                    });
  if (!said && parts.gpus.value_or(0) <= gpus_per_node(input)) {
    reader.assume("cluster.nodes", "1", "nothing says how many there are; give --nodes");
  }
}

std::vector<std::string> said_by_file_alone(const MaxTextLaunch& file) {
  std::vector<std::string> names;
  for (const Setting& setting : file.settings) {
    const auto is_same = [&](const Setting& other) { return other.name == setting.name; };
    if (std::ranges::none_of(file.arguments, is_same)) {
      names.push_back(setting.name);
    }
  }
  return names;
}

}  // namespace

FrameworkExperiment read_maxtext(FrameworkReader& settings, const ImportInput& input,
                                 std::span<const std::string> of_file) {
  return MaxTextReader(settings, input, of_file).experiment();
}

ImportedExperiment import_maxtext(const ImportInput& input) {
  MaxTextLaunch file = read_maxtext_launch(input);
  ImportInput launched = input;
  launched.nodes = input.nodes ? input.nodes : file.size.nodes;
  const std::vector<Setting> given = assignment_settings(words_of_settings(input.overrides));
  for (const Setting& setting : given) {
    std::erase_if(file.doubts,
                  [&](const SettingDoubt& doubt) { return doubt.name == setting.name; });
  }
  file.arguments.insert(file.arguments.end(), given.begin(), given.end());
  const std::vector<std::string> of_file = said_by_file_alone(file);
  file.settings.insert(file.settings.end(), file.arguments.begin(), file.arguments.end());
  Diagnostics diagnostics;
  FrameworkReader reader(std::move(file.settings), diagnostics);
  reader.add_doubts(std::move(file.doubts));
  for (const SizeAssumption& assumption : file.size.assumptions) {
    if (!input.nodes && assumption.ours == "cluster.nodes") {
      reader.assume(assumption.ours, assumption.value, assumption.note);
    }
  }
  FrameworkExperiment parts = read_maxtext(reader, launched, of_file);
  assume_one_node(parts, launched, reader);
  return assembled(reader, std::move(parts), launched);
}

}  // namespace stepcast
