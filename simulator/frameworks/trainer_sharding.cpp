// SPDX-License-Identifier: Apache-2.0
#include "frameworks/trainer_sharding.hpp"

#include <algorithm>
#include <array>

#include "frameworks/job_size.hpp"
#include "frameworks/trainer_unpriced.hpp"
#include "frameworks/trainer_words.hpp"
#include "frameworks/words.hpp"
#include "stepcast/plan/parallel_plan.hpp"

namespace stepcast {
namespace {

// Keys of which one alone shows that FSDP, or DeepSpeed, is configured.
constexpr std::string_view kFsdpKeys =
    "fsdp_version fsdp_config.version fsdp_config.reshard_after_forward "
    "fsdp_config.auto_wrap_policy fsdp_config.offload_params fsdp_config.state_dict_type "
    "fsdp_config.sharding_strategy";
constexpr std::string_view kDeepSpeedKeys =
    "deepspeed.zero_optimization.stage deepspeed.train_micro_batch_size_per_gpu "
    "deepspeed.train_batch_size deepspeed.bf16.enabled deepspeed.fp16.enabled "
    "deepspeed.optimizer.type";
constexpr std::string_view kStage = "deepspeed.zero_optimization.stage";

struct Strategy {
  std::string_view names;  // of accelerate, its number, and Trainer's
  bool whole = false;
  bool reshards = true;
  bool hybrid = false;
};
constexpr auto kStrategies = std::to_array<Strategy>({
    {"FULL_SHARD 1 full_shard"},
    {"SHARD_GRAD_OP 2 shard_grad_op", false, false},
    {"NO_SHARD 3 no_shard", true},
    {"HYBRID_SHARD 4 hybrid_shard", false, true, true},
    {"HYBRID_SHARD_ZERO2 5 hybrid_shard_zero2", false, false, true},
});

class ShardingReader {
 public:
  ShardingReader(FrameworkReader& settings, const TrainerRun& run, TrainerTool tool)
      : settings_(settings), run_(run), tool_(tool) {}

  TrainerSharding sharding() {
    const std::string type = upper_type();
    read_degrees();
    read_mixed_precision();
    if (uses_deepspeed(type)) {
      read_deepspeed();
    } else if (uses_fsdp(type)) {
      read_fsdp();
    }
    leave_out_deepspeed_keys(settings_);
    leave_out_accelerate_keys(settings_);
    return sharding_;
  }

 private:
  std::string upper_type() {
    std::string type = settings_.text("accelerate.distributed_type", "plan").value_or("MULTI_GPU");
    constexpr std::string_view kKnown = "NO MULTI_GPU FSDP DEEPSPEED no";
    if (!is_among(kKnown, type)) {
      settings_.error("accelerate.distributed_type",
                      "is '" + type.substr(0, 60) +
                          "'; NO, MULTI_GPU, FSDP and DEEPSPEED are priced" +
                          (type == "MEGATRON_LM" ? ", and Megatron-LM by 'import megatron'" : ""));
    }
    return type;
  }

  // --- degrees ---

  std::int64_t degree(std::string_view name, std::string_view ours, std::int64_t usual) {
    const std::int64_t value = settings_.count(name, ours).value_or(usual);
    if (value < 1 || value > kDegree.highest) {
      settings_.error(name, "must be a degree from 1");
      return 1;
    }
    return value;
  }

  void read_degrees() {
    const std::string_view tensor =
        first_of(settings_, "parallelism_config.tp_size deepspeed.tensor_parallel.autotp_size");
    sharding_.tp = tensor.empty() ? run_.tp : degree(tensor, "plan.tp", 1);
    sharding_.cp = degree("parallelism_config.cp_size", "plan.cp", run_.cp);
    const std::int64_t sp = degree("parallelism_config.sp_size", "plan.cp", 1);
    sharding_.ulysses = sp > 1;
    sharding_.ring = run_.ring || settings_.text("parallelism_config.cp_comm_strategy",
                                                 "plan.cp_algorithm") == "alltoall";
    sharding_.cp = std::max(sharding_.cp, sp);
    sharding_.shards = some_degree("parallelism_config.dp_shard_size", "plan.fsdp", run_.shards);
    sharding_.replicas =
        some_degree("parallelism_config.dp_replicate_size", "plan.hsdp", run_.replicas);
  }

