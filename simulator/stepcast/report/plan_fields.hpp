// SPDX-License-Identifier: Apache-2.0
// The keys of a settled plan and of the time of a step, in the order in which reports write them.
//
// A writer has field(key, value) for counts, switches, numbers and texts, and begin(key) and end()
// around the keys of an object inside.
#pragma once

#include <string_view>

#include "stepcast/parallel/parallel_plan.hpp"
#include "stepcast/schedule/time_breakdown.hpp"

namespace stepcast {

// As settled: what the user left out follows from the dispatcher, and the routing from the model.
template <typename Writer>
void write_exchange(const ExchangeSpec& exchange, Writer& writer) {
  writer.field("dispatch_dtype", name(exchange.dispatch_dtype));
  writer.field("num_sms", exchange.compute_units);
  writer.field("dispatch_primitive", name(exchange.dispatch_primitive));
  writer.field("combine_primitive", name(exchange.combine_primitive));
  writer.field("routing",
               exchange.routing ? name(exchange.routing->kind) : std::string_view("model"));
  writer.field("receive_buffer", name(receive_buffer_of(exchange)));
  writer.field("pad_multiple", exchange.pad_multiple);
  writer.field("redispatch_in_backward", exchange.redispatch_in_backward);
  writer.field("cpu_sync", name(cpu_sync_of(exchange)));
  writer.field("collective_only", exchange.collective_only);
  writer.field("moe_all_to_all", name(exchange.all_to_all));
}

template <typename Writer>
void write_plan(const ParallelPlan& plan, Writer& writer) {
  writer.field("tp", plan.tp);
  writer.field("cp", plan.cp);
  writer.field("pp", plan.pp);
  writer.field("vpp", plan.vpp);
  writer.field("ep", plan.ep);
  writer.field("etp", plan.etp);
  writer.field("dp", plan.dp);
  writer.field("fsdp", plan.fsdp);
  writer.field("zero", plan.zero);
  writer.field("sequence_parallel", plan.sequence_parallel);
  writer.field("fsdp_reshard", plan.fsdp_reshard);
  writer.field("schedule", name(plan.schedule));
  writer.field("dispatcher", name(plan.exchange.dispatcher));
  writer.begin("expert_exchange");
  write_exchange(plan.exchange, writer);
  writer.end();
  writer.field("micro_batches", plan.micro_batches);
}

// What the keys add up to is the time of the step.
template <typename Writer>
void write_time(const TimeBreakdown& time, Writer& writer) {
  writer.field("compute_s", (time.compute + time.contention).value());
  writer.field("tp_communication_s", time.exposed[slot(Axis::kTensor)].value());
  writer.field("ep_communication_s", time.exposed[slot(Axis::kExpert)].value());
  writer.field("cp_communication_s", time.exposed[slot(Axis::kContext)].value());
  writer.field("dp_communication_s", time.exposed[slot(Axis::kData)].value());
  writer.field("pp_communication_s", time.exposed[slot(Axis::kPipeline)].value());
  writer.field("pipeline_bubble_s", time.bubble.value());
  writer.field("optimizer_s", time.optimizer.value());
  writer.field("host_s", time.host.value());
}

}  // namespace stepcast
