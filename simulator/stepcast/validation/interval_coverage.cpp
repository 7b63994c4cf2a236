// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/interval_coverage.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "stepcast/base/quantile.hpp"

namespace stepcast {
namespace {

struct CoverageGroup {
  const char* title;
  bool (*holds)(const ValidationRow&);
};

bool is_of(const ValidationRow& row, AccuracyFamily family) {
  return row.held_out.value_or(false) && row.traits->family == family;
}

bool is_on_known_gpu(const ValidationRow& row) {
  return row.expected_error->distribution->between_gpus == 0.0;
}

constexpr std::array kCoverageGroups = {
    CoverageGroup{"dense, GPU of other sources too",
                  [](const ValidationRow& row) {
                    return is_of(row, AccuracyFamily::kDense) && is_on_known_gpu(row);
                  }},
    CoverageGroup{"dense, GPU of no other source",
                  [](const ValidationRow& row) {
                    return is_of(row, AccuracyFamily::kDense) && !is_on_known_gpu(row);
                  }},
    CoverageGroup{"moe", [](const ValidationRow& row) { return is_of(row, AccuracyFamily::kMoe); }},
    CoverageGroup{"mla", [](const ValidationRow& row) { return is_of(row, AccuracyFamily::kMla); }},
    CoverageGroup{"all", [](const ValidationRow& row) { return row.held_out.value_or(false); }},
    CoverageGroup{"all, fitted ones too", [](const ValidationRow&) { return true; }}};

IntervalCoverage coverage_of(const char* title, const std::vector<const ValidationRow*>& rows) {
  IntervalCoverage coverage{.group = title, .runs = rows.size()};
  std::set<std::string> sources;
  std::vector<double> widths;
  const double share = 1.0 / static_cast<double>(rows.size());
  for (const ValidationRow* row : rows) {
    const ErrorDistribution& error = *row->expected_error->distribution;
    const RateInterval of_80 = error.interval(Certainty::k80);
    sources.insert(row->traits->source);
    widths.push_back(of_80.half_width());
    coverage.inside_80 += of_80.holds(row->rate_factor()) ? share : 0.0;
    coverage.inside_90 += error.interval(Certainty::k90).holds(row->rate_factor()) ? share : 0.0;
  }
  coverage.sources = sources.size();
  coverage.half_width_80 = quantile(widths, 0.5);
  return coverage;
}

}  // namespace

std::vector<const ValidationRow*> timed_once(const std::vector<ValidationRow>& rows) {
  std::vector<const ValidationRow*> runs;
  std::pair<std::string, std::string> last;  // a run's rate and its step time are one measurement
  for (const ValidationRow& row : rows) {
    if (row.predicted && row.traits && last != std::pair(row.file, row.id)) {
      last = {row.file, row.id};
      runs.push_back(&row);
    }
  }
  return runs;
}

std::vector<IntervalCoverage> interval_coverage(const std::vector<ValidationRow>& rows) {
  std::vector<IntervalCoverage> groups;
  for (const CoverageGroup& group : kCoverageGroups) {
    std::vector<const ValidationRow*> own;
    for (const ValidationRow* row : timed_once(rows)) {
      if (row->expected_error && row->expected_error->distribution && group.holds(*row)) {
        own.push_back(row);
      }
    }
    if (!own.empty()) {
      groups.push_back(coverage_of(group.title, own));
    }
  }
  return groups;
}

}  // namespace stepcast
