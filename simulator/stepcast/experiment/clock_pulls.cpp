// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/clock_pulls.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/cost/power_state.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast {
namespace {

constexpr double kPullMove = 1e-6;      // of a number
constexpr double kLeastResponse = 0.1;  // of power to the clock: the least exponent of its law

// Time and energy of a step's computation.
struct Sums {
  Seconds time;
  Joules energy;

  void add(double count, const PriceSlope& slope) {
    time += count * slope.duration();
    energy += count * slope.energy;
  }
};

// What power takes of the limit, and how far the slowest GPU is behind the mean.
struct Balance {
  double share = 0.0;
  double slowest = 1.0;
};

class PowerBalance {
 public:
  PowerBalance(const MovableExperiment& movable, const std::vector<StepOp>& ops, double duty)
      : cluster_(movable.experiment().cluster), duty_(duty), slopes_(movable.numbers().size()) {
    for (const StepOp& entry : ops) {
      if (communication_axis(entry.op)) {
        continue;
      }
      const SlopedPrice& price = entry.price;
      all_.time += entry.total();
      all_.energy += entry.count * price.cost.energy;
      if (entry.below_peak) {
        by_clock_.add(entry.count, price.clock);
      }
      for (const PriceSlope& slope : price.numbers) {
        slopes_[slope.number].add(entry.count, slope);
      }
    }
  }

  // With the numbers as they are now, and `moved` of the slopes `by` on top.
  [[nodiscard]] Balance at(double moved, const Sums& by) const {
    const WorkAtClock work{all_.time + moved * by.time, all_.energy + moved * by.energy};
    return {duty_cycle_share(cluster_.device, duty_, work), 1.0 - behind_mean(cluster_)};
  }
  [[nodiscard]] const Sums& slope(std::size_t number) const { return slopes_[number]; }
  [[nodiscard]] const Sums& by_clock() const { return by_clock_; }

 private:
  const ClusterSpec& cluster_;
  double duty_;
  Sums all_;
  Sums by_clock_;
  std::vector<Sums> slopes_;  // by number
};

double rise(double from, double to) { return std::log(to / from) / kPullMove; }

}  // namespace

Pulls clock_pulls(const MovableExperiment& movable, const std::vector<StepOp>& ops, double duty) {
  const PowerBalance balance(movable, ops, duty);
  const Balance now = balance.at(0.0, {});
  Pulls pulls(movable.numbers().size());
  if (!(now.share > 0.0)) {
    return pulls;
  }
  const double response =
      std::max(kLeastResponse, rise(now.share, balance.at(kPullMove, balance.by_clock()).share));
  for (std::size_t i = 0; i < pulls.size(); ++i) {
    const PlacedNumber& number = movable.numbers()[i];
    const double value = number.value();
    number.set((1.0 + kPullMove) * value);
    const Balance then = balance.at(kPullMove, balance.slope(i));
    number.set(value);
    pulls[i] = rise(now.slowest, then.slowest) - rise(now.share, then.share) / response;
  }
  return pulls;
}

}  // namespace stepcast
