// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/weight_matrix.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// Whether software keeps matrices of this group as one, and its optimizer sees them so.
bool stacks(StackedMatrix stacked, const TrainingRecipe& training, const SoftwareSpec& software) {
  const auto* muon = std::get_if<MuonSpec>(&training.optimizer.rule);
  switch (stacked) {
    case StackedMatrix::kQkv:
      return software.fused_qkv && (muon == nullptr || muon->qkv == QkvMatrices::kJoint);
    case StackedMatrix::kGateUp:
      return software.fused_gate_up;
    case StackedMatrix::kKvDown:
      return software.mla_k_rope == RopeKeyProduct::kKvDown;
    case StackedMatrix::kNone:
      break;
  }
  return false;
}

WeightMatrix matrix_of(const ParameterTensor& tensor, const ParallelPlan& plan) {
  WeightMatrix matrix;
  matrix.inputs = tensor.matrix.inputs;
  matrix.outputs = tensor.matrix.outputs;
  matrix.expert = tensor.role == ParameterRole::kExpert;
  matrix.hidden = tensor.role != ParameterRole::kEmbedding && tensor.role != ParameterRole::kHead;
  matrix.parts = std::min(matrix.expert ? plan.etp : plan.tp, tensor.tp_parts);
  matrix.divided = matrix.parts > 1 ? tensor.matrix.divided : DividedBy::kOutputs;
  matrix.count = matrix.expert ? tensor.instances / plan.ep : tensor.instances;
  return matrix;
}

void add_one(const WeightMatrix& matrix, WeightMatrices& to) {
  const auto known = std::find_if(
      to.begin(), to.end(), [&](const WeightMatrix& entry) { return entry.same_shape(matrix); });
  if (known == to.end()) {
    to.push_back(matrix);
  } else {
    known->count += matrix.count;
  }
}

}  // namespace

double WeightMatrix::elements() const { return real(inputs) * real(outputs) / real(parts); }

bool WeightMatrix::same_shape(const WeightMatrix& other) const {
  return inputs == other.inputs && outputs == other.outputs && parts == other.parts &&
         divided == other.divided && expert == other.expert && hidden == other.hidden;
}

void add(const WeightMatrices& more, std::int64_t times, WeightMatrices& to) {
  if (times == 0) {
    return;
  }
  for (WeightMatrix matrix : more) {
    matrix.count *= times;
    add_one(matrix, to);
  }
}

double elements_of(const WeightMatrices& matrices) {
  double elements = 0.0;
  for (const WeightMatrix& matrix : matrices) {
    elements += real(matrix.count) * matrix.elements();
  }
  return elements;
}

HiddenMatrices hidden_matrices(const WeightMatrices& matrices) {
  HiddenMatrices hidden;
  for (const WeightMatrix& matrix : matrices) {
    if (matrix.hidden) {
      (matrix.expert ? hidden.experts : hidden.dense).push_back(matrix);
    }
  }
  return hidden;
}

std::optional<MuonSharding> matrix_sharding(const MuonSpec& muon, const ParallelPlan& plan) {
  if (plan.zero == 0) {
    return std::nullopt;
  }
  const MuonSharding usual =
      plan.zero == 3 ? MuonSharding::kAllToAll : MuonSharding::kWholeMatrices;
  return muon.sharding.value_or(usual);
}

bool updates_matrices(const OptimizerSpec& optimizer) {
  return optimizer.kind() == OptimizerKind::kMuon || optimizer.kind() == OptimizerKind::kAdafactor;
}

WeightMatrices weight_matrices(const ParameterList& parameters, const ParallelPlan& plan,
                               const TrainingRecipe& training, const SoftwareSpec& software) {
  WeightMatrices matrices;
  if (!updates_matrices(training.optimizer)) {
    return matrices;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].frozen || parameters[i].matrix.outputs == 0) {
      continue;
    }
    WeightMatrix matrix = matrix_of(parameters[i], plan);
    // Those that are stacked follow one another.
    const StackedMatrix stacked = parameters[i].matrix.stacked;
    while (stacks(stacked, training, software) && i + 1 < parameters.size() &&
           parameters[i + 1].matrix.stacked == stacked &&
           parameters[i + 1].role == parameters[i].role) {
      matrix.outputs += parameters[++i].matrix.outputs;
    }
    add_one(matrix, matrices);
  }
  return matrices;
}

}  // namespace stepcast
