// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/power_state.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/cost/model_around.hpp"

namespace stepcast {
namespace {

constexpr double kSlower = 0.75;        // of the peak clock, the other end of the power law
constexpr double kLowestShare = 0.25;   // of the peak clock
constexpr double kLeastExponent = 0.5;  // of the power law

Watts drawn_by(const OpCost& cost) {
  return cost.duration > Seconds{} ? cost.energy / cost.duration : Watts{};
}

template <typename Price>
KernelContext paced(const KernelContext& context, const Price& price) {
  const Hertz peak = context.device.clock.peak;
  const Watts level = power_level(context.device, context.compute_units, context.clock);
  if (!(level > Watts{})) {
    return context;
  }
  const auto drawn_at = [&](Hertz clock) {
    KernelContext at = context;
    at.clock = clock;
    at.detail = Detail::kDuration;
    return drawn_by(price(at));
  };
  KernelContext own = context;
  own.clock = peak;
  const Watts fast = drawn_at(peak);
  if (fast > level) {
    const double rise = std::log(fast / drawn_at(kSlower * peak)) / std::log(1.0 / kSlower);
    const double share = std::pow(level / fast, 1.0 / std::max(kLeastExponent, rise));
    own.clock = std::max(kLowestShare, share) * peak;
  }
  return own;
}

// Prices every kernel at the clock of its own.
struct Paced {
  template <typename Price>
  OpCost operator()(const auto& /*op*/, const KernelContext& context, const Price& price) const {
    const KernelContext own = paced(context, price);
    OpCost cost = price(own);
    cost.clock = own.clock;
    return cost;
  }
  template <typename Price>
  OpCost operator()(const auto& /*op*/, const FabricContext& context, const Price& price) const {
    return price(context);
  }
};

constexpr double kTolerance = 1e-4;  // of the power: 0.05 MHz at 1.5 GHz
constexpr int kIterations = 40;
constexpr std::int64_t kLargeSide = 8192;  // of a product that reaches what products can

Dtype format_of(const Op& op) {
  if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
    return gemm->dtype;
  }
  const auto* grouped = std::get_if<GroupedGemm>(&op.work);
  return grouped == nullptr ? Dtype::kBf16 : grouped->dtype;
}

}  // namespace

Watts burst_allowance(const DeviceSpec& device) {
  return device.kernels.power.burst_ratio * device.power.limit - device.power.idle;
}

bool held_by_bursts(const DeviceSpec& device, double duty) {
  return duty * burst_allowance(device) < device.power.limit - device.power.idle;
}

Watts mean_power(const PowerSpec& power, const WorkAtClock& work) {
  return work.duration > Seconds{} ? power.idle + work.energy / work.duration : power.idle;
}

double power_share(const DeviceSpec& device, PowerState state, const WorkAtClock& work) {
  const PowerSpec& power = device.power;
  Watts allowed = power.limit - power.idle;
  if (state == PowerState::kCool) {
    const Joules reserve = device.kernels.power.burst_energy;
    allowed = min(burst_allowance(device),
                  allowed + reserve / (device.libraries.clocks.cool_calls * work.duration));
  }
  return (mean_power(power, work) - power.idle) / allowed;
}

double duty_cycle_share(const DeviceSpec& device, double duty, const WorkAtClock& work) {
  const PowerSpec& power = device.power;
  const Watts drawn = mean_power(power, work) - power.idle;
  return std::max(duty * drawn / (power.limit - power.idle), drawn / burst_allowance(device));
}

