// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/layer_blocks.hpp"

#include <algorithm>

#include "stepcast/layer/activation_inventory.hpp"

namespace stepcast {
namespace {

using Expand = BlockOps (*)(const ExpansionContext& context);

const std::shared_ptr<const BlockOps>& once(std::shared_ptr<const BlockOps>& blocks, Expand expand,
                                            const ExpansionContext& context) {
  if (!blocks) {
    blocks = std::make_shared<const BlockOps>(expand(context));
  }
  return blocks;
}

}  // namespace

LayerDivision layer_division(const ExpansionContext& context) {
  LayerDivision division{context.plan, context.training};
  ParallelPlan& plan = division.plan;
  // Whether a product may add to the gradient of the micro-batch before (BlockBuilder).
  const bool frees_gradients = plan.zero == 3 && plan.fsdp_reshard;
  const ParallelPlan defaults;
  plan.pp = plan.vpp = plan.dp = plan.edp = plan.fsdp = plan.micro_batches = 1;
  plan.schedule = defaults.schedule;
  plan.zero = frees_gradients ? 3 : 0;
  plan.fsdp_reshard = frees_gradients;
  plan.fsdp_experts = defaults.fsdp_experts;
  plan.stages.clear();
  if (plan.strides) {
    RankStrides& apart = *plan.strides;
    apart.dp = apart.edp = apart.pp = apart.expert_pp = 1;
  }
  division.training.global_batch_size = 0;
  return division;
}

const LayerBlocks::Layer& LayerBlocks::layer(const ExpansionContext& context, LayerKind kind) {
  const auto known = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const Layer& entry) { return entry.kind == kind; });
  if (known != layers_.end()) {
    return *known;
  }
  auto ops = std::make_shared<const BlockOps>(expand_layer(context, kind));
  const Bytes workspace =
      max(backward_workspace(context, kind), attention_workspace(context, kind, *ops));
  layers_.push_back({kind, std::move(ops), workspace});
  return layers_.back();
}

std::shared_ptr<const BlockOps> LayerBlocks::embedding(const ExpansionContext& context) {
  return once(embedding_, expand_embedding, context);
}

std::shared_ptr<const BlockOps> LayerBlocks::mtp_projection(const ExpansionContext& context) {
  return once(mtp_projection_, expand_mtp_projection, context);
}

std::shared_ptr<const BlockOps> LayerBlocks::loss(const ExpansionContext& context) {
  return once(loss_, expand_loss, context);
}

}  // namespace stepcast
