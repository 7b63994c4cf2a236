// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/matrix_owners.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepcast/base/real.hpp"

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
      std::stable_sort(owners_.begin(), owners_.end(),
                       [](const Owners& a, const Owners& b) { return a.load < b.load; });
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

}  // namespace

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
  std::stable_sort(order.begin(), order.end(),
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
