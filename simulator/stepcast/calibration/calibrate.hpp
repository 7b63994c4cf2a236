// SPDX-License-Identifier: Apache-2.0
// Fits the constants of a file of hardware_profiles/kernels, architectures, collectives or exchange
// to measurements.
//
//   residual = ln(predicted / measured), weight of a row = 1 / sqrt(rows of its group)
//
// so that a large group does not drown the small ones, and a small one does not rule them.
//
// Parts that share a file are fitted together: constants of a die, with the memory, the clocks and
// the power limit of each part.
//
// Half of the shapes are held back by a stable hash of their name, so that the error on them says
// what the constants are worth on shapes that nobody measured.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/cluster_spec.hpp"

namespace stepcast {

// --- the constants that measurements can settle -------------------------------------------------
// They follow from the tables by which the files of those folders are read.

struct CalibratedConstant {
  std::string key;        // "gemm.prologue_cycles"
  std::string_view unit;  // as the profile writes it; empty for a plain number
  double low;             // in that unit
  double high;
  std::string_view meaning;
  bool of_power = false;  // times without watts do not settle it
};

// Which folder of profiles a file of constants lies in, or that it is the one of libraries.
enum class ConstantsOf { kKernels, kArchitectures, kCollectives, kExchanges, kLibraries };

std::span<const CalibratedConstant> calibrated_constants(ConstantsOf of);

// --- the fit ------------------------------------------------------------------------------------

struct CalibrationRow {
  std::string group;
  std::string shape;  // rows of one shape are held back together
  double measured = 0.0;
  // What the models say with the constants of the part of `machine`.
  std::function<double(const ClusterSpec& machine)> predicted;
  std::size_t part = 0;  // of the parts that are fitted together
};

struct FittedConstant {
  std::string key;
  std::string unit;
  double before = 0.0;  // in that unit
  double after = 0.0;
  bool at_bound = false;  // of what is searched: the rows do not settle it
};

// A constant that rows depend on and that was not fitted to them.
struct UnfittedConstant {
  std::string key;
  std::string reason;
};

// What the rows can bear. Times alone, as a trace has them, settle nothing about power, which they
// depend on through the clock; of the other constants those are fitted that move them most, one for
// each two rows.
enum class Evidence { kMeasurements, kTimesOfTrace };

struct GroupError {
  std::string group;
  std::size_t fitted = 0;  // rows
  std::size_t held_back = 0;
  double fitted_error = 0.0;  // mean of |predicted / measured - 1|
  double held_back_error = 0.0;
  double error_before = 0.0;  // of all rows, with the constants of the start
  double held_back_before = 0.0;
};

struct Calibration {
  std::vector<FittedConstant> constants;
  std::vector<UnfittedConstant> unfitted;
  std::vector<GroupError> groups;
  ConfigNode file;  // the tree with the new values
  ConstantsOf of = ConstantsOf::kKernels;
  // Mean errors of the groups on what was held back, with the new constants and with those of the
  // start; 0 where nothing was.
  double held_back_error = 0.0;
  double held_back_before = 0.0;

  // Whether the constants of the start are the better ones for shapes that the fit did not see.
  [[nodiscard]] bool is_worse() const;
};

bool is_held_back(const std::string& shape);

// Fits those of `calibrated_constants` that `file` has a number for, that some row depends on,
// and whose key is in `keys` (all of them where it is empty). Each of `parts` supplies everything
// else of its rows.
// Throws ConfigError if there are too few rows, and for a key that cannot be fitted or that
// `file` or the rows say nothing about.
Calibration calibrate(const std::vector<DeviceSpec>& parts, const ConfigNode& file,
                      const std::vector<CalibrationRow>& rows, const std::vector<std::string>& keys,
                      ConstantsOf of = ConstantsOf::kKernels,
                      Evidence evidence = Evidence::kMeasurements);

}  // namespace stepcast
