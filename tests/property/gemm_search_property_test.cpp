// SPDX-License-Identifier: Apache-2.0
// The search over tiles, splits and clusters against pricing every one of them.
#include "backends/gemm/tile_time.hpp"

#include <cmath>

#include "catch.hpp"
#include "property/random_ops.hpp"
#include "sample_specs.hpp"

namespace stepcast::gemm_search_property_test {
namespace {

bool allowed(const GemmProblem& problem, const GemmMachine& machine, const KernelLibrary& library,
             const MacroTile& tile, int splits) {
  const auto oversized = [](double side, double length) {
    return side >= 2.0 * length && side > 64.0;
  };
  if (oversized(tile.rows, problem.m) || oversized(tile.cols, problem.n)) {
    return false;
  }
  const double groups = whole(problem.m / tile.rows) * whole(problem.n / tile.cols) * problem.batch;
  return splits == 1 || (library.splits && problem.may_split && problem.k >= 256.0 * splits &&
                         groups * (splits - 1) < 2.0 * machine.units);
}

GemmPick cheapest_of_all(const GemmProblem& problem, const GemmMachine& machine,
                         const KernelLibrary& library) {
  const TileCounts counts(problem, machine);
  GemmPick best;
  best.time.total = Seconds(INFINITY);
  for (const MacroTile& tile : library.tiles) {
    for (const int splits : {1, 2, 3, 4, 6, 8}) {
      for (const ClusterShape& cluster : library.clusters) {
        if (!allowed(problem, machine, library, tile, splits)) {
          continue;
        }
        const GemmChoice choice{tile, splits, cluster};
        const GemmTime time = gemm_time(problem, machine, counts, choice);
        if (time.total < best.time.total ||
            (time.total == best.time.total && time.core < best.time.core)) {
          best = {choice, time};
        }
      }
    }
  }
  return best;
}

GemmProblem random_problem(test::RandomOps& random, std::vector<std::int64_t>& counts) {
  const Gemm op = random.gemm();
  GemmProblem problem;
  problem.m = static_cast<double>(op.m);
  problem.n = static_cast<double>(op.n);
  problem.k = static_cast<double>(op.k);
  problem.batch = static_cast<double>(op.batch);
  problem.dtype = op.dtype;
  problem.alignment =
      random.one_of({RowAlignment::kWhole, RowAlignment::kPartial, RowAlignment::kOdd});
  problem.compulsory = compulsory_bytes(op);
  counts.clear();
  if (random.one_of({true, false, false})) {
    for (int i = 0; i < 8; ++i) {
      counts.push_back(random.one_of<std::int64_t>({0, 1, 1}) * random.size(13));
    }
    counts.push_back(1);
    problem.counts = counts;
    problem.counts_are_inner = random.one_of({true, false});
    problem.may_split = false;
  }
  return problem;
}

TEST_CASE("the search finds what pricing every tile, split and cluster finds", "[property]") {
  for (const std::string& gpu : names_in(test::data_root().gpus())) {
    const DeviceSpec device = test::shipped_gpu(gpu);
    test::RandomOps random(7);
    std::vector<std::int64_t> counts;
    for (int i = 0; i < 40; ++i) {
      const GemmProblem problem = random_problem(random, counts);
      const KernelLibrary library = kernel_library(device, problem.dtype);
      const GemmMachine machine =
          gemm_machine(problem, library,
                       {device, random.share(0.3, 1.0) * device.clock.peak, device.compute_units,
                        device.launch_latency, Detail::kDuration});
      const GemmPick found = cheapest(problem, machine, library);
      const GemmPick best = cheapest_of_all(problem, machine, library);
      INFO(gpu << " m " << problem.m << " n " << problem.n << " k " << problem.k << " batch "
               << problem.batch << " " << name(problem.dtype));
      REQUIRE(found.time.total == best.time.total);
      REQUIRE(found.time.core == best.time.core);
      REQUIRE(found.choice.tile.rows == best.choice.tile.rows);
      REQUIRE(found.choice.tile.cols == best.choice.tile.cols);
      REQUIRE(found.choice.splits == best.choice.splits);
      REQUIRE(found.choice.cluster.rows == best.choice.cluster.rows);
      REQUIRE(found.choice.cluster.cols == best.choice.cluster.cols);
    }
  }
}

}  // namespace
}  // namespace stepcast::gemm_search_property_test
