// SPDX-License-Identifier: Apache-2.0
// From the errors of measured runs to the error of a run that nobody has seen.
//
// Every held-out run says something of every other, the less the more they differ: its weight is
// the product of the factors of ErrorKinship (a power prior, Ibrahim and Chen 2000). Runs of one
// source share its machine and its habits, so n of them count as n / (1 + (n - 1) rho) (the design
// effect of Kish 1965), n = (sum w)^2 / sum w^2, times the weight of the nearest. With W_s of each
// source s, its weighted mean error m_s and its mean deviation d_s from the overall centre:
//
//   N      = sum W_s
//   centre = sum W_s m_s / (N + k)
//   S      = (nu s_0 + sqrt(pi / 2) sum W_s d_s) / (nu + N)
//   spread = sqrt(S^2 (1 + 1 / (N + k)) + between GPUs + between software sets)
//
// Student's t with nu + N degrees of freedom; k and nu are how many sources the priors "no bias"
// and "spread s_0" count as (the conjugate prior of the normal distribution, Gelman et al.,
// Bayesian Data Analysis, section 3.3; S follows the mean deviation and not the variance, so that
// one source that is far off does not widen everything). `between` is added for a GPU, and for a
// software set, that no run has: the variance of the means of its kin beyond what their own spread
// explains (DerSimonian and Laird 1986), at least ErrorPriors::kin squared. For a part that has no
// runs and no kernels of its own, the user's or one that ships, it is at least the mean square by
// which the runs of a whole GPU, of a whole architecture, or of a whole vendor, whichever is as far
// away or nearer, are off the mean of all others, each held out in turn; without two units as far
// away nothing is known. What pricing it by another part's constants adds comes on top,
// ErrorPriors::same_die or other_die, and of a part that is only announced ErrorPriors::announced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/expected_error.hpp"

namespace stepcast {

// What is left of a run's weight for each way in which another differs from it. Judged, with their
// sizes checked by leaving one source out (validation/interval_coverage.hpp).
struct ErrorKinship {
  double hardware = 0.7;   // a step: another GPU, another architecture, another vendor
  double experts = 0.05;   // dense beside models with experts or latent attention
  double attention = 0.5;  // moe beside mla, or one other mixer beside another
  double software = 0.5;   // another software set
  double precision = 0.7;  // training in numbers of another size
  double decade = 0.7;     // ten times the GPUs
  double stack = 0.05;     // tuned by its makers beside as it comes to users, who are slower
};

// What is believed before any run is seen, in ln of tokens/s.
struct ErrorPriors {
  // Two chips of one kind differ by 4 % (3 to 5 %: MLPerf submissions and own H100 and H200), one
  // from the mean of all by 1 / sqrt(2) of that.
  double chip = 0.028;
  double dense = 0.064;    // besides the chip: machine, version, settings that no source states
  double experts = 0.127;  // the same where routing and exchanges add to it
  double kin = 0.02;       // at least, between two GPUs or software sets
  // What pricing a part by the constants of another one adds: the root mean square by which steps
  // of parts that ship differ from those of the same part written as a generic one like an H100,
  // with its own rates and efficiencies; H200 and H800, and parts of other dies
  // (tests/unit/hardware/generic_part_test.cpp).
  double same_die = 0.03;
  double other_die = 0.16;
  // The root mean square by which rates of parts that are sold differ from those that were first
  // announced of them (tests/unit/hardware/announced_figures_test.cpp).
  double announced = 0.047;
  double spread_runs = 4.0;
  double centre_runs = 2.0;
  double within_source = 0.2;  // rho, the correlation of runs of one source
};

RunTraits traits_of(const Experiment& experiment);

// How far the GPUs of two runs are from each other: 0 for one GPU, 1 on one architecture, 2 of one
// vendor, else kMostSteps. A part without runs is at least as far as its PartDistance says.
inline constexpr int kMostSteps = 3;
int steps_apart(const RunTraits& a, const RunTraits& b);

// How much `known` says of `run`: 1 for one that differs in nothing.
double kinship(const RunTraits& run, const RunTraits& known, const ErrorKinship& factors = {});

// The same of a run that the error is to be known of: 0 for runs of its own source, which it must
// not see.
double weight_for(const RunTraits& run, const RunTraits& known);

// `run`, whose part is no longer far from the known ones if one of them is on it. A part of the
// user's own may have any name, and stays where it is.
RunTraits placed_among(const RunTraits& run, const std::vector<HeldOutRun>& known);

// Of `run`, from the `known` runs of other sources than its own; nothing without any.
std::optional<ErrorDistribution> error_distribution(const RunTraits& run,
                                                    const std::vector<HeldOutRun>& known,
                                                    const ErrorPriors& priors = {});

}  // namespace stepcast
