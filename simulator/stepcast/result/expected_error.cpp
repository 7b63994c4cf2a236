// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/expected_error.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

// Of the normal distribution, so that as much as the certainty lies between -z and z.
double normal_quantile_of(Certainty certainty) {
  constexpr double kOf80 = 1.2815515655446004;
  constexpr double kOf90 = 1.6448536269514722;
  return certainty == Certainty::k80 ? kOf80 : kOf90;
}

}  // namespace

double student_quantile(double z, double degrees) {
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4.0 * degrees) +
         (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * degrees * degrees) +
         (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * degrees * degrees * degrees);
}

RateInterval ErrorDistribution::interval(Certainty certainty) const {
  const double half = spread * student_quantile(normal_quantile_of(certainty), degrees);
  return {std::exp(centre - half), std::exp(centre + half)};
}

AccuracyFamily accuracy_family(const ModelSpec& model) {
  if (model.mixers.has(Mixer::kLinearAttention)) {
    return AccuracyFamily::kLinearAttention;
  }
  if (model.mixers.has(Mixer::kConvolution)) {
    return AccuracyFamily::kConvolution;
  }
  if (model.attention.indexer) {
    return AccuracyFamily::kSparseAttention;
  }
  if (model.attention.kind == AttentionKind::kMla) {
    return AccuracyFamily::kMla;
  }
  return model.moe ? AccuracyFamily::kMoe : AccuracyFamily::kDense;
}

bool can_be_told_apart(double ratio, const ExpectedError& first, const ExpectedError& second) {
  if (!first.distribution || !second.distribution) {
    return false;
  }
  const ErrorDistribution& a = *first.distribution;
  const ErrorDistribution& b = *second.distribution;
  const bool shared = first.gpu == second.gpu && first.software == second.software;
  const double spread = shared ? std::hypot(a.within, b.within) : std::hypot(a.spread, b.spread);
  const double t =
      student_quantile(normal_quantile_of(Certainty::k80), std::min(a.degrees, b.degrees));
  return std::abs(std::log(ratio) + a.centre - b.centre) > t * spread;
}

}  // namespace stepcast
