// SPDX-License-Identifier: Apache-2.0
// Memory-bound operators as passes over their tensor, by the kernels that an implementation runs.
//
//   time   = sum over kernels of  launch + ramp + max(memory, compute)
//   memory = passes * rows * cols * element / rate
//          + passes over rows just read / cache rate (or rate, if the rows in flight do not fit)
//   rate   = share of the path * min(streaming * hbm.achieved, units * unit_bandwidth)
//   compute = (values * cycles of the path + rows * cycles of a row) / (units * clock)
//
// Where one group of threads walks along a row, rows that are too few for all units leave some
// idle. A ramp is the time in which a kernel's first and last accesses keep little in flight: with
// it the achieved bandwidth grows with the size as bytes / (ramp + bytes / rate). An Adam step adds
// memory and compute: its blocks load, compute and store one after the other.
//
// Assumes that operands come from HBM, even those that the kernel before left in the last-level
// cache, unless the operator says `resident`; that no other kernel runs beside it; that a kernel
// written for one shape is priced (kernels that torch.compile makes for shapes known only at run
// time reach 0.7 of these rates).
//
// Wrong for tensors smaller than the last-level cache right after their producer (up to 1.8 times
// too slow on H200), for short rows with many columns to reduce over rows, and for index_add with
// many rows on one target.
#include <algorithm>

#include "backends/builtin_backends.hpp"
#include "backends/memory_bound/memory_kernels.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {
namespace {

// Threads of a compute unit over those that usually share a row (2048 / 128).
constexpr double kRowsInFlight = 16.0;

struct KernelTime {
  double launches = 0.0;
  double calls = 0.0;
  Seconds launch;
  Seconds ramp;
  Seconds memory;
  Seconds compute;
  Bytes hbm;

  void add(double times, const KernelTime& other) {
    launches += times * other.launches;
    calls += times * other.calls;
    launch += times * other.launch;
    ramp += times * other.ramp;
    memory += times * other.memory;
    compute += times * other.compute;
    hbm += times * other.hbm;
  }
};

// The last cache before HBM, as one tensor can use it.
struct LastLevelCache {
  Bytes usable;
  BytesPerSecond bandwidth;  // 0: not known
};

LastLevelCache last_level_cache(const DeviceSpec& device) {
  const CacheSpec& cache = device.mall ? *device.mall : device.l2;
  return {device.kernels.memory.cache_share * static_cast<double>(cache.instances) * cache.capacity,
          cache.bandwidth.value_or(BytesPerSecond{})};
}

class OperatorOnDevice {
 public:
  OperatorOnDevice(const MemoryBound& op, const KernelContext& context)
      : op_(op),
        context_(context),
        constants_(context.device.kernels.memory),
        listed_(context.device.libraries.memory_kernels),
        cache_(last_level_cache(context.device)),
        values_(real(op.rows) * real(op.cols)) {}

  [[nodiscard]] KernelTime time(const MemoryKernel& kernel) const {
    KernelTime time;
    time.launches = kernel.launches;
    time.calls = kernel.calls;
    time.launch = kernel.launches * context_.launch;
    time.ramp = kernel.ramps.of(listed_) * constants_.ramp;
    const Seconds memory = memory_time(kernel, time.hbm);
    const Seconds compute = compute_time(kernel);
    const bool hides = kernel.path != MemoryPath::kUpdate;
    time.memory = hides && memory < compute ? Seconds{} : memory;
    time.compute = hides && compute <= memory ? Seconds{} : compute;
    return time;
  }

 private:
  [[nodiscard]] double path_share(MemoryPath path) const {
    switch (path) {
      case MemoryPath::kGather:
        return constants_.gather;
      case MemoryPath::kUncoalesced:
        return constants_.uncoalesced;
      default:
        return 1.0;
    }
  }
  [[nodiscard]] double path_cycles(MemoryPath path) const {
    switch (path) {
      case MemoryPath::kIndexed:
        return constants_.indexed_cycles;
      case MemoryPath::kArithmetic:
        return constants_.arithmetic_cycles;
      case MemoryPath::kAtomic:
        return constants_.atomic_cycles;
      case MemoryPath::kConvert:
        return constants_.convert_cycles;
      case MemoryPath::kUpdate:
        return constants_.update_cycles;
      default:
        return 0.0;
    }
  }
  [[nodiscard]] double units() const { return real(context_.compute_units); }

