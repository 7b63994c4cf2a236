// SPDX-License-Identifier: Apache-2.0
// How far a projection may be off: intervals from the errors of measured runs that no constant was
// fitted to, and whether two projections differ by more than that.
//
//   measured tokens/s = predicted tokens/s * exp(e),   e = centre + spread * t
//
// with t of Student's distribution (experiment/error_model.hpp says what the three follow from).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/part_distance.hpp"
#include "stepcast/hardware/part_standing.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {

// What of a model decides how far its projection may be off. mla: multi-head latent attention, with
// experts or without, where no mixer besides full attention is used.
enum class AccuracyFamily { kDense, kMoe, kMla, kSparseAttention, kLinearAttention, kConvolution };
template <>
inline constexpr std::array<std::string_view, 6> kNamesOf<AccuracyFamily> = {
    "dense", "moe", "mla", "sparse_attention", "linear_attention", "convolution"};
AccuracyFamily accuracy_family(const ModelSpec& model);

// What the error of a run may hang on.
struct RunTraits {
  std::string gpu;
  std::string architecture;
  std::string vendor;
  AccuracyFamily family = AccuracyFamily::kDense;
  Dtype dtype = Dtype::kBf16;
  std::string software;  // the named set
  std::int64_t gpus = 1;
  std::string source = {};  // who measured it; empty for a run that nobody has seen
  PartDistance distance = PartDistance::kNone;
  PartStanding standing = PartStanding::kShipped;
  bool own_part = false;  // of the user's own
  Stack stack = Stack::kTuned;
};

// A measured run that no constant was fitted to.
struct HeldOutRun {
  RunTraits traits;
  double error = 0.0;  // ln(measured / predicted) of its tokens/s
};

// Factors of the predicted tokens/s.
struct RateInterval {
  double low = 1.0;
  double high = 1.0;

  [[nodiscard]] bool holds(double factor) const { return low <= factor && factor <= high; }
  // Half of its width, as a share of the prediction.
  [[nodiscard]] double half_width() const { return 0.5 * (high - low); }
};

// How sure an interval is.
enum class Certainty { k80, k90 };

// Of e = ln(measured / predicted) of the tokens/s of a run that nobody has seen.
struct ErrorDistribution {
  double centre = 0.0;
  double spread = 0.0;   // of a run of another source
  double within = 0.0;   // of runs of one source on one GPU with one software set
  double degrees = 1.0;  // of freedom
  // Of that spread, what was added for a GPU and for a software set that no run has: how far their
  // kin lie apart; 0 for those that have runs.
  double between_gpus = 0.0;
  double between_software = 0.0;
  // Of a part without runs: the GPUs, architectures or vendors that it was judged by, and how far
  // they, or any nearer units, are off.
  std::int64_t held_out_units = 0;
  double held_out_spread = 0.0;
  double carried_spread = 0.0;    // and what pricing it by constants of another part adds
  double announced_spread = 0.0;  // and what announced figures add, which may yet change

  [[nodiscard]] RateInterval interval(Certainty certainty) const;
};

struct ExpectedError {
  std::string gpu;
  AccuracyFamily family = AccuracyFamily::kDense;
  std::string software;  // the named set
  Stack stack = Stack::kTuned;
  // The held-out runs that are nearest: on the GPU and of the family, else of its nearest kin.
  std::int64_t runs = 0;  // 0: nothing is known
  std::int64_t sources = 0;
  double median = 0.0;  // of |predicted / measured - 1| of those runs
  double p90 = 0.0;
  std::string basis = {};  // "23 runs of 9 sources on h100_sxm, dense"
  std::optional<ErrorDistribution> distribution = std::nullopt;  // of all held-out runs, weighted
};

// The quantile of Student's t distribution with as many degrees of freedom, 2 or more, at the
// normal quantile z (Abramowitz and Stegun 26.7.5; within 0.5 % for z <= 1.65).
double student_quantile(double z, double degrees);

// Whether two projections differ at 80 %, `ratio` being the predicted rate of the first over that
// of the second. Two plans on one GPU with one software set share what a source has in common (its
// machine, its software, what our constants get wrong about both), which cancels in their ratio:
// only the spread within a source is left, of both. Else nothing is shared that we know of, and the
// ratio has the spreads of both.
bool can_be_told_apart(double ratio, const ExpectedError& first, const ExpectedError& second);

}  // namespace stepcast