Hertz highest_clock(const DeviceSpec& device, const std::function<double(Hertz)>& share) {
  Hertz high = device.clock.peak;
  double at_high = share(high);
  if (at_high <= 1.0) {
    return high;
  }
  // Power is close to a power law of the clock: first its own exponent, then secants in logarithms
  // inside the bracket.
  Hertz low = kLowestShare * high;
  double at_low = 0.0;
  double exponent = device.kernels.power.voltage_exponent + 1.0;
  for (int i = 0; i < kIterations; ++i) {
    const Hertz guess = max(low, high * std::pow(at_high, -1.0 / exponent));
    const double drawn = share(guess);
    if (std::abs(drawn - 1.0) < kTolerance || (guess <= low && at_low == 0.0 && drawn > 1.0)) {
      return guess;
    }
    if (drawn < 1.0) {
      low = guess;
      at_low = drawn;
    } else {
      high = guess;
      at_high = drawn;
    }
    if (at_low > 0.0) {
      exponent = std::max(0.1, std::log(at_high / at_low) / std::log(high / low));
    }
  }
  return low;
}

Hertz duty_cycle_clock(const DeviceSpec& device, double duty,
                       const std::function<WorkAtClock(Hertz)>& work) {
  return highest_clock(device,
                       [&](Hertz clock) { return duty_cycle_share(device, duty, work(clock)); });
}

Hertz clock_among_others(const Op& op, const CostModel& model, const KernelContext& context,
                         const ClusterSpec& cluster) {
  Gemm large{kLargeSide, kLargeSide, kLargeSide};
  large.dtype = format_of(op);
  const Op typical{.work = large};
  const double duty = context.device.libraries.clocks.mixed_duty;
  return duty_cycle_clock(context.device, duty, [&](Hertz clock) {
    KernelContext fixed = context;
    fixed.clock = clock;
    fixed.detail = Detail::kDuration;
    fixed.cached = {};
    const OpCost cost = model.cost(typical, fixed, cluster);
    return WorkAtClock{cost.duration, cost.energy};
  });
}

PricedOp price_at(const ClockState& state, const Op& op, const CostModel& model,
                  KernelContext context, const ClusterSpec& cluster) {
  const auto at = [&](Hertz clock, Detail detail) {
    KernelContext fixed = context;
    fixed.clock = clock;
    fixed.detail = detail;
    return model.cost(op, fixed, cluster);
  };
  if (state.power == PowerState::kLocked) {
    return {at(state.locked, context.detail), state.locked};
  }
  if (state.power == PowerState::kMixed) {
    const Hertz clock = clock_among_others(op, model, context, cluster);
    return {at(clock, context.detail), clock};
  }
  PricedOp last;
  const Hertz clock = highest_clock(context.device, [&](Hertz guess) {
    last = {at(guess, Detail::kDuration), guess};
    return power_share(context.device, state.power, {last.cost.duration, last.cost.energy});
  });
  const bool priced = last.clock == clock && context.detail == Detail::kDuration;
  return priced ? last : PricedOp{at(clock, context.detail), clock};
}

Watts power_level(const DeviceSpec& device, std::int64_t units, Hertz clock) {
  const std::size_t base = slot(device.base_format());
  const PowerConstants& power = device.kernels.power;
  const double busy = device.kernels.gemm.matrix_efficiency[base].value_or(1.0);
  const Joules cycle = power.matrix_energy[base].value_or(Joules{});
  const bool known = cycle > Joules{} && power.reference_clock > Hertz{};
  if (!known || power.clock_per == ClockScope::kStep) {
    return {};
  }
  const double growth = std::pow(clock / power.reference_clock, power.voltage_exponent);
  const double share = static_cast<double>(units) / static_cast<double>(device.compute_units);
  return min(share * burst_allowance(device),
             static_cast<double>(units) * busy * growth * (cycle * clock));
}

KernelContext within_level(const Op& op, const CostModel& model, const KernelContext& context,
                           const ClusterSpec& cluster) {
  return paced(context, [&](const KernelContext& at) { return model.cost(op, at, cluster); });
}

CostModel within_level(const CostModel& model) {
  if (model.paced) {
    return *model.paced;
  }
  CostModel paced = cost_model_around(model, Paced{});
  paced.collective = model.collective;
  return paced;
}

}  // namespace stepcast
