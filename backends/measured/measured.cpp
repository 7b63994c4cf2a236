// SPDX-License-Identifier: Apache-2.0
// A table of the user's measurements over the default models, for every role: `measured:FILE`.
//
//   time         = ratio * model(shape, clock)
//   ratio of row = measured / model(row, clock of the row's state)
//   ratio        = geometric mean of the rows of this very operator                  (measured)
//                = exp(sum w_i ln ratio_i / sum w_i), w_i = 1 / max(d_i, 0.01),
//                  over the nearest eight rows (interpolated)
//                = 1 without a row near                                              (fallback)
//   d_i          = sqrt(sum over sizes of log2(size / size of row i)^2)
//
// The clock of a row's state balances the model's energy with the measured time, so that the same
// operator at the same state gets its measured time again; a locked clock is taken as it is. A
// measured clock beside the time is not used. Energies stay the model's.
//
// A row is near if each size is within a factor of 2 and the rest is the same:
//   gemm          m, n, k, batch                          format, pass
//   grouped_gemm  groups, rows of all, of the largest, n, k   format, pass, one kernel or many
//   attention     batch, sequences, heads                 format, pass, kernel, mask, head sizes
//   linear_attention  batch, sequence, heads              format, pass, rule, chunk, head sizes
//   sparse_attention  batch, sequences, heads             format, pass, chosen, window, head sizes
//   index_scores  batch, sequences, heads, chosen         format, pass, head size, teacher
//   memory_bound  rows, cols                              kind, pass, implementation, element
//   collective    bytes                                   operation, ranks, stride, algorithm
//   exchange      tokens, hidden, experts                 dispatcher, ranks, stride, top k
// What a row cannot say but a step knows (operands left in the cache, gradients that are added)
// changes the model's part only: such an operator is interpolated even from a row of its sizes.
//
// Assumes that what the model misses is a property of the kernel and changes slowly with its sizes;
// that rows were measured on the part as its profile describes it, at the profile's power limit and
// with the launches of the step. Rows whose time holds another kernel besides are left out.
//
// Wrong where a library changes its kernel between two rows, on the edge of the reach (the ratio
// jumps to 1 there), for collectives on a fabric other than the node of the rows, and as much as a
// single bad row: nothing is smoothed. More of a size may then take less time. Between rows it is
// worth as much as the model's errors are alike: of 653 products on H200 from rows of other shapes,
// the mean error is 4.9 % beside 4.8 % of the model alone, which was fitted to that machine, and
// 6.4 % beside 23 % if all of them take 1.3 times as long.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/builtin_backends.hpp"
#include "stepcast/cost/model_around.hpp"

namespace stepcast {
namespace {

// Where an operator lies among others: what it must share with a row to be compared, and its sizes.
struct ShapePoint {
  using Kind = std::array<std::int64_t, 12>;
  using Sizes = std::array<double, 5>;
  Kind kind{};
  Sizes log2_sizes{};
};

// What the default model's time is multiplied with, and why.
struct TableFactor {
  double ratio = 1.0;
  Origin origin = Origin::kFallback;
};

class MeasuredTable {
 public:
  MeasuredTable() = default;  // without rows
  // The rows of `role`; none of no file. Throws ConfigError for a file without rows of that role.
  MeasuredTable(BackendRole role, const MeasuredOperators& measured);

  [[nodiscard]] TableFactor factor(const OpWork& work, const std::string& gpu) const;

 private:
  struct Row {
    OpWork work;
    ShapePoint::Sizes log2_sizes;
    double log_ratio = 0.0;
  };
  using RowsByKind = std::map<ShapePoint::Kind, std::vector<Row>>;

