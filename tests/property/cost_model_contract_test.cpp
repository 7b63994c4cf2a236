// SPDX-License-Identifier: Apache-2.0
// The contract of cost/cost_model.hpp, for every backend in the list. A new backend is picked up
// here without a change.
#include <cmath>
#include <functional>
#include <string>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/draws.hpp"
#include "property/random_ops.hpp"
#include "sample_specs.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast::cost_model_contract_test {
namespace {

const int kShapes = test::draws(300);
const int kExchanges = test::draws(100);  // an exchange among many ranks takes long to count

// The machine of a price, to change one thing of it.
struct Machine {
  ClusterSpec cluster;
  Hertz clock;
  std::int64_t units = 0;
};

Machine machine(const std::string& gpu) {
  DeviceSpec device = test::shipped_gpu(gpu);
  const Hertz clock = device.sustained_clock(Dtype::kBf16);
  const std::int64_t units = device.compute_units;
  return {cluster_of(std::move(device), 128), clock, units};
}

OpCost price(const CostModel& cost, const Op& op, const Machine& machine,
             Detail detail = Detail::kDuration) {
  const DeviceSpec& device = machine.cluster.device;
  return cost.cost(op, {device, machine.clock, machine.units, device.launch_latency, detail},
                   machine.cluster);
}

// Calls `check` with random operators of each backend on a mesh and on a switched machine.
void for_each_price(const std::function<void(const CostModel&, const Op&, const Machine&)>& check) {
  for (const BackendInfo& backend : builtin_backends()) {
    CostModel cost = default_cost_model();
    use_backend(cost, backend);
    for (const char* gpu : {"mi300x", "h100_sxm", "gb200"}) {
      const Machine on = machine(gpu);
      test::RandomOps shapes(1);
      const int count = backend.role == BackendRole::kCollective ? kExchanges : kShapes;
      for (int i = 0; i < count; ++i) {
        const Op op = shapes.op(name(backend.role));
        INFO("backend " << name(backend.role) << "/" << backend.name << " on " << gpu
                        << ", operator " << i);
        check(cost, op, on);
      }
    }
  }
}

TEST_CASE("every backend says what it computes and assumes, and where that is from", "[property]") {
  REQUIRE(builtin_backends().size() >= 4);
  for (const BackendInfo& backend : builtin_backends()) {
    CHECK_FALSE(backend.name.empty());
    CHECK_FALSE(backend.equation.empty());
    CHECK_FALSE(backend.assumptions.empty());
    CHECK_FALSE(backend.source.empty());
    CHECK(find_backend(name(backend.role), backend.name) == &backend);
  }
}

TEST_CASE("every price is finite and not negative", "[property]") {
  for_each_price([](const CostModel& cost, const Op& op, const Machine& on) {
    const double duration = price(cost, op, on).duration.value();
    REQUIRE(std::isfinite(duration));
    REQUIRE(duration >= 0.0);
  });
}

TEST_CASE("asking for terms changes no price, and the terms add up to it", "[property]") {
  for_each_price([](const CostModel& cost, const Op& op, const Machine& on) {
    const OpCost plain = price(cost, op, on);
    const OpCost detailed = price(cost, op, on, Detail::kTerms);
    REQUIRE(plain.terms.empty());
    REQUIRE(plain.duration == detailed.duration);
    REQUIRE(plain.bound == detailed.bound);
    Seconds sum;
    for (const CostTerm& term : detailed.terms) {
      sum += term.duration;
      REQUIRE_FALSE(term.name.empty());
      REQUIRE(std::isfinite(term.duration.value()));
      REQUIRE(term.duration >= Seconds{});
    }
    REQUIRE(sum.value() == Approx(detailed.duration.value()).epsilon(1e-9));
  });
}

TEST_CASE("the same question gets the same price", "[property]") {
  for_each_price([](const CostModel& cost, const Op& op, const Machine& on) {
    REQUIRE(price(cost, op, on).duration == price(cost, op, on).duration);
  });
}

// `improve` makes the machine better; no price may rise.
void check_never_slower(const std::function<void(Machine&)>& improve) {
  for_each_price([&](const CostModel& cost, const Op& op, const Machine& on) {
    Machine better = on;
    improve(better);
    REQUIRE(price(cost, op, better).duration.value() <=
            price(cost, op, on).duration.value() * (1.0 + 1e-12));
  });
}

TEST_CASE("a higher clock never makes an operator slower", "[property]") {
  check_never_slower([](Machine& on) { on.clock = 1.07 * on.clock; });
}

TEST_CASE("one more compute unit never makes an operator slower", "[property]") {
  check_never_slower([](Machine& on) { ++on.units; });
}

TEST_CASE("twice the compute units never make an operator slower", "[property]") {
  check_never_slower([](Machine& on) { on.units *= 2; });
}

TEST_CASE("more memory bandwidth never makes an operator slower", "[property]") {
  check_never_slower([](Machine& on) {
    on.cluster.device.hbm.achieved = 1.3 * on.cluster.device.hbm.achieved;
    on.cluster.device.hbm.peak = 1.3 * on.cluster.device.hbm.peak;
  });
}

TEST_CASE("faster links never make an operator slower", "[property]") {
  check_never_slower([](Machine& on) {
    on.cluster.device.scale_up.link_rate = 1.3 * on.cluster.device.scale_up.link_rate;
  });
}

TEST_CASE("faster or more NICs never make an operator slower", "[property]") {
  check_never_slower([](Machine& on) {
    on.cluster.device.scale_out.nic_rate = 1.3 * on.cluster.device.scale_out.nic_rate;
  });
  check_never_slower([](Machine& on) { on.cluster.device.scale_out.nics_per_gpu *= 2.0; });
}

TEST_CASE("shorter latencies never make an operator slower", "[property]") {
  check_never_slower([](Machine& on) {
    DeviceSpec& device = on.cluster.device;
    device.launch_latency = 0.5 * device.launch_latency;
    device.scale_up.base_latency = 0.5 * device.scale_up.base_latency;
    device.scale_up.hop_latency = 0.5 * device.scale_up.hop_latency;
    device.scale_out.base_latency = 0.5 * device.scale_out.base_latency;
    device.scale_out.hop_latency = 0.5 * device.scale_out.hop_latency;
  });
}

TEST_CASE("a collective over one rank costs nothing, more bytes never cost less", "[property]") {
  for_each_price([](const CostModel& cost, const Op& op, const Machine& on) {
    if (const Collective* found = std::get_if<Collective>(&op.work)) {
      Collective alone = *found;
      alone.group.size = 1;
      REQUIRE(price(cost, {.work = alone}, on).duration == Seconds{});
      Collective larger = *found;
      larger.bytes = 1.5 * larger.bytes;
      REQUIRE(price(cost, {.work = larger}, on).duration >= price(cost, op, on).duration);
    }
  });
}

TEST_CASE("an exchange of one rank costs nothing, and more tokens never cost less", "[property]") {
  for_each_price([](const CostModel& cost, const Op& op, const Machine& on) {
    if (const ExpertExchange* found = std::get_if<ExpertExchange>(&op.work)) {
      ExpertExchange alone = *found;
      alone.group.size = 1;
      REQUIRE(price(cost, {.work = alone}, on).duration == Seconds{});
      ExpertExchange larger = *found;
      larger.tokens = 2 * larger.tokens;
      REQUIRE(price(cost, {.work = larger}, on).duration.value() >=
              price(cost, op, on).duration.value() * (1.0 - 1e-12));
      REQUIRE(price(cost, op, on).units >= 0);
    }
  });
}

TEST_CASE("no product runs faster than the matrix units at their peak", "[property]") {
  for_each_price([](const CostModel& cost, const Op& op, const Machine& on) {
    if (std::holds_alternative<Gemm>(op.work)) {
      REQUIRE(price(cost, op, on).duration >= roofline_bound(op, on.cluster.device, on.clock));
    }
  });
}

}  // namespace
}  // namespace stepcast::cost_model_contract_test
