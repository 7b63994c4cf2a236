// SPDX-License-Identifier: Apache-2.0
// The clock at which a kernel runs, from the power that it draws.
//
//   power(f) = idle + energy(f) / duration(f) <= allowed
//
// The limit acts on an average over tens of milliseconds. A kernel by itself is priced at a
// declared state:
//   warm    repeated for long: allowed = limit
//   cool    the first calls after a pause: allowed = limit + burst energy / (calls * duration), at
//           most burst ratio * limit
//   mixed   a short one among many of other shapes: what regulates the power averages over more
//           than this one, so the clock is that which a large product of the same format leaves
//           where it fills kMixedDuty of the time
//   locked  a fixed clock, whatever the power
// A timeline solves the same balance for a whole step, with the energies and times of all of its
// kernels.
#pragma once

#include <array>
#include <functional>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

enum class PowerState { kWarm, kCool, kMixed, kLocked };

// What work by itself may be declared to be in, without a number.
inline constexpr std::array<NamedValue<PowerState>, 2> kUnlockedStates = {
    {{"warm", PowerState::kWarm}, {"cool", PowerState::kCool}}};

// What an operator by itself may be declared to be in.
inline constexpr std::array<NamedValue<PowerState>, 3> kOperatorStates = {
    {{"warm", PowerState::kWarm}, {"cool", PowerState::kCool}, {"mixed", PowerState::kMixed}}};

struct ClockState {
  PowerState power = PowerState::kWarm;
  Hertz locked;  // for kLocked
};

// What repeated work takes at a clock.
struct WorkAtClock {
  Seconds duration;
  Joules energy;  // above idle
};

// What a burst may draw above idle.
Watts burst_allowance(const DeviceSpec& device);

// Whether work that runs for a share `duty` of the time is held by what bursts may draw, and its
// mean power stays below the limit.
bool held_by_bursts(const DeviceSpec& device, double duty);

// The mean power of work that repeats without a pause.
Watts mean_power(const PowerSpec& power, const WorkAtClock& work);

// What `work` draws above idle over what `state` allows above idle; above 1 is too much.
double power_share(const DeviceSpec& device, PowerState state, const WorkAtClock& work);

// The same for work that runs for a share `duty` of the time and pauses for the rest: the average
// over both stays within the limit, and the work while it runs within that of bursts.
//   idle + duty * dynamic(f) <= limit,  idle + dynamic(f) <= burst_ratio * limit
double duty_cycle_share(const DeviceSpec& device, double duty, const WorkAtClock& work);

// The highest clock, up to the part's peak, at which `share` is at most 1; the part's lowest clock
// (a quarter of its peak) where it never is. `share` must rise with the clock.
Hertz highest_clock(const DeviceSpec& device, const std::function<double(Hertz)>& share);

// The clock inside the bursts of work that runs for a share `duty` of the time.
Hertz duty_cycle_clock(const DeviceSpec& device, double duty,
                       const std::function<WorkAtClock(Hertz)>& work);

struct PricedOp {
  OpCost cost;
  Hertz clock;
  bool waits_for_host = false;  // of a collective in a row of eager calls: the host sets its time
};

// The clock of short work like `op` in state kMixed.
Hertz clock_among_others(const Op& op, const CostModel& model, const KernelContext& context,
                         const ClusterSpec& cluster);

// The price of one operator at `state`; `context.clock` is ignored.
PricedOp price_at(const ClockState& state, const Op& op, const CostModel& model,
                  KernelContext context, const ClusterSpec& cluster);

// The clock of each kernel of a step, from one power level for all of them.
//
// What regulates the power acts within a kernel: beside products that it slows to 1.6 GHz,
// attention, copies and activations of the same step run at the peak (traces of steps on H200). So
// a step has no clock of its own. It has a level of power that none of its kernels passes:
//
//   level(f)  = min(burst ratio * limit - idle, units * matrix efficiency * matrix energy(f) * f)
//   clock(op) = the highest, up to the peak, at which energy(op) / duration(op) <= level(f)
//
// The level is named by the clock f at which products in bf16 draw it while their pipes are as busy
// as they get; whoever prices a step finds the f at which its mean power meets the limit. Between
// the peak and three quarters of it a kernel's power is taken for a power law of its clock. Units
// that communication holds take their share of the level along.
//
// Whether a part's kernels have clocks of their own, and who saw it, its constants say
// (`power.clock_per` in hardware_profiles/kernels).

// Above idle, of `units` compute units; nothing where the device's energies are not known, or where
// its kernels have one clock: that of the context.
Watts power_level(const DeviceSpec& device, std::int64_t units, Hertz clock);

// `context` with the clock at which `op` stays within the level that `context.clock` names.
KernelContext within_level(const Op& op, const CostModel& model, const KernelContext& context,
                           const ClusterSpec& cluster);

// `model` with every kernel at the clock of its own.
CostModel within_level(const CostModel& model);

}  // namespace stepcast
