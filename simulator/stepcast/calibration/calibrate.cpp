// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "stepcast/base/units_text.hpp"
#include "stepcast/calibration/calibrated_constants.hpp"
#include "stepcast/calibration/least_squares.hpp"
#include "stepcast/config/mapping_reader.hpp"

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
    const auto entry = std::find_if(node->entries.begin(), node->entries.end(),
                                    [&](const ConfigEntry& e) { return e.key == part; });
    node = entry == node->entries.end() ? nullptr : &entry->value;
  }
  return node;
}

std::string written(double value, std::string_view unit) {
  const std::string number = significant(value, 4);
  std::string plain;
  std::copy_if(number.begin(), number.end(), std::back_inserter(plain),
               [](char c) { return c != ','; });
  return unit.empty() ? plain : plain + " " + std::string(unit);
}

class Fit {
 public:
  Fit(const DeviceSpec& device, const ConfigNode& kernels, const std::vector<CalibrationRow>& rows,
      const std::vector<std::string>& keys)
      : device_(device), tree_(kernels), rows_(rows) {
    for (const CalibratedConstant& constant : calibrated_constants()) {
      const bool wanted =
          keys.empty() || std::find(keys.begin(), keys.end(), constant.key) != keys.end();
      const ConfigNode* node = value_node(tree_, constant.key);
      if (wanted && node != nullptr) {
        constants_.push_back(&constant);
        start_.push_back(std::strtod(node->text.c_str(), nullptr));
      }
    }
  }

  Calibration run() {
    const std::vector<double> before = predictions(start_);
    LeastSquaresProblem problem = problem_of();
    if (problem.weights.size() < kRowsPerConstant * constants_.size()) {
      throw ConfigError(Location{}, "too few rows to fit " + std::to_string(constants_.size()) +
                                        " constants: " + std::to_string(problem.weights.size()));
    }
    const std::vector<double> found = solve(problem);
    Calibration result;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      result.constants.push_back(
          {std::string(constants_[i]->key), std::string(constants_[i]->unit), start_[i], found[i]});
    }
    result.groups = group_errors(before, predictions(found));
    result.kernels = tree_with(found);
    return result;
  }

 private:
  ConfigNode tree_with(const std::vector<double>& values) const {
    ConfigNode tree = tree_;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      value_node(tree, constants_[i]->key)->text = written(values[i], constants_[i]->unit);
    }
    return tree;
  }

  ClusterSpec machine_with(const std::vector<double>& values) const {
    DeviceSpec device = device_;
    Diagnostics diagnostics;
    std::vector<Provenance> provenance;
    device.kernels =
        read_kernel_constants(tree_with(values), device.sources, provenance, diagnostics);
    diagnostics.throw_if_any();
    return cluster_of(std::move(device), 1);
  }

  std::vector<double> predictions(const std::vector<double>& values) const {
    const ClusterSpec machine = machine_with(values);
    std::vector<double> result;
    result.reserve(rows_.size());
    for (const CalibrationRow& row : rows_) {
      result.push_back(row.predicted(machine));
    }
    return result;
  }

  LeastSquaresProblem problem_of() const {
    std::map<std::string, double> sizes;
    std::vector<const CalibrationRow*> fitted;
    for (const CalibrationRow& row : rows_) {
      if (!is_held_back(row.shape)) {
        fitted.push_back(&row);
        sizes[row.group] += 1.0;
      }
    }
    LeastSquaresProblem problem;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      problem.parameters.push_back({start_[i], constants_[i]->low, constants_[i]->high});
    }
    for (const CalibrationRow* row : fitted) {
      problem.weights.push_back(1.0 / std::sqrt(sizes[row->group]));
    }
    problem.residuals = [this, fitted](const std::vector<double>& values) {
      const ClusterSpec machine = machine_with(values);
      std::vector<double> residuals;
      residuals.reserve(fitted.size());
      for (const CalibrationRow* row : fitted) {
        residuals.push_back(std::log(row->predicted(machine) / row->measured));
      }
      return residuals;
    };
    return problem;
  }

  std::vector<GroupError> group_errors(const std::vector<double>& before,
                                       const std::vector<double>& after) const {
    std::vector<GroupError> groups;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const CalibrationRow& row = rows_[i];
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const GroupError& g) { return g.group == row.group; });
      if (group == groups.end()) {
        groups.emplace_back().group = row.group;
        group = groups.end() - 1;
      }
      const double error = std::abs(after[i] / row.measured - 1.0);
      group->error_before += std::abs(before[i] / row.measured - 1.0);
      if (is_held_back(row.shape)) {
        ++group->held_back;
        group->held_back_error += error;
      } else {
        ++group->fitted;
        group->fitted_error += error;
      }
    }
    for (GroupError& group : groups) {
      group.error_before /= static_cast<double>(group.fitted + group.held_back);
      group.fitted_error /= static_cast<double>(std::max<std::size_t>(1, group.fitted));
      group.held_back_error /= static_cast<double>(std::max<std::size_t>(1, group.held_back));
    }
    return groups;
  }

  const DeviceSpec& device_;
  ConfigNode tree_;
  const std::vector<CalibrationRow>& rows_;
  std::vector<const CalibratedConstant*> constants_;
  std::vector<double> start_;
};

}  // namespace

bool is_held_back(const std::string& shape) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;  // FNV-1a
  for (const char c : shape) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1'099'511'628'211ULL;
  }
  return ((hash >> 32U) & 1U) != 0;
}

Calibration calibrate(const DeviceSpec& device, const ConfigNode& kernels,
                      const std::vector<CalibrationRow>& rows,
                      const std::vector<std::string>& keys) {
  return Fit(device, kernels, rows, keys).run();
}

}  // namespace stepcast
