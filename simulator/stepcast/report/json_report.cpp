// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/json_report.hpp"

#include <nlohmann/json.hpp>

#include "stepcast/graph/model_flops.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// As settled: what the user left out follows from the dispatcher, and the routing from the model.
Json exchange_json(const ExchangeSpec& exchange) {
  return {{"dispatch_dtype", name(exchange.dispatch_dtype)},
          {"num_sms", exchange.compute_units},
          {"dispatch_primitive", name(exchange.dispatch_primitive)},
          {"combine_primitive", name(exchange.combine_primitive)},
          {"routing", exchange.routing ? name(exchange.routing->kind) : "model"},
          {"receive_buffer", name(receive_buffer_of(exchange))},
          {"pad_multiple", exchange.pad_multiple},
          {"redispatch_in_backward", exchange.redispatch_in_backward},
          {"cpu_sync", name(cpu_sync_of(exchange))},
          {"collective_only", exchange.collective_only},
          {"moe_all_to_all", name(exchange.all_to_all)}};
}

Json plan_json(const ParallelPlan& plan) {
  return {{"tp", plan.tp},
          {"cp", plan.cp},
          {"pp", plan.pp},
          {"vpp", plan.vpp},
          {"ep", plan.ep},
          {"etp", plan.etp},
          {"dp", plan.dp},
          {"fsdp", plan.fsdp},
          {"zero", plan.zero},
          {"sequence_parallel", plan.sequence_parallel},
          {"fsdp_reshard", plan.fsdp_reshard},
          {"schedule", name(plan.schedule)},
          {"dispatcher", name(plan.exchange.dispatcher)},
          {"expert_exchange", exchange_json(plan.exchange)},
          {"micro_batches", plan.micro_batches}};
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
      tensors.push_back({{"name", tensor.name}, {"bytes", tensor.bytes.value()}});
    }
    array.push_back({{"layer", layer.kind},
                     {"recomputed_in_full", layer.recomputed},
                     {"saved_bytes", total(layer.tensors).value()},
                     {"tensors", std::move(tensors)}});
  }
  return array;
}

Json time_json(const TimeBreakdown& time) {
  const auto axis = [&time](Axis a) { return time.exposed[static_cast<std::size_t>(a)].value(); };
  return {{"compute_s", (time.compute + time.contention).value()},
          {"tp_communication_s", axis(Axis::kTensor)},
          {"ep_communication_s", axis(Axis::kExpert)},
          {"cp_communication_s", axis(Axis::kContext)},
          {"dp_communication_s", axis(Axis::kData)},
          {"pp_communication_s", axis(Axis::kPipeline)},
          {"pipeline_bubble_s", time.bubble.value()},
          {"optimizer_s", time.optimizer.value()},
          {"host_s", time.host.value()}};
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
