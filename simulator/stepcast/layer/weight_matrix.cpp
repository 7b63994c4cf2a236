// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/weight_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

// Ranks that own the same.
struct Owners {
  double load = 0.0;
  std::int64_t ranks = 0;
  std::vector<std::int64_t> counts;  // of each shape
};

// Gives matrices to ranks that own the same all at once.
class Packing {
 public:
  Packing(std::size_t shapes, std::int64_t ranks)
      : owners_{{0.0, ranks, std::vector<std::int64_t>(shapes)}} {}

  void give(std::size_t shape, double cost, std::int64_t count) {
    while (count > 0) {
      std::ranges::stable_sort(owners_, {}, &Owners::load);
      Owners& least = owners_.front();
      if (count < least.ranks) {
        Owners rest = least;
        rest.ranks -= count;
        least.ranks = count;
        add(shape, cost, 1, least);
        owners_.push_back(std::move(rest));
        return;
      }
      const std::int64_t rounds = std::min(rounds_until_next(cost), count / least.ranks);
      add(shape, cost, rounds, least);
      count -= rounds * least.ranks;
    }
  }
  [[nodiscard]] const std::vector<Owners>& owners() const { return owners_; }

 private:
  // Until those with least have no less than the next.
  [[nodiscard]] std::int64_t rounds_until_next(double cost) const {
    if (owners_.size() == 1) {
      return std::numeric_limits<std::int64_t>::max();
    }
    return std::max<std::int64_t>(
        1, std::llround(std::ceil((owners_[1].load - owners_[0].load) / cost)));
  }
  static void add(std::size_t shape, double cost, std::int64_t count, Owners& owners) {
    owners.counts[shape] += count;
    owners.load += real(count) * cost;
  }

  std::vector<Owners> owners_;
};

double elements_of(const Owners& owners, const WeightMatrices& matrices) {
  double elements = 0.0;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    elements += real(owners.counts[i]) * matrices[i].elements();
  }
  return elements;
}

// Whether software keeps matrices of this group as one, and its optimizer sees them so.
bool stacks(StackedMatrix stacked, const TrainingRecipe& training, const SoftwareSpec& software) {
  const auto* muon = std::get_if<MuonSpec>(&training.optimizer.rule);
  const bool apart =
      stacked == StackedMatrix::kQkv && muon != nullptr && muon->qkv != QkvMatrices::kJoint;
  return is_stacked(stacked, software) && !apart;
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
  const auto known =
      std::ranges::find_if(to, [&](const WeightMatrix& entry) { return entry.same_shape(matrix); });
  if (known == to.end()) {
    to.push_back(matrix);
  } else {
    known->count += matrix.count;
  }
}

}  // namespace

bool is_stacked(StackedMatrix stacked, const SoftwareSpec& software) {
  switch (stacked) {
    case StackedMatrix::kQkv:
      return software.fused_qkv;
    case StackedMatrix::kGateUp:
      return software.fused_gate_up;
    case StackedMatrix::kKvDown:
      return software.mla_k_rope == RopeKeyProduct::kKvDown;
    case StackedMatrix::kNone:
      break;
  }
  return false;
}

std::size_t last_of_group(const ParameterList& parameters, std::size_t first) {
  std::size_t last = first;
  while (last + 1 < parameters.size() &&
         parameters[last + 1].matrix.stacked == parameters[first].matrix.stacked &&
         parameters[last + 1].role == parameters[first].role) {
    ++last;
  }
  return last;
}

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
  return sum_over(
      matrices, [](const WeightMatrix& matrix) { return real(matrix.count) * matrix.elements(); });
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
    if (stacks(parameters[i].matrix.stacked, training, software)) {
      for (const std::size_t last = last_of_group(parameters, i); i < last;) {
        matrix.outputs += parameters[++i].matrix.outputs;
      }
    }
    add_one(matrix, matrices);
  }
  return matrices;
}

IteratedMatrix iterated(const WeightMatrix& matrix, MuonTensorParallel mode) {
  std::int64_t inputs = matrix.inputs;
  std::int64_t outputs = matrix.outputs;
  const bool divided = matrix.parts > 1 && mode != MuonTensorParallel::kDuplicated;
  if (divided) {
    (matrix.divided == DividedBy::kInputs ? inputs : outputs) /= matrix.parts;
  }
  if (divided && mode == MuonTensorParallel::kDistributed) {
    // Products add up over the side that is divided, however long it is.
    return matrix.divided == DividedBy::kInputs ? IteratedMatrix{outputs, inputs}
                                                : IteratedMatrix{inputs, outputs};
  }
  return {std::min(inputs, outputs), std::max(inputs, outputs)};
}

double newton_schulz_flops(const IteratedMatrix& matrix) {
  const double rows = real(matrix.rows);
  return 2.0 * rows * rows * (2.0 * real(matrix.columns) + rows);
}

OwnedMatrices owned_matrices(const WeightMatrices& matrices, std::int64_t ranks,
                             MuonTensorParallel mode) {
  std::vector<double> costs;
  std::vector<std::size_t> order;
  for (const WeightMatrix& matrix : matrices) {
    const IteratedMatrix shape = iterated(matrix, mode);
    const double shorter = real(std::min(shape.rows, shape.columns));
    costs.push_back(real(std::max(shape.rows, shape.columns)) * shorter * shorter);
    order.push_back(order.size());
  }
  std::ranges::stable_sort(order,
                           [&costs](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  Packing packing(matrices.size(), ranks);
  for (const std::size_t shape : order) {
    packing.give(shape, costs[shape], matrices[shape].count);
  }
  OwnedMatrices owned;
  const Owners* slowest = &packing.owners().front();
  for (const Owners& owners : packing.owners()) {
    slowest = owners.load > slowest->load ? &owners : slowest;
    owned.most_elements = std::max(owned.most_elements, elements_of(owners, matrices));
  }
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    if (slowest->counts[i] > 0) {
      owned.slowest.push_back(matrices[i]);
      owned.slowest.back().count = slowest->counts[i];
    }
  }
  return owned;
}

}  // namespace stepcast
