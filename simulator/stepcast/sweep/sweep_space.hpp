// SPDX-License-Identifier: Apache-2.0
// Every plan that a sweep file asks for, numbered 0 .. size() - 1.
//
// A sweep file is an experiment in which values may be axes:
//
//   tp: [1, 2, 4, 8]                        a list
//   pp: {from: 1, to: 64, times: 2}         a range; {from: 1, to: 8, step: 1} too
//   schedule: [1f1b, {schedule: interleaved_1f1b, vpp: [2, 4]}]
//                                           an item that is a mapping sets keys of the same section
//                                           together, each value or every one of its own lists
//   plan: all                               every legal plan (sweep_defaults.hpp)
//
// with constraints, rank_by and top-level keys of an experiment beside them. A key that is a list
// in an experiment takes a list of lists to be an axis. The keys of recomputation are one axis:
// where both the kind and its method, layers, modules or budget are lists, each kind is combined
// with those that belong to it.
//
// The number of a plan is read in mixed radix over the axes. Their order is fixed, whatever the
// order of the file, so that neighbours share as much as possible: sites outermost, then the
// recipe, then degrees that change operators, then those of the pipeline and the batch.
// A site is a combination of the axes outside `plan` and `training`: an Experiment read once.
// `plan.dispatcher` is a matter of the site too, for it belongs to the software's exchange.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/sweep/plan_constraint.hpp"
#include "stepcast/sweep/rank_by.hpp"

namespace stepcast {

inline constexpr std::int64_t kLargestSpace = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostSites = 4096;

// A sweep as it was given, whole: what a part of it must hold to be read elsewhere.
struct SweepSource {
  std::string name;                 // what messages call it, as a file's path
  std::filesystem::path folder;     // files that it names are looked up here
  std::string text;                 // YAML
  std::vector<Override> overrides;  // applied in order
  std::string version;              // of the program
};

// A key without its section: "tp" of "plan.tp".
inline std::string_view unqualified(std::string_view key) { return key.substr(key.rfind('.') + 1); }

// What varies. Several keys where values set several together; the text of a key that a value does
// not set is empty.
struct SweepAxis {
  std::vector<std::string> keys;                 // "plan.tp"
  std::vector<std::vector<std::string>> values;  // by value, then by key

  [[nodiscard]] std::int64_t size() const { return std::ssize(values); }
};

// What one number stands for.
struct SweepRequest {
  std::size_t site = 0;
  PlanRequest plan;
  TrainingRecipe training;
};

// A value of an axis of the plan or of the recipe, read once: the members of a request to set.
struct SweepPatch {
  PlanRequest plan;
  TrainingRecipe training;
};

class SweepSpace {
 public:
  // The axes and what their values mean, made by read_sweep. `site_axes` of the axes are the site's
  // own; each other has a patch for each value.
  struct Content {
    std::string description;
    std::string digest;
    std::string version;
    std::vector<SweepAxis> axes;  // the outermost first
    std::size_t site_axes = 0;
    std::vector<Experiment> sites;  // with the first value of every axis of plan and training
    std::vector<std::vector<SweepPatch>> patches;  // by axis after the site's, then by value
    std::vector<PlanConstraint> constraints;
    RankBy rank_by = RankBy::kTokensPerSecondPerGpu;
  };
  explicit SweepSpace(Content content);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::string& description() const { return content_.description; }
  [[nodiscard]] const std::vector<SweepAxis>& axes() const { return content_.axes; }
  [[nodiscard]] const std::vector<Experiment>& sites() const { return content_.sites; }
  [[nodiscard]] const std::vector<PlanConstraint>& constraints() const {
    return content_.constraints;
  }
  [[nodiscard]] RankBy rank_by() const { return content_.rank_by; }
  [[nodiscard]] const std::string& version() const { return content_.version; }
  // Stable text that changes with the input, any profile it may read, and the program's version.
  [[nodiscard]] const std::string& digest() const { return content_.digest; }

  [[nodiscard]] std::size_t site_of(std::int64_t index) const {
    return static_cast<std::size_t>(index / plans_a_site_);
  }
  [[nodiscard]] const Experiment& experiment_of(std::int64_t index) const {
    return content_.sites[site_of(index)];
  }
  // The value of axis `axis` that `index` has.
  [[nodiscard]] std::size_t digit(std::int64_t index, std::size_t axis) const {
    return static_cast<std::size_t>(index / strides_[axis] % content_.axes[axis].size());
  }
  // How far apart two plans are that differ by one value of axis `axis`.
  [[nodiscard]] std::int64_t stride(std::size_t axis) const { return strides_[axis]; }
  [[nodiscard]] SweepRequest request(std::int64_t index) const;
  // The same into a request that is used again.
  void request(std::int64_t index, SweepRequest& result) const;
  // The whole experiment that `index` stands for, as `project` would be given it.
  [[nodiscard]] Experiment experiment(std::int64_t index) const;

  // Whether sites differ in their number of GPUs.
  [[nodiscard]] bool gpus_vary() const;

 private:
  using PlanCopy = void (*)(const PlanRequest&, PlanRequest&);
  using TrainingCopy = void (*)(const TrainingRecipe&, TrainingRecipe&);
  struct AxisCopies {
    std::vector<PlanCopy> plan;
    std::vector<TrainingCopy> training;
  };

  Content content_;
  std::int64_t size_ = 0;
  std::int64_t plans_a_site_ = 1;
  std::vector<std::int64_t> strides_;
  std::vector<AxisCopies> copies_;  // by axis after the site's
};

// Reads a sweep. Throws ConfigError with every problem of every value of every axis.
SweepSpace read_sweep(const SweepSource& source, const DataRoot& data);
// The text with its overrides applied: a sweep file that needs none. Throws ConfigError.
ConfigNode overridden_sweep(const SweepSource& source);
// The same of a file, with overrides.
SweepSource load_sweep_source(const std::filesystem::path& file, std::vector<Override> overrides,
                              const std::string& version);

}  // namespace stepcast
