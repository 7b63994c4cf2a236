// SPDX-License-Identifier: Apache-2.0
// Projections of the same work side by side, one column each, and what relates them.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/result/projection.hpp"
#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

// What a column is called by one of its options: most values say themselves what they are, whether
// the option is named alone or by the key that it sets, as cluster.gpu.
inline std::string label_of(const std::string& option, const std::string& value) {
  if (option == "nodes") {
    return value + (value == "1" ? " node" : " nodes");
  }
  if (option == "gpus") {
    return value + (value == "1" ? " GPU" : " GPUs");
  }
  if (option == "gpu_clock_mhz") {
    return value + " MHz";
  }
  constexpr std::array<std::string_view, 7> kPlain = {
      "experiment", "model", "gpu", "cluster", "nic_rate", "power_limit", "software"};
  const std::string_view last = std::string_view(option).substr(option.rfind('.') + 1);
  return std::ranges::find(kPlain, last) == kPlain.end() ? option + " " + value : value;
}

// One column: the options that make it, as {"gpu", "mi300x"}, and what they give.
struct ComparedColumn {
  std::vector<std::pair<std::string, std::string>> options;
  Projection projection;
  std::optional<SearchedPlans> searched;  // where the plan is the best of many

  // Whether there is a plan to speak of.
  [[nodiscard]] bool has_plan() const { return !searched || searched->priced > 0; }

  // The options' values: "mi300x, 1200 MHz", "tp 8"; the GPU's name without options.
  [[nodiscard]] std::string label() const {
    std::string text;
    for (const auto& [option, value] : options) {
      text += (text.empty() ? "" : ", ") + label_of(option, value);
    }
    return text.empty() ? projection.gpu : text;
  }
  // Of one token on one GPU: what to compare where steps differ in size.
  [[nodiscard]] Seconds time_per_token_gpu() const {
    return Seconds(1.0 / projection.tokens_per_second_per_gpu);
  }
  [[nodiscard]] std::optional<double> price_per_million_tokens() const {
    constexpr double kSecondsOfAnHour = 3600.0;
    if (!projection.gpu_hour || !projection.priced) {
      return std::nullopt;
    }
    return projection.gpu_hour->price / kSecondsOfAnHour / projection.tokens_per_second_per_gpu *
           1e6;
  }
};

// What columns are called beside each other: each by the options that others do not have alike, and
// all of them by the ones that they do: {"mi300x", "h200_sxm"} and "128 nodes". A lone column has
// its own label.
struct ColumnLabels {
  std::vector<std::string> own;
  std::string shared;
};
inline ColumnLabels labels_apart(const std::vector<ComparedColumn>& columns) {
  const auto in_all = [&columns](const auto& option) {
    return columns.size() > 1 && std::ranges::all_of(columns, [&option](const auto& column) {
             return std::ranges::find(column.options, option) != column.options.end();
           });
  };
  ColumnLabels labels;
  for (const ComparedColumn& column : columns) {
    ComparedColumn apart{{}, column.projection, {}};
    ComparedColumn shared = apart;
    for (const auto& option : column.options) {
      (in_all(option) ? shared : apart).options.push_back(option);
    }
    labels.own.push_back(apart.label());
    labels.shared = shared.options.empty() ? "" : shared.label();
  }
  return labels;
}

// Whether a step of some column has other tokens a GPU than one of the first.
inline bool steps_differ_in_size(const std::vector<ComparedColumn>& columns) {
  const auto tokens_per_gpu = [](const Projection& p) {
    return static_cast<double>(p.training.global_batch_size * p.training.sequence_length) /
           static_cast<double>(p.gpus);
  };
  return std::ranges::any_of(columns, [&](const ComparedColumn& column) {
    return tokens_per_gpu(column.projection) != tokens_per_gpu(columns.front().projection);
  });
}

// The first column with a time, to which the others are related; nullptr if there is none.
inline const ComparedColumn* reference_of(const std::vector<ComparedColumn>& columns) {
  const auto first = std::ranges::find_if(
      columns, [](const ComparedColumn& column) { return column.projection.priced; });
  return first == columns.end() ? nullptr : &*first;
}

inline double ratio(const Projection& p, const Projection& reference) {
  return p.tokens_per_second_per_gpu / reference.tokens_per_second_per_gpu;
}

// Whether the rates of two projections differ by more than what either may be off.
inline bool can_be_told_apart(const Projection& p, const Projection& reference) {
  return p.expected_error && reference.expected_error &&
         can_be_told_apart(ratio(p, reference), *p.expected_error, *reference.expected_error);
}

}  // namespace stepcast
