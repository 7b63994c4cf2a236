// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/contention.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::contention_test {
namespace {

using test::nearly;

// An H200, whose collectives hold 24 of its 132 SMs.
struct Machine {
  ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 1);
  CostModel cost = default_cost_model();

  [[nodiscard]] KernelContext kernel() const {
    return {cluster.device, Hertz(1.5e9), cluster.device.compute_units, Seconds{},
            Detail::kDuration};
  }
  [[nodiscard]] OpCost alone(const Op& op) const { return cost.cost(op, kernel(), cluster); }
  [[nodiscard]] double slower_beside(const Op& op, const CommunicationLoad& load) const {
    const OpCost price = alone(op);
    const OpCost left = cost.cost(op, on_units_left(kernel(), load.units), cluster);
    return contended_duration(price, left.duration, load, cluster.device) / price.duration;
  }
};

const Op kAttention{OpId::kAttentionCore, Attention{.batch = 4,
                                                    .seq_q = 8192,
                                                    .seq_kv = 8192,
                                                    .heads = 32,
                                                    .kv_heads = 8,
                                                    .d_qk = 128,
                                                    .d_v = 128,
                                                    .kernel = AttentionKernel::kFlash3}};
const Op kProduct{OpId::kMlpUp, Gemm{16'384, 16'384, 8192}};
const Op kNorm{.work = MemoryBound{MemoryBoundKind::kNorm, 65'536, 8192}};
const Op kGather{OpId::kFsdpGather, Collective{CollectiveOp::kAllGather, Bytes(1e9), {8, 1}}};
const Op kReduce{OpId::kFsdpReduce, Collective{CollectiveOp::kReduceScatter, Bytes(1e9), {8, 1}}};

TEST_CASE("attention beside a collective has 108 of 132 SMs left", "[unit]") {
  const Machine h200;
  const CommunicationLoad load = communication_load(kGather, h200.alone(kGather));
  CHECK(load.units == 24);
  CHECK(h200.slower_beside(kAttention, {24, {}}) == Approx(132.0 / 108.0).epsilon(0.02));
}

TEST_CASE("a product counts its waves anew on the SMs that are left", "[unit]") {
  const Machine h200;
  // 64 x 128 tiles of 256 x 128 in 63 waves of 132, in 76 of 108; both parts of a wave count.
  const double slower = h200.slower_beside(kProduct, {24, {}});
  CHECK(slower > 1.1);
  CHECK(slower < 1.4);
}

TEST_CASE("a kernel bound by memory is slower by the share of HBM that is asked for", "[unit]") {
  const Machine h200;
  REQUIRE(h200.alone(kNorm).bound == Bound::kMemory);
  const BytesPerSecond quarter = 0.25 * h200.cluster.device.hbm.achieved;
  CHECK(h200.slower_beside(kNorm, {0, quarter}) == nearly(1.25));
  // Half of HBM is left beside links that alone could take all of it.
  CHECK(h200.slower_beside(kNorm, {0, 4.0 * quarter}) == nearly(2.0));
  // Attention does not wait for HBM.
  CHECK(h200.slower_beside(kAttention, {0, quarter}) == 1.0);
}

TEST_CASE("nothing is slower beside nothing", "[unit]") {
  const Machine h200;
  for (const Op& op : {kAttention, kProduct, kNorm}) {
    CHECK(h200.slower_beside(op, {}) == 1.0);
  }
}

TEST_CASE("a kernel beside communication is never faster", "[property]") {
  const Machine h200;
  for (const Op& op : {kAttention, kProduct, kNorm}) {
    double before = 1.0;
    for (std::int64_t units = 0; units <= 160; units += 16) {
      CAPTURE(name(op.id), units);
      const double slower = h200.slower_beside(op, {units, BytesPerSecond(1e12)});
      CHECK(slower >= before * (1.0 - 1e-12));
      before = slower;
    }
  }
}

TEST_CASE("what arrives is written to a buffer, read, and written or added to what is read",
          "[unit]") {
  const Machine h200;
  const auto bytes = [&](const Op& op) {
    const OpCost cost = h200.alone(op);
    return (communication_load(op, cost).hbm * cost.duration).value();
  };
  CHECK(bytes(kGather) == nearly(3.0 * 7.0 / 8.0 * 1e9));
  CHECK(bytes(kReduce) == nearly(3.0 * 7.0 / 8.0 * 1e9));
  const Op both{OpId::kDpReduce, Collective{CollectiveOp::kAllReduce, Bytes(1e9), {8, 1}}};
  CHECK(bytes(both) == nearly(3.0 * 2.0 * 7.0 / 8.0 * 1e9));
  const Op send{OpId::kPipelineSend, Collective{CollectiveOp::kSendRecv, Bytes(1e9), {2, 1}}};
  CHECK(bytes(send) == nearly(3.0 * 1e9));
}

TEST_CASE("only communication that takes time is a load", "[unit]") {
  const Machine h200;
  const Op alone{OpId::kDpReduce, Collective{CollectiveOp::kAllReduce, Bytes(1e9), {1, 1}}};
  for (const Op& op : {kAttention, kNorm, alone}) {
    const CommunicationLoad load = communication_load(op, h200.alone(op));
    CHECK(load.units == 0);
    CHECK(load.hbm == BytesPerSecond{});
  }
}

TEST_CASE("loads combine to the larger of each part", "[unit]") {
  const CommunicationLoad load =
      CommunicationLoad{8, BytesPerSecond(3)}.combined({24, BytesPerSecond(1)});
  CHECK(load.units == 24);
  CHECK(load.hbm == BytesPerSecond(3));
}

TEST_CASE("each kind of communication slows beside computation by its own constant", "[unit]") {
  DeviceSpec device = test::shipped_gpu("h200_sxm");
  device.collectives.beside = {.gather = 1.1, .reduce = 1.2, .exchange = 1.3};
  const auto slowdown = [&](CollectiveOp op) {
    return stretch_beside_computation({.work = Collective{op, Bytes(1e9), {8, 1}}}, {}, device)
        .least;
  };
  CHECK(slowdown(CollectiveOp::kAllGather) == 1.1);
  CHECK(slowdown(CollectiveOp::kBroadcast) == 1.1);
  CHECK(slowdown(CollectiveOp::kReduceScatter) == 1.2);
  CHECK(slowdown(CollectiveOp::kAllReduce) == 1.2);
  CHECK(slowdown(CollectiveOp::kAllToAll) == 1.3);
  CHECK(slowdown(CollectiveOp::kSendRecv) == 1.3);
  CHECK(stretch_beside_computation({OpId::kMoeDispatch, ExpertExchange{}}, {}, device).least ==
        1.3);
}

}  // namespace
}  // namespace stepcast::contention_test
