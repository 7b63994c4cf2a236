// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/calibration/least_squares.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/constant_files.hpp"
#include "stepcast/validation/held_out.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kRowsPerConstant = 2;

// The scalar behind "gemm.start_up" -> value, or null.
ConfigNode* value_node(ConfigNode& root, std::string_view key) {
  ConfigNode* node = &root;
  std::string rest(key);
  rest += ".value";
  while (node != nullptr && !rest.empty()) {
    const std::size_t dot = rest.find('.');
    const std::string part = rest.substr(0, dot);
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
    const auto entry = std::ranges::find(node->entries, part, &ConfigEntry::key);
    node = entry == node->entries.end() ? nullptr : &entry->value;
  }
  return node;
}

template <typename Q>
std::optional<double> in_units(const std::string& text, const std::string& unit) {
  const std::optional<Q> value = parse_quantity<Q>(text).value;
  const std::optional<Q> one = parse_quantity<Q>("1 " + unit).value;
  return value && one ? std::optional(*value / *one) : std::nullopt;
}

// The number in the constant's unit, whichever unit the file is written in.
double number_in(const ConfigNode& node, std::string_view unit_name) {
  const std::string unit(unit_name);
  if (unit.empty()) {
    return leading_decimal(node.text);
  }
  for (const std::optional<double> number :
       {in_units<Seconds>(node.text, unit), in_units<Joules>(node.text, unit),
        in_units<Bytes>(node.text, unit), in_units<BytesPerSecond>(node.text, unit)}) {
    if (number) {
      return *number;
    }
  }
  throw ConfigError(node.location(), "'" + node.text + "' is no quantity in " + unit);
}

std::string with_unit(const std::string& number, std::string_view unit) {
  return unit.empty() ? number : number + " " + std::string(unit);
}

// What the file gets: four digits, as more would promise what no fit can tell.
std::string rounded_constant(double value) {
  std::string text = significant(value, 4);
  std::erase(text, ',');
  return text;
}

void check_keys(ConfigNode& file, const std::vector<std::string>& keys, ConstantsOf of) {
  std::vector<std::string> known;
  for (const CalibratedConstant& constant : calibrated_constants(of)) {
    known.push_back(constant.key);
  }
  Diagnostics diagnostics;
  for (const std::string& key : keys) {
    const Location where{"--constant " + key, 0, 0};
    if (std::ranges::find(known, key) == known.end()) {
      diagnostics.error(where, "no constant of this name is fitted" + did_you_mean(key, known));
    } else if (value_node(file, key) == nullptr) {
      diagnostics.error(where,
                        "the GPU's file of constants has no number for it; add one to start from");
    }
  }
  diagnostics.throw_if_any();
}

// Of the groups that have such rows, each of which counts the same, as in the fit.
double held_back_mean(const std::vector<GroupError>& groups, double GroupError::*error) {
  double sum = 0.0;
  double count = 0.0;
  for (const GroupError& group : groups) {
    if (group.held_back > 0) {
      sum += group.*error;
      count += 1.0;
    }
  }
  return count > 0.0 ? sum / count : 0.0;
}

class Fit {
 public:
  Fit(const std::vector<DeviceSpec>& parts, ConfigNode file,
      const std::vector<CalibrationRow>& rows, const std::vector<std::string>& keys, ConstantsOf of,
      Evidence evidence)
      : parts_(parts), of_(of), tree_(std::move(file)), rows_(rows) {
    check_keys(tree_, keys, of);
    for (const CalibrationRow& row : rows_) {
      if (!is_held_back(row.shape)) {
        fitted_.push_back(&row);
      }
    }
    for (const CalibratedConstant& constant : calibrated_constants(of)) {
      const bool wanted = keys.empty() || std::ranges::find(keys, constant.key) != keys.end();
      const ConfigNode* node = value_node(tree_, constant.key);
      if (wanted && node != nullptr) {
        constants_.push_back(&constant);
        start_.push_back(number_in(*node, constant.unit));
      }
    }
    leave_what_no_row_tells(keys);
    if (evidence == Evidence::kTimesOfTrace && keys.empty()) {
      leave_power();
      leave_what_moves_least();
    }
  }