  std::optional<std::int64_t> some_degree(std::string_view name, std::string_view ours,
                                          std::optional<std::int64_t> usual) {
    return settings_.has(name) ? std::optional(degree(name, ours, 1)) : usual;
  }

  void read_mixed_precision() {
    const auto said = settings_.text("accelerate.mixed_precision", "training.dtype");
    if (said == "bf16") {
      sharding_.precision = TrainerPrecision::kBf16;
    } else if (said == "fp16") {
      sharding_.precision = TrainerPrecision::kFp16;
    } else if (said == "fp8") {
      sharding_.precision = TrainerPrecision::kBf16;
      leave_out(settings_, "accelerate.mixed_precision", *said, UnpricedFeature::kFp8Products);
    } else if (said && *said != "no") {
      settings_.error("accelerate.mixed_precision",
                      "must be no, bf16, fp16 or fp8, not '" + said->substr(0, 60) + "'");
    }
  }

  // --- DeepSpeed ---

  bool uses_deepspeed(const std::string& type) {
    const std::optional<std::string> named = settings_.as_written("deepspeed", "plan.zero");
    const std::optional<std::string> config =
        settings_.as_written("accelerate.deepspeed_config.deepspeed_config_file", "plan.zero");
    const bool configured = !first_of(settings_, kDeepSpeedKeys).empty();
    const std::string_view key =
        named ? "deepspeed" : "accelerate.deepspeed_config.deepspeed_config_file";
    if ((named || config) && !configured) {
      settings_.error(key, "names '" + (named ? *named : *config).substr(0, 100) +
                               "', which is not beside the file; put it there, or give "
                               "deepspeed.zero_optimization.stage=3 behind the file");
      return false;
    }
    return named || config || configured || type == "DEEPSPEED";
  }

  void read_deepspeed() {
    sharding_.engine = ShardingEngine::kDeepSpeed;
    const bool inline_config = settings_.has("accelerate.distributed_type");
    if (!settings_.has(kStage) && inline_config) {
      settings_.error(
          "accelerate.distributed_type",
          "is DEEPSPEED without a zero_stage; give deepspeed.zero_optimization.stage=2");
    }
    sharding_.zero = settings_.count_or(kStage, "plan.zero", 0);
    if (sharding_.zero < 0 || sharding_.zero > 3) {
      settings_.error(kStage, "must be a stage from 0 to 3");
      sharding_.zero = 0;
    }
    read_deepspeed_precision();
    sharding_.micro_batch =
        number("deepspeed.train_micro_batch_size_per_gpu", "training.micro_batch_size");
    sharding_.accumulation =
        number("deepspeed.gradient_accumulation_steps", "training.global_batch_size");
    sharding_.global_batch = number("deepspeed.train_batch_size", "training.global_batch_size");
    sharding_.optimizer =
        settings_.text("deepspeed.optimizer.type", "training.optimizer").value_or("");
    read_offload();
    read_overlap();
  }

  // A number that may also be "auto", for which Trainer puts in its own.
  std::optional<std::int64_t> number(std::string_view name, std::string_view ours) {
    const std::optional<std::string> written = settings_.as_written(name, ours);
    if (!written || *written == "auto") {
      return std::nullopt;
    }
    return positive_or(settings_, name, ours, 1);
  }

  void read_deepspeed_precision() {
    const auto on = [&](std::string_view name) {
      return flag_unless_auto(settings_, name, "training.dtype").value_or(false);
    };
    if (on("deepspeed.bf16.enabled") || on("deepspeed.bfloat16.enabled")) {
      sharding_.precision = TrainerPrecision::kBf16;
    } else if (on("deepspeed.fp16.enabled")) {
      sharding_.precision = TrainerPrecision::kFp16;
    }
  }

