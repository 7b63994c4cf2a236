// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/optimizer_offload.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {

Seconds offload_time(const StepContext& context, const HeldWeights& held) {
  const ExpansionContext& expansion = context.expansion;
  const SoftwareSpec& software = expansion.software;
  const OptimizerSpec& optimizer = expansion.training.optimizer;
  const std::optional<OptimizerOffload> offload = offload_of(optimizer, software);
  const HostSpec& host = context.cluster.host;
  if (!offload || !host.device_link || !host.update_memory || !host.node_memory) {
    return {};
  }
  const UpdateRule rule = elementwise_rule(optimizer, expansion.plan, software);
  const double elements = offload->share * updated_elements(expansion, held.parameters.trained());
  const Bytes parameter =
      shards_are_master(expansion.plan, software) ? rule.parameter : software.states.parameter;
  const double devices = real(std::min(context.cluster.gpus_per_node, context.cluster.gpus()));
  const BytesPerSecond cores = min(*host.update_memory, (1.0 / devices) * *host.node_memory);
  const Seconds to_host = elements * software.states.gradient / *host.device_link;
  const Seconds to_device = elements * parameter / *host.device_link;
  const Seconds update = elements * compulsory_passes(rule.kernel).forward * rule.element / cores;
  return offload->overlap ? max(update, max(to_host, to_device)) : to_host + update + to_device;
}

}  // namespace stepcast
