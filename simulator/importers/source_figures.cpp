// SPDX-License-Identifier: Apache-2.0
// What sources mean where they are silent, or by figures that their rows take for others
// (SourceFigures of published_names.hpp).
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "importers/published_names.hpp"
#include "importers/published_run.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

SourceFigures figures_of(StatedObject& row) {
  return published_source(row.object("source").text("key")).figures;
}

// --- TRL's benchmark ----------------------------------------------------------------------------

void repeat_tensor_ranks(StatedObject& row, Record& plan, Record& training, Record& assumed) {
  const std::int64_t tp = plan.value("tp", std::int64_t{1});
  if (tp == 1) {
    return;
  }
  const std::int64_t shards = row.object("parallel").degree("dp");
  plan["tp"] = 1;
  plan.erase("sequence_parallel");
  plan.erase("fsdp");
  plan[shards > 1 ? "hsdp" : "zero"] = shards > 1 ? shards : 0;
  training["global_batch_size"] = training["global_batch_size"].get<std::int64_t>() * tp;
  assumed.push_back("plan.tp 1, replicas in its place: no tp_plan reaches from_pretrained, and " +
                    std::to_string(tp) + " ranks do the same, whose tokens count once for each");
}

// --- Megatron Bridge without a preset -----------------------------------------------------------

// Bridge's library recipes of Qwen3 recompute every layer of models with experts and of the 32B,
// which has 64 layers where the 14B has 40 and is not recomputed; dense ones have no sequence
// parallelism (recipes/qwen/qwen3.py, qwen3_moe.py, 383b610d).
void take_library_recipe(StatedObject& row, const RunModel& model, Record& plan, Record& training,
                         Record& assumed) {
  constexpr std::int64_t kLayersOfLarge = 64;
  const bool recomputes = model.experts || model.layers >= kLayersOfLarge;
  if (row.object("train").text("recompute").empty() && recomputes) {
    training["recompute"] = "full";
    assumed.push_back("training.recompute full: Bridge's library recipe of the model");
  }
  if (!row.object("parallel").flag("sp") && !model.experts && plan.value("tp", 1) > 1) {
    plan["sequence_parallel"] = false;
    assumed.push_back("plan.sequence_parallel false: Bridge's library recipe of the model");
  }
}

// What a row's remark says was pulled beside its keys.
void read_levers(StatedObject& row, RunSoftware& software, Record& training, Record& assumed) {
  const std::string remark = ascii::lower_case(row.text("notes"));
  if (mentions(remark, "unfused attention")) {
    software.changes["attention"] = "unfused";
    assumed.push_back("software.attention unfused: by its remark");
  }
  if (mentions(remark, "activation cpu offload")) {
    training["offload"] = {{"activations", true}};
    assumed.push_back("training.offload.activations: by its remark");
  }
}

// --- Megatron Bridge on GB300 and VR200 ---------------------------------------------------------

void read_matrix(StatedObject& row, RunSoftware& software, Record& assumed) {
  const std::string remark = ascii::lower_case(row.text("notes"));
  if (mentions(remark, "alltoall dispatcher")) {
    software.changes["dispatcher"] = "alltoall";
    assumed.push_back("plan.dispatcher alltoall: by its remark");
  }
  if (mentions(remark, "unfused attention")) {
    software.changes["attention"] = "unfused";
    software.changes["cuda_graph"] = false;
    assumed.push_back("software.attention unfused, without graphs: by its remark");
  }
}

// --- Primus --------------------------------------------------------------------------------------

// The whole number behind the last `word` of a remark.
std::optional<std::int64_t> number_behind(std::string_view remark, std::string_view word) {
  const std::size_t at = remark.rfind(word);
  return at == std::string_view::npos ? std::nullopt
                                      : leading_number(remark.substr(at + word.size()));
}

// "dispatcher DeepEP (Turbo), even routing forced, num_cu 80": what a remark says of the exchange.
// Throws RefusedRow for one that is not priced.
void read_exchange(std::string_view remark, RunSoftware& software, Record& assumed) {
  if (mentions(remark, "dispatcher megamoe")) {
    throw RefusedRow{"feature unsupported: MegaMoE, an exchange inside the experts' products"};
  }
  const bool deepep = mentions(remark, "dispatcher deepep");
  if (!deepep && !mentions(remark, "dispatcher all-to-all")) {
    return;
  }
  software.changes["dispatcher"] = deepep ? "deepep" : "alltoall";
  Record exchange = Record::object();
  if (const std::optional<std::int64_t> units = number_behind(remark, "num_cu ")) {
    exchange["num_sms"] = *units;
  }
  if (mentions(remark, "even routing forced") || mentions(remark, "routing forced even")) {
    exchange["routing"] = "round_robin_forced";
  } else if (mentions(remark, "routing forced uniform")) {
    exchange["routing"] = "uniform";
  }
  software.changes["expert_exchange"] = exchange;
  assumed.push_back("plan.dispatcher " + software.changes["dispatcher"].get<std::string>() +
                    ", with its units and routing: by its remark");
}

