// SPDX-License-Identifier: Apache-2.0
// Why a run may be slower than its projection: causes, each a change of the experiment whose size
// is solved so that the projection meets what was measured (diagnosis/diagnose.hpp).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/result/metric.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/result/published_run.hpp"

namespace stepcast {

// The list is closed: scripts may rely on its names.
enum class Cause {
  kLinkBetweenNodes,
  kLinkWithinNode,
  kMessageLatency,
  kOverlapOff,
  kHostSlow,
  kLaunchesUnfused,
  kAttentionNotFlash,
  kPrecisionNotUsed,
  kRecomputation,
  kExpertImbalance,
  kOffload,
  kClockOrPower,
  kSlowRank,
  kSoftwareVersion,
  kDocumentsOrPadding,
  kFigureConvention,
};
template <>
inline constexpr std::array<std::string_view, 16> kNamesOf<Cause> = {"link_between_nodes",
                                                                     "link_within_node",
                                                                     "message_latency",
                                                                     "overlap_off",
                                                                     "host_slow",
                                                                     "launches_unfused",
                                                                     "attention_not_flash",
                                                                     "precision_not_used",
                                                                     "recomputation",
                                                                     "expert_imbalance",
                                                                     "offload",
                                                                     "clock_or_power",
                                                                     "slow_rank",
                                                                     "software_version",
                                                                     "documents_or_padding",
                                                                     "figure_convention"};

// Keys of an experiment and their values, as --set takes them: {"cluster.nic_rate", "3 GB/s"}.
using KeySettings = std::vector<std::pair<std::string, std::string>>;

// A number of a run, in the unit of its metric: tokens/s of a GPU, seconds, bytes, FLOP/s of a GPU
// divided by 10^12, a share.
struct Figure {
  Metric metric = Metric::kStepTime;
  double value = 0.0;
};

// What was measured of the experiment with `settings` on top of it; without them of itself.
struct MeasuredPoint {
  KeySettings settings;
  Figure measured;
};

// A part of a step on one device, as a profiler's trace tells them: the time of one kind of work
// without waiting, the time that waits for other ranks, the time in which nothing runs. Kinds of
// work run beside each other, so that they do not add up to the step.
struct StepPart {
  std::string name;  // "gemm", "all_gather", "waiting", "idle"
  Seconds measured;
  Seconds projected;   // without any cause
  bool waits = false;  // it is the time that waits for other ranks
};

// A traced step beside its projection.
struct TracedStep {
  std::string file;
  Seconds step;                      // as measured
  std::vector<StepPart> parts;       // none that neither side has
  std::vector<std::string> doubts;   // what makes the two doubtful to be of one step
  std::vector<std::string> notes{};  // what a reader is to know besides
};

// One form of a cause, at the size that explains the points best.
struct CauseFit {
  Cause cause = Cause::kLinkBetweenNodes;
  std::string form;            // "full recomputation"
  KeySettings settings;        // what makes the experiment that of the cause; none of a convention
  std::optional<double> size;  // in `unit`; nothing of a form that is there or not
  std::string unit;
  bool at_bound = false;          // a larger size would explain more, and is not possible
  bool meets = false;             // no more is left of the figures than chance leaves
  double score = 0.0;             // of all forms of all causes; they add up to 1
  std::vector<Figure> projected;  // of each point, with the cause
  double gain = 1.0;  // tokens/s of the first point without the cause over those with it
  std::vector<std::string_view> checks;  // how to see it on this GPU and in this framework
  // Of each part of the traced step, projected with the cause; empty without a trace, and of a
  // convention, which changes no run.
  std::vector<Seconds> traced;
};

// Two causes at once, of those that are the likeliest by themselves.
struct CausePair {
  CauseFit first;
  CauseFit second;
  std::vector<Figure> projected;  // of each point, with both
  double chi_squared = 0.0;       // that is left (diagnosis/cause_score.hpp)
};

// How the first point compares with the 80 % interval of its projection.
enum class Pace { kAsExpected, kSlow, kFast };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Pace> = {"as_expected", "slow", "fast"};

// The fastest of some ways to run an experiment on its GPUs.
struct FastestWay {
  std::int64_t tried = 0;  // ways
  KeySettings settings;    // what makes the experiment that way; empty: as it is, none is faster
  double tokens_per_second_per_gpu = 0.0;
  double gain = 1.0;  // of that over what the experiment is projected to have
  Bytes peak_memory;
};

struct Diagnosis {
  Projection projection;  // of the first point
  std::vector<MeasuredPoint> points;
  std::vector<Figure> projected;  // of each point, without any cause
  Pace pace = Pace::kAsExpected;
  double pace_ratio = 1.0;  // measured over projected tokens/s of the first point
  // What the run could be, whatever slows it, where that was looked for.
  std::optional<FastestWay> best_plan;
  std::optional<FastestWay> best_software;
  std::vector<PublishedRun> published;  // what others measured, the nearest first
  std::optional<TracedStep> trace;
  // The likeliest first, the best form of each; nothing where no figure is off by more than noise.
  std::vector<CauseFit> causes;
  std::vector<CausePair> pairs;  // of which both sizes are told by the points
  std::vector<Cause> ruled_out;  // that move no point, however large, or are not possible
};

}  // namespace stepcast
