// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/error_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

struct WeightedError {
  double weight = 0.0;
  double error = 0.0;
  const RunTraits* traits = nullptr;
};
using Errors = std::vector<WeightedError>;
using Groups = std::map<std::string, Errors>;

// Whether the layers of a family mix positions by full attention alone.
bool has_full_attention(AccuracyFamily family) {
  return family == AccuracyFamily::kDense || family == AccuracyFamily::kMoe ||
         family == AccuracyFamily::kMla;
}

// Runs of other mixers, few and of young kernels, say nothing of full attention.
double of_families(const RunTraits& run, const RunTraits& known, const ErrorKinship& factors) {
  if (run.family == known.family) {
    return 1.0;
  }
  const bool full = has_full_attention(run.family);
  if (full != has_full_attention(known.family)) {
    return full ? 0.0 : factors.experts;
  }
  const bool dense = run.family == AccuracyFamily::kDense;
  return dense == (known.family == AccuracyFamily::kDense) ? factors.attention : factors.experts;
}

Groups grouped(const Errors& errors, const std::function<std::string(const RunTraits&)>& key) {
  Groups groups;
  for (const WeightedError& error : errors) {
    groups[key(*error.traits)].push_back(error);
  }
  return groups;
}

double weight_of(const Errors& errors) { return sum_over(errors, &WeightedError::weight); }

double mean_of(const Errors& errors) {
  return sum_over(errors, [](const WeightedError& e) { return e.weight * e.error; }) /
         weight_of(errors);
}

// Of a normal distribution with the same mean absolute deviation from `centre`.
double deviation_of(const Errors& errors, double centre) {
  const double sum = sum_over(
      errors, [centre](const WeightedError& e) { return e.weight * std::abs(e.error - centre); });
  return std::sqrt(std::numbers::pi / 2.0) * sum / weight_of(errors);
}

double squares_of(const Errors& errors, double mean) {
  const double sum = sum_over(errors, [mean](const WeightedError& e) {
    return e.weight * (e.error - mean) * (e.error - mean);
  });
  return sum / weight_of(errors);
}

// How many runs without kin as many correlated ones count as, times the weight of the nearest.
double effective_runs(const Errors& errors, double correlation) {
  double squares = 0.0;
  double nearest = 0.0;
  for (const WeightedError& error : errors) {
    squares += error.weight * error.weight;
    nearest = std::max(nearest, error.weight);
  }
  const double sum = weight_of(errors);
  const double runs = sum * sum / squares;
  return nearest * runs / (1.0 + (runs - 1.0) * correlation);
}

// The variance between the means of groups beyond what the spread inside of them explains.
double variance_between(const Groups& groups, const ErrorPriors& priors) {
  double sum = 0.0;
  double squares = 0.0;
  double centre = 0.0;
  double inside = 0.0;
  for (const auto& [key, errors] : groups) {
    const double runs = effective_runs(errors, priors.within_source);
    sum += runs;
    squares += runs * runs;
    centre += runs * mean_of(errors);
    inside += runs * squares_of(errors, mean_of(errors));
  }
  const double least = priors.kin * priors.kin;
  const double freedom = sum - squares / sum;
  if (groups.size() < 2 || freedom <= 0.0) {
    return least;
  }
  double scatter = 0.0;
  for (const auto& [key, errors] : groups) {
    const double apart = mean_of(errors) - centre / sum;
    scatter += effective_runs(errors, priors.within_source) * apart * apart;
  }
  const auto others = static_cast<double>(groups.size() - 1);
  return std::max(least, (scatter - others * inside / sum) / freedom);
}

// Of GPUs or architectures, each held out whole: how far its mean is from that of the others.
double variance_of_held_out(const Groups& groups) {
  const auto count = static_cast<double>(groups.size());
  const double all = sum_over(groups, [](const auto& group) { return mean_of(group.second); });
  const double squares = sum_over(groups, [&](const auto& group) {
    const double own = mean_of(group.second);
    const double apart = own - (all - own) / (count - 1.0);
    return apart * apart;
  });
  return squares / count;
}

struct HeldOutUnits {
  std::int64_t count = 0;  // as far away as the part
  double variance = 0.0;   // the largest of theirs and of nearer units'
};

HeldOutUnits held_out_units(const Errors& errors, PartDistance part) {
  const std::array<std::pair<PartDistance, std::string RunTraits::*>, 3> kinds = {
      {{PartDistance::kGpu, &RunTraits::gpu},
       {PartDistance::kArchitecture, &RunTraits::architecture},
       {PartDistance::kVendor, &RunTraits::vendor}}};
  HeldOutUnits units;
  for (const auto& [kind, name] : kinds) {
    const auto& member = name;
    const Groups groups =
        grouped(errors, [&member](const RunTraits& traits) { return traits.*member; });
    units.count = std::ssize(groups);
    if (units.count > 1) {
      units.variance = std::max(units.variance, variance_of_held_out(groups));
    }
    if (kind == part) {
      break;
    }
  }
  return units;
}

double prior_spread(const RunTraits& run, const ErrorPriors& priors) {
  const bool dense = run.family == AccuracyFamily::kDense;
  return std::hypot(priors.chip, dense ? priors.dense : priors.experts);
}

struct Centre {
  double runs = 0.0;
  double value = 0.0;
};

Centre centre_of(const Groups& sources, const ErrorPriors& priors) {
  Centre centre;
  for (const auto& [source, errors] : sources) {
    const double runs = effective_runs(errors, priors.within_source);
    centre.runs += runs;
    centre.value += runs * mean_of(errors);
  }
  centre.value /= centre.runs + priors.centre_runs;
  return centre;
}

