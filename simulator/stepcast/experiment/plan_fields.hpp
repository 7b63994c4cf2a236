// SPDX-License-Identifier: Apache-2.0
// The keys of a settled plan, in the order in which reports write them.
//
// A writer has field(key, value) for counts, switches, numbers and texts, and begin(key) and end()
// around the keys of an object inside.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/plan/plan_keys.hpp"

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
  if (exchange.redundant_experts > 0) {
    writer.field("redundant_experts", exchange.redundant_experts);
  }
  writer.field("receive_buffer", name(receive_buffer_of(exchange)));
  writer.field("pad_multiple", exchange.pad_multiple);
  writer.field("redispatch_in_backward", exchange.redispatch_in_backward);
  writer.field("cpu_sync", name(cpu_sync_of(exchange)));
  writer.field("collective_only", exchange.collective_only);
  writer.field("moe_all_to_all", name(exchange.all_to_all));
}

template <typename Writer>
void write_printed(const ParallelPlan& plan, Printed where, Writer& writer) {
  for (const PlanKey& key : printed_plan_keys(where)) {
    std::visit(
        [&]<typename Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, std::string>) {
            writer.field(key.name, std::string_view(value));
          } else {
            writer.field(key.name, value);
          }
        },
        key.settled(plan));
  }
}

template <typename Writer>
void write_plan(const ParallelPlan& plan, Writer& writer) {
  write_printed(plan, Printed::kBeforeExchange, writer);
  writer.begin("expert_exchange");
  write_exchange(plan.exchange, writer);
  writer.end();
  write_printed(plan, Printed::kAfterExchange, writer);
}

}  // namespace stepcast