  std::map<std::string, RowsByKind> gpus_;
};

constexpr double kReach = 1.0;  // octaves of each size
constexpr std::size_t kNearest = 8;
// Octaves. Nearer rows weigh no more, so that one of equal sizes is not alone beside its like.
constexpr double kClose = 0.01;

// --- operators as points ------------------------------------------------------------------------

template <typename... Values>
ShapePoint::Kind kind_of(Values... values) {
  return {static_cast<std::int64_t>(values)...};
}

template <typename... Values>
ShapePoint::Sizes sizes_of(Values... values) {
  return {std::log2(std::max(1.0, static_cast<double>(values)))...};
}

std::int64_t largest_group(const GroupedGemm& op) {
  return op.counts.empty() ? op.m_total / std::max<std::int64_t>(1, op.groups)
                           : *std::max_element(op.counts.begin(), op.counts.end());
}

struct Place {
  ShapePoint operator()(const Gemm& op) const {
    return {kind_of(0, op.dtype, op.pass), sizes_of(op.m, op.n, op.k, op.batch)};
  }
  ShapePoint operator()(const GroupedGemm& op) const {
    return {kind_of(1, op.dtype, op.pass, op.sequential),
            sizes_of(op.groups, op.m_total, largest_group(op), op.n, op.k)};
  }
  ShapePoint operator()(const Attention& op) const {
    return {kind_of(2, op.dtype, op.direction, op.kernel, op.causal, op.window, op.d_qk, op.d_v,
                    op.documents.length, op.documents.lengths, op.documents.packed),
            sizes_of(op.batch, op.seq_q, op.seq_kv, op.heads, op.kv_heads)};
  }
  ShapePoint operator()(const LinearAttention& op) const {
    return {kind_of(6, op.dtype, op.direction, op.rule, op.chunk, op.d_k, op.d_v),
            sizes_of(op.batch, op.seq, op.heads, op.qk_heads)};
  }
  ShapePoint operator()(const SparseAttention& op) const {
    return {kind_of(7, op.dtype, op.direction, op.window, op.sinks, op.d_qk, op.d_v, op.chosen,
                    op.ratio),
            sizes_of(op.batch, op.seq_q, op.seq_kv, op.heads, op.kv_heads)};
  }
  ShapePoint operator()(const IndexScores& op) const {
    return {kind_of(8, op.dtype, op.direction, op.d, op.ratio, op.teacher_heads, op.teacher_d),
            sizes_of(op.batch, op.seq_q, op.seq_kv, op.heads, op.chosen)};
  }
  ShapePoint operator()(const MemoryBound& op) const {
    return {kind_of(3, op.kind, op.direction, op.implementation, op.element.value(), op.taps),
            sizes_of(op.rows, op.cols)};
  }
  ShapePoint operator()(const Collective& op) const {
    return {kind_of(4, op.op, op.group.size, op.group.stride, op.group.run, op.group.jump,
                    op.algorithm, op.protocol),
            sizes_of(op.bytes.value())};
  }
  ShapePoint operator()(const ExpertExchange& op) const {
    return {
        kind_of(5, op.phase, op.dispatcher, op.primitive, op.dtype, op.group.size, op.group.stride,
                op.group.run, op.group.jump, op.topk, op.compute_units, op.routing.kind),
        sizes_of(op.tokens, op.hidden, op.experts)};
  }
};

// Without what does not change the time: why a rank communicates.
OpWork comparable(OpWork work) {
  if (auto* collective = std::get_if<Collective>(&work)) {
    collective->axis = {};
  }
  return work;
}

// --- rows ---------------------------------------------------------------------------------------

// The clock of the row's state for an operator of the model's energy and the measured time.
Hertz clock_of(const MeasuredOperator& row, const CostModel& model, const ClusterSpec& cluster) {
  const ClockState& state = row.work.state;
  const auto work = [&](Hertz clock) {
    return WorkAtClock{row.time, price_at_clock(row.work, model, cluster, clock).energy};
  };
  if (row.duty) {
    return duty_cycle_clock(cluster.device, *row.duty, work);
  }
  if (state.power == PowerState::kLocked) {
    return state.locked;
  }
  if (state.power == PowerState::kMixed) {
    const DeviceSpec& device = cluster.device;
    return clock_among_others(row.work.op, model, {device, {}, device.compute_units, {}}, cluster);
  }
  return highest_clock(cluster.device, [&](Hertz clock) {
    return power_share(cluster.device, state.power, work(clock));
  });
}

double ratio_of(const MeasuredOperator& row, const CostModel& model, const ClusterSpec& cluster) {
  const Hertz clock = clock_of(row, model, cluster);
  const Seconds predicted = price_at_clock(row.work, model, cluster, clock).duration;
  return predicted > Seconds{} ? row.time / predicted : 0.0;
}

struct Neighbour {
  double distance = 0.0;
  double log_ratio = 0.0;
};

std::optional<double> distance_within_reach(const ShapePoint::Sizes& a,
                                            const ShapePoint::Sizes& b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double octaves = std::abs(a[i] - b[i]);
    if (octaves > kReach) {
      return std::nullopt;
    }
    square += octaves * octaves;
  }
  return std::sqrt(square);
}

// The mean of the nearest, weighted with the inverse of the distance.
TableFactor interpolated(std::vector<Neighbour> near) {
  if (near.empty()) {
    return {};
  }
  const std::size_t kept = std::min(kNearest, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(kept), near.end(),
                    [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < kept; ++i) {
    const double weight = 1.0 / std::max(near[i].distance, kClose);
    sum += weight * near[i].log_ratio;
    weights += weight;
  }
  return {std::exp(sum / weights), Origin::kInterpolated};
}

ShapePoint shape_point(const OpWork& work) { return std::visit(Place{}, work); }

MeasuredTable::MeasuredTable(BackendRole role, const MeasuredOperators& measured) {
  if (measured.file.empty()) {
    return;
  }
  const CostModel model = default_cost_model();
  for (const MeasuredOperator& row : measured.rows) {
    const OpWork& work = row.work.op.work;
    if (role_of(work) != role) {
      continue;
    }
    const double ratio = ratio_of(row, model, measured.machines.at(row.gpu));
    if (ratio > 0.0) {
      const ShapePoint point = shape_point(work);
      gpus_[row.gpu][point.kind].push_back({comparable(work), point.log2_sizes, std::log(ratio)});
    }
  }
  if (gpus_.empty()) {
    throw ConfigError({measured.file, 1, 1},
                      "the file has no rows for the role '" + std::string(name(role)) + "'");
  }
}

TableFactor MeasuredTable::factor(const OpWork& work, const std::string& gpu) const {
  const auto rows_of_gpu = gpus_.find(gpu);
  if (rows_of_gpu == gpus_.end()) {
    return {};
  }
  const ShapePoint point = shape_point(work);
  const auto rows = rows_of_gpu->second.find(point.kind);
  if (rows == rows_of_gpu->second.end()) {
    return {};
  }
  const OpWork wanted = comparable(work);
  double equal_sum = 0.0;
  double equal = 0.0;
  std::vector<Neighbour> near;
  for (const Row& row : rows->second) {
    if (const auto distance = distance_within_reach(row.log2_sizes, point.log2_sizes)) {
      near.push_back({*distance, row.log_ratio});
      const bool same = *distance == 0.0 && row.work == wanted;
      equal_sum += same ? row.log_ratio : 0.0;
      equal += same ? 1.0 : 0.0;
    }
  }
  return equal > 0.0 ? TableFactor{std::exp(equal_sum / equal), Origin::kMeasured}
                     : interpolated(std::move(near));
}

// The table's rows of a role over the price of a model.
struct Corrected {
  MeasuredTable table;

  template <typename Context, typename Price>
  OpCost operator()(const OpWork& op, const Context& context, const Price& price) const {
    const TableFactor factor = table.factor(op, device_of(context).name);
    OpCost cost = price(context);
    cost.duration = factor.ratio * cost.duration;
    for (CostTerm& term : cost.terms) {
      term.duration = factor.ratio * term.duration;
    }
    cost.origin = factor.origin;
    return cost;
  }
  static const DeviceSpec& device_of(const KernelContext& context) { return context.device; }
  static const DeviceSpec& device_of(const FabricContext& context) {
    return context.cluster.device;
  }
};

CostModel measured_model(BackendRole role, const MeasuredOperators& measured) {
  return cost_model_around(default_cost_model(), Corrected{MeasuredTable(role, measured)});
}

}  // namespace

std::shared_ptr<const GemmModel> make_measured_gemm(const MeasuredOperators& measured) {
  return measured_model(BackendRole::kGemm, measured).gemm;
}

std::shared_ptr<const AttentionModel> make_measured_attention(const MeasuredOperators& measured) {
  return measured_model(BackendRole::kAttention, measured).attention;
}

std::shared_ptr<const MemoryBoundModel> make_measured_memory_bound(
    const MeasuredOperators& measured) {
  return measured_model(BackendRole::kMemoryBound, measured).memory_bound;
}

std::shared_ptr<const CollectiveModel> make_measured_collective(const MeasuredOperators& measured) {
  return measured_model(BackendRole::kCollective, measured).collective;
}

}  // namespace stepcast