  Calibration run() {
    check_rows();
    std::vector<double> found = solve(problem_of());
    const std::vector<double> exact = found;
    for (double& value : found) {
      value = leading_decimal(rounded_constant(value));
    }
    Calibration result;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      result.constants.push_back({constants_[i]->key, std::string(constants_[i]->unit), start_[i],
                                  found[i], at_bound(*constants_[i], exact[i])});
    }
    result.unfitted = unfitted_;
    result.groups = group_errors(predictions(start_), predictions(found));
    result.held_back_error = held_back_mean(result.groups, &GroupError::held_back_error);
    result.held_back_before = held_back_mean(result.groups, &GroupError::held_back_before);
    result.file = tree_with(found, rounded_constant);
    result.of = of_;
    return result;
  }

 private:
  void check_rows() const {
    std::string fault;
    if (rows_.empty()) {
      fault = "there are no rows to fit; give measurements of what the constants describe";
    } else if (fitted_.empty()) {
      fault = "all " + std::to_string(rows_.size()) +
              " rows are held back by their shapes, to check the fit; give rows of more shapes";
    } else if (constants_.empty()) {
      fault = "none of these constants moves the " + std::to_string(fitted_.size()) +
              " rows that are not held back; give measurements of what the constants describe";
    } else if (const std::size_t least = kRowsPerConstant * constants_.size();
               fitted_.size() < least) {
      fault = std::to_string(fitted_.size()) + " rows are too few to fit " +
              std::to_string(constants_.size()) + " constants; give " + std::to_string(least) +
              " or more besides those held back, or choose with --constant";
    }
    if (!fault.empty()) {
      throw ConfigError({"measurements", 0, 0}, fault);
    }
  }

  [[nodiscard]] ConfigNode tree_with(const std::vector<double>& values,
                                     std::string (*text)(double)) const {
    ConfigNode tree = tree_;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      value_node(tree, constants_[i]->key)->text = with_unit(text(values[i]), constants_[i]->unit);
    }
    return tree;
  }

  [[nodiscard]] std::vector<ClusterSpec> machines_with(const std::vector<double>& values) const {
    const ConfigNode tree = tree_with(values, shortest_text);
    std::vector<ClusterSpec> machines;
    machines.reserve(parts_.size());
    for (const DeviceSpec& part : parts_) {
      machines.push_back(machine_of(part, tree));
    }
    return machines;
  }

  [[nodiscard]] ClusterSpec machine_of(DeviceSpec device, const ConfigNode& tree) const {
    Diagnostics diagnostics;
    std::vector<Provenance> provenance;
    switch (of_) {
      case ConstantsOf::kKernels:
        device.kernels = read_kernel_constants(tree, device.sources, provenance, diagnostics);
        break;
      case ConstantsOf::kArchitectures: {
        Architecture kernels = read_architecture(tree, device.sources, provenance, diagnostics);
        device.architecture.attention = std::move(kernels.attention);
        device.architecture.gemm = std::move(kernels.gemm);
        break;
      }
      case ConstantsOf::kCollectives:
        device.collectives =
            read_collective_constants(tree, device.sources, provenance, diagnostics);
        break;
      case ConstantsOf::kExchanges:
        device.exchange = read_exchange_constants(tree, device.sources, provenance, diagnostics);
        break;
      case ConstantsOf::kLibraries:
        device.libraries = read_library_constants(tree, device.sources, provenance, diagnostics);
        break;
    }
    diagnostics.throw_if_any();
    return cluster_of(std::move(device), 1);
  }

  [[nodiscard]] std::vector<double> predictions(const std::vector<double>& values) const {
    const std::vector<ClusterSpec> machines = machines_with(values);
    std::vector<double> result;
    result.reserve(rows_.size());
    for (const CalibrationRow& row : rows_) {
      result.push_back(row.predicted(machines[row.part]));
    }
    return result;
  }

  // Keeps the constants that `keep` says; `leave` is told the others.
  template <typename Keep, typename Leave>
  void keep_those(const Keep& keep, const Leave& leave) {
    std::vector<const CalibratedConstant*> kept;
    std::vector<double> kept_start;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      if (keep(i)) {
        kept.push_back(constants_[i]);
        kept_start.push_back(start_[i]);
      } else {
        leave(constants_[i]->key);
      }
    }
    constants_ = std::move(kept);
    start_ = std::move(kept_start);
  }

  // A constant that changes no prediction, neither at its least nor at its most, would be called
  // fitted without being it.
  void leave_what_no_row_tells(const std::vector<std::string>& keys) {
    const std::vector<double> before = residuals(start_);
    const auto moves = [&](std::size_t i, double value) {
      std::vector<double> values = start_;
      values[i] = value;
      return residuals(values) != before;
    };
    Diagnostics diagnostics;
    keep_those(
        [&](std::size_t i) {
          return moves(i, constants_[i]->low) || moves(i, constants_[i]->high);
        },
        [&](const std::string& key) {
          if (!keys.empty() && !fitted_.empty()) {
            diagnostics.error({"--constant " + key, 0, 0},
                              "no row depends on it; give measurements of what it describes");
          }
        });
    diagnostics.throw_if_any();
  }

  static bool at_bound(const CalibratedConstant& constant, double value) {
    const double near = 1e-6 * (constant.high - constant.low);
    return value <= constant.low + near || value >= constant.high - near;
  }

  // The others are told with the reason.
  template <typename Keep>
  void leave_others(const Keep& keep, const std::string& reason) {
    keep_those(keep, [&](const std::string& key) { unfitted_.push_back({key, reason}); });
  }

  void leave_power() {
    leave_others([this](std::size_t i) { return !constants_[i]->of_power; },
                 "times without watts do not settle power");
  }

  // How far the rows are moved between a constant's least and most.
  [[nodiscard]] double movement(std::size_t i) const {
    std::vector<double> values = start_;
    values[i] = constants_[i]->low;
    const std::vector<double> low = residuals(values);
    values[i] = constants_[i]->high;
    const std::vector<double> high = residuals(values);
    double sum = 0.0;
    for (std::size_t row = 0; row < low.size(); ++row) {
      sum += std::abs(high[row] - low[row]);
    }
    return sum;
  }

  void leave_what_moves_least() {
    const std::size_t most = fitted_.size() / kRowsPerConstant;
    std::vector<double> movements;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      movements.push_back(movement(i));
    }
    std::vector<double> sorted = movements;
    std::ranges::sort(sorted, std::ranges::greater{});
    if (most == 0 || sorted.size() <= most) {
      return;
    }
    leave_others([&](std::size_t i) { return movements[i] > sorted[most]; },
                 "others move the rows more, and more constants than half the rows are not fitted");
  }

  // Of the rows that are not held back.
  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& values) const {
    const std::vector<ClusterSpec> machines = machines_with(values);
    std::vector<double> result;
    result.reserve(fitted_.size());
    for (const CalibrationRow* row : fitted_) {
      result.push_back(std::log(row->predicted(machines[row->part]) / row->measured));
    }
    return result;
  }

  [[nodiscard]] LeastSquaresProblem problem_of() const {
    std::map<std::string, double> sizes;
    for (const CalibrationRow* row : fitted_) {
      sizes[row->group] += 1.0;
    }
    LeastSquaresProblem problem;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      problem.parameters.push_back({start_[i], constants_[i]->low, constants_[i]->high});
    }
    for (const CalibrationRow* row : fitted_) {
      problem.weights.push_back(1.0 / std::sqrt(sizes[row->group]));
    }
    problem.residuals = [this](const std::vector<double>& values) { return residuals(values); };
    return problem;
  }

  [[nodiscard]] std::vector<GroupError> group_errors(const std::vector<double>& before,
                                                     const std::vector<double>& after) const {
    std::vector<GroupError> groups;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const CalibrationRow& row = rows_[i];
      auto group = std::ranges::find(groups, row.group, &GroupError::group);
      if (group == groups.end()) {
        groups.emplace_back().group = row.group;
        group = groups.end() - 1;
      }
      const double error = std::abs(after[i] / row.measured - 1.0);
      group->error_before += std::abs(before[i] / row.measured - 1.0);
      if (is_held_back(row.shape)) {
        ++group->held_back;
        group->held_back_error += error;
        group->held_back_before += std::abs(before[i] / row.measured - 1.0);
      } else {
        ++group->fitted;
        group->fitted_error += error;
      }
    }
    for (GroupError& group : groups) {
      group.error_before /= static_cast<double>(group.fitted + group.held_back);
      group.fitted_error /= static_cast<double>(std::max<std::size_t>(1, group.fitted));
      const auto held_back = static_cast<double>(std::max<std::size_t>(1, group.held_back));
      group.held_back_error /= held_back;
      group.held_back_before /= held_back;
    }
    return groups;
  }

  const std::vector<DeviceSpec>& parts_;
  ConstantsOf of_;
  ConfigNode tree_;
  const std::vector<CalibrationRow>& rows_;
  std::vector<const CalibrationRow*> fitted_;  // not held back
  std::vector<const CalibratedConstant*> constants_;
  std::vector<double> start_;
  std::vector<UnfittedConstant> unfitted_;
};

}  // namespace

bool Calibration::is_worse() const {
  constexpr double kRounding = 1e-6;
  return held_back_error > held_back_before * (1.0 + kRounding);
}

bool is_held_back(const std::string& shape) { return ((fnv1a(shape) >> 32U) & 1U) != 0; }

Calibration calibrate(const std::vector<DeviceSpec>& parts, const ConfigNode& file,
                      const std::vector<CalibrationRow>& rows, const std::vector<std::string>& keys,
                      ConstantsOf of, Evidence evidence) {
  return Fit(parts, file, rows, keys, of, evidence).run();
}

}  // namespace stepcast
