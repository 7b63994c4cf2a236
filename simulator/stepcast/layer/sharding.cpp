// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/sharding.hpp"

#include <algorithm>

namespace stepcast {

LocalParameters& LocalParameters::operator+=(const LocalParameters& other) {
  dense += other.dense;
  expert += other.expert;
  frozen_dense += other.frozen_dense;
  frozen_expert += other.frozen_expert;
  packed_dense += other.packed_dense;
  packed_expert += other.packed_expert;
  return *this;
}

LocalParameters operator*(double factor, LocalParameters parameters) {
  return {factor * parameters.dense,        factor * parameters.expert,
          factor * parameters.frozen_dense, factor * parameters.frozen_expert,
          factor * parameters.packed_dense, factor * parameters.packed_expert};
}

HeldWeights& HeldWeights::operator+=(const HeldWeights& other) {
  parameters += other.parameters;
  add(other.matrices, 1, matrices);
  return *this;
}

double local_elements(const ParameterTensor& tensor, const ParallelPlan& plan) {
  const auto elements = static_cast<double>(tensor.elements);
  if (tensor.role == ParameterRole::kExpert) {
    const std::int64_t parts = std::min(plan.etp, tensor.tp_parts);
    const std::int64_t experts = tensor.instances / plan.ep;
    return elements * static_cast<double>(experts) / static_cast<double>(parts);
  }
  const std::int64_t parts = std::min(plan.tp, tensor.tp_parts);
  return elements * static_cast<double>(tensor.instances) / static_cast<double>(parts);
}

LocalParameters local_parameters(const ParameterList& parameters, const ParallelPlan& plan) {
  LocalParameters local;
  for (const ParameterTensor& tensor : parameters) {
    const double elements = local_elements(tensor, plan);
    const bool expert = tensor.role == ParameterRole::kExpert;
    (expert ? local.expert : local.dense) += elements;
    if (tensor.frozen) {
      (expert ? local.frozen_expert : local.frozen_dense) += elements;
    }
    if (tensor.packed) {
      (expert ? local.packed_expert : local.packed_dense) += elements;
    }
  }
  return local;
}

LocalParameters StageParameters::all() const {
  LocalParameters sum = layers;
  return sum += ends;
}

std::int64_t local_vocabulary(const ModelSpec& model, const ParallelPlan& plan,
                              const SoftwareSpec& software) {
  const std::int64_t multiple = software.vocabulary_multiple * plan.tp;
  return (model.vocabulary + multiple - 1) / multiple * multiple / plan.tp;
}

std::vector<KindCount> stage_kinds(const ModelSpec& model, const TrainedWeights& weights,
                                   const ParallelPlan& plan, std::size_t index) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < index; ++i) {
    first += plan.stages[i].layers;
  }
  std::vector<KindCount> counts;
  count_kinds(model, weights, first, plan.stages[index], counts);
  return counts;
}

void count_kinds(const ModelSpec& model, const TrainedWeights& weights, std::int64_t first,
                 const StageContent& stage, std::vector<KindCount>& counts) {
  counts.clear();
  const auto add = [&counts](LayerKind kind, std::int64_t layers) {
    const auto known = std::ranges::find(counts, kind, &KindCount::kind);
    if (known == counts.end()) {
      counts.push_back({kind, layers});
    } else {
      known->layers += layers;
    }
  };
  for (std::int64_t i = 0; i < stage.layers; ++i) {
    add(layer_kind(model, weights, first + i), 1);
  }
  if (stage.mtp_layers > 0) {
    add(mtp_layer_kind(model), stage.mtp_layers);
  }
}

}  // namespace stepcast
