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

// A layer's weights, and those that are gathered ahead: of the layer before it, before the first of
// all of the embedding where it is a unit of its own.
Bytes gathered_at(const ExpansionContext& context, const BuiltStage& stage, std::size_t place) {
  const MemoryRules& rules = context.software.memory;
  if (!gathers_layers(context) || !context.plan.fsdp_reshard) {
    return {};
  }
  const Bytes own = gathered_unit(context, stage.layers[place].parameters);
  if (rules.scans_layers) {
    return own;
  }
  if (place > 0) {
    return own + gathered_unit(context, stage.layers[place - 1].parameters);
  }
  const bool unit = stage.content.embedding && !rules.root_holds_ends;
  return own + (unit ? gathered_unit(context, stage.embedding) : Bytes{});
}

// Gradients of `later`, which come after a layer's backward; none where the full ones stay.
Bytes late_gradients(const ExpansionContext& context, const LocalParameters& later) {
  return sums_full_gradients(context) ? Bytes{} : state_memory(context, later).gradients;
}

// What layers of a kind keep on the device, of which the first `away` are on the host.
Bytes kept_here(const ExpansionContext& context, const BuiltLayer& layer, std::int64_t count,
                std::int64_t away) {
  const auto kept = [&](std::int64_t some) {
    return kept_by(context, layer, some, std::min(some, layer.recomputed));
  };
  return kept(count) - kept(std::min(count, away));
}

}  // namespace

double recomputed_run(const RecomputeSpec& recompute) {
  const bool runs =
      recompute.kind == RecomputeKind::kFull && recompute.method == RecomputeMethod::kUniform;
  return runs ? real(recompute.layers) : 1.0;
}

Bytes kept_by(const ExpansionContext& context, const BuiltLayer& layer, std::int64_t count,
              std::int64_t recomputed) {
  return real(count - recomputed) * total(layer.ops->kept) +
         real(recomputed) / recomputed_run(context.training.recompute) * layer_input(context);
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
  std::int64_t away = offloaded_layers(context);
  Bytes kept;
  std::vector<FirstLayer> first;
  first.reserve(stage.layers.size());
  for (std::size_t i = 0; i < stage.layers.size(); ++i) {
    const BuiltLayer& layer = stage.layers[i];
    const std::int64_t before_next = blocks ? layer.count : 1;
    LocalParameters with_own = late;
    with_own += layer.parameters;
    FirstLayer own;
    own.kept = kept;
    own.activations = left_by_forward(context, layer) + recomputed_activations(context, layer);
    own.workspace = layer_workspace(layer);
    own.gathered = gathered_at(context, stage, i);
    own.reduced = reduced_beside(context, layer.parameters);
    own.lone_gathered = lone_copies(context, layer.parameters);
    own.experts_reduced = experts_reduced(context, layer.parameters);
    own.late_gradients = late_gradients(context, with_own);
    first.push_back(own);
    kept += kept_here(context, layer, before_next, away);
    away -= std::min(away, layer.count);
    late += real(before_next) * layer.parameters;
  }
  return first;
}

}  // namespace stepcast
