// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/contention.hpp"

#include <algorithm>

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
    const KernelDemand demand = kernel_demand(price, cluster.device.clock.peak, cluster.device);
    return contended_duration(price, left.duration, load, demand, cluster.device) / price.duration;
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
  const CommunicationLoad load =
      communication_load(kGather, h200.alone(kGather), h200.cluster.device);
  CHECK(load.units == 24);
  CHECK(h200.slower_beside(kAttention, {24, {}, {}}) == Approx(132.0 / 108.0).epsilon(0.02));
}

TEST_CASE("a product counts its waves anew on the SMs that are left", "[unit]") {
  const Machine h200;
  // 64 x 128 tiles of 256 x 128 in 63 waves of 132, in 76 of 108; both parts of a wave count.
  const double slower = h200.slower_beside(kProduct, {24, {}, {}});
  CHECK(slower > 1.1);
  CHECK(slower < 1.4);
}

TEST_CASE("every byte costs its time once: a kernel waits for what communication asks of HBM",
          "[unit]") {
  const Machine h200;
  REQUIRE(h200.alone(kNorm).bound == Bound::kMemory);
  const BytesPerSecond achieved = h200.cluster.device.hbm.achieved;
  // Communication that is not slowed takes a quarter of HBM: of a kernel that asks for a share u of
  // it, every byte takes 1.25 times as long.
  const OpCost norm = h200.alone(kNorm);
  const double asked = std::min(1.0, norm.hbm / norm.duration / achieved);
  CHECK(asked > 0.9);
  CHECK(h200.slower_beside(kNorm, {0, 0.25 * achieved, {}}) == nearly(1.0 + 0.25 * asked));
  // One that is slowed to a half by the kernel asks for half of that.
  const double slowed = h200.slower_beside(kNorm, {0, 0.25 * achieved, {2.0, 2.0}});
  CHECK(slowed == nearly(1.0 + 0.125 * asked));
  // Attention asks for little.
  CHECK(h200.slower_beside(kAttention, {0, 0.25 * achieved, {}}) < 1.02);
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
      const double slower = h200.slower_beside(op, {units, BytesPerSecond(1e12), {}});
      CHECK(slower >= before * (1.0 - 1e-12));
      before = slower;
    }
  }
}

TEST_CASE("a block that is sent is read and goes through a buffer, what stays is copied",
          "[unit]") {
  const Machine h200;
  const auto bytes = [&](CollectiveOp op, std::int64_t ranks) {
    return hbm_traffic({op, Bytes(8e8), {ranks, 1}}).value();
  };
  // Own block read and written, that of each peer written to a buffer, read and written or added.
  CHECK(bytes(CollectiveOp::kAllGather, 2) == nearly(5.0 * 4e8));
  CHECK(bytes(CollectiveOp::kReduceScatter, 2) == nearly(5.0 * 4e8));
  CHECK(bytes(CollectiveOp::kAllGather, 8) == nearly(23.0 * 1e8));
  // Reduced and gathered: of two ranks one result is written, sent, and the other arrives.
  CHECK(bytes(CollectiveOp::kAllReduce, 2) == nearly(8.0 * 4e8));
  // A block for each peer is read as well.
  CHECK(bytes(CollectiveOp::kAllToAll, 2) == nearly(6.0 * 4e8));
  CHECK(bytes(CollectiveOp::kSendRecv, 2) == nearly(3.0 * 8e8));
  const OpCost gather = h200.alone(kGather);
  CHECK(gather.hbm == hbm_traffic(std::get<Collective>(kGather.work)));
  const CommunicationLoad load = communication_load(kGather, gather, h200.cluster.device);
  CHECK(load.hbm * gather.duration == gather.hbm);
}

TEST_CASE("only communication that takes time is a load", "[unit]") {
  const Machine h200;
  const Op alone{OpId::kDpReduce, Collective{CollectiveOp::kAllReduce, Bytes(1e9), {1, 1}}};
  for (const Op& op : {kAttention, kNorm, alone}) {
    const CommunicationLoad load = communication_load(op, h200.alone(op), h200.cluster.device);
    CHECK(load.units == 0);
    CHECK(load.hbm == BytesPerSecond{});
  }
}