// S of the head of this file; the deviations are those from `centre` of each group.
double pooled_spread(const Groups& groups, const RunTraits& run, const ErrorPriors& priors,
                     const std::function<double(const Errors&)>& centre) {
  double runs = priors.spread_runs;
  double sum = priors.spread_runs * prior_spread(run, priors);
  for (const auto& [key, errors] : groups) {
    const double own = effective_runs(errors, priors.within_source);
    runs += own;
    sum += own * deviation_of(errors, centre(errors));
  }
  return sum / runs;
}

// Of runs of one source on one GPU with one software set, around their own mean; alone, a run says
// nothing of it.
double spread_within(const Errors& errors, const RunTraits& run, const ErrorPriors& priors) {
  Groups cells = grouped(errors, [](const RunTraits& traits) {
    return traits.source + "\n" + traits.gpu + "\n" + traits.software;
  });
  std::erase_if(cells, [](const auto& cell) { return cell.second.size() < 2; });
  return pooled_spread(cells, run, priors, mean_of);
}

Errors weighted(const RunTraits& run, const std::vector<HeldOutRun>& known) {
  Errors errors;
  for (const HeldOutRun& other : known) {
    if (const double weight = weight_for(run, other.traits); weight > 0.0) {
      errors.push_back({weight, other.error, &other.traits});
    }
  }
  return errors;
}

// Of a run that is placed among the known ones.
std::optional<ErrorDistribution> distribution_of(const RunTraits& run,
                                                 const std::vector<HeldOutRun>& known,
                                                 const ErrorPriors& priors) {
  const Errors errors = weighted(run, known);
  if (errors.empty()) {
    return std::nullopt;
  }
  const Groups sources = grouped(errors, [](const RunTraits& traits) { return traits.source; });
  const Groups gpus = grouped(errors, [](const RunTraits& traits) { return traits.gpu; });
  const Groups sets = grouped(errors, [](const RunTraits& traits) { return traits.software; });
  const bool far = run.distance != PartDistance::kNone;
  const HeldOutUnits units = far ? held_out_units(errors, run.distance) : HeldOutUnits{};
  if (far && units.count < 2) {
    return std::nullopt;
  }
  const Centre centre = centre_of(sources, priors);
  const double spread =
      pooled_spread(sources, run, priors, [&](const Errors&) { return centre.value; });
  double apart = gpus.contains(run.gpu) ? 0.0 : variance_between(gpus, priors);
  const double carried = !far                                 ? 0.0
                         : run.distance == PartDistance::kGpu ? priors.same_die
                                                              : priors.other_die;
  const double announced = run.standing == PartStanding::kAnnounced ? priors.announced : 0.0;
  apart = std::max(apart, units.variance) + carried * carried + announced * announced;
  const double other = sets.contains(run.software) ? 0.0 : variance_between(sets, priors);
  const double uncertain = 1.0 + 1.0 / (centre.runs + priors.centre_runs);
  return ErrorDistribution{.centre = centre.value,
                           .spread = std::sqrt(spread * spread * uncertain + apart + other),
                           .within = spread_within(errors, run, priors),
                           .degrees = priors.spread_runs + centre.runs,
                           .between_gpus = std::sqrt(apart),
                           .between_software = std::sqrt(other),
                           .held_out_units = units.count,
                           .held_out_spread = std::sqrt(units.variance),
                           .carried_spread = carried,
                           .announced_spread = announced};
}

}  // namespace

int steps_apart(const RunTraits& a, const RunTraits& b) {
  const int own = std::max(static_cast<int>(a.distance), static_cast<int>(b.distance));
  const int shared = a.gpu == b.gpu                     ? 0
                     : a.architecture == b.architecture ? 1
                     : a.vendor == b.vendor             ? 2
                                                        : kMostSteps;
  return std::max(own, shared);
}

RunTraits traits_of(const Experiment& experiment) {
  const DeviceSpec& device = experiment.cluster.device;
  return {.gpu = device.name,
          .architecture = device.architecture.name,
          .vendor = device.vendor,
          .family = accuracy_family(experiment.model),
          .dtype = experiment.training.dtype,
          .software = experiment.software_base.name,
          .gpus = experiment.cluster.gpus(),
          .distance = device.distance,
          .standing = device.standing,
          .own_part = device.is_own,
          .stack = experiment.software.stack};
}

double kinship(const RunTraits& run, const RunTraits& known, const ErrorKinship& factors) {
  const double decades =
      std::abs(std::log10(static_cast<double>(run.gpus) / static_cast<double>(known.gpus)));
  return std::pow(factors.hardware, steps_apart(run, known)) * of_families(run, known, factors) *
         (run.software == known.software ? 1.0 : factors.software) *
         (size_of(run.dtype) == size_of(known.dtype) ? 1.0 : factors.precision) *
         (run.stack == known.stack ? 1.0 : factors.stack) * std::pow(factors.decade, decades);
}

double weight_for(const RunTraits& run, const RunTraits& known) {
  const bool own = !run.source.empty() && known.source == run.source;
  return own ? 0.0 : kinship(run, known);
}

RunTraits placed_among(const RunTraits& run, const std::vector<HeldOutRun>& known) {
  RunTraits placed = run;
  const bool has_runs = std::ranges::any_of(known, [&](const HeldOutRun& other) {
    return other.traits.gpu == run.gpu && weight_for(run, other.traits) > 0.0;
  });
  if (has_runs && !run.own_part) {
    placed.distance = PartDistance::kNone;
  }
  return placed;
}

std::optional<ErrorDistribution> error_distribution(const RunTraits& run,
                                                    const std::vector<HeldOutRun>& known,
                                                    const ErrorPriors& priors) {
  return distribution_of(placed_among(run, known), known, priors);
}

}  // namespace stepcast
