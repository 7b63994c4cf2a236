// SPDX-License-Identifier: Apache-2.0
// GEMM tile by tile: the macro tile, split of K and cluster that the library would pick, and the
// time of its waves. tile_time.hpp has the equation and the tiles.
//
// The pick (cheapest) is the cheapest candidate at the clock of the context, as a library's
// heuristic that was tuned on the part finds it. Kernels of groups do not split K; a
// persistent one has one tile, and reads again what the cache does not hold. Assumes operands cold
// in HBM and otherwise read from there once, random data, results in 16 bits. Wrong by 20 to 35 %
// for tiny results with a long K (4 to 12 us), where libraries do not choose the narrow tiles that
// would be best.
#include <algorithm>
#include <cmath>

#include "backends/builtin_backends.hpp"
#include "backends/gemm/tile_time.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {
namespace {

constexpr double kWholeBytes = 16.0;  // the most that a thread's asynchronous copy loads
constexpr double kLeastBytes = 4.0;   // and the least

RowAlignment row_alignment(double length, Dtype dtype) {
  const double bytes = length * size_of(dtype).value();
  const auto multiple_of = [&](double unit) { return whole(bytes / unit) == bytes / unit; };
  if (multiple_of(kWholeBytes)) {
    return RowAlignment::kWhole;
  }
  return multiple_of(kLeastBytes) ? RowAlignment::kPartial : RowAlignment::kOdd;
}

// The worse of the rows of both operands. The contiguous sides are k and k (forward), k and n
// (dgrad), m and n (wgrad).
RowAlignment alignment_of(double m, double n, double k, Dtype dtype, GemmPass pass) {
  const double first = pass == GemmPass::kWgrad ? m : k;
  const double second = pass == GemmPass::kForward ? k : n;
  return std::max(row_alignment(first, dtype), row_alignment(second, dtype));
}

std::vector<CostTerm> terms_of(const GemmTime& time, const GemmMachine& machine) {
  return {{"launch", machine.launch},         {"start_up", machine.start_up},
          {"prologue", time.prologue},        {"k_loop", time.k_loop},
          {"epilogue", time.epilogue},        {"memory", time.memory},
          {"split_reduction", time.reduction}};
}

OpCost priced(const GemmProblem& problem, const KernelLibrary& library,
              const KernelContext& context) {
  const GemmMachine machine = gemm_machine(problem, library, context);
  const GemmPick best = cheapest(problem, machine, library);
  OpCost cost;
  cost.duration = best.time.total;
  cost.bound = best.time.bound;
  cost.hbm = problem.compulsory;
  cost.energy = kernel_energy(
      {best.time.matrix_cycles, problem.dtype, problem.compulsory, problem.accumulation}, context);
  if (context.detail == Detail::kTerms) {
    cost.terms = terms_of(best.time, machine);
    cost.tiling = {static_cast<std::int64_t>(best.choice.tile.rows),
                   static_cast<std::int64_t>(best.choice.tile.cols), best.choice.splits,
                   static_cast<std::int64_t>(best.choice.cluster.rows) * best.choice.cluster.cols,
                   best.time.waves};
  }
  return cost;
}

// By the kernels of the format, or by the dense ones if the stack's library picks those where they
// are faster.
OpCost priced_by_choice(const GemmProblem& problem, const KernelLibrary& library,
                        const KernelContext& context) {
  OpCost newest = priced(problem, library, context);
  const std::optional<KernelLibrary> dense = dense_library(context.device, problem.dtype);
  if (!context.picks_kernel || !dense) {
    return newest;
  }
  OpCost other = priced(problem, *dense, context);
  return other.duration < newest.duration ? other : newest;
}

GemmProblem problem_of(const Gemm& op) {
  GemmProblem problem;
  problem.m = real(op.m);
  problem.n = real(op.n);
  problem.k = real(op.k);
  problem.batch = real(op.batch);
  problem.dtype = op.dtype;
  problem.compulsory = compulsory_bytes(op);
  problem.result = (op.accumulate ? 2.0 : 1.0) * op.result;
  problem.accumulation = op.accumulation;
  problem.alignment = alignment_of(problem.m, problem.n, problem.k, op.dtype, op.pass);
  return problem;
}

// What the cache still holds of the operands does not come from HBM.
void leave_in_cache(const Gemm& op, Bytes cached, GemmProblem& problem) {
  const Bytes operands = problem.batch * problem.k * (problem.m + problem.n) * size_of(op.dtype);
  problem.compulsory = problem.compulsory - min(cached, operands);
  problem.cold = cached < operands;
}

// `rows` of one group: m of a forward product, k of a weight gradient.
Gemm group_product(const GroupedGemm& op, std::int64_t rows) {
  return op.pass == GemmPass::kWgrad
             ? Gemm{op.n,          op.k,      rows,           1, op.dtype, op.pass,
                    op.accumulate, op.result, op.accumulation}
             : Gemm{rows,          op.n,      op.k,           1, op.dtype, op.pass,
                    op.accumulate, op.result, op.accumulation};
}

GemmProblem problem_of(const GroupedGemm& op) {
  const std::int64_t mean_rows = (op.m_total + op.groups - 1) / op.groups;
  GemmProblem problem = problem_of(group_product(op, mean_rows));
  problem.batch = real(op.groups);
  problem.compulsory = compulsory_bytes(op);
  problem.counts = op.counts;
  problem.may_split = false;
  problem.counts_are_inner = op.pass == GemmPass::kWgrad;
  return problem;
}

// Bytes that a persistent kernel reads again. Its tiles go down the rows of a group first, then to
// the next column of tiles; columns that run at a time share what they read. What of their rows the
// cache does not hold until the next columns come is read from memory again.
Bytes read_again(const GemmProblem& problem, const MacroTile& tile, double cache_share,
                 const KernelContext& context) {
  const auto units = real(context.compute_units);
  const double rows = std::ceil(problem.m / tile.rows);
  const double sweeps = std::ceil(problem.n / tile.cols) * std::min(1.0, rows / units);
  const Bytes row = problem.k * size_of(problem.dtype);
  const Bytes beside = std::min(problem.m, units * tile.rows) * row;
  const double missed = std::max(0.0, 1.0 - cache_share * context.device.l2.capacity / beside);
  return problem.batch * std::max(0.0, sweeps - 1.0) * missed * problem.m * row;
}

// One kernel an expert, one after the other.
OpCost priced_sequentially(const GroupedGemm& op, const KernelContext& context) {
  const KernelLibrary library = kernel_library(context.device, op.dtype);
  OpCost sum;
  const auto add = [&](std::int64_t rows, double times) {
    const OpCost one = priced_by_choice(problem_of(group_product(op, rows)), library, context);
    sum.bound = one.bound;
    sum.tiling = one.tiling;
    sum.duration += times * one.duration;
    sum.energy += times * one.energy;
    sum.hbm += times * one.hbm;
    sum.terms.resize(one.terms.size());
    for (std::size_t i = 0; i < one.terms.size(); ++i) {
      sum.terms[i].name = one.terms[i].name;
      sum.terms[i].duration += times * one.terms[i].duration;
    }
  };
  if (op.counts.empty()) {
    add((op.m_total + op.groups - 1) / op.groups, real(op.groups));
  }
  for (const std::int64_t rows : op.counts) {
    if (rows > 0) {
      add(rows, 1.0);
    }
  }
  return sum;
}

class TileGemm final : public GemmModel {
 public:
  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext& context) const override {
    GemmProblem problem = problem_of(op);
    leave_in_cache(op, context.cached, problem);
    return priced_by_choice(problem, kernel_library(context.device, op.dtype), context);
  }

  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& op,
                                    const KernelContext& context) const override {
    if (op.sequential) {
      return priced_sequentially(op, context);
    }
    GemmProblem problem = problem_of(op);
    const KernelLibrary library = grouped_library(context.device, op, problem.m, problem.n);
    if (library.cache_share) {
      problem.compulsory +=
          read_again(problem, library.tiles.front(), *library.cache_share, context);
    }
    return priced_by_choice(problem, library, context);
  }
};

}  // namespace

std::shared_ptr<const GemmModel> make_tile_gemm() { return std::make_shared<TileGemm>(); }

}  // namespace stepcast