TEST_CASE("loads combine to the larger of each part", "[unit]") {
  const CommunicationLoad load = CommunicationLoad{8, BytesPerSecond(3), {1.1, 2.0}}.combined(
      {24, BytesPerSecond(1), {1.4, 1.5}});
  CHECK(load.units == 24);
  CHECK(load.hbm == BytesPerSecond(3));
  CHECK(load.stretch == CommunicationStretch{1.4, 2.0});
}

// A device of 1 TB/s whose collectives pass half of their time at the clock of the units.
DeviceSpec simple_device() {
  DeviceSpec device = test::shipped_gpu("h200_sxm");
  device.hbm.achieved = BytesPerSecond(1e12);
  device.clock.peak = Hertz(2e9);
  device.collectives.beside = {
      .ring = 1.1, .exchange = 1.3, .own_at_clock = 0.5, .hbm_share = 0.2, .hbm_queue = 0.25};
  return device;
}

TEST_CASE("a kernel is felt by its clock and by the share of HBM that it asks for", "[unit]") {
  const DeviceSpec device = simple_device();
  const auto demand = [&](double hbm, double ghz) {
    return kernel_demand({.duration = Seconds(1.0), .hbm = Bytes(hbm)}, Hertz(ghz * 1e9), device);
  };
  // 2 GHz over 1.6 is 1.25.
  CHECK(demand(0.0, 1.6).slower == nearly(0.25));
  CHECK(demand(0.0, 2.0).slower == 0.0);
  CHECK(demand(0.0, 2.0).queue == 0.0);
  // 0.25 u / (1 - u), and no more than 1.
  CHECK(demand(5e11, 2.0).queue == nearly(0.25));
  CHECK(demand(7.5e11, 2.0).queue == nearly(0.75));
  CHECK(demand(9e11, 2.0).queue == 1.0);
  CHECK(demand(1e12, 2.0).queue == 1.0);
}

TEST_CASE("communication keeps its bytes in flight beside a kernel that asks for all of HBM",
          "[unit]") {
  const DeviceSpec device = simple_device();
  const auto stretch = [&](CollectiveOp op, double hbm) {
    return stretch_beside_computation({.work = Collective{op, Bytes(1e9), {8, 1}}},
                                      {.duration = Seconds(1.0), .hbm = Bytes(hbm)}, device);
  };
  // It asks for half of HBM alone and is left a fifth.
  CHECK(stretch(CollectiveOp::kAllGather, 5e11).least == 1.1);
  CHECK(stretch(CollectiveOp::kAllGather, 5e11).most == nearly(2.5));
  CHECK(stretch(CollectiveOp::kReduceScatter, 5e11).least == 1.1);
  CHECK(stretch(CollectiveOp::kAllToAll, 5e11).least == nearly(1.0 + 0.3 / 7.0));
  CHECK(stretch(CollectiveOp::kSendRecv, 5e11).least == 1.3);
  // What an all-to-all loses is shared by the peers that it has messages for: one, then three.
  const auto among = [&](std::int64_t ranks) {
    return stretch_beside_computation(
               {.work = Collective{CollectiveOp::kAllToAll, Bytes(1e9), {ranks, 1}}}, {}, device)
        .least;
  };
  CHECK(among(2) == nearly(1.3));
  CHECK(among(4) == nearly(1.1));
  // One that asks for less than it is left is slowed as beside any kernel.
  CHECK(stretch(CollectiveOp::kAllReduce, 1e11) == CommunicationStretch{1.1, 1.1, 0.5 / 15.0});
  ExpertExchange tokens;
  tokens.group = {4, 1};
  CHECK(stretch_beside_computation({OpId::kMoeDispatch, tokens}, {}, device) ==
        CommunicationStretch{1.3, 1.3, 0.125});
  // Beside half of the peak clock, and three quarters of the way to its longest wait: it keeps an
  // eighth of its bytes, half of which take a time that the clock doubles.
  const CommunicationStretch gather = stretch(CollectiveOp::kAllGather, 5e11);
  CHECK(gather.beside({1.0, 0.75}) == nearly((1.0 + 0.5 / 8.0) * (1.1 + 0.75 * 1.4)));
}

}  // namespace
}  // namespace stepcast::contention_test