  void read_offload() {
    constexpr std::string_view kStates = "deepspeed.zero_optimization.offload_optimizer.device";
    constexpr std::string_view kWeights = "deepspeed.zero_optimization.offload_param.device";
    const std::string states =
        settings_.text(kStates, "training.optimizer.offload").value_or("none");
    const bool older =
        settings_.is_on("deepspeed.zero_optimization.cpu_offload", "training.optimizer.offload");
    const double share = settings_
                             .share("deepspeed.zero_optimization.offload_optimizer.ratio",
                                    "training.optimizer.offload")
                             .value_or(1.0);
    sharding_.states_on_host = states == "cpu" || states == "nvme" || older ? share : 0.0;
    if (states == "nvme") {
      leave_out(settings_, kStates, states, UnpricedFeature::kOnDisk);
    }
    const std::string weights =
        settings_.text(kWeights, "training.offload.parameters").value_or("none");
    sharding_.parameters_on_host = weights != "none" && sharding_.zero == 3;
    if (weights == "nvme") {
      leave_out(settings_, kWeights, weights, UnpricedFeature::kOnDisk);
    }
    if (weights != "none" && sharding_.zero != 3) {
      settings_.without_effect(kWeights);
    }
  }

  void read_overlap() {
    constexpr std::string_view kName = "deepspeed.zero_optimization.overlap_comm";
    sharding_.overlaps_reduction =
        flag_unless_auto(settings_, kName, "software.overlap_grad_reduce");
    if (sharding_.zero == 3 && sharding_.overlaps_reduction == false) {
      settings_.leave_out(kName, "false", "reductions wait for backward; here they run beside it");
    }
  }

  // --- FSDP ---

  bool uses_fsdp(const std::string& type) {
    const std::optional<std::string> said = settings_.as_written("fsdp", "plan.fsdp");
    const bool named = said && *said != "false" && *said != "False" && *said != "[]";
    const bool configured =
        tool_ == TrainerTool::kAxolotl && !first_of(settings_, kFsdpKeys).empty();
    return type == "FSDP" || named || configured;
  }

  void read_fsdp() {
    const std::string_view version =
        settings_.has("fsdp_version") ? "fsdp_version" : "fsdp_config.version";
    const std::int64_t number = settings_.count_or(version, "software.fsdp_layout", 1);
    sharding_.engine = number == 2 ? ShardingEngine::kFsdp2 : ShardingEngine::kFsdp1;
    if (number != 1 && number != 2) {
      settings_.error(version, "must be 1 or 2");
    }
    read_strategy();
    sharding_.checkpoints =
        settings_.is_on("fsdp_config.activation_checkpointing", "training.recompute");
    read_wrapping();
    const std::vector<std::string> options =
        settings_.texts("fsdp", "plan.fsdp").value_or(std::vector<std::string>{});
    const bool offloads = std::ranges::find(options, "offload") != options.end();
    if (settings_.is_on("fsdp_config.offload_params", "training.offload.parameters") || offloads) {
      sharding_.states_on_host = 1.0;
      sharding_.parameters_on_host = true;
    }
  }

  // FSDP2 says by a switch what a strategy of FSDP1 says; the former may have the latter's name.
  void read_strategy() {
    constexpr std::string_view kReshard = "fsdp_config.reshard_after_forward";
    std::string name =
        settings_.text("fsdp_config.sharding_strategy", "plan.fsdp").value_or(std::string{});
    const std::string after = settings_.text(kReshard, "plan.fsdp_reshard").value_or("true");
    const bool by_switch =
        after == "true" || after == "false" || after == "True" || after == "False";
    if (name.empty() && !by_switch) {
      name = after;
    }
    if (by_switch && (after == "false" || after == "False")) {
      sharding_.reshards = false;
    }
    for (const std::string& word :
         settings_.texts("fsdp", "plan.fsdp").value_or(std::vector<std::string>{})) {
      name = name.empty() && strategy(word) != nullptr ? word : name;
    }
    if (name.empty()) {
      return;
    }
    const Strategy* const known = strategy(name);
    if (known == nullptr) {
      settings_.error("fsdp_config.sharding_strategy",
                      "is '" + name.substr(0, 60) +
                          "'; known are FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD and "
                          "HYBRID_SHARD_ZERO2");
      return;
    }
    sharding_.whole = known->whole;
    sharding_.hybrid = known->hybrid;
    sharding_.reshards = sharding_.reshards && known->reshards;
  }

