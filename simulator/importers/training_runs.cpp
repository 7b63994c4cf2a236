// SPDX-License-Identifier: Apache-2.0
#include "importers/training_runs.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "importers/loose_fields.hpp"
#include "importers/published_model.hpp"
#include "importers/published_names.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

// Longer remarks are cut: regular expressions recurse.
constexpr std::size_t kLongestText = 300;

std::string lower(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A degree that is 1 where nothing else is stated.
std::int64_t degree(const json& parallel, const char* key) {
  return std::max<std::int64_t>(1, json_count(parallel, key).value_or(1));
}

// --- cluster ----------------------------------------------------------------------------------

ClusterSpec cluster_from(const json& hardware, ProfileCache& profiles) {
  const std::string published = json_text(hardware, "gpu");
  const std::string gpu = gpu_for(published);
  if (gpu.empty()) {
    throw SkippedRow{"input missing: no profile for the GPU '" + published + "'"};
  }
  const DeviceSpec& device = profiles.gpu(gpu);
  const std::int64_t gpus = required_count(json_count(hardware, "num_gpus"), "hardware.num_gpus");
  const std::int64_t in_node =
      std::min(gpus, json_count(hardware, "gpus_per_node").value_or(device.gpus_per_node));
  ClusterSpec cluster = cluster_of(device, std::max<std::int64_t>(1, gpus / in_node));
  cluster.gpus_per_node = in_node;
  if (gpus % in_node != 0) {
    throw SkippedRow{"feature unsupported: " + std::to_string(gpus) +
                     " GPUs are no whole nodes of " + std::to_string(in_node)};
  }
  if (const auto rate = network_rate_of_gpu(json_text(hardware, "interconnect"), in_node)) {
    cluster.device.scale_out.nics_per_gpu = 1.0;
    cluster.device.scale_out.nic_rate = *rate;
  }
  return cluster;
}

// --- recipe and plan --------------------------------------------------------------------------

bool is_blackwell(const DeviceSpec& device) {
  return device.matrix_rate[static_cast<std::size_t>(Dtype::kFp4)].has_value();
}

Dtype dtype_from(const std::string& published, const DeviceSpec& device) {
  const std::string text = lower(published);
  if (contains(text, "fp4")) {
    return Dtype::kFp4;
  }
  if (contains(text, "mx") || contains(text, "block") || contains(text, "128")) {
    return is_blackwell(device) ? Dtype::kFp8 : Dtype::kFp8Block;
  }
  if (contains(text, "fp8") || contains(text, "float8")) {
    return Dtype::kFp8;
  }
  return contains(text, "fp16") ? Dtype::kFp16 : Dtype::kBf16;
}

TrainingRecipe training_from(const json& train, const DeviceSpec& device,
                             std::int64_t model_replicas) {
  TrainingRecipe training;
  training.sequence_length = required_count(json_count(train, "seq_len"), "train.seq_len");
  training.micro_batch_size = std::max<std::int64_t>(1, json_count(train, "mbs").value_or(1));
  const std::int64_t one_each = training.micro_batch_size * model_replicas;
  training.global_batch_size = json_count(train, "gbs").value_or(one_each);
  training.dtype = dtype_from(json_text(train, "dtype"), device);
  training.recompute = recompute_from_text(json_text(train, "recompute"));
  training.dropout = json_flag(train, "dropout").value_or(false);
  return training;
}

std::optional<Schedule> schedule_from(const json& parallel) {
  const std::string text = json_text(parallel, "schedule");
  if (text.empty()) {
    return std::nullopt;
  }
  const auto names = names_of<Schedule>();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    throw SkippedRow{"feature unsupported: the pipeline schedule '" + text + "'"};
  }
  return static_cast<Schedule>(found - names.begin());
}

