// SPDX-License-Identifier: Apache-2.0
// What sources mean where they are silent, or by figures that their rows take for others
// (SourceFigures of published_names.hpp).
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

// --- Primus-Turbo's ladder -----------------------------------------------------------------------

// The whole number behind the last `word` of a remark.
std::optional<std::int64_t> number_behind(std::string_view remark, std::string_view word) {
  const std::size_t at = remark.rfind(word);
  return at == std::string_view::npos ? std::nullopt
                                      : leading_number(remark.substr(at + word.size()));
}

void read_ladder(StatedObject& row, RunSoftware& software, Record& assumed) {
  const std::string remark = ascii::lower_case(row.text("notes"));
  if (!mentions(remark, "dispatcher deepep")) {
    return;
  }
  software.changes["dispatcher"] = "deepep";
  Record exchange = Record::object();
  if (const std::optional<std::int64_t> units = number_behind(remark, "num_cu ")) {
    exchange["num_sms"] = *units;
  }
  if (mentions(remark, "even routing forced")) {
    exchange["routing"] = "round_robin_forced";
  }
  software.changes["expert_exchange"] = exchange;
  assumed.push_back("plan.dispatcher deepep, with its units and routing: by its remark");
}

}  // namespace

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
  }
}

void correct_figures(StatedObject& row, Record& measured, Record& assumed) {
  if (figures_of(row) != SourceFigures::kTrlBenchmark) {
    return;
  }
  constexpr const char* kRate = "tokens_per_second_per_gpu";
  constexpr const char* kMemory = "peak_memory_bytes";
  constexpr double kGiOverG = 1.073741824;
  if (measured.contains(kMemory)) {
    measured["peak_device_memory_bytes"] = measured[kMemory].get<double>() * kGiOverG;
    measured.erase(kMemory);
    assumed.push_back("measured.peak_device_memory_bytes: NVML's memory in use, in GiB");
  }
  const bool ulysses = row.object("train").object("overlap").text("cp_comm_type") == "a2a";
  const bool first = mentions(row.object("model").text("name"), "4B");
  const bool divided = mentions(row.text("notes"), "divided by the context-parallel degree");
  if (measured.contains(kRate) && divided && (ulysses || !first)) {
    measured[kRate] =
        measured[kRate].get<double>() * static_cast<double>(row.object("parallel").degree("cp"));
    assumed.push_back(
        "measured.tokens_per_second_per_gpu: times the ranks of a sequence, which "
        "the row divides by and the source counts once");
  }
}

}  // namespace stepcast
