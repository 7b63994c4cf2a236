// SPDX-License-Identifier: Apache-2.0
#include "backends/measured/measured_table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace stepcast {
namespace {

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

}  // namespace

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

}  // namespace stepcast
