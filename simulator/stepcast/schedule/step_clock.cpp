// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_clock.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stepcast/base/real.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {

double expected_extreme(std::int64_t gpus) {
  if (gpus < 2) {
    return 0.0;
  }
  const double log = std::log(static_cast<double>(gpus));
  const double q = std::sqrt(2.0 * log);
  return std::max(0.0, q - (std::log(log) + std::log(4.0 * std::numbers::pi)) / (2.0 * q) +
                           std::numbers::egamma / q);
}

double mean_extreme_within(std::int64_t gpus, double cut) {
  if (gpus < 2) {
    return 0.0;
  }
  // Simpson's rule over the probability that all are within x of the mean. It rises from 0 to 1
  // in a part of the range that these steps follow for any number of GPUs.
  constexpr int kSteps = 256;
  const double below = 0.5 * std::erfc(cut / std::numbers::sqrt2);
  const auto all_within = [&](double x) {
    const double one = (0.5 * std::erfc(-x / std::numbers::sqrt2) - below) / (1.0 - 2.0 * below);
    return std::pow(std::clamp(one, 0.0, 1.0), static_cast<double>(gpus));
  };
  const double step = 2.0 * cut / kSteps;
  double sum = all_within(-cut) + all_within(cut);
  for (int i = 1; i < kSteps; ++i) {
    sum += (i % 2 == 1 ? 4.0 : 2.0) * all_within(-cut + i * step);
  }
  return cut - sum * step / 3.0;
}

double clock_behind_mean(const ClusterSpec& cluster, std::int64_t gpus) {
  const DeviceSpec& device = cluster.device;
  const double all = device.kernels.power.clock_spread * expected_extreme(gpus);
  if (cluster.chips == Chips::kUnscreened || gpus < 2) {
    return all;
  }
  return all * mean_extreme_within(gpus, device.libraries.clocks.spread_cut) /
         mean_extreme_within(gpus, kBeyondAll);
}

double behind_mean(const ClusterSpec& cluster) {
  return clock_behind_mean(cluster, cluster.gpus());
}

double power_exponent(const DeviceSpec& device) {
  return device.kernels.power.voltage_exponent + 1.0;
}

double draws_more(const ClusterSpec& cluster) {
  return std::pow(1.0 - behind_mean(cluster), -power_exponent(cluster.device));
}

namespace {

// Of the limit, by which a step may be said to miss it at the clock that keeps it: between two
// clocks of the grid its energy does not quite follow a power law. The most of 1,096 steps on 13
// parts, of one GPU to 64, was 0.15 %. A clock that is locked has the same room.
constexpr double kBetweenGridClocks = 2e-3;

StepAtClock described(const DeviceSpec& device, Hertz clock, const StepTime& time) {
  return {clock, mean_power(device.power, {time.step, time.energy}), time};
}

// Between two clocks of the grid, of which the slow one stays within the limit and the fast one
// does not, power is a power law of the clock.
class GridSearch {
 public:
  GridSearch(const StepContext& context, StepTimer& timer)
      : device_(context.cluster.device),
        timer_(timer),
        exponent_(power_exponent(device_)),
        draws_more_(draws_more(context.cluster)) {}

  // Whether the lowest clock is within the limits.
  bool lowest_is_within() { return share(kLowest) <= 1.0; }

  // The highest clock within the limits: the peak, or one below it.
  Hertz highest_clock() {
    std::int64_t slow = kLowest;    // the fastest known to be within, or the lowest of all
    std::int64_t fast = kPeak + 1;  // the slowest known to be beyond
    std::int64_t index = first_guess();
    while (fast - slow > 1) {
      const double drawn = share(index);
      (drawn <= 1.0 ? slow : fast) = index;
      index = on_grid(next_guess(index, drawn), slow + 1, std::max(slow + 1, fast - 1));
    }
    if (slow == kPeak) {
      return timer_.grid_clock(kPeak);
    }
    const double at_slow = share(slow);
    if (at_slow >= 1.0) {
      return timer_.grid_clock(slow);
    }
    const double exponent = std::log(share(fast) / at_slow) /
                            std::log(timer_.grid_clock(fast) / timer_.grid_clock(slow));
    return timer_.grid_clock(slow) * std::pow(at_slow, -1.0 / exponent);
  }

