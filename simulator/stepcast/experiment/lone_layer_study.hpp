// SPDX-License-Identifier: Apache-2.0
// Experiment -> LayerStudy: one layer of the model by itself, on the ranks of the plan.
//
// Of a layer with experts the figures are those of the MoE layer, as SonicMoE's profiler has them:
// the router, what brings tokens into order, dispatch, experts, combine. Its attention, norms and
// shared expert are in with LayerPart::kWhole.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/layer_study.hpp"

namespace stepcast {

enum class LayerPart { kExperts, kWhole };
inline constexpr std::array<NamedValue<LayerPart>, 2> kLayerParts = {
    {{"experts", LayerPart::kExperts}, {"whole", LayerPart::kWhole}}};
enum class LayerUse { kTraining, kInference };

struct LayerQuestion {
  // moe, dense, the number of a layer from 0; empty: one with experts where the model has some.
  std::string layer{};
  std::optional<LayerPart> part{};  // empty: the experts where the layer has some
  LayerUse use = LayerUse::kTraining;
  PowerState state = PowerState::kWarm;
};

// Why the model has no such layer or part, with what it has; empty: it has.
std::string layer_problem(const ModelSpec& model, const LayerQuestion& question);

// A plan that does not divide has no figures, only reasons. The model has the layer.
LayerStudy study_layer(const Experiment& experiment, const LayerQuestion& question,
                       const CostModel& cost);

}  // namespace stepcast