// `shards_experts`: unless they say otherwise experts are cut by the framework like the rest.
PlanRequest plan_from(const json& parallel, const ModelSpec& model, bool shards_experts) {
  PlanRequest plan;
  plan.given = true;
  plan.tp = degree(parallel, "tp");
  plan.pp = degree(parallel, "pp");
  plan.cp = degree(parallel, "cp");
  plan.vpp = plan.pp > 1 ? degree(parallel, "vpp") : 1;
  plan.ep = model.moe ? degree(parallel, "ep") : 1;
  const std::int64_t expert_tensor = shards_experts ? plan.tp : 1;
  plan.etp = model.moe ? json_count(parallel, "etp").value_or(expert_tensor) : 1;
  plan.sequence_parallel = json_flag(parallel, "sp").value_or(plan.tp > 1);
  const std::int64_t fsdp = degree(parallel, "fsdp");
  plan.zero = json_count(parallel, "zero").value_or(fsdp > 1 ? 3 : 1);
  if (fsdp > 1) {
    plan.zero = 3;
  }
  plan.schedule = schedule_from(parallel);
  if (model.layers % (plan.pp * plan.vpp) != 0) {
    plan.layout = "balanced";
  }
  return plan;
}

// FSDP degrees are published without context parallelism, which shards as well.
void settle_fsdp(const json& parallel, PlanRequest& plan, std::int64_t replicas) {
  const std::int64_t fsdp = degree(parallel, "fsdp");
  if (plan.zero == 3 && fsdp > 1) {
    const bool whole = fsdp * plan.cp >= replicas || replicas % fsdp != 0;
    plan.fsdp = whole ? replicas : fsdp;
  }
}

// InternEvo shards its optimizer over groups of ranks: "(group 8)", or "group size 8" in a note.
void settle_optimizer_group(const json& row, PlanRequest& plan, std::int64_t replicas) {
  const json& train = json_object(row, "train");
  const std::string text =
      (json_text(train, "optimizer") + " " + json_text(row, "notes")).substr(0, kLongestText);
  std::smatch group;
  if (plan.zero == 1 &&
      std::regex_search(text, group, std::regex(R"(group (?:size )?(\d{1,4}))"))) {
    const std::int64_t ranks = std::stoll(group[1]);
    if (ranks > 1 && ranks < replicas && replicas % ranks == 0) {
      plan.hsdp = ranks;
    }
  }
}

// torchtitan runs eagerly unless a row says that it was compiled; its benchmarks of 2024 compiled
// the blocks only.
std::string software_of(const json& row) {
  const json& train = json_object(row, "train");
  if (std::string named = json_text(train, "software"); !named.empty()) {
    return named;
  }
  std::string name = software_for(json_text(train, "framework"));
  const json& overlap = json_object(train, "overlap");
  if (name.starts_with("primus") && overlap.contains("features")) {
    return "primus_moe";
  }
  if (name == "nemo" && contains(json_text(overlap, "moe_dispatcher"), "moe_grouped_gemm false")) {
    return "nemo_2024";
  }
  // A flag, or a text that names what is compiled.
  const bool compiled =
      json_flag(overlap, "compile").value_or(!json_text(overlap, "compile").empty());
  if (name != "torchtitan") {
    return name;
  }
  const json& source = json_object(row, "source");
  const std::string ref = json_text(source, "ref");
  const bool of_2024 = contains(json_text(source, "title"), "2024") ||
                       contains(ref.substr(0, ref.find('@')), "_2024");
  return !compiled ? "torchtitan_eager" : of_2024 ? "torchtitan_2024" : name;
}

bool has_feature(const json& train, std::string_view feature) {
  const json& overlap = json_object(train, "overlap");
  const auto features = overlap.is_object() ? overlap.find("features") : overlap.end();
  return overlap.is_object() && features != overlap.end() && features->is_array() &&
         std::any_of(features->begin(), features->end(),
                     [&](const json& entry) { return entry.is_string() && entry == feature; });
}

// The release of Megatron Bridge that a run names, as "25.11"; empty if another framework ran.
std::string bridge_release(const json& train) {
  const std::string framework = lower(json_text(train, "framework")).substr(0, kLongestText);
  std::smatch version;
  const bool named =
      std::regex_search(framework, version, std::regex(R"(megatron-bridge \((\d\d\.\d\d))"));
  return named ? version[1].str() : std::string{};
}

