// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/json_report.hpp"

#include <nlohmann/json.hpp>

#include "stepcast/graph/model_flops.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/config_json.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_rows.hpp"
#include "stepcast/report/time_rows.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

class ObjectWriter {
 public:
  void field(std::string_view key, double value) { object_[std::string(key)] = value; }
  Json take() { return std::move(object_); }

 private:
  Json object_ = Json::object();
};

Json time_json(const TimeBreakdown& time) {
  ObjectWriter writer;
  write_time(time, writer);
  return writer.take();
}

Json context_json(const Projection& p) {
  Json backends = Json::object();
  for (const auto& [role, backend] : p.backends) {
    backends[role] = backend;
  }
  return {{"program", "stepcast"},
          {"input", json_of(p.input)},
          {"backends", backends},
          {"flop_convention", flop_convention(p.training.weights)},
          {"notes", p.notes}};
}

Json stage_json(const StageMemory& stage) {
  Json json = {{"rank", stage.rank}};
  for (const MemoryRow& row : kMemoryRows) {
    if (!row.other_key.empty()) {
      json[std::string(row.other_key)] = row.of(stage).value();
    }
    json[std::string(row.key)] = row.of(stage).value();
  }
  json["peak_moment"] = stage.moment;
  json["verdict"] = name(stage.verdict);
  Json& buffers = json["buffers"] = Json::object();
  for (const BufferRow& row : kBufferRows) {
    buffers[std::string(row.key)] = (stage.*row.of).value();
  }
  return json;
}

Json memory_json(const std::vector<StageMemory>& stages) {
  return list_of(stages, [](const StageMemory& stage) -> Value { return stage_json(stage); });
}

Json saved_json(const std::vector<SavedLayer>& layers) {
  Json array = Json::array();
  for (const SavedLayer& layer : layers) {
    Json tensors = Json::array();
    for (const SavedTensor& tensor : layer.tensors) {
      tensors.push_back({{"name", name(tensor.id)}, {"bytes", tensor.bytes.value()}});
    }
    array.push_back({{"layer", layer.kind},
                     {"recomputed_in_full", layer.recomputed},
                     {"saved_bytes", total(layer.tensors).value()},
                     {"tensors", std::move(tensors)}});
  }
  return array;
}

Json interval_json(const RateInterval& interval) {
  return Json::array({interval.low, interval.high});
}

Json uneven_experts_json(const UnevenExperts& uneven) {
  return {{"fullest_expert", uneven.load.fullest_expert},
          {"fullest_rank", uneven.load.fullest_rank},
          {"kept_share", uneven.load.kept},
          {"balanced_tokens_per_second_per_gpu", uneven.balanced_tokens_per_second_per_gpu},
          {"waiting_for_peers_s", uneven.waiting.value()}};
}

}  // namespace

Json to_json(const ExpectedError& error) {
  Json json = {{"gpu", error.gpu},
               {"family", name(error.family)},
               {"software", error.software},
               {"runs", error.runs},
               {"sources", error.sources}};
  if (error.distribution) {
    json["median"] = error.median;
    json["p90"] = error.p90;
    json["interval_80"] = interval_json(error.distribution->interval(Certainty::k80));
    json["interval_90"] = interval_json(error.distribution->interval(Certainty::k90));
    json["basis"] = error.basis;
  }
  return json;
}

Json nearest_fit_json(const FittingPlan& fit) {
  Json changes = Json::object();
  for (const auto& [key, value] : fit.changes) {
    changes[key] = value;
  }
  return {{"changes", std::move(changes)},
          {"tokens_per_second_per_gpu", fit.tokens_per_second_per_gpu},
          {"peak_memory_bytes", fit.peak_memory.value()}};
}

Json json_header(const Projection& p) {
  Json json = {{"schema_version", kJsonSchemaVersion},
               {"context", context_json(p)},
               {"feasible", p.feasible},
               {"reasons", p.reasons}};
  if (p.nearest_fit && !p.nearest_fit->changes.empty()) {
    json["nearest_fit"] = nearest_fit_json(*p.nearest_fit);
  }
  return json;
}

void add_capture(const Projection& p, Json& json) {
  json["capturable"] = p.capture_blockers.empty();
  Json& blockers = json["capture_blockers"] = Json::array();
  for (const CaptureBlocker blocker : p.capture_blockers) {
    blockers.push_back(name(blocker));
  }
}

Json to_json(const Projection& p) {
  Json json = json_header(p);
  if (!p.priced) {
    return json;
  }
  const Columns<Projection>& numbers = projection_columns();
  numbers.add(
      "tokens_per_second_per_gpu step_time_s model_tflops_per_gpu mfu mfu_masked peak_memory_bytes "
      "parameters active_parameters flops_per_token expected_error training_run provenance",
      p, json);
  if (p.uneven_experts) {
    json["expert_load"] = uneven_experts_json(*p.uneven_experts);
  }
  json["memory_by_stage"] = memory_json(p.memory);
  json["time"] = time_json(p.time.breakdown);
  numbers.add("clock_mhz power_w", p, json);
  add_capture(p, json);
  return json;
}

Json memory_to_json(const Projection& p) {
  Json json = json_header(p);
  if (!p.priced) {
    return json;
  }
  json["capacity_bytes"] = p.memory_capacity.value();
  json["peak_memory_bytes"] = p.peak_memory().value();
  json["memory_by_stage"] = memory_json(p.memory);
  json["saved_by_layer"] = saved_json(p.saved);
  return json;
}

}  // namespace stepcast
