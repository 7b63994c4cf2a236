// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/job_size.hpp"
#include "frameworks/known_model.hpp"
#include "frameworks/setting_reader.hpp"
#include "frameworks/torchtitan.hpp"
#include "frameworks/torchtitan_pipeline.hpp"
#include "frameworks/torchtitan_software.hpp"
#include "frameworks/torchtitan_words.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/framework_keys.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

// A converter by a part of its name: "quantize.linear.float8", "Float8LinearConverter".
struct Converter {
  std::string_view part;
  std::string_view dtype;
};
constexpr std::array kConverters = {
    Converter{"float8", "fp8"},      Converter{"Float8", "fp8"}, Converter{"mx", "fp8_block"},
    Converter{"MXFP8", "fp8_block"}, Converter{"NVFP4", "fp4"},
};

bool names_experts(const std::string& converter) {
  return converter.find("grouped_mm") != std::string::npos ||
         converter.find("GroupedExperts") != std::string::npos;
}

constexpr Range<std::int64_t> kCounts{1, 1 << 28};

std::string key(std::string_view ours) {
  return std::string(framework_name(FrameworkVocabulary::kTorchtitan, ours));
}

class TorchtitanReader {
 public:
  TorchtitanReader(FrameworkReader& settings, const TorchtitanJob& job, const ImportInput& input)
      : settings_(settings), job_(job), input_(input), words_(torchtitan_words(input.data)) {}

  FrameworkExperiment experiment() {
    read_model();
    read_degrees();
    read_job_size();
    read_batch();
    parts_.training = training();
    parts_.plan = plan();
    read_software();
    check_precision();
    words_.read_rest(settings_);
    parts_.gpus = gpus_;
    return std::move(parts_);
  }

 private:
  // A count of at least 1, in its range; 1 where it is wrong.
  std::int64_t positive(const std::string& name, std::string_view ours, std::int64_t fallback,
                        Range<std::int64_t> range = kCounts) {
    const std::int64_t value = settings_.count_or(name, ours, fallback);
    if (value < range.lowest || value > range.highest) {
      settings_.error(name, "must be from " + std::to_string(range.lowest) + " to " +
                                std::to_string(range.highest) + ", not " + std::to_string(value));
      return std::max<std::int64_t>(range.lowest, 1);
    }
    return value;
  }
  std::int64_t degree(std::string_view ours) { return positive(key(ours), ours, 1, kDegree); }

  void not_carried(std::string name, std::string value, std::string note) {
    settings_.remark({.outcome = ImportOutcome::kNotCarried,
                      .name = std::move(name),
                      .value = std::move(value),
                      .ours = {},
                      .note = std::move(note),
                      .where = {}});
  }

  // --- model ---

  void read_model() {
    const std::string module =
        job_.recipe ? job_.module : settings_.text_or("model.name", "model", "llama3");
    const std::string flavor = settings_.text_or("model.flavor", "model", "debugmodel");
    const ModelFlavor* known = find_flavor(words_.models(), module, flavor);
    if (known != nullptr) {
      attention_ = known->attention;
      parts_.model = model_of(*known, input_.data);
      if (!known->lacks.empty()) {
        not_carried("model", flavor, known->lacks);
      }
    } else if (const std::optional<KeptModel> kept = kept_model(input_)) {
      parts_.model = kept->model;
      knows_layers_ = kept->knows_layers;
    } else {
      refuse_flavor(module, flavor);
      return;
    }
    parts_.model_name = parts_.model->name;
    const auto mtp = settings_.count("model.num_mtp_layers", "model.mtp_layers");
    if (mtp && *mtp > 0 && *mtp <= 64 && known != nullptr) {
      parts_.model = load_model(input_.data.models() / (known->ours + ".yaml"));
      parts_.model_name = known->ours;
      parts_.model->mtp_layers = *mtp;
    }
  }

  void refuse_flavor(const std::string& module, const std::string& flavor) {
    const std::vector<std::string> names = flavor_names(words_.models(), module);
    settings_.error(
        "model.flavor",
        "is '" + flavor.substr(0, 60) + "' of '" + module.substr(0, 60) +
            "', which is not known here" +
            (names.empty()
                 ? "; known are llama3, llama4, deepseek_v3, qwen3, qwen3_5, gpt_oss, llama2"
                 : "; known are " + text_list(names) + did_you_mean(flavor, names)) +
            "; a line '# stepcast: model=" + shipped_name(flavor) +
            "' in the file takes a model of configs/models");
  }