// The recipes of Megatron Bridge since 25.11 set one, DeepEP on Hopper and HybridEP on Blackwell,
// but for GPT-OSS, which keeps all-to-all. A row that says null has been read and has none.
std::string usual_dispatcher(const json& row, const DeviceSpec& device) {
  const json& train = json_object(row, "train");
  const bool keeps_all_to_all =
      contains(lower(json_text(json_object(row, "model"), "name")), "gpt-oss");
  if (bridge_release(train) < "25.11" || keeps_all_to_all ||
      json_object(train, "overlap").contains("moe_dispatcher")) {
    return {};
  }
  return is_blackwell(device) ? "hybridep" : "deepep";
}

// Since 26.06 they capture the whole step of experts in MXFP8 on Blackwell, which pads what the
// experts receive.
bool usually_captures_step(const json& train, const DeviceSpec& device) {
  return bridge_release(train) >= "26.06" && is_blackwell(device) &&
         contains(lower(json_text(train, "dtype")), "mx") &&
         !json_object(train, "overlap").contains("cuda_graph");
}

// The dispatcher that a run names. A padded capacity spares the host its wait for the sizes.
void apply_dispatcher(const json& row, const DeviceSpec& device, SoftwareSpec& software) {
  const json& train = json_object(row, "train");
  constexpr std::array kNamed = {
      std::pair{"hybridep", Dispatcher::kHybridEp}, std::pair{"deepep", Dispatcher::kDeepEp},
      std::pair{"minimal_async_ep", Dispatcher::kMinimalAsyncEp},
      std::pair{"allgather", Dispatcher::kAllGather}, std::pair{"alltoall", Dispatcher::kAllToAll}};
  const json& overlap = json_object(train, "overlap");
  std::string stated =
      json_text(overlap, "moe_dispatcher") + " " + json_text(overlap, "ep_comm_backend");
  stated += has_feature(train, "deepep") ? "deepep" : usual_dispatcher(row, device);
  const std::string text = lower(stated.substr(0, kLongestText));
  const auto* named = std::find_if(kNamed.begin(), kNamed.end(),
                                   [&](const auto& entry) { return contains(text, entry.first); });
  if (named == kNamed.end()) {
    return;
  }
  ExchangeSpec& exchange = software.exchange;
  exchange.dispatcher = named->second;
  std::smatch factor;
  if (exchange.dispatcher == Dispatcher::kAllToAll && contains(text, "padded") &&
      std::regex_search(text, factor, std::regex(R"(capacity_factor (\d{1,3}(\.\d{1,3})?))"))) {
    exchange.capacity_factor = std::stod(factor[1]);
  }
  if (exchange.dispatcher != Dispatcher::kAllToAll && !has_feature(train, "deepep")) {
    software.permute = Implementation::kFused;  // these bring their own kernels
  }
}

// Features of Primus' MoE package, each on top of its baseline.
void apply_features(const json& train, SoftwareSpec& software) {
  if (has_feature(train, "ce_fusion")) {
    software.cross_entropy = Implementation::kFused;
  }
  if (has_feature(train, "sync_free")) {
    software.permute = Implementation::kFused;
    software.host.synchronise = {};
  }
}

void apply_overlap_texts(const json& row, Experiment& experiment) {
  const json& train = json_object(row, "train");
  SoftwareSpec& software = experiment.software;
  const json& overlap = json_object(train, "overlap");
  // Megatron gathers parameters beside the forward pass only if it reduces beside the backward one.
  if (!json_flag(overlap, "grad_reduce_overlap").value_or(true)) {
    software.overlap_grad_reduce = false;
    software.overlap_param_gather = false;
  }
  if (json_flag(overlap, "tp_comm_overlap").value_or(false) ||
      json_flag(overlap, "async_tp").value_or(false)) {
    software.async_tp = true;
  }
  const std::string graph = json_text(overlap, "cuda_graph");
  const bool whole =
      experiment.model.moe && usually_captures_step(train, experiment.cluster.device);
  software.cuda_graph = software.cuda_graph || !graph.empty() || whole;
  // Transformer Engine's graphs are captured module by module, without dropless experts.
  if (graph == "transformer_engine" && experiment.model.moe) {
    software.cuda_graph_scope = CudaGraphScope::kWithoutExperts;
  }
  software.ep_overlap = json_flag(overlap, "moe_a2a_overlap").value_or(software.ep_overlap);
  apply_dispatcher(row, experiment.cluster.device, software);
  apply_features(train, software);
}

