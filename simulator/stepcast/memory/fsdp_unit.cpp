// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/fsdp_unit.hpp"

#include "stepcast/base/dtype.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

bool wraps_lone_experts(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  return context.software.fsdp_wraps_lone_experts && plan.fsdp_experts && plan.expert_shards() == 1;
}

// Without layers in a loop, which reduces all of a layer at once. Where gradients are summed
// unsharded first, two runs of DeepSeek-V3 671B hold all of a layer beside its backward.
bool has_expert_groups(const ExpansionContext& context) {
  return gathers_layers(context) && context.plan.ep > 1 && context.plan.expert_shards() > 1 &&
         !context.software.memory.scans_layers && !sums_full_gradients(context);
}

// Bytes of a parameter's gradient on its way to its shard, or to the host.
Bytes on_the_way(const ExpansionContext& context) {
  const SoftwareSpec& software = context.software;
  if (gathers_layers(context)) {
    return software.memory.scans_layers ? software.states.gradient
                                        : kSixteenBits + software.gradient_reduce;
  }
  return gradients_leave_at_once(context.training.optimizer, context.plan, software) ? kSixteenBits
                                                                                     : Bytes{};
}

}  // namespace

bool gathers_layers(const ExpansionContext& context) {
  return context.plan.zero == 3 &&
         (context.plan.replicas() > 1 || context.training.offload.parameters);
}

bool sums_full_gradients(const ExpansionContext& context) {
  return gathers_layers(context) && !context.plan.fsdp_reshard && context.plan.micro_batches > 1;
}

Bytes gathered_unit(const ExpansionContext& context, const LocalParameters& layer) {
  LocalParameters own = layer;
  if (context.plan.expert_shards() == 1 && !context.training.offload.parameters) {
    own.expert = own.frozen_expert = own.packed_expert = 0.0;
  }
  const double packed = own.packed_dense + own.packed_expert;
  return own.trained().total() * kSixteenBits +
         (own.frozen_dense + own.frozen_expert - packed) *
             context.software.gathered_frozen(context.training.dtype) +
         packed * packed_bytes(base_of(context.training.weights));
}

Bytes reduced_beside(const ExpansionContext& context, const LocalParameters& layer) {
  const LocalParameters own = layer.trained();
  const Bytes each = on_the_way(context);
  const Bytes experts = has_expert_groups(context)         ? own.expert * kSixteenBits
                        : context.plan.expert_shards() > 1 ? own.expert * each
                                                           : Bytes{};
  return own.dense * each + experts;
}

Bytes lone_copies(const ExpansionContext& context, const LocalParameters& layer) {
  return gathers_layers(context) && wraps_lone_experts(context)
             ? layer.trained().expert * kSixteenBits
             : Bytes{};
}

// Gradients of lone experts go through the reduction's input and, as torchtitan divides those of
// experts by a factor, the quotient: 12 B of a parameter in fp32 by a measurement on two H100
// (PyTorch 2.11), of which 4 are the gradient that stays.
Bytes experts_reduced(const ExpansionContext& context, const LocalParameters& layer) {
  const double experts = layer.trained().expert;
  if (!gathers_layers(context)) {
    return {};
  }
  return wraps_lone_experts(context)  ? experts * 2.0 * context.software.gradient_reduce
         : has_expert_groups(context) ? experts * on_the_way(context)
                                      : Bytes{};
}

}  // namespace stepcast
