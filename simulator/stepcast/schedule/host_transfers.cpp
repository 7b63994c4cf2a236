// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/host_transfers.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/plan/update_rule.hpp"
#include "stepcast/schedule/data_parallel.hpp"
#include "stepcast/schedule/optimizer_step.hpp"

namespace stepcast {
namespace {

void add_parameters(const ExpansionContext& context, const BuiltStage& stage,
                    HostTraffic& traffic) {
  const LocalParameters all = stage.parameters.all();
  const Bytes parameters = state_memory(context, all).parameters;
  std::int64_t units = 1;  // what lies beside the layers is one of them
  for (const BuiltLayer& layer : stage.layers) {
    units += layer.count;
  }
  const TrafficRule rule = traffic_rule(context);
  const bool again = rule.backward_gather == Frequency::kEveryMicroBatch;
  const double backward = again ? real(rule.backward_gathers) : 0.0;
  const Bytes first = (1.0 / real(units)) * parameters;
  traffic.forward.up += parameters;
  traffic.forward.first += first;
  for (LinkBytes* pass : {&traffic.backward, &traffic.last_backward}) {
    pass->up += backward * parameters;
  }
}

void add_activations(const ExpansionContext& context, const BuiltStage& stage,
                     HostTraffic& traffic) {
  const Bytes away = offloaded_activations(context, stage);
  const bool beside = context.training.offload.activations_overlap;
  (beside ? traffic.forward.down : traffic.forward.behind) += away;
  for (LinkBytes* pass : {&traffic.backward, &traffic.last_backward}) {
    (beside ? pass->up : pass->behind) += away;
  }
}

void add_gradients(const ExpansionContext& context, const BuiltStage& stage, HostTraffic& traffic) {
  const SoftwareSpec& software = context.software;
  const OptimizerSpec& optimizer = context.training.optimizer;
  const std::optional<OptimizerOffload> offload = offload_of(optimizer, software);
  if (!offload || offload->states != OffloadedStates::kAll) {
    return;
  }
  const double elements =
      offload->share * updated_elements(context, stage.parameters.all().trained());
  const Bytes updated = elements * software.states.gradient;
  const bool beside = traffic_rule(context).reduces_beside_backward;
  const auto goes_down = [&](Bytes bytes, LinkBytes& pass) {
    (beside ? pass.down : pass.behind) += bytes;
  };
  if (gradients_leave_at_once(optimizer, context.plan, software) &&
      context.plan.micro_batches > 1) {
    const Bytes reduced = elements * software.gradient_reduce;
    for (LinkBytes* pass : {&traffic.backward, &traffic.last_backward}) {
      goes_down(reduced, *pass);
      pass->up += reduced;
    }
  }
  goes_down(updated, traffic.last_backward);
}

}  // namespace

HostTraffic host_traffic(const ExpansionContext& context, const ClusterSpec& cluster,
                         const BuiltStage& stage) {
  HostTraffic traffic;
  traffic.link = cluster.host_link();
  if (context.training.offload.parameters) {
    add_parameters(context, stage, traffic);
  }
  add_activations(context, stage, traffic);
  add_gradients(context, stage, traffic);
  return traffic;
}

Seconds waiting_for_link(const LinkBytes& bytes, std::optional<BytesPerSecond> link,
                         Seconds duration) {
  if (!link) {
    return {};
  }
  const Bytes beside = max(bytes.down, bytes.up - bytes.first);
  return (bytes.first + bytes.behind) / *link + max(Seconds{}, beside / *link - duration);
}

}  // namespace stepcast
