// SPDX-License-Identifier: Apache-2.0
// What must hold for the price of a kernel at a state of power, for every backend of kernels on
// every shipped GPU.
#include <cmath>
#include <functional>
#include <string>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/draws.hpp"
#include "property/random_ops.hpp"
#include "sample_specs.hpp"
#include "stepcast/cost/power_state.hpp"

namespace stepcast::power_state_property_test {
namespace {

const int kShapes = test::draws(100);  // of each backend on each GPU
// The clock is solved until the power is right to 1e-4.
constexpr double kSolved = 1.0 + 2e-4;

PricedOp price(const ClockState& state, const Op& op, const CostModel& model,
               const ClusterSpec& cluster) {
  const DeviceSpec& device = cluster.device;
  return price_at(state, op, model,
                  {device, {}, device.compute_units, device.launch_latency, Detail::kDuration},
                  cluster);
}

using Check = std::function<void(const Op&, const CostModel&, const ClusterSpec&)>;

void for_each_kernel(const Check& check) {
  for (const std::string& gpu : names_in(test::data_root().gpus())) {
    const ClusterSpec cluster = cluster_of(test::shipped_gpu(gpu), 1);
    unsigned seed = 100;
    for (const BackendInfo& backend : builtin_backends()) {
      if (backend.role == BackendRole::kCollective) {
        continue;
      }
      test::RandomOps random(++seed);
      CostModel model = default_cost_model();
      use_backend(model, backend);
      for (int i = 0; i < kShapes; ++i) {
        INFO(name(backend.role) << "/" << backend.name << " on " << gpu << ", operator " << i);
        check(random.op(name(backend.role)), model, cluster);
      }
    }
  }
}

TEST_CASE("the clock of every state lies between a quarter of the peak and the peak",
          "[property]") {
  for_each_kernel([](const Op& op, const CostModel& model, const ClusterSpec& cluster) {
    const Hertz peak = cluster.device.clock.peak;
    for (const PowerState power : {PowerState::kWarm, PowerState::kCool}) {
      const PricedOp priced = price({power, {}}, op, model, cluster);
      REQUIRE(priced.clock <= peak);
      REQUIRE(priced.clock.value() >= 0.25 * peak.value() * (1.0 - 1e-12));
      REQUIRE(std::isfinite(priced.cost.duration.value()));
      REQUIRE(std::isfinite(priced.cost.energy.value()));
      REQUIRE(priced.cost.energy >= Joules{});
    }
  });
}

TEST_CASE("warm work stays within the power limit unless it runs at the lowest clock",
          "[property]") {
  for_each_kernel([](const Op& op, const CostModel& model, const ClusterSpec& cluster) {
    const DeviceSpec& device = cluster.device;
    const PricedOp warm = price({PowerState::kWarm, {}}, op, model, cluster);
    const Watts drawn = mean_power(device.power, {warm.cost.duration, warm.cost.energy});
    CAPTURE(drawn.value(), device.power.limit.value(), warm.clock.value());
    REQUIRE((drawn <= 1.001 * device.power.limit ||
             warm.clock.value() <= 0.25 * device.clock.peak.value() * (1.0 + 1e-12)));
  });
}

TEST_CASE("a higher power limit never makes a kernel slower", "[property]") {
  for_each_kernel([](const Op& op, const CostModel& model, const ClusterSpec& cluster) {
    for (const PowerState power : {PowerState::kWarm, PowerState::kCool}) {
      ClusterSpec stronger = cluster;
      stronger.device.power.limit = 1.2 * cluster.device.power.limit;
      const PricedOp weak = price({power, {}}, op, model, cluster);
      const PricedOp strong = price({power, {}}, op, model, stronger);
      CAPTURE(weak.clock.value(), strong.clock.value());
      REQUIRE(strong.cost.duration <= kSolved * weak.cost.duration);
    }
  });
}

TEST_CASE("a kernel on a cool GPU is never slower than on a warm one", "[property]") {
  for_each_kernel([](const Op& op, const CostModel& model, const ClusterSpec& cluster) {
    const PricedOp warm = price({PowerState::kWarm, {}}, op, model, cluster);
    const PricedOp cool = price({PowerState::kCool, {}}, op, model, cluster);
    CAPTURE(warm.clock.value(), cool.clock.value());
    REQUIRE(cool.cost.duration <= kSolved * warm.cost.duration);
  });
}

TEST_CASE("a clock locked where a warm kernel runs gives the same price", "[property]") {
  for_each_kernel([](const Op& op, const CostModel& model, const ClusterSpec& cluster) {
    const PricedOp warm = price({PowerState::kWarm, {}}, op, model, cluster);
    const PricedOp locked = price({PowerState::kLocked, warm.clock}, op, model, cluster);
    REQUIRE(locked.clock == warm.clock);
    REQUIRE(locked.cost.duration == warm.cost.duration);
    REQUIRE(locked.cost.energy == warm.cost.energy);
    REQUIRE(locked.cost.bound == warm.cost.bound);
  });
}

}  // namespace
}  // namespace stepcast::power_state_property_test
