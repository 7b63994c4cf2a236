// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/measured_kernel.hpp"

#include <algorithm>
#include <map>

#include "stepcast/validation/error_summary.hpp"

namespace stepcast {
namespace {

JsonValue& entry(JsonObject& object, const std::string& key) {
  JsonValue& value = object[key];
  value = {.offset = value.offset};
  return value;
}

}  // namespace

void KernelRow::rename(std::string_view from, const std::string& to) {
  const auto found = object.find(from);
  if (found == object.end()) {
    diagnostics.error(source.at(0), "the " + std::string(source.what) + " needs the key '" +
                                        std::string(from) + "'");
    return;
  }
  JsonValue value = std::move(found->second);
  object.erase(found);
  object.insert_or_assign(to, std::move(value));
}

void KernelRow::set_text(const std::string& key, std::string text) {
  JsonValue& value = entry(object, key);
  value.kind = JsonValue::Kind::kText;
  value.text = std::move(text);
}

void KernelRow::set_flag(const std::string& key, bool flag) {
  JsonValue& value = entry(object, key);
  value.kind = JsonValue::Kind::kFlag;
  value.flag = flag;
}

void KernelRow::set_count(const std::string& key, std::int64_t count) {
  JsonValue& value = entry(object, key);
  value.kind = JsonValue::Kind::kInteger;
  value.integer = count;
}

double KernelPrediction::of(const std::string& metric) const {
  if (metric == "clock_mhz") {
    return clock.value() / 1e6;
  }
  if (metric == "communication_s") {
    return communication.value();
  }
  return metric == "power_w" ? power.value() : time.value();
}

namespace {

// The mean time of a kernel's calls, of which the first run on the units that a collective leaves.
// The collective is not slowed.
KernelPrediction predict_beside(const MeasuredKernel& kernel, const CostModel& model,
                                const ClusterSpec& cluster) {
  const DeviceSpec& device = cluster.device;
  const Beside& beside = *kernel.beside;
  const Seconds communication =
      model.collective->collective(beside.collective, FabricContext{cluster}).duration;
  const auto time_on = [&](std::int64_t units) {
    const KernelContext context{device, {}, units, device.launch_latency};
    return price_at(kernel.work.state, kernel.work.op, model, context, cluster);
  };
  const PricedOp alone = time_on(device.compute_units);
  const Seconds shared = time_on(device.compute_units - device.scale_up.kernel_units).cost.duration;
  const Seconds window = beside.collectives * communication;
  const double slow = std::min(beside.kernels, window / shared);
  const Seconds all = slow * shared + (beside.kernels - slow) * alone.cost.duration;
  return {all / beside.kernels, alone.clock, {}, communication};
}

}  // namespace

KernelPrediction predict(const MeasuredKernel& kernel, const CostModel& model,
                         const ClusterSpec& cluster) {
  if (kernel.beside) {
    return predict_beside(kernel, model, cluster);
  }
  const DeviceSpec& device = cluster.device;
  const auto at = [&](Hertz clock) {
    const OpCost cost = price_at_clock(kernel.work, model, cluster, clock);
    return WorkAtClock{cost.duration, cost.energy};
  };
  if (!kernel.duty) {
    const PricedOp priced = price(kernel.work, model, cluster);
    OperatorLine before = kernel.work;
    before.op = kernel.before.value_or(Op{});
    const Seconds earlier = kernel.before ? price(before, model, cluster).cost.duration : Seconds{};
    return {earlier + priced.cost.duration,
            priced.clock,
            mean_power(device.power, {priced.cost.duration, priced.cost.energy}),
            {}};
  }
  const Hertz clock = duty_cycle_clock(device, *kernel.duty, at);
  const WorkAtClock burst = at(clock);
  const Watts dynamic = mean_power(device.power, burst) - device.power.idle;
  return {burst.duration, clock, device.power.idle + *kernel.duty * dynamic, {}};
}

std::vector<MeasuredKernel> repeats_merged(std::vector<MeasuredKernel> kernels) {
  std::vector<MeasuredKernel> merged;
  std::map<std::string, std::size_t> first;  // its place in `merged`
  std::map<std::size_t, std::vector<double>> values;
  for (MeasuredKernel& kernel : kernels) {
    const bool single = kernel.repeats.empty() || kernel.quantities.size() != 1;
    const auto [known, is_new] =
        single ? std::pair(first.end(), true) : first.try_emplace(kernel.repeats, merged.size());
    if (!single) {
      values[known->second].push_back(kernel.quantities.front().value);
    }
    if (is_new) {
      merged.push_back(std::move(kernel));
    }
  }
  for (const auto& [place, measured] : values) {
    merged[place].quantities.front().value = quantile(measured, 0.5);
  }
  return merged;
}

}  // namespace stepcast
