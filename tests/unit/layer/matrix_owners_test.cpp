// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/weight_matrix.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/built_stage.hpp"

namespace stepcast::matrix_owners_test {
namespace {

using test::Sample;

constexpr auto kWhole = MuonTensorParallel::kDuplicated;

WeightMatrix matrix(std::int64_t outputs, std::int64_t inputs, std::int64_t count) {
  WeightMatrix result;
  result.outputs = outputs;
  result.inputs = inputs;
  result.count = count;
  return result;
}

double cost(const WeightMatrices& matrices) {
  return std::accumulate(matrices.begin(), matrices.end(), 0.0,
                         [](double sum, const WeightMatrix& entry) {
                           const auto [rows, columns] = iterated(entry, kWhole);
                           const auto r = static_cast<double>(rows);
                           return sum + static_cast<double>(entry.count * columns) * r * r;
                         });
}

// One matrix after the other, to the rank with least.
double most_costly_one_by_one(const WeightMatrices& matrices, std::size_t ranks) {
  std::vector<double> costs;
  for (WeightMatrix entry : matrices) {
    const auto count = static_cast<std::size_t>(entry.count);
    entry.count = 1;
    costs.insert(costs.end(), count, cost({entry}));
  }
  std::sort(costs.rbegin(), costs.rend());
  std::vector<double> loads(ranks);
  for (const double own : costs) {
    *std::min_element(loads.begin(), loads.end()) += own;
  }
  return *std::max_element(loads.begin(), loads.end());
}

WeightMatrices matrices_of(const Sample& sample) {
  StageBuilder builder;
  return builder.stage(sample.context(), 0).matrices;
}

// A down projection of 4,096 x 14,336: 2 x 4096^2 x 14336 for the products of rows and as many for
// the product, 2 x 4096^3 for the square.
TEST_CASE("a Newton-Schulz step counts 4 r^2 c + 2 r^3 FLOPs", "[case]") {
  const WeightMatrix down = matrix(4096, 14'336, 1);
  CHECK(newton_schulz_flops(iterated(down, kWhole)) ==
        481'036'337'152.0 + 481'036'337'152.0 + 137'438'953'472.0);
  // A tall matrix is transposed.
  CHECK(newton_schulz_flops(iterated(matrix(14'336, 4096, 1), kWhole)) ==
        newton_schulz_flops(iterated(down, kWhole)));
}

TEST_CASE("of a divided matrix a rank iterates on all, on its part, or on its columns", "[case]") {
  WeightMatrix row_parallel = matrix(1024, 4096, 1);
  row_parallel.parts = 4;
  row_parallel.divided = DividedBy::kInputs;
  const auto shape = [&](MuonTensorParallel mode) {
    const IteratedMatrix result = iterated(row_parallel, mode);
    return std::pair(result.rows, result.columns);
  };
  CHECK(shape(MuonTensorParallel::kDuplicated) ==
        std::pair<std::int64_t, std::int64_t>(1024, 4096));
  CHECK(shape(MuonTensorParallel::kBlockwise) == std::pair<std::int64_t, std::int64_t>(1024, 1024));
  CHECK(shape(MuonTensorParallel::kDistributed) ==
        std::pair<std::int64_t, std::int64_t>(1024, 1024));
  // Column-parallel 4,096 x 1,024: the side that is whole has 1,024 inputs.
  WeightMatrix column_parallel = matrix(4096, 1024, 1);
  column_parallel.parts = 8;
  const IteratedMatrix distributed = iterated(column_parallel, MuonTensorParallel::kDistributed);
  CHECK(distributed.rows == 1024);
  CHECK(distributed.columns == 512);
}

TEST_CASE("whole matrices leave the slowest rank above the mean", "[case]") {
  // Three of one cost on two ranks: one has two of them.
  const OwnedMatrices owned = owned_matrices({matrix(64, 64, 3)}, 2, kWhole);
  REQUIRE(owned.slowest.size() == 1);
  CHECK(owned.slowest[0].count == 2);
  CHECK(owned.most_elements == 2.0 * 64.0 * 64.0);
  // More ranks than matrices: one each.
  CHECK(owned_matrices({matrix(64, 64, 3)}, 16, kWhole).slowest[0].count == 1);
}

TEST_CASE("giving matrices away by shape costs as giving them one by one", "[property]") {
  std::mt19937 random(7);
  const auto below = [&random](std::uint32_t most) {
    return static_cast<std::int64_t>(random() % most);
  };
  for (int i = 0; i < 500; ++i) {
    WeightMatrices matrices;
    for (int shape = 0; shape < 4; ++shape) {
      matrices.push_back(matrix(16 << below(4), 16 << below(5), 1 + below(40)));
    }
    const std::int64_t ranks = 1 + below(12);
    const OwnedMatrices owned = owned_matrices(matrices, ranks, kWhole);
    CHECK(cost(owned.slowest) ==
          Approx(most_costly_one_by_one(matrices, static_cast<std::size_t>(ranks))));
    CHECK(owned.most_elements >= elements_of(matrices) / static_cast<double>(ranks) - 0.5);
  }
}

// Of each layer q, o of 1,024 x 1,024; k, v of 256 x 1,024; gate with up, and down. Embedding and
// head are apart.
TEST_CASE("Muon's matrices are the hidden ones, as software stacks them", "[case]") {
  Sample sample = test::dense_sample();
  CHECK(matrices_of(sample).empty());  // AdamW does not ask
  sample.training.optimizer.rule = MuonSpec{};
  const auto count = [&](std::int64_t outputs, std::int64_t inputs) {
    for (const WeightMatrix& entry : hidden_matrices(matrices_of(sample)).dense) {
      if (entry.outputs == outputs && entry.inputs == inputs) {
        return entry.count;
      }
    }
    return std::int64_t{0};
  };
  CHECK(count(1024, 1024) == 16);
  CHECK(count(256, 1024) == 16);
  CHECK(count(8192, 1024) == 8);
  CHECK(count(1024, 4096) == 8);
  CHECK(count(32'000, 1024) == 0);
  std::get<MuonSpec>(sample.training.optimizer.rule).qkv = QkvMatrices::kJoint;
  sample.software.fused_gate_up = false;
  CHECK(count(1536, 1024) == 8);
  CHECK(count(4096, 1024) == 16);
}

TEST_CASE("each expert is a matrix of its own, and frozen weights are none", "[case]") {
  Sample sample = test::moe_sample();
  sample.plan.ep = 4;
  sample.training.optimizer.rule = MuonSpec{};
  const HiddenMatrices hidden = hidden_matrices(matrices_of(sample));
  double experts = 0.0;
  for (const WeightMatrix& entry : hidden.experts) {
    experts += static_cast<double>(entry.count);
  }
  CHECK(experts == 8.0 * 4.0 * 2.0);  // layers, experts of a rank, gate with up and down
  sample.training.weights.frozen = std::vector{ParameterRole::kExpert};
  CHECK(hidden_matrices(matrices_of(sample)).experts.empty());
}

}  // namespace
}  // namespace stepcast::matrix_owners_test