// How a run communicates, as far as it says so.
void apply_communication(const json& train, PlanRequest& plan) {
  const json& overlap = json_object(train, "overlap");
  if (!json_flag(overlap, "grad_reduce_overlap").value_or(true)) {
    plan.overlap.hidden[static_cast<std::size_t>(Axis::kData)] = 0.0;
  }
  if (plan.cp > 1 && json_text(overlap, "cp_comm_type") == "a2a") {
    plan.cp_algorithm = CpAlgorithm::kAllToAll;
    plan.overlap.hidden[static_cast<std::size_t>(Axis::kContext)] = 0.0;
  }
}

// Unless a run says otherwise, torchtitan's pipelines split a rank's batch into as many
// micro-batches as there are stages, of which looped schedules give each rank two
// (torchtitan/distributed/pipeline.py).
void settle_pipeline_pieces(const json& row, Experiment& experiment) {
  constexpr std::int64_t kStagesOfLoop = 2;
  PlanRequest& plan = experiment.plan;
  TrainingRecipe& training = experiment.training;
  if (plan.pp == 1 || json_count(json_object(row, "train"), "mbs")) {
    return;
  }
  if (!json_count(json_object(row, "parallel"), "vpp") &&
      contains(json_text(row, "notes"), "Interleaved1F1B")) {
    plan.vpp = kStagesOfLoop;
    plan.layout = "balanced";
  }
  const std::int64_t ranks = plan.tp * plan.pp * plan.cp;
  const std::int64_t pieces = experiment.cluster.gpus() / ranks * plan.pp * plan.vpp;
  training.micro_batch_size = std::max<std::int64_t>(1, training.global_batch_size / pieces);
}

Experiment experiment_from(const json& row, ProfileCache& profiles) {
  const json& train = json_object(row, "train");
  const json& parallel = json_object(row, "parallel");
  Experiment experiment;
  experiment.cluster = cluster_from(json_object(row, "hardware"), profiles);
  experiment.model = published_model(row, train, profiles);
  // Megatron's expert-tensor-parallel-size is that of the rest by default.
  const std::string software = software_of(row);
  const bool megatron = !software.starts_with("torchtitan") && !software.starts_with("pytorch");
  experiment.plan = plan_from(parallel, experiment.model, megatron);
  const PlanRequest& plan = experiment.plan;
  const std::int64_t ranks = std::max<std::int64_t>(1, plan.tp * plan.pp * plan.cp);
  const std::int64_t dp = std::max<std::int64_t>(1, experiment.cluster.gpus() / ranks);
  settle_fsdp(parallel, experiment.plan, dp * plan.cp);
  settle_optimizer_group(row, experiment.plan, dp * plan.cp);
  apply_communication(train, experiment.plan);
  experiment.training = training_from(train, experiment.cluster.device, dp);
  if (software.starts_with("torchtitan")) {
    settle_pipeline_pieces(row, experiment);
  }
  experiment.software = profiles.software(software);
  apply_overlap_texts(row, experiment);
  return experiment;
}

std::vector<MeasuredQuantity> quantities_of(const json& measured) {
  constexpr double kGi = 1024.0 * 1024.0 * 1024.0;
  std::vector<MeasuredQuantity> quantities;
  if (const auto rate = json_number(measured, "tokens_per_s_per_gpu")) {
    quantities.push_back({"tokens_per_second_per_gpu", *rate});
  }
  if (const auto time = json_number(measured, "step_time_s")) {
    quantities.push_back({"step_time_s", *time});
  }
  if (const auto memory = json_number(measured, "memory_gib")) {
    quantities.push_back({"peak_memory_bytes", *memory * kGi});
  }
  return quantities;
}

}  // namespace

