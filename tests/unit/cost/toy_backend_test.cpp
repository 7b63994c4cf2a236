// SPDX-License-Identifier: Apache-2.0
// A backend written outside the product: it needs its class and one assignment, nothing else.
#include <memory>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast::toy_backend_test {
namespace {

using test::Sample;

// time = FLOPs / a fixed rate
class FixedRateGemm final : public GemmModel {
 public:
  explicit FixedRateGemm(FlopsPerSecond rate) : rate_(rate) {}
  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext& /*context*/) const override {
    return {flops(op) / rate_, Bound::kCompute, {}};
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& op,
                                    const KernelContext& /*context*/) const override {
    return {flops(op) / rate_, Bound::kCompute, {}};
  }

 private:
  FlopsPerSecond rate_;
};

// FLOPs of the matrix products of one micro-batch.
double gemm_flops(const Sample& sample) {
  double sum = 0.0;
  const auto add = [&](const BlockOps& ops, double times) {
    for (const OpList* list : {&ops.forward, &ops.backward}) {
      for (const Op& op : *list) {
        sum += std::holds_alternative<Attention>(op.work) ? 0.0 : times * flops(op).value();
      }
    }
  };
  add(expand_layer(sample.context(), {.moe = sample.model.moe.has_value()}),
      static_cast<double>(sample.model.layers));
  add(expand_loss(sample.context()), 1.0);
  return sum;
}

Seconds step_with(const Sample& sample, const CostModel& cost) {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("mi300x"), 1);
  return step_time({sample.context(), cluster, cost, Hertz(1.2e9)}).step;
}

TEST_CASE("a backend of the test's own plugs into the simulator", "[unit]") {
  for (const Sample& sample : {test::dense_sample(), test::moe_sample()}) {
    CostModel cost = default_cost_model();
    cost.gemm = std::make_shared<FixedRateGemm>(FlopsPerSecond(100e12));
    const Seconds slow = step_with(sample, cost);
    cost.gemm = std::make_shared<FixedRateGemm>(FlopsPerSecond(200e12));
    const Seconds fast = step_with(sample, cost);
    // Eight micro-batches; at twice the rate half of the time of the products is gone.
    CHECK((slow - fast).value() == Approx(8.0 * gemm_flops(sample) / 200e12).epsilon(1e-9));
  }
}

TEST_CASE("each role of a cost model prices its own operators", "[unit]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("mi300x"), 1);
  const KernelContext kernel{cluster.device, Hertz(1e9), 304, Seconds{}, Detail::kDuration};
  CostModel cost = default_cost_model();
  cost.gemm = std::make_shared<FixedRateGemm>(FlopsPerSecond(1.0));
  CHECK(cost.cost({.work = Gemm{2, 3, 5}}, kernel, cluster).duration == Seconds(60.0));
  CHECK(cost.cost({.work = GroupedGemm{.groups = 1, .m_total = 2, .n = 3, .k = 5}}, kernel, cluster)
            .duration == Seconds(60.0));
  const Op norm{.work = MemoryBound{MemoryBoundKind::kNorm, 1000, 1000}};
  CHECK(cost.cost(norm, kernel, cluster).duration < Seconds(1.0));
  const Op alone{.work = Collective{CollectiveOp::kAllReduce, Bytes(1e9), {1, 1}}};
  CHECK(cost.cost(alone, kernel, cluster).duration == Seconds{});
}

TEST_CASE("a listed backend is found by role and name, and another role's is not", "[unit]") {
  REQUIRE(find_backend("gemm", "roofline") != nullptr);
  CHECK(find_backend("gemm", "ring_direct") == nullptr);
  CHECK(find_backend("", "") == nullptr);
  CostModel cost;
  use_backend(cost, *find_backend("collective", "ring_direct"));
  CHECK(cost.collective != nullptr);
  CHECK(cost.gemm == nullptr);
}

TEST_CASE("the default cost model has a backend for every role", "[unit]") {
  const CostModel cost = default_cost_model();
  CHECK(cost.gemm != nullptr);
  CHECK(cost.attention != nullptr);
  CHECK(cost.memory_bound != nullptr);
  CHECK(cost.collective != nullptr);
}

}  // namespace
}  // namespace stepcast::toy_backend_test