 private:
  static constexpr std::int64_t kPeak = StepTimer::kGrid;
  static constexpr std::int64_t kLowest = StepTimer::kLowest;

  struct Known {
    std::int64_t index = 0;
    double share = 0.0;  // of the allowed power
  };

  // The peak where a step is surely within; else the clock expected.
  [[nodiscard]] std::int64_t first_guess() {
    // The rest of the allowed power is a margin for what a rough step leaves out. A step with less
    // than that draws too little to be slowed, and no other clock is solved.
    const double surely_within = device_.libraries.clocks.surely_within;
    // Near the peak kernels slow down by themselves, and power no longer follows its law; the law
    // is taken from here, which decides how many clocks are solved and not which one is found.
    constexpr std::int64_t kLawful = kPeak * 13 / 16;
    if (rough_share(kPeak) <= surely_within) {
      return kPeak;
    }
    const double expected = clock_at_limit(kLawful, rough_share(kLawful));
    return on_grid(std::round(expected + 0.5), kLowest + 1, kPeak - 1);
  }
  [[nodiscard]] double rough_share(std::int64_t index) {
    const StepTimer::RoughStep rough = timer_.rough(index);
    return draws_more_ * duty_cycle_share(device_, rough.duty, {rough.compute, rough.energy});
  }
  // What would draw all of the allowed power if power followed its own law.
  [[nodiscard]] double clock_at_limit(std::int64_t index, double drawn) const {
    return static_cast<double>(index) * std::pow(drawn, -1.0 / exponent_);
  }
  [[nodiscard]] double next_guess(std::int64_t index, double drawn) const {
    const double at_limit = clock_at_limit(index, drawn);
    // Within: the next to try is the first that should be beyond, and the other way round.
    return drawn <= 1.0 ? std::ceil(at_limit) : std::floor(at_limit);
  }
  // A guess can be infinite: a step that draws no power reaches no limit.
  static std::int64_t on_grid(double guess, std::int64_t lowest, std::int64_t highest) {
    return static_cast<std::int64_t>(std::clamp(guess, real(lowest), real(highest)));
  }

  double share(std::int64_t index) { return known(index).share; }
  Known& known(std::int64_t index) {
    const auto found = std::ranges::find(known_, index, &Known::index);
    if (found != known_.end()) {
      return *found;
    }
    const StepTime& time = timer_.on_grid(index);
    const Seconds busy = time.breakdown.busy();
    const double drawn = duty_cycle_share(device_, busy / time.step, {busy, time.energy});
    known_.push_back({index, draws_more_ * drawn});
    return known_.back();
  }

  const DeviceSpec& device_;
  StepTimer& timer_;
  double exponent_;    // of power in the clock
  double draws_more_;  // the slowest GPU than the mean one
  std::vector<Known> known_;
};

}  // namespace

StepAtClock step_at_locked_clock(const StepContext& context) {
  StepTimer timer(context);
  return step_at_locked_clock(context, timer);
}

StepAtClock step_at_locked_clock(const StepContext& context, StepTimer& timer) {
  const DeviceSpec& device = context.cluster.device;
  StepAtClock step = described(device, context.clock, timer.at(context.clock));
  step.keeps_limit = step.power <= (1.0 + kBetweenGridClocks) * device.power.limit;
  return step;
}

StepAtClock step_within_power(const StepContext& context) {
  StepTimer timer(context);
  return step_within_power(context, timer);
}

StepAtClock step_within_power(const StepContext& context, StepTimer& timer) {
  GridSearch search(context, timer);
  const Hertz clock = search.highest_clock();
  StepAtClock step = described(context.cluster.device, clock, timer.near(clock));
  step.keeps_limit = clock > timer.grid_clock(StepTimer::kLowest) || search.lowest_is_within();
  return step;
}

}  // namespace stepcast