void read_ladder(StatedObject& row, RunSoftware& software, Record& assumed) {
  const std::string remark = ascii::lower_case(row.text("notes"));
  read_exchange(remark, software, assumed);
  // Primus' images since v26.4 set NVTE_CK_IS_V3_ATOMIC_FP32=0 and NVTE_CK_USES_BWD_V3=1.
  if (mentions(remark, "attention te ck")) {
    software.changes["attention"] = "aiter_a16";
    assumed.push_back("software.attention aiter_a16: Transformer Engine in Primus' image");
  }
  // Its last rungs run the configuration of the branch, with all that the ones before added.
  if (mentions(remark, "lever config alone")) {
    software.changes["rope_in_qk_norm"] = true;
    assumed.push_back("software.rope_in_qk_norm: the branch's own configuration");
  }
}

// Of DeepSeek-V4 what examples/megatron/configs/MI355X/deepseek_v4_flash-BF16-pretrain.yaml
// (fd1eeabb) has, where a row says nothing else.
void read_commit(StatedObject& row, RunSoftware& software, Record& training, Record& assumed) {
  read_exchange(ascii::lower_case(row.text("notes")), software, assumed);
  if (!mentions(row.object("model").text("name"), "DeepSeek-V4-Flash")) {
    return;
  }
  software.changes["sparse_attention"] = "triton";
  assumed.push_back("software.sparse_attention triton: Primus' configuration of the model");
  if (software.changes.value("dispatcher", "") == "deepep" &&
      !software.changes["expert_exchange"].contains("num_sms")) {
    software.changes["expert_exchange"]["num_sms"] = 80;
    assumed.push_back("expert_exchange.num_sms 80: Primus' configuration of the model");
  }
  if (row.object("train").text("recompute").empty()) {
    training["recompute"] = "full";
    assumed.push_back("training.recompute full: Primus' configuration of the model");
  }
}

// --- Primus' notes on GPT-OSS --------------------------------------------------------------------

// A row of this ladder by the letters and the number behind "mi355x-" in its name.
struct Rung {
  std::string_view series;
  int from = 0;  // the first that has it
};
bool has_change(std::string_view name, std::initializer_list<Rung> rungs) {
  const std::size_t at = name.rfind('-');
  const std::string_view step = name.substr(at == std::string_view::npos ? 0 : at + 1);
  return std::ranges::any_of(rungs, [step](const Rung& rung) {
    const std::optional<std::int64_t> number = step.starts_with(rung.series)
                                                   ? leading_number(step.substr(rung.series.size()))
                                                   : std::nullopt;
    return number && *number >= rung.from;
  });
}

// Gradients are searched for what is no number but from c2 on, and reduced in fp32 but in b10, b11
// and from c4 on; the r series came after both. All of them add gradients up outside of products: a
// trace of the source has that at a quarter of all kernels' time.
void read_gpt_oss(StatedObject& row, RunSoftware& software, Record& assumed) {
  const std::string name = row.text("id");
  software.changes["accumulates_in_gemm"] = false;
  software.changes["checks_gradients"] = !has_change(name, {{"c", 2}, {"r", 0}});
  if (has_change(name, {{"b", 10}, {"c", 4}, {"r", 0}})) {
    software.changes["gradient_reduce"] = "bf16";
  }
  const std::string remark = row.text("notes");
  if (mentions(remark, "fused residual+RMSNorm V")) {
    software.changes["residual_in_norm"] = true;
  }
  assumed.push_back("checks, format of gradients and residuals: the changes that its source lists");
}

