// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include <algorithm>
#include <array>

#include "frameworks/words.hpp"
#include "importers/published_names.hpp"
#include "importers/stated_object.hpp"

namespace stepcast {
namespace {

enum class Mode { kFsdp, kTp, kPp, kDdp, kCp, kLocal };
constexpr std::array<NamedValue<Mode>, 6> kModes = {{{"fsdp", Mode::kFsdp},
                                                     {"tp", Mode::kTp},
                                                     {"pp", Mode::kPp},
                                                     {"ddp", Mode::kDdp},
                                                     {"cp", Mode::kCp},
                                                     {"local", Mode::kLocal}}};

// --- model --------------------------------------------------------------------------------------

Record attention_of(StatedObject& arch) {
  Record attention;
  if (arch.states("mla")) {
    StatedObject& mla = arch.object("mla");
    attention = {{"kind", "mla"}, {"heads", arch.required_count("heads")}};
    attention["q_lora_rank"] = mla.count("q_lora").value_or(0);
    attention["kv_lora_rank"] = mla.required_count("kv_lora");
    attention["qk_nope_head_dim"] = mla.required_count("qk_nope");
    attention["qk_rope_head_dim"] = mla.required_count("qk_rope");
    attention["v_head_dim"] = mla.required_count("v_dim");
    arch.ignore("kv_heads");  // as many as heads, of the sum of both widths
    arch.ignore("head_dim");
  } else {
    attention = {{"heads", arch.required_count("heads")},
                 {"kv_heads", arch.required_count("kv_heads")},
                 {"head_dim", arch.required_count("head_dim")}};
  }
  if (arch.flag("qk_norm").value_or(false)) {
    attention["qk_norm"] = "head";
  }
  if (arch.flag("qkv_bias").value_or(false)) {
    attention["qkv_bias"] = true;
  }
  return attention;
}

Record model_of(StatedObject& row) {
  StatedObject& arch = row.object("arch");
  const std::string name = row.text("model");
  Record model = {{"name", name.empty() ? "model" : name},
                  {"hidden_size", arch.required_count("hidden")},
                  {"layers", row.required_count("layers")},
                  {"vocabulary", arch.required_count("vocab")},
                  {"attention", attention_of(arch)},
                  {"mlp", {{"ffn_hidden", arch.required_count("ffn")}}}};
  arch.ignore("layers");  // of the whole model, of which the row runs its own
  if (arch.states("experts")) {
    model["moe"] = {{"experts", arch.required_count("experts")},
                    {"experts_per_token", arch.required_count("topk")},
                    {"expert_ffn_hidden", arch.required_count("moe_ffn")},
                    {"shared_expert_ffn_hidden", arch.count("shared_ffn").value_or(0)},
                    {"first_dense_layers", arch.count("dense_layers").value_or(0)}};
  }
  return model;
}

// --- plan ---------------------------------------------------------------------------------------

Mode mode_of(StatedObject& row) {
  const std::string written = row.text("mode");
  const NamedValue<Mode>* const known = row_with(kModes, &NamedValue<Mode>::name, written);
  if (known == nullptr) {
    throw RefusedRow{"feature unsupported: the mode '" + written + "'"};
  }
  return known->value;
}

Record plan_of(StatedObject& row, Mode mode, std::int64_t world) {
  const bool sharded = mode == Mode::kFsdp || mode == Mode::kTp || mode == Mode::kCp;
  Record plan = {{"zero", sharded ? 3 : 0}};
  if (const std::int64_t ep = row.degree("ep"); ep > 1) {
    plan["ep"] = ep;
  }
  if (mode == Mode::kTp) {
    plan["tp"] = row.required_count("tp");
  } else if (mode == Mode::kPp) {
    plan["pp"] = world;
    plan["vpp"] = row.degree("v");
    if (const std::string schedule = row.text("schedule"); !schedule.empty()) {
      plan["schedule"] = required_schedule(schedule);
    }
  } else if (mode == Mode::kCp) {
    plan["cp"] = world;
    plan["cp_algorithm"] = "all_gather";
  }
  if (const auto hsdp = row.count("hsdp")) {
    plan["hsdp"] = *hsdp;
  }
  if (row.flag("no_reshard").value_or(false)) {
    plan["fsdp_reshard"] = false;
  }
  return plan;
}

// --- software -----------------------------------------------------------------------------------

Record software_of(StatedObject& row, Mode mode, const Record& plan, std::int64_t world,
                   Record& assumed) {
  const bool whole_tp = mode == Mode::kTp && plan["tp"] == world;
  const bool in_16_bits = mode == Mode::kLocal || mode == Mode::kPp;
  const std::string base = whole_tp             ? "pytorch_loss_parallel"
                           : mode == Mode::kDdp ? "pytorch_ddp"
                           : in_16_bits         ? "pytorch_bf16"
                                                : "pytorch_compiled";
  const bool eager = row.flag("eager").value_or(false);
  const bool dynamic = row.flag("dyn").value_or(false);
  if (!eager && !dynamic) {
    return base;
  }
  Record software = {{"base", base}};
  if (eager) {
    for (const char* kernel : {"rope", "activation", "cross_entropy"}) {
      software[kernel] = "eager";
    }
    software["host"] = {{"layers", "eager"}, {"experts", "eager"}};
    assumed.push_back("software.norm compiled: rms_norm is one kernel of PyTorch, eager too");
  }
  if (dynamic) {
    software["permute_order"] = "index";
    software["weighted_sum"] = "fp32";
    software["expert_exchange"] = {{"cpu_sync", "blocking"}};
    assumed.push_back(
        "software.expert_exchange.cpu_sync blocking: dyn, the host reads the splits of every "
        "exchange; rows are gathered by index and weighted in fp32");
  }
  return software;
}

Record training_of(StatedObject& row, Mode mode, const Record& plan, std::int64_t world) {
  const std::int64_t mbs = row.degree("mbs");
  const auto degree = [&plan](const char* key) { return plan.value(key, std::int64_t{1}); };
  const std::int64_t replicas =
      mode == Mode::kLocal
          ? 1
          : std::max<std::int64_t>(1, world / degree("tp") / degree("pp") / degree("cp"));
  Record training = {{"sequence_length", row.required_count("seq")},
                     {"micro_batch_size", mbs},
                     {"global_batch_size", mbs * row.degree("micro") * replicas}};
  if (row.flag("fp8").value_or(false)) {
    training["dtype"] = "fp8";
  }
  const std::string recompute = row.text("ac");
  if (recompute == "full") {
    training["recompute"] = "full";
  } else if (!recompute.empty() && recompute != "none") {
    throw RefusedRow{"feature unsupported: the recomputation '" + recompute + "'"};
  }
  return training;
}

// --- measured -----------------------------------------------------------------------------------

Record measured_step(StatedObject& row) {
  Record measured = Record::object();
  if (const auto time = row.number("step_s")) {
    measured["step_time_s"] = *time;
  }
  const nlohmann::json memory = row.value("peak_alloc_bytes");
  if (memory.is_array() && !memory.empty()) {
    Record ranks = Record::array();
    double peak = 0.0;
    for (const nlohmann::json& value : memory) {
      const double bytes = value.is_number() ? value.get<double>() : 0.0;
      peak = std::max(peak, bytes);
      ranks.push_back(bytes);
    }
    measured["peak_memory_bytes"] = peak;
    if (row.text("mode") == "pp") {
      measured["peak_memory_bytes_by_rank"] = ranks;
    }
  }
  if (row.text("outcome") == "oom") {
    measured["fits"] = false;
  } else if (measured.contains("step_time_s")) {
    measured["fits"] = true;
  }
  return measured;
}

Record experiment_of(StatedObject& row, const std::string& gpu, Record& assumed) {
  const Mode mode = mode_of(row);
  const std::int64_t world = row.degree("world");
  // One host, whose GPUs share a switch. Local ranks do not talk: one of them is the cluster.
  Record experiment;
  experiment["model"] = model_of(row);
  experiment["cluster"] = {
      {"gpu", gpu}, {"nodes", 1}, {"gpus_per_node", mode == Mode::kLocal ? 1 : world}};
  const Record plan = plan_of(row, mode, world);
  experiment["training"] = training_of(row, mode, plan, world);
  experiment["plan"] = plan;
  experiment["software"] = software_of(row, mode, plan, world, assumed);
  if (mode == Mode::kCp) {
    assumed.push_back(
        "plan.cp_algorithm all_gather: the default of torch.distributed's context_parallel");
  }
  row.refuse_unread();
  return experiment;
}

}  // namespace

void read_measured_step(const nlohmann::json& json, ProfileCache& profiles,
                        std::vector<Record>& records) {
  StatedObject row(json);
  Record record;
  record["id"] = row.text("case");
  const std::string named = row.text("gpu");
  Record assumed = Record::array();
  std::string gpu = "h200_sxm";
  bool experts = false;
  const Record measured = measured_step(row);
  for (const char* known : {"clock_mhz", "watts", "temperature", "step_min_s", "step_max_s",
                            "tokens_per_s_per_gpu", "peak_reserved_bytes", "group"}) {
    row.ignore(known);
  }
  try {
    gpu = named.empty() ? gpu : required_gpu(named, profiles);
    record["experiment"] = experiment_of(row, gpu, assumed);
    experts = record["experiment"]["model"].contains("moe");
    if (named.empty()) {
      assumed.push_back("cluster.gpu h200_sxm: rows without one were taken on that host");
    }
  } catch (const RefusedRow& refusal) {
    experts = row.object("arch").states("experts");
    record["gpu"] = gpu;
    record["skipped"] = refusal.reason;
  }
  record["measured"] = measured;
  record["group"] = gpu + (experts ? " moe" : " dense") + " step";
  record["source"] = "PyTorch 2.11, steps measured one by one";
  record["source_id"] = "PyTorch 2.11";
  if (!assumed.empty()) {
    record["assumed"] = assumed;
  }
  records.push_back(std::move(record));
}

}  // namespace stepcast
