// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/first_layer.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/memory/fsdp_unit.hpp"
#include "stepcast/memory/stage_holding.hpp"

namespace stepcast {
namespace {

// Dense layers that lead a model with experts all come before those; otherwise kinds take turns.
bool kinds_follow_each_other(const ExpansionContext& context, const BuiltStage& stage) {
  const auto mixes_alike = [&](const BuiltLayer& layer) {
    return layer.kind.mixer == stage.layers.front().kind.mixer;
  };
  return context.model.moe && context.model.moe->every == 1 &&
         std::ranges::all_of(stage.layers, mixes_alike);
}

// A layer's weights, and those that are gathered ahead: of the layer before it.
Bytes gathered_at(const ExpansionContext& context, const BuiltStage& stage, std::size_t place) {
  if (!gathers_layers(context) || !context.plan.fsdp_reshard) {
    return {};
  }
  const Bytes own = gathered_unit(context, stage.layers[place].parameters);
  const std::size_t next = place > 0 ? place - 1 : 0;
  return context.software.memory.scans_layers
             ? own
             : own + gathered_unit(context, stage.layers[next].parameters);
}

// Gradients of `later`, which come after a layer's backward; none where the full ones stay.
Bytes late_gradients(const ExpansionContext& context, const LocalParameters& later) {
  const bool stay =
      gathers_layers(context) && !context.plan.fsdp_reshard && context.plan.micro_batches > 1;
  return stay ? Bytes{} : state_memory(context, later).gradients;
}

}  // namespace

double recomputed_run(const RecomputeSpec& recompute) {
  const bool runs =
      recompute.kind == RecomputeKind::kFull && recompute.method == RecomputeMethod::kUniform;
  return runs ? real(recompute.layers) : 1.0;
}

Bytes recomputed_activations(const ExpansionContext& context, const BuiltLayer& layer) {
  return layer.recomputed > 0
             ? recomputed_run(context.training.recompute) * total(layer.ops->kept) -
                   layer_input(context)
             : rerun_activations(*layer.ops);
}

Bytes left_by_forward(const ExpansionContext& context, const BuiltLayer& layer) {
  return layer.recomputed > 0 ? layer_input(context) : total(layer.ops->kept);
}

Bytes layer_workspace(const BuiltLayer& layer) {
  Bytes unpacked;
  for (const Op& op : layer.ops->backward) {
    const auto* pass = std::get_if<MemoryBound>(&op.work);
    if (op.id == OpId::kBaseDequantize && pass != nullptr) {
      unpacked = max(unpacked, real(pass->rows * pass->cols) * kSixteenBits);
    }
  }
  return layer.workspace + unpacked;
}

std::vector<FirstLayer> first_layers(const ExpansionContext& context, const BuiltStage& stage) {
  const bool blocks = kinds_follow_each_other(context, stage);
  LocalParameters late = stage.content.embedding ? stage.embedding : LocalParameters{};
  Bytes kept;
  std::vector<FirstLayer> first;
  first.reserve(stage.layers.size());
  for (std::size_t i = 0; i < stage.layers.size(); ++i) {
    const BuiltLayer& layer = stage.layers[i];
    const Bytes left = left_by_forward(context, layer);
    const double before_next = blocks ? real(layer.count) : 1.0;
    LocalParameters with_own = late;
    with_own += layer.parameters;
    FirstLayer own;
    own.kept = kept;
    own.activations = left + recomputed_activations(context, layer);
    own.workspace = layer_workspace(layer);
    own.gathered = gathered_at(context, stage, i);
    own.reduced = reduced_beside(context, layer.parameters);
    own.lone_gathered = lone_copies(context, layer.parameters);
    own.experts_reduced = experts_reduced(context, layer.parameters);
    own.late_gradients = late_gradients(context, with_own);
    first.push_back(own);
    kept += before_next * left;
    late += before_next * layer.parameters;
  }
  return first;
}

}  // namespace stepcast