  // A flavor of one's own is often called like a model that ships.
  [[nodiscard]] std::string shipped_name(const std::string& flavor) const {
    const std::vector<std::string> all = names_in(input_.data.models());
    return std::ranges::find(all, flavor) != all.end() ? flavor : "NAME";
  }

  [[nodiscard]] std::int64_t layers() const { return parts_.model ? parts_.model->layers : 1; }
  [[nodiscard]] bool has_experts() const { return parts_.model && parts_.model->moe; }

  // --- degrees ---

  void read_degrees() {
    tp_ = degree("plan.tp");
    pp_ = degree("plan.pp");
    cp_ = degree("plan.cp");
    ep_ = degree("plan.ep");
    replicas_ = positive("parallelism.data_parallel_replicate_degree", "plan.hsdp", 1, kDegree);
    shards_ = settings_.count_or("parallelism.data_parallel_shard_degree", "plan.fsdp", -1);
    if (shards_ != -1 && (shards_ < 1 || shards_ > kDegree.highest)) {
      settings_.error("parallelism.data_parallel_shard_degree",
                      "must be -1, which means what is left, or a degree from 1");
      shards_ = 1;
    }
    // Up to c4b409af2 experts that are not spread over ranks are cut by tensor parallelism.
    const auto etp = settings_.count(key("plan.etp"), "plan.etp");
    etp_ = ep_ == 1 && job_.is_before("2026-04-30")
               ? tp_
               : std::clamp(etp.value_or(1), kDegree.lowest, tp_);
  }

  void read_job_size() {
    const std::int64_t inner = bounded_product(bounded_product(tp_, cp_), pp_);
    const std::int64_t outer = bounded_product(inner, replicas_);
    const std::int64_t borrowed = etp_ > 1 ? cp_ : bounded_product(cp_, tp_);
    const std::int64_t least = has_experts() ? ep_ / std::gcd(ep_, borrowed) : 1;
    const std::int64_t ranks = bounded_product(outer, shards_ == -1 ? least : shards_);
    const std::optional<std::int64_t> ngpu = settings_.count("NGPU", "cluster.nodes");
    if (ranks > kMostRanks || (ngpu && (*ngpu < 1 || *ngpu > kMostRanks))) {
      settings_.error(key("plan.tp"), "with the other degrees makes more ranks than any job has");
      shards_ = 1;
      return;
    }
    const bool stated = ngpu || input_.nodes;
    if (shards_ != -1) {
      gpus_ = ranks;
      if (stated && job_size(input_, ngpu, ranks).gpus != ranks) {
        settings_.error("parallelism.data_parallel_shard_degree",
                        "with the other degrees makes " + std::to_string(ranks) +
                            " ranks, not the GPUs that were given; -1 takes what is left");
      }
      return;
    }
    const bool doubled = !stated && ranks == inner && alone_in_fp32();
    const JobSize size = job_size(input_, ngpu, doubled ? 2 * ranks : ranks);
    gpus_ = size.gpus;
    if (gpus_ % outer != 0 || gpus_ < outer) {
      settings_.error("parallelism.data_parallel_shard_degree",
                      "is what is left of " + std::to_string(gpus_) +
                          " GPUs, which the other degrees, " + std::to_string(outer) +
                          ", do not divide");
      gpus_ = outer;
    }
    shards_ = gpus_ / outer;
    if (!size.stated) {
      settings_.assume("cluster.gpus", std::to_string(gpus_),
                       std::string("the fewest in whole nodes") +
                           (doubled ? " with two shards" : "") +
                           "; the file leaves the number to the launcher, give --nodes");
    }
  }

  // Whether one shard alone would train in fp32 (check_precision).
  [[nodiscard]] bool alone_in_fp32() const {
    return tp_ * pp_ > 1 && cp_ == 1 && job_.is_before(kTorchtitanShardsAlways);
  }

  // --- batch ---

  [[nodiscard]] std::int64_t dp() const { return bounded_product(replicas_, shards_); }

  void read_batch() {
    if (job_.counts_tokens) {
      read_tokens();
    } else {
      sequence_ = positive(key("training.sequence_length"), "training.sequence_length", 2048);
      local_ = positive(key("training.micro_batch_size"), "training.micro_batch_size", 8);
      micro_ = pp_ == 1 ? local_
                        : positive("parallelism.pipeline_parallel_microbatch_size",
                                   "training.micro_batch_size", 1);
      if (local_ % micro_ != 0) {
        settings_.error("parallelism.pipeline_parallel_microbatch_size",
                        "must divide training.local_batch_size = " + std::to_string(local_));
      }
      global_ =
          settings_.count_or(key("training.global_batch_size"), "training.global_batch_size", -1);
    }
    settle_global();
  }