RecomputeSpec recompute_from_text(const std::string& published) {
  using Module = RecomputeModule;
  const std::string text = lower(published.substr(0, kLongestText));
  RecomputeSpec recompute;
  if (text.empty() || text.starts_with("none")) {
    return recompute;
  }
  if (text.starts_with("selective")) {
    recompute.kind = RecomputeKind::kSelective;
    constexpr std::array kModules = {std::pair{"layernorm", Module::kLayerNorm},
                                     std::pair{"moe_act", Module::kMoeActivation},
                                     std::pair{"mlp_act", Module::kMlpActivation},
                                     std::pair{"mla_up_proj", Module::kMlaUp},
                                     std::pair{"shared_experts", Module::kSharedExperts},
                                     std::pair{":mlp", Module::kMlp},
                                     std::pair{",mlp", Module::kMlp},
                                     std::pair{"core", Module::kCoreAttention}};
    recompute.modules.clear();
    for (const auto& [word, module] : kModules) {
      if (contains(text, word)) {
        recompute.modules.push_back(module);
      }
    }
    if (std::regex_search(text, std::regex(R"(\bop\b)"))) {
      recompute.kind = RecomputeKind::kOperators;
    }
    if (recompute.modules.empty()) {
      recompute.modules = {Module::kCoreAttention};
    }
    return recompute;
  }
  recompute.kind = RecomputeKind::kFull;
  std::smatch match;
  if (contains(text, "block") && std::regex_search(text, match, std::regex(R"((\d{1,4}))"))) {
    recompute.method = RecomputeMethod::kBlock;
    recompute.layers = std::stoll(match[1]);
  }
  return recompute;
}

std::optional<BytesPerSecond> network_rate_of_gpu(const std::string& published,
                                                  std::int64_t gpus_per_node) {
  const std::string text = published.substr(0, kLongestText);
  const BytesPerSecond gigabit(1e9 / 8.0);
  std::smatch match;
  const auto gpus = static_cast<double>(gpus_per_node);
  if (std::regex_search(text, match, std::regex(R"((\d{1,3}) ?x ?(\d{1,4}) ?Gb)"))) {
    return std::stod(match[1]) * std::stod(match[2]) / gpus * gigabit;
  }
  if (std::regex_search(text, match, std::regex(R"((\d{1,5}) ?Gb/?p?s? )")) &&
      (contains(text, "node-node") || contains(text, "per node") || contains(text, "a node"))) {
    return std::stod(match[1]) / gpus * gigabit;
  }
  if (std::regex_search(text, match, std::regex(R"((\d{2,4}) ?Gb/?p?s?)"))) {
    return std::stod(match[1]) * gigabit;
  }
  return std::nullopt;
}

MeasuredRun read_training_run(const json& row, ProfileCache& profiles) {
  MeasuredRun run;
  run.id = json_text(row, "id");
  run.gpu = gpu_for(json_text(json_object(row, "hardware"), "gpu"));
  run.group = (run.gpu.empty() ? "unknown" : run.gpu) + " " + json_text(row, "family") + " " +
              json_text(row, "completeness");
  if (std::string own = json_text(row, "group"); !own.empty()) {
    run.group = std::move(own);
  }
  run.split = json_text(row, "config_group");
  run.quantities = quantities_of(json_object(row, "measured"));
  // torchtitan logs max_memory_reserved; the others max_memory_allocated.
  run.reserved_memory =
      software_for(json_text(json_object(row, "train"), "framework")) == "torchtitan";
  const std::string task = json_text(row, "task");
  if (task != "pretrain" && !task.empty()) {
    run.skipped = "feature unsupported: the task " + task + " (frozen weights, generation)";
    return run;
  }
  try {
    run.experiment = experiment_from(row, profiles);
  } catch (const SkippedRow& skip) {
    run.skipped = skip.reason;
  }
  return run;
}

}  // namespace stepcast
