// SPDX-License-Identifier: Apache-2.0
// Why a run is slower, or faster, than its projection.
//
// First whether it is: the measured rate of the first point against the 80 % interval of the error
// to expect. Where any figure is off by more than twice the noise, each form of each cause
// (cause_changes.hpp, figure_convention.hpp) gets the size that explains all points best
// (size_fit.hpp) and a score (cause_score.hpp). Forms that the readers refuse or that do not divide
// are left out, and those that explain no more than no cause at all. Of the five likeliest causes
// every two are tried together where there are more figures than one: with a single one any two
// sizes would do.
//
// With a traced step each form is held against its parts too, at the size that explains the figures
// (trace_evidence.hpp): its evidence is that of the figures times that of the trace.
//
// Assumes that the experiment is what was run but for the causes, and that one cause, or two, are
// the same at every point. Where neither is so the first in the list is no better than the last.
// Costs some 10 projections a point for each form with a size; they run one after the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// The parts of a traced step, and what they are of any variant of the experiment that was traced:
// as many times as there are parts, in their order.
struct TraceQuestion {
  TracedStep traced;
  std::function<std::vector<Seconds>(const Variant& variant)> projected;
};

struct DiagnosisQuestion {
  const ExperimentTree& tree;
  const Experiment& experiment;       // that was read from it
  std::vector<MeasuredPoint> points;  // at least one; the first says how fast the run is
  std::optional<ExpectedError> expected;
  std::optional<TraceQuestion> trace = std::nullopt;
};

// Throws ConfigError where a point's settings are refused, or its plan cannot run. Where that of
// the first one does not divide, its projection has the reasons, and there is nothing else.
Diagnosis diagnose(const DiagnosisQuestion& question, ProfileCache& profiles,
                   const CostModel& cost);

}  // namespace stepcast