  // The files since 20 August 2026 count tokens.
  void read_tokens() {
    sequence_ = positive("training.max_context_length", "training.sequence_length", 2048);
    const std::int64_t tokens = positive("training.num_tokens_per_microbatch_per_dp_rank",
                                         "training.micro_batch_size", 16'384);
    sequence_ = std::min(sequence_, tokens);
    micro_ = tokens / sequence_;
    if (tokens % sequence_ != 0) {
      settings_.error("training.num_tokens_per_microbatch_per_dp_rank",
                      "must be a whole number of sequences of " + std::to_string(sequence_));
    }
    local_ = bounded_product(
        micro_, pp_ == 1 ? 1 : positive("parallelism.num_pp_microbatches", "micro-batches", 1));
    const std::int64_t step =
        settings_.count_or("training.num_tokens_per_train_step", "training.global_batch_size", -1);
    global_ = step > 0 ? step / sequence_ : step;
  }

  void settle_global() {
    const std::string name = job_.counts_tokens ? "training.num_tokens_per_train_step"
                                                : key("training.global_batch_size");
    const std::int64_t once = bounded_product(local_, dp());
    if (global_ < 1) {
      global_ = once;
    } else if (global_ % once != 0) {
      settings_.error(name,
                      "must be a multiple of the batch of a rank times the data-parallel "
                      "degree = " +
                          std::to_string(once) + " sequences");
    }
    if (pp_ > 1 && global_ > once) {
      not_carried(name, std::to_string(global_),
                  "torchtitan drains its pipeline " + std::to_string(global_ / once) +
                      " times a step; here all micro-batches run as one");
    }
  }

  // --- training ---

  ConfigNode training() {
    ConfigWriter writer;
    writer.field("sequence_length", sequence_);
    writer.field("micro_batch_size", micro_);
    writer.field("global_batch_size", global_);
    writer.field("dtype", dtype());
    write_recompute(writer);
    // FSDP2's CPUOffloadPolicy: shards, their gradients and their states lie on the host.
    const bool on_host = settings_.is_on("training.enable_cpu_offload", "training.offload");
    if (on_host) {
      writer.begin("optimizer");
      writer.field("kind", optimizer());
      writer.begin("offload");
      writer.field("states", name(OffloadedStates::kAll));
      writer.end();
      writer.end();
      writer.begin("offload");
      writer.field("parameters", true);
      writer.end();
    } else {
      writer.field("optimizer", optimizer());
    }
    return writer.take();
  }

  // Of a recipe the class, or up to June 2026 a field of the container of all optimizers.
  std::string optimizer_name() {
    const std::optional<std::string> written =
        job_.recipe ? settings_.text("optimizer.class", "training.optimizer") : std::nullopt;
    if (written && !written->starts_with("Optimizers")) {
      return *written;
    }
    return settings_.text_or("optimizer.name", "training.optimizer", "AdamW");
  }

  std::string optimizer() {
    const std::string name = optimizer_name();
    if (std::optional<std::string> ours = words_.ours_of("optimizer.name", name)) {
      return *std::move(ours);
    }
    not_carried("optimizer", name.substr(0, 60), "priced as AdamW");
    return "adamw";
  }

  void write_recompute(ConfigWriter& writer) {
    const std::string mode =
        settings_.text_or(key("training.recompute"), "training.recompute", "selective");
    if (mode == "selective") {
      write_selective(writer);
    } else if (mode == "memory_budget") {
      writer.field("recompute", "memory_budget");
      writer.field("memory_budget",
                   settings_.number("activation_checkpoint.memory_budget", "training.memory_budget")
                       .value_or(0.5));
    } else if (mode == "full" || mode == "none") {
      writer.field("recompute", mode);
    } else {
      settings_.error(
          key("training.recompute"),
          "is '" + mode.substr(0, 60) + "'; supported are none, full, selective and memory_budget");
    }
  }

  // Since 114151ad4 all of a recipe's selections are of operators, and it has no word for it.
  [[nodiscard]] std::string usual_option() const {
    const bool layers = !job_.recipe || (job_.release.stated && job_.is_before("2026-03-23"));
    return layers ? "2" : "op";
  }

  // By operator, or every n-th layer in full.
  void write_selective(ConfigWriter& writer) {
    const std::string option = settings_.text_or("activation_checkpoint.selective_ac_option",
                                                 "training.recompute", usual_option());
    if (option == "op") {
      writer.field("recompute", "selective_op");
      return;
    }
    const auto every = scan_whole(scalar_at({}, option), kCounts);
    if (every.fault != NumberFault::kNone) {
      settings_.error("activation_checkpoint.selective_ac_option",
                      "must be op or a count of layers, not '" + option.substr(0, 60) + "'");
      return;
    }
    std::vector<std::int64_t> again;
    for (std::int64_t layer = every.value - 1; layer < layers(); layer += every.value) {
      again.push_back(layer);
    }
    writer.field("recompute", again.empty() ? "none" : "full");
    if (!again.empty() && every.value > 1) {
      writer.field("recompute_layers", list_node(again));
    }
  }

  // --- plan ---

  ConfigNode plan() {
    ConfigWriter writer;
    writer.field("tp", tp_);
    writer.field("pp", pp_);
    if (pp_ > 1 && parts_.model && knows_layers_) {
      write_torchtitan_pipeline(settings_, pp_, *parts_.model, writer);
    }
    if (cp_ > 1) {
      writer.field("cp", cp_);
    }
    if (has_experts()) {
      writer.field("ep", ep_);
      if (etp_ > 1) {
        writer.field("etp", etp_);
      }
    }
    write_sharding(writer);
    if (tp_ > 1 && job_.recipe &&
        !settings_.flag("parallelism.enable_sequence_parallel", "plan.sequence_parallel")
             .value_or(true)) {
      writer.field("sequence_parallel", false);
    }
    if (cp_ > 1) {
      const std::string method =
          settings_.text_or(key("plan.cp_algorithm"), "plan.cp_algorithm", "allgather");
      writer.field("cp_algorithm", method == "alltoall" ? "ring" : "all_gather");
    }
    if (has_experts() && ep_ > 1) {
      write_dispatcher(writer);
    }
    return writer.take();
  }

  void write_sharding(ConfigWriter& writer) {
    const std::int64_t group = bounded_product(shards_, cp_);
    if (group == 1) {
      writer.field("zero", std::int64_t{0});
      return;
    }
    writer.field(replicas_ > 1 ? "hsdp" : "fsdp", group);
    const std::string reshard =
        settings_.text_or(key("plan.fsdp_reshard"), "plan.fsdp_reshard", "default");
    if (reshard == "always" || reshard == "never") {
      writer.field("fsdp_reshard", reshard == "always");
    } else if (reshard != "default") {
      settings_.error(key("plan.fsdp_reshard"), "must be default, always or never");
    }
  }

  void write_dispatcher(ConfigWriter& writer) {
    constexpr const char* kOfModel = "model.moe_comm_backend";
    constexpr std::string_view kBackendKey = "parallelism.expert_parallel_comm_backend";
    const std::string name = settings_.has(kOfModel) ? kOfModel : key("plan.dispatcher");
    const auto backend = settings_.text(name, "plan.dispatcher");
    if (!backend) {
      return;
    }
    const std::optional<std::string> ours = words_.ours_of(kBackendKey, *backend);
    if (!ours) {
      settings_.error(name, "is '" + backend->substr(0, 60) +
                                "'; supported are standard, deepep, hybridep, minimal_async_ep");
    } else {
      writer.field("dispatcher", *ours);
    }
  }

  // --- software ---

  void read_float8() {
    const std::string prefix = "quantize.linear.float8.";
    settings_.not_carried(prefix + "enable_fsdp_float8_all_gather",
                          "parameters are gathered in 8 bits; here in 16");
    settings_.not_carried(prefix + "emulate",
                          "products are emulated in 16 bits; here they run in 8");
    const std::string name = settings_.has(prefix + "recipe_name")
                                 ? prefix + "recipe_name"
                                 : "converters.Float8LinearConverter.recipe_name";
    const std::string recipe = settings_.text(name, "training.dtype").value_or("tensorwise");
    if (recipe == "rowwise_with_gw_hp") {
      settings_.leave_out(name, recipe, "products of weight gradients run in bf16; here in 8 bits");
    } else if (recipe == "rowwise") {
      settings_.leave_out(name, recipe, "a scale for each row; here one for each tensor is priced");
    } else if (recipe != "tensorwise") {
      settings_.error(name, "is '" + recipe.substr(0, 60) +
                                "'; supported are tensorwise, rowwise and rowwise_with_gw_hp");
    }
  }

  // The format of products: converters to FP8, MXFP8 or NVFP4.
  std::string_view dtype() {
    const std::vector<std::string> converters =
        settings_.texts("model.converters", "training.dtype").value_or(std::vector<std::string>{});
    // Of 2024, before converters.
    const bool switched =
        settings_.is_on("quantize.linear.float8.enable_float8_linear", "training.dtype");
    std::string_view format = switched ? "fp8" : "bf16";
    bool experts = false;
    for (const std::string& converter : converters) {
      const Converter* const known = row_within(kConverters, &Converter::part, converter);
      if (known == nullptr) {
        settings_.leave_out("model.converters", converter.substr(0, 60),
                            "a converter that is not known here");
        continue;
      }
      format = known->dtype;
      experts = experts || names_experts(converter);
    }
    read_float8();
    if (format != "bf16" && has_experts() && !experts) {
      settings_.leave_out("model.converters", std::string(format),
                          "of the linear layers alone; here the experts' products are in it too");
    }
    return format;
  }

  // The software set, the switches beside it, and the routing of experts.
  void read_software() {
    TorchtitanSoftware software =
        read_torchtitan_software(settings_, job_, {.pp = pp_, .attention = attention_});
    parts_.software = std::move(software.set);
    parts_.software_changes = std::move(software.changes);
    if (settings_.is_on("debug.moe_force_load_balance", "expert_exchange.routing") &&
        has_experts()) {
      ConfigWriter exchange;
      exchange.field("routing", "round_robin_forced");
      parts_.expert_exchange = exchange.take();
    }
  }

  // What trains in fp32 is refused where the file says so, before the experiment is.
  void check_precision() {
    const auto set = file_named(input_.data.software(), parts_.software);
    if (!set || has_other_software()) {
      return;
    }
    for (const std::string& note : job_.release.notes) {
      settings_.assume("software", parts_.software, note);
    }
    const MixedPrecision rule = job_.is_before(kTorchtitanShardsAlways)
                                    ? load_software(*set, input_.data.software()).mixed_precision
                                    : MixedPrecision::kAlways;
    const ParameterSplit split{.sharded = bounded_product(shards_, cp_) > 1,
                               .replicated = replicas_ > 1,
                               .whole = tp_ == 1 && pp_ == 1};
    if (trains_in_fp32(rule, split)) {
      settings_.error(tp_ == 1 && pp_ > 1 ? key("plan.pp") : key("plan.tp"),
                      "without FSDP makes torchtitan train in fp32: its mixed precision is that of "
                      "fully_shard up to 2026-04-09 (00b7f5693), and fp32 is not priced here; give "
                      "parallelism.data_parallel_shard_degree above 1");
    } else if (rule != MixedPrecision::kAlways && !split.sharded) {
      not_carried("training.mixed_precision_param", "bfloat16",
                  "without FSDP by autocast, whose casts of weights and inputs are not priced");
    }
  }

  // By --software, or by a comment of an export.
  [[nodiscard]] bool has_other_software() const {
    const std::vector<std::string> kept = kept_assignments(input_.text);
    return !input_.software.empty() ||
           std::any_of(kept.begin(), kept.end(), [](const std::string& assignment) {
             return assignment.starts_with("software=") || assignment.starts_with("software.base=");
           });
  }

  FrameworkReader& settings_;
  const TorchtitanJob& job_;
  const ImportInput& input_;
  FrameworkWords words_;
  FrameworkExperiment parts_;
  std::string_view attention_{};  // that the flavor names, in torchtitan's words
  bool knows_layers_ = true;      // false: of a model that is still to come from comments
  std::int64_t tp_ = 1;
  std::int64_t pp_ = 1;
  std::int64_t cp_ = 1;
  std::int64_t ep_ = 1;
  std::int64_t etp_ = 1;
  std::int64_t replicas_ = 1;
  std::int64_t shards_ = 1;
  std::int64_t gpus_ = 1;
  std::int64_t sequence_ = 1;
  std::int64_t local_ = 1;
  std::int64_t micro_ = 1;
  std::int64_t global_ = -1;
};

}  // namespace

FrameworkExperiment read_torchtitan(FrameworkReader& settings, const TorchtitanJob& job,
                                    const ImportInput& input) {
  return TorchtitanReader(settings, job, input).experiment();
}

}  // namespace stepcast
