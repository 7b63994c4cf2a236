// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/json_report.hpp"

#include <nlohmann/json.hpp>

#include "stepcast/graph/model_flops.hpp"
#include "stepcast/report/plan_fields.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// Fields as an object, and those of an object inside it (plan_fields.hpp).
class ObjectWriter {
 public:
  template <typename Value>
  void field(std::string_view key, const Value& value) {
    (inner_.empty() ? object_ : object_[inner_])[std::string(key)] = value;
  }
  void begin(std::string_view key) { inner_ = key; }
  void end() { inner_.clear(); }
  Json take() { return std::move(object_); }

 private:
  Json object_ = Json::object();
  std::string inner_;
};

Json plan_json(const ParallelPlan& plan) {
  ObjectWriter writer;
  write_plan(plan, writer);
  return writer.take();
}

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
          {"input",
           {{"model", p.model},
            {"gpu", p.gpu},
            {"cluster", p.cluster},
            {"nodes", p.nodes},
            {"gpus", p.gpus},
            {"software", p.software},
            {"training",
             {{"sequence_length", p.training.sequence_length},
              {"micro_batch_size", p.training.micro_batch_size},
              {"global_batch_size", p.training.global_batch_size},
              {"dtype", name(p.training.dtype)},
              {"recompute", name(p.training.recompute.kind)}}},
            {"plan", plan_json(p.plan)}}},
          {"backends", backends},
          {"flop_convention", kFlopConvention},
          {"notes", p.notes}};
}

Json memory_json(const std::vector<StageMemory>& stages) {
  Json array = Json::array();
  for (const StageMemory& stage : stages) {
    array.push_back({{"rank", stage.rank},
                     {"parameters_bytes", stage.parameters.value()},
                     {"gradients_bytes", stage.gradients.value()},
                     {"optimizer_bytes", stage.optimizer.value()},
                     {"activations_bytes", stage.activations.value()},
                     {"buffers_bytes", stage.buffers().value()},
                     {"total_bytes", stage.total().value()},
                     {"allocated_bytes", stage.total().value()},
                     {"reserved_bytes", stage.reserved.value()},
                     {"outside_bytes", stage.outside.value()},
                     {"peak_moment", stage.moment},
                     {"verdict", name(stage.verdict)},
                     {"buffers",
                      {{"loss_bytes", stage.loss.value()},
                       {"workspace_bytes", stage.workspace.value()},
                       {"gathered_bytes", stage.gathered.value()},
                       {"reduced_bytes", stage.reduced.value()},
                       {"exchange_bytes", stage.exchange.value()},
                       {"received_bytes", stage.received.value()}}}});
  }
  return array;
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

Json expected_error_json(const ExpectedError& error) {
  Json json = {{"gpu", error.gpu}, {"family", error.family}, {"runs", error.runs}};
  if (error.runs > 0) {
    json["median"] = error.median;
    json["p90"] = error.p90;
  }
  return json;
}

}  // namespace

Json json_header(const Projection& p) {
  return {{"schema_version", kJsonSchemaVersion},
          {"context", context_json(p)},
          {"feasible", p.feasible},
          {"reasons", p.reasons}};
}

Json to_json(const Projection& p) {
  Json json = json_header(p);
  if (!p.priced) {
    return json;
  }
  json["tokens_per_second_per_gpu"] = p.tokens_per_second_per_gpu;
  json["step_time_s"] = p.time.step.value();
  json["model_tflops_per_gpu"] = p.model_rate_per_gpu.value() / 1e12;
  json["mfu"] = p.mfu;
  json["peak_memory_bytes"] = p.peak_memory().value();
  if (p.expected_error) {
    json["expected_error"] = expected_error_json(*p.expected_error);
  }
  json["memory_by_stage"] = memory_json(p.memory);
  json["time"] = time_json(p.time.breakdown);
  json["clock_mhz"] = p.clock.value() / 1e6;
  json["power_w"] = p.power.value();
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
