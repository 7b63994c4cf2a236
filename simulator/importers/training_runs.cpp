// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include <algorithm>
#include <array>

#include "importers/published_names.hpp"
#include "importers/published_run.hpp"
#include "importers/stated_object.hpp"

namespace stepcast {
namespace {

// --- plan ----------------------------------------------------------------------------------------

// A row's degrees, and the ranks that hold one copy of its data.
struct Degrees {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t cp = 1;
  std::int64_t gpus = 1;

  [[nodiscard]] std::int64_t dp() const {
    return std::max<std::int64_t>(1, gpus / std::max<std::int64_t>(1, tp * pp * cp));
  }
};

Degrees degrees_of(StatedObject& parallel, std::int64_t gpus) {
  Degrees degrees{parallel.degree("tp"), parallel.degree("pp"), 1, parallel.degree("cp"), gpus};
  const std::int64_t vpp = parallel.degree("vpp");
  degrees.vpp = degrees.pp > 1 ? vpp : 1;
  parallel.ignore("dp");  // follows from the others and the GPUs
  return degrees;
}

// Megatron's expert-tensor-parallel-size is that of the rest by default.
void add_experts(StatedObject& parallel, const std::string& software, std::int64_t tp, Record& plan,
                 Record& assumed) {
  plan["ep"] = parallel.degree("ep");
  if (const auto etp = parallel.count("etp")) {
    plan["etp"] = *etp;
    return;
  }
  const SourceFamily family = family_of(software);
  const bool megatron = family != SourceFamily::kTorchtitan && family != SourceFamily::kPytorch &&
                        family != SourceFamily::kHuggingFace;
  plan["etp"] = megatron ? tp : 1;
  if (tp > 1) {
    assumed.push_back(std::string("plan.etp ") + (megatron ? std::to_string(tp) : "1") +
                      ": the framework's default");
  }
}

// FSDP degrees are published without context parallelism, which shards as well.
void add_sharding(StatedObject& parallel, const Degrees& degrees, Record& plan) {
  const std::int64_t fsdp = parallel.degree("fsdp");
  const std::int64_t zero = parallel.count("zero").value_or(1);
  plan["zero"] = fsdp > 1 ? 3 : zero;
  const std::int64_t replicas = degrees.dp() * degrees.cp;
  if (fsdp > 1) {
    const bool whole = fsdp * degrees.cp >= replicas || replicas % fsdp != 0;
    plan["fsdp"] = whole ? replicas : fsdp;
  }
}

// "group 8" or "group size 8" of a text; empty without a size.
std::string optimizer_group(const std::string& text) {
  constexpr std::string_view kWord = "group ";
  constexpr std::string_view kSizeWord = "size ";
  for (std::size_t at = text.find(kWord); at != std::string::npos; at = text.find(kWord, at + 1)) {
    std::size_t end = at + kWord.size();
    end += text.compare(end, kSizeWord.size(), kSizeWord) == 0 ? kSizeWord.size() : 0;
    const std::size_t digits = first_digits(std::string_view(text).substr(end), 4).size();
    if (digits > 0) {
      return text.substr(at, end + digits - at);
    }
  }
  return {};
}

// InternEvo shards its optimizer over groups of ranks: "(group 8)", or "group size 8" in a note.
void add_optimizer_group(StatedObject& row, const Degrees& degrees, Record& plan, Record& assumed) {
  const std::string group =
      optimizer_group(shortened(row.object("train").text("optimizer") + " " + row.text("notes")));
  if (plan["zero"] != 1 || group.empty()) {
    return;
  }
  const std::int64_t ranks = digits_value(last_digits(group, 4));
  const std::int64_t replicas = degrees.dp() * degrees.cp;
  if (ranks > 1 && ranks < replicas && replicas % ranks == 0) {
    plan["hsdp"] = ranks;
    assumed.push_back("plan.hsdp " + std::to_string(ranks) + ": '" + group + "'");
  }
}

void add_schedule(StatedObject& parallel, Record& plan) {
  const std::string written = parallel.text("schedule");
  if (written.empty()) {
    return;
  }
  const auto names = names_of<Schedule>();
  if (std::ranges::find(names, written) == names.end()) {
    throw RefusedRow{"feature unsupported: the pipeline schedule '" + written + "'"};
  }
  plan["schedule"] = written;
}

Record plan_of(StatedObject& row, const Degrees& degrees, const RunModel& model,
               const std::string& software, Record& assumed) {
  StatedObject& parallel = row.object("parallel");
  Record plan = {{"tp", degrees.tp}, {"pp", degrees.pp}, {"vpp", degrees.vpp}, {"cp", degrees.cp}};
  if (model.experts) {
    add_experts(parallel, software, degrees.tp, plan, assumed);
  } else {
    parallel.ignore("ep");  // of a model without experts
    parallel.ignore("etp");
  }
  if (const auto sequence_parallel = parallel.flag("sp")) {
    plan["sequence_parallel"] = *sequence_parallel;
  } else {
    plan["sequence_parallel"] = degrees.tp > 1;
    if (degrees.tp > 1) {
      assumed.push_back("plan.sequence_parallel true: usual with tensor parallelism");
    }
  }
  add_sharding(parallel, degrees, plan);
  add_optimizer_group(row, degrees, plan, assumed);
  add_schedule(parallel, plan);
  if (model.layers % (degrees.pp * degrees.vpp) != 0) {
    plan["stage_layout"] = "balanced";
    assumed.push_back("plan.stage_layout balanced: the stages do not divide the layers");
  }
  return plan;
}

// --- training ------------------------------------------------------------------------------------

Record training_of(StatedObject& train, const DeviceSpec& device, const Degrees& degrees,
                   const DataRoot& data, Record& assumed) {
  Record training;
  training["sequence_length"] = train.required_count("seq_len");
  const std::optional<std::int64_t> mbs = train.count("mbs");
  const std::int64_t micro = std::max<std::int64_t>(1, mbs.value_or(1));
  training["micro_batch_size"] = micro;
  const std::optional<std::int64_t> gbs = train.count("gbs");
  training["global_batch_size"] = gbs.value_or(micro * degrees.dp());
  if (!mbs) {
    assumed.push_back("training.micro_batch_size 1: not stated");
  }
  if (!gbs) {
    assumed.push_back("training.global_batch_size " + std::to_string(micro * degrees.dp()) +
                      ": not stated, one micro-batch a replica");
  }
  if (const std::string dtype = train.text("dtype"); dtype.empty()) {
    assumed.push_back("training.dtype bf16: not stated");
  } else {
    training["dtype"] = dtype_key(dtype, device);
  }
  training.update(recompute_keys(train.text("recompute"), train.text("framework"), data, assumed));
  if (train.flag("dropout").value_or(false)) {
    training["dropout"] = true;
  }
  const std::string optimizer = short_remark(train.text("optimizer"));
  if (!optimizer.empty() && !mentions(optimizer, "adam")) {
    throw RefusedRow{"feature unsupported: the optimizer '" + train.text("optimizer") + "'"};
  }
  return training;
}

// Unless a run says otherwise, torchtitan's pipelines split a rank's batch into as many
// micro-batches as there are stages, of which looped schedules give each rank two
// (torchtitan/distributed/pipeline.py).
void settle_pipeline_pieces(StatedObject& row, const Degrees& degrees, Record& plan,
                            Record& training, Record& assumed) {
  constexpr std::int64_t kStagesOfLoop = 2;
  if (degrees.pp == 1) {
    return;
  }
  const bool in_notes = mentions(row.text("notes"), "Interleaved1F1B");
  const bool loops = plan.value("schedule", "") == "interleaved_1f1b" || in_notes;
  std::int64_t vpp = degrees.vpp;
  if (!row.object("parallel").states("vpp") && loops) {
    vpp = kStagesOfLoop;
    plan["vpp"] = vpp;
    plan["schedule"] = "interleaved_1f1b";
    plan["stage_layout"] = "balanced";
    if (in_notes) {
      assumed.push_back("plan.schedule interleaved_1f1b: the notes name Interleaved1F1B");
    }
    assumed.push_back("plan.vpp 2: torchtitan's looped schedules give a rank two stages");
  }
  if (!row.object("train").states("mbs")) {
    const std::int64_t pieces = degrees.dp() * degrees.pp * vpp;
    const std::int64_t batch = training["global_batch_size"].get<std::int64_t>();
    const std::int64_t micro = std::max<std::int64_t>(1, batch / pieces);
    training["micro_batch_size"] = micro;
    assumed.push_back("training.micro_batch_size " + std::to_string(micro) +
                      ": torchtitan makes as many micro-batches as there are stages");
  }
}

// --- the row -------------------------------------------------------------------------------------

// Weights and both moments of AMD's MaxText runs are bf16 (measured/README.md).
void settle_source(StatedObject& row, const DeviceSpec& device, RunSoftware& software,
                   Record& assumed) {
  if (runs_maxtext_slurm(row)) {
    keep_states_in_16_bits(software);
    assumed.push_back(
        "software.state_bytes 2, 2 and 4 B: this source keeps weights and both moments "
        "in bf16, and JAX reduces gradients in the format of the weights");
  }
  const SourceSoftware launched = published_source(row.object("source").text("key")).software;
  if (!launched.cudnn.empty()) {
    software.changes["attention_library"] = {{"name", "transformer_engine"},
                                             {"cudnn", launched.cudnn}};
    assumed.push_back("software.attention_library.cudnn " + std::string(launched.cudnn) + ": " +
                      std::string(launched.cudnn_reason));
  }
  if (family_of(software.base) == SourceFamily::kMaxtext &&
      device.architecture.attention.native == AttentionKernel::kAiter) {
    software.changes["attention"] = "aiter";
    assumed.push_back("software.attention aiter: what Transformer Engine calls on AMD parts");
  }
}

// Bridge's presets of experts capture whole steps with MXFP8 alone. With one scale a tensor, as
// fp8_cs has it, the exchange and the experts' products, each with its casts, maxima and
// transposes, are launched one by one; router and preprocessing, which are captured, are little of
// it (perf_recipes/qwen/gb300/qwen3_moe.py, ..._fp8cs_config, 067f987d).
void settle_scaling(StatedObject& train, const RunModel& model, RunSoftware& software,
                    Record& assumed) {
  const bool by_tensor = mentions(train.text("dtype"), "cs");
  if (family_of(software.base) != SourceFamily::kMegatronBridge || !model.experts || !by_tensor) {
    return;
  }
  for (const char* key : {"cuda_graph", "ep_overlap", "delays_weight_gradients",
                          "activation_in_product", "attention_8bit", "head_8bit"}) {
    software.changes[key] = false;
  }
  software.changes["grouped_gemm"] = "streams";
  assumed.push_back("software.cuda_graph false: presets capture experts with MXFP8 alone");
}

// Which models a set runs with a mask by document, its recipes say.
void settle_mask(StatedObject& figures, ProfileCache& profiles, const RunSoftware& software,
                 Record& assumed) {
  SoftwareSpec set = profiles.software(software.base, {});
  follow_recipes({{}, {}, Dtype::kBf16, figures.states("mla")}, set);
  if (family_of(software.base) == SourceFamily::kTorchtitan &&
      set.attention == AttentionKernel::kFlex && !software.changes.contains("attention")) {
    assumed.push_back(
        "software.attention flex, by the set: a mask by document; how long documents are is not "
        "stated, so none is taken to be shorter than its sequence");
  }
}

Record experiment_of(StatedObject& row, const std::string& gpu, ProfileCache& profiles,
                     Record& assumed) {
  StatedObject& train = row.object("train");
  StatedObject& parallel = row.object("parallel");
  const DeviceSpec& device = profiles.gpu(gpu);
  const RunCluster cluster = run_cluster(row.object("hardware"), device, assumed);
  StatedObject& figures = row.object("model");
  const RunModel model = run_model(figures, train.count("seq_len").value_or(0), profiles);
  RunSoftware software{software_set(row, profiles, assumed)};
  const Degrees degrees = degrees_of(parallel, cluster.gpus);
  Record plan = plan_of(row, degrees, model, software.base, assumed);
  Record training = training_of(train, device, degrees, profiles.data(), assumed);
  read_overlap(train, model, software, plan, assumed);
  settle_source(row, device, software, assumed);
  settle_scaling(train, model, software, assumed);
  settle_trainer(row, device, software, plan, assumed);
  settle_figures(row, model, software, plan, training, assumed);
  settle_task(row, device, training, plan, software, assumed);
  settle_mask(figures, profiles, software, assumed);
  if (family_of(software.base) == SourceFamily::kTorchtitan) {
    settle_pipeline_pieces(row, degrees, plan, training, assumed);
  }
  Record experiment = {{"model", model.record},
                       {"cluster", cluster.record},
                       {"training", training},
                       {"plan", plan},
                       {"software", software.record()}};
  follow_launch_script(row, gpu, profiles.data(), experiment, assumed);
  return experiment;
}

// Whether activations lay in the host's memory, and not on the GPU where the model has them.
bool offloads_activations(StatedObject& train) {
  return train.object("overlap").count("cpu_offload_layers").value_or(0) > 0 ||
         train.text("recompute").starts_with(kActivationOffload);
}

// torchtitan logs max_memory_reserved; the others max_memory_allocated. What a source calls TFLOP/s
// or MFU follows its own convention and is not compared.
Record measured_of(StatedObject& row, Record& assumed) {
  constexpr double kGi = 1024.0 * 1024.0 * 1024.0;
  StatedObject& measured = row.object("measured");
  Record record = Record::object();
  if (const auto rate = measured.number("tokens_per_s_per_gpu")) {
    record["tokens_per_second_per_gpu"] = *rate;
  }
  if (const auto time = measured.number("step_time_s")) {
    record["step_time_s"] = *time;
  }
  StatedObject& train = row.object("train");
  const bool offloads = offloads_activations(train);
  const auto memory = measured.number("memory_gib");
  if (memory && !offloads) {
    const bool reserved =
        software_for(train.text("framework")).family() == SourceFamily::kTorchtitan;
    record[reserved ? "peak_reserved_memory_bytes" : "peak_memory_bytes"] = *memory * kGi;
  }
  measured.ignore("tflops_per_gpu");
  measured.ignore("mfu");
  const std::string outcome = row.text("outcome");
  if (outcome == "oom") {
    record["fits"] = false;
  } else if (!outcome.empty()) {
    throw RefusedRow{"feature unsupported: the outcome '" + outcome + "'"};
  } else if (!offloads &&
             (record.contains("tokens_per_second_per_gpu") || record.contains("step_time_s"))) {
    record["fits"] = true;
  }
  correct_figures(row, record, assumed);
  return record;
}

// What describes the row and not the run.
void pass_over_remarks(StatedObject& row) {
  for (const char* key : {"notes", "family", "completeness", "group", "config_group", "id", "task",
                          "outcome", "measured_layer_ms", "seen"}) {
    row.ignore(key);
  }
  StatedObject& source = row.object("source");
  for (const char* key : {"key", "title", "ref"}) {
    source.ignore(key);
  }
}

// Runs are grouped by what they train: adapters, or else a family of models.
std::string kind_of(StatedObject& row) {
  const std::string task = row.text("task");
  return task.empty() || task == "pretrain" ? row.text("family") : task;
}

void add_remarks(StatedObject& row, const Record& assumed, Record& record) {
  StatedObject& source = row.object("source");
  const std::string title = source.text("title");
  const std::string ref = source.text("ref");
  if (!ref.empty() || !title.empty()) {
    record["source"] = title + (title.empty() || ref.empty() ? "" : ": ") + ref;
  }
  const std::string key = source.text("key");
  const PublishedSource publisher = published_source(key);
  if (!publisher.id.empty()) {
    record["source_id"] = publisher.id;
  }
  if (publisher.in_view) {
    record["in_view"] = true;
  }
  if (publisher.uses) {
    record["stack"] = name(Stack::kAsItComes);
  }
  if (const std::string split = row.text("config_group"); !split.empty()) {
    record["hold_out"] = split;
  }
  if (!assumed.empty()) {
    record["assumed"] = assumed;
  }
  if (const std::string notes = row.text("notes"); !notes.empty()) {
    record["notes"] = notes;
  }
}

}  // namespace

void read_training_run(const nlohmann::json& json, ProfileCache& profiles,
                       std::vector<Record>& records) {
  StatedObject row(json);
  Record record;
  if (const std::string id = row.text("id"); !id.empty()) {
    record["id"] = id;
  }
  Record assumed = Record::array();
  std::string gpu;
  Record measured = Record::object();
  try {
    measured = measured_of(row, assumed);
    const std::string published = row.object("hardware").text("gpu");
    gpu = gpu_for(published, profiles);
    refuse_framework(row.object("train").text("framework"));
    task_of(row);  // refuses other tasks
    gpu = required_gpu(published, profiles);
    const Record experiment = experiment_of(row, gpu, profiles, assumed);
    pass_over_remarks(row);
    row.refuse_unread();
    record["experiment"] = experiment;
  } catch (const RefusedRow& refusal) {
    record["gpu"] = gpu;
    record["skipped"] = refusal.reason;
  }
  record["measured"] = measured;
  const std::string own = row.text("group");
  record["group"] = !own.empty() ? own
                                 : (gpu.empty() ? "unknown" : gpu) + " " + kind_of(row) + " " +
                                       row.text("completeness");
  add_remarks(row, assumed, record);
  records.push_back(std::move(record));
}

}  // namespace stepcast