  // Rows that groups of threads work on at a time; of the whole part, so that fewer units do not
  // seem to cache better.
  [[nodiscard]] bool rows_stay_cached() const {
    const double in_flight = std::min(static_cast<double>(op_.rows),
                                      kRowsInFlight * real(context_.device.compute_units));
    return in_flight * static_cast<double>(op_.cols) * op_.element <= cache_.usable;
  }

  Seconds memory_time(const MemoryKernel& kernel, Bytes& hbm) const {
    const HbmSpec& memory = context_.device.hbm;
    const Bytes pass = values_ * op_.element;
    const BytesPerSecond rate =
        path_share(kernel.path) * min(min(constants_.streaming * memory.achieved, memory.peak),
                                      units() * constants_.unit_bandwidth);
    const BytesPerSecond cached_rate = max(rate, cache_.bandwidth);
    const double passes = kernel.passes / kernel.rate_share.of(listed_);
    const bool resident = op_.resident && passes * pass <= cache_.usable;
    const bool cached = resident || rows_stay_cached();
    hbm = (resident ? 0.0 : passes) * pass + (cached ? 0.0 : kernel.cached) * pass;
    return passes * pass / (resident ? cached_rate : rate) +
           kernel.cached * pass / (cached ? cached_rate : rate);
  }

  [[nodiscard]] Seconds compute_time(const MemoryKernel& kernel) const {
    // Rows that are worked on, or leave room for as many.
    const double rows =
        std::max(static_cast<double>(op_.rows), kernel.full_rows.of(listed_) * units());
    const double values = rows * static_cast<double>(op_.cols);
    const double worked =
        kernel.values.of(listed_) + kernel.tap_values.of(listed_) * static_cast<double>(op_.taps);
    const double cycles = worked * path_cycles(kernel.path) * values +
                          kernel.row_work.of(listed_) * constants_.row_cycles * rows;
    return cycles / (units() * context_.clock);
  }

  const MemoryBound& op_;
  const KernelContext& context_;
  const MemoryConstants& constants_;
  const ListedKernelConstants& listed_;
  LastLevelCache cache_;
  double values_;
};

Bound bound_of(const KernelTime& time) {
  const Seconds start = time.launch + time.ramp;
  if (time.memory >= time.compute) {
    return time.memory < start ? Bound::kLatency : Bound::kMemory;
  }
  return time.compute < start ? Bound::kLatency : Bound::kCompute;
}

class PassesModel final : public MemoryBoundModel {
 public:
  [[nodiscard]] OpCost memory_bound(const MemoryBound& op,
                                    const KernelContext& context) const override {
    const OperatorOnDevice on(op, context);
    KernelTime sum;
    for (const MemoryKernel& kernel : kernels_of(op).all()) {
      sum.add(kernel.repeats, on.time(kernel));
    }
    OpCost cost;
    cost.duration = sum.launch + sum.ramp + sum.memory + sum.compute;
    cost.bound = bound_of(sum);
    cost.launches = sum.launches;
    cost.calls = sum.calls;
    cost.hbm = sum.hbm;
    cost.energy = kernel_energy({.hbm = sum.hbm}, context);
    if (context.detail == Detail::kTerms) {
      cost.terms = {{"memory", sum.memory},
                    {"compute", sum.compute},
                    {"ramp", sum.ramp},
                    {"launch", sum.launch}};
    }
    return cost;
  }
};

}  // namespace

std::shared_ptr<const MemoryBoundModel> make_passes_memory_bound() {
  return std::make_shared<PassesModel>();
}

}  // namespace stepcast