  static const Strategy* strategy(const std::string& name) {
    const auto* const found =
        std::find_if(kStrategies.begin(), kStrategies.end(),
                     [&](const Strategy& row) { return is_among(row.names, name); });
    return found == kStrategies.end() ? nullptr : found;
  }

  void read_wrapping() {
    const std::string policy = settings_.text("fsdp_config.auto_wrap_policy", "plan.fsdp")
                                   .value_or("TRANSFORMER_BASED_WRAP");
    if (policy != "TRANSFORMER_BASED_WRAP") {
      settings_.leave_out("fsdp_config.auto_wrap_policy", policy.substr(0, 60),
                          "other units than layers; here each layer is one");
    }
  }

  FrameworkReader& settings_;
  const TrainerRun& run_;
  TrainerTool tool_;
  TrainerSharding sharding_;
};

constexpr std::string_view kProcesses = "accelerate.num_processes";
constexpr std::string_view kRayWorkers = "ray_num_workers";  // of axolotl and LLaMA-Factory
constexpr std::string_view kMachines = "accelerate.num_machines";
constexpr std::int64_t kMostGpus = 1 << 20;

// GPUs of a job whose every degree a file names; 0 where it leaves the shards open.
std::int64_t ranks_of(const TrainerSharding& sharding) {
  if (!sharding.shards) {
    return 0;
  }
  const std::int64_t inner = bounded_product(sharding.tp, sharding.cp);
  return bounded_product(inner, bounded_product(*sharding.shards, sharding.replicas.value_or(1)));
}

// A number of GPUs or nodes; nothing where it is absent, -1 as accelerate writes it, or 0 as a
// script makes it of variables that nobody sets.
std::optional<std::int64_t> stated_size(FrameworkReader& settings, std::string_view name) {
  const std::optional<std::int64_t> given = settings.count(name, "cluster.nodes");
  if (given && (*given < -1 || *given > kMostGpus)) {
    settings.error(name, "must be a number from 1");
    return std::nullopt;
  }
  return given && *given > 0 ? given : std::nullopt;
}

}  // namespace

TrainerSharding read_sharding(FrameworkReader& settings, const TrainerRun& run, TrainerTool tool) {
  return ShardingReader(settings, run, tool).sharding();
}

TrainerWorld read_world(FrameworkReader& settings, const TrainerFile& file,
                        const TrainerSharding& sharding, const ImportInput& input) {
  const std::string_view counted = settings.has(kProcesses) ? kProcesses : kRayWorkers;
  const std::optional<std::int64_t> processes = stated_size(settings, counted);
  const std::optional<std::int64_t> machines = stated_size(settings, kMachines);
  const std::int64_t hosts = machines.value_or(file.size.nodes.value_or(1));
  std::optional<std::int64_t> per_node = file.size.gpus_per_node;
  if (processes && *processes % hosts != 0) {
    settings.error(counted, "is that of all machines, and " + std::to_string(hosts) +
                                " of them do not divide it");
    return {};
  }
  per_node = processes ? std::optional(*processes / hosts) : per_node;
  const bool alone = settings.text("accelerate.distributed_type", "plan") == "NO";
  per_node = alone && !per_node ? std::optional<std::int64_t>(1) : per_node;
  const std::int64_t usual = gpus_per_node(input);
  std::int64_t gpus = bounded_product(input.nodes.value_or(hosts), per_node.value_or(usual));
  const std::int64_t named = ranks_of(sharding);
  const bool stated = per_node || (input.nodes && !input.gpu.empty());
  if (named > 0 && !stated) {
    gpus = named;
  } else if (named > 0 && named != gpus) {
    settings.error("dp_shard_size", "with the other degrees makes " + std::to_string(named) +
                                        " ranks, not the " + std::to_string(gpus) +
                                        " GPUs that were given");
  } else if (!stated) {
    settings.assume("cluster.gpus", std::to_string(gpus),
                    (file.launcher.empty() ? "the file" : file.launcher) +
                        " is not told how many: all " + std::to_string(usual) +
                        " of a usual node; give num_processes=N, or --gpu and --nodes");
  }
  return {std::clamp<std::int64_t>(gpus, 1, kMostGpus), per_node};
}

}  // namespace stepcast