// "capacity factor 1.25" of a remark.
std::optional<double> factor_behind(std::string_view remark, std::string_view word) {
  const std::size_t at = remark.find(word);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = remark.substr(at + word.size());
  return parse_number<double>(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

// modules/maxtext/pre_trainer.yaml (48536ab5): weight_dtype bfloat16, which the moments follow.
// base.yml's rules lay `embed` over fsdp and expert; sparse_matmul false, by the recipes of
// experts.
void read_primus_maxtext(StatedObject& row, const RunModel& model, RunSoftware& software,
                         Record& plan, Record& assumed) {
  keep_states_in_16_bits(software);
  software.changes["memory"]["pool_share"] = 0.9;
  assumed.push_back(
      "software.state_bytes 2, 2 and 4 B, memory.pool_share 0.9: Primus' preset, and the source's "
      "own sweep");
  const std::int64_t ep = row.object("parallel").degree("ep");
  if (!model.experts || ep == 1) {
    return;
  }
  plan["zero"] = 3;
  plan["fsdp"] = ep;
  software.changes["row_gather"] = "product";
  software.changes["expert_buffer"] = "received";
  if (const auto factor = factor_behind(row.text("notes"), "capacity factor ")) {
    software.changes["expert_exchange"]["capacity_factor"] = *factor;
  }
  assumed.push_back("plan.fsdp " + std::to_string(ep) +
                    ", software.row_gather product: FSDP reaches over the experts' axis, and "
                    "one-hot masks spread tokens over capacities");
}

}  // namespace

void keep_states_in_16_bits(RunSoftware& software) {
  software.changes["state_bytes"] = {
      {"parameter", "2 B"}, {"gradient", "2 B"}, {"optimizer", "4 B"}};
  software.changes["fsdp_parameters_fp32"] = false;
  software.changes["gradient_reduce"] = "bf16";
  software.changes["memory"]["stacked_copies"] = "2 B";  // copies of such weights
}

void settle_figures(StatedObject& row, const RunModel& model, RunSoftware& software, Record& plan,
                    Record& training, Record& assumed) {
  switch (figures_of(row)) {
    case SourceFigures::kAsStated:
      return;
    case SourceFigures::kTrlBenchmark:
      return repeat_tensor_ranks(row, plan, training, assumed);
    case SourceFigures::kBridgeLibrary:
      take_library_recipe(row, model, plan, training, assumed);
      return read_levers(row, software, training, assumed);
    case SourceFigures::kBridgeMatrix:
      return read_matrix(row, software, assumed);
    case SourceFigures::kPrimusLadder:
      return read_ladder(row, software, assumed);
    case SourceFigures::kPrimusCommits:
      return read_commit(row, software, training, assumed);
    case SourceFigures::kPrimusGptOss:
      return read_gpt_oss(row, software, assumed);
    case SourceFigures::kPrimusMaxtext:
      return read_primus_maxtext(row, model, software, plan, assumed);
  }
}

namespace {

constexpr const char* kMeasuredRate = "tokens_per_second_per_gpu";
constexpr const char* kMeasuredPeak = "peak_memory_bytes";
constexpr double kGiOverG = 1.073741824;

void correct_trl_figures(StatedObject& row, Record& measured, Record& assumed) {
  if (measured.contains(kMeasuredPeak)) {
    measured["peak_device_memory_bytes"] = measured[kMeasuredPeak].get<double>() * kGiOverG;
    measured.erase(kMeasuredPeak);
    assumed.push_back("measured.peak_device_memory_bytes: NVML's memory in use, in GiB");
  }
  const bool ulysses = row.object("train").object("overlap").text("cp_comm_type") == "a2a";
  const bool first = mentions(row.object("model").text("name"), "4B");
  const bool divided = mentions(row.text("notes"), "divided by the context-parallel degree");
  if (measured.contains(kMeasuredRate) && divided && (ulysses || !first)) {
    measured[kMeasuredRate] = measured[kMeasuredRate].get<double>() *
                              static_cast<double>(row.object("parallel").degree("cp"));
    assumed.push_back(
        "measured.tokens_per_second_per_gpu: times the ranks of a sequence, which "
        "the row divides by and the source counts once");
  }
}

}  // namespace

void correct_figures(StatedObject& row, Record& measured, Record& assumed) {
  const std::string remark = row.text("notes");
  if (figures_of(row) == SourceFigures::kTrlBenchmark) {
    return correct_trl_figures(row, measured, assumed);
  }
  if (!measured.contains(kMeasuredPeak)) {
    return;
  }
  if (mentions(remark, "peak memory in GB (1e9)")) {
    measured[kMeasuredPeak] = measured[kMeasuredPeak].get<double>() / kGiOverG;
    assumed.push_back("measured.peak_memory_bytes: GB of 1e9 bytes, by its remark");
  }
  if (mentions(remark, "rocm-smi memory")) {
    measured["peak_device_memory_bytes"] = measured[kMeasuredPeak];
    measured.erase(kMeasuredPeak);
    assumed.push_back("measured.peak_device_memory_bytes: rocm-smi's memory in use, by its remark");
  }
}

}  // namespace stepcast
