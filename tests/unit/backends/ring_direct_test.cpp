// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/hardware/link_group.hpp"

namespace stepcast::ring_direct_test {
namespace {

using test::nearly;
using test::round_cluster;

constexpr Bytes kGigabyte{1e9};

double seconds(CollectiveOp op, ProcessGroup group, const ClusterSpec& cluster,
               Bytes bytes = kGigabyte) {
  return make_ring_direct_collective()
      ->collective({op, bytes, group, Axis::kData}, {cluster})
      .duration.value();
}

// Eight GPUs in a full mesh of seven 10 GB/s links each.
ClusterSpec mesh_cluster() {
  ClusterSpec cluster = round_cluster(2);
  cluster.device.scale_up.topology = ScaleUpTopology::kFullMesh;
  cluster.device.scale_up.links = 7;
  cluster.device.scale_up.link_rate = BytesPerSecond(10e9);
  return cluster;
}

TEST_CASE("a group of one is free, and so are no bytes without latency", "[unit]") {
  for (const CollectiveOp op :
       {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
        CollectiveOp::kAllToAll, CollectiveOp::kSendRecv}) {
    CHECK(seconds(op, {1, 1}, round_cluster(4)) == 0.0);
    CHECK(seconds(op, {8, 1}, round_cluster(4), Bytes{}) == 0.0);
  }
}

// 2 (n - 1) / n * S / B, Patarasuk and Yuan 2009.
TEST_CASE("an all-reduce inside a node takes 2 (n-1)/n S / B", "[case]") {
  CHECK(seconds(CollectiveOp::kAllReduce, {2, 1}, round_cluster(1)) == nearly(0.010));   // S / B
  CHECK(seconds(CollectiveOp::kAllReduce, {4, 1}, round_cluster(1)) == nearly(0.015));   // 1.5
  CHECK(seconds(CollectiveOp::kAllReduce, {8, 1}, round_cluster(1)) == nearly(0.0175));  // 1.75
}

TEST_CASE("gathering and scattering take half of an all-reduce", "[case]") {
  for (const ProcessGroup group : {ProcessGroup{8, 1}, {16, 1}, {4, 8}, {2, 4}}) {
    const double both = seconds(CollectiveOp::kAllReduce, group, round_cluster(4));
    CHECK(seconds(CollectiveOp::kAllGather, group, round_cluster(4)) == nearly(both / 2.0));
    CHECK(seconds(CollectiveOp::kReduceScatter, group, round_cluster(4)) == nearly(both / 2.0));
  }
}

// Each rank keeps 1/n of its own and sends the rest: (n - 1) / n * S / B.
TEST_CASE("an all-to-all inside a node takes (n-1)/n S / B", "[case]") {
  CHECK(seconds(CollectiveOp::kAllToAll, {8, 1}, round_cluster(1)) == nearly(0.00875));
}

TEST_CASE("two neighbours send at the full rate of the switch", "[case]") {
  CHECK(seconds(CollectiveOp::kSendRecv, {2, 1}, round_cluster(1)) == nearly(0.010));
}

TEST_CASE("two of the eight GPUs of a mesh share one link", "[case]") {
  const ClusterSpec mesh = mesh_cluster();
  CHECK(seconds(CollectiveOp::kSendRecv, {2, 1}, mesh) == nearly(0.1));     // 1 GB at 10 GB/s
  CHECK(seconds(CollectiveOp::kAllReduce, {2, 1}, mesh) == nearly(0.1));    // 2 * 1/2 of it
  CHECK(seconds(CollectiveOp::kAllReduce, {2, 4}, mesh) == nearly(0.1));    // wherever they sit
  CHECK(seconds(CollectiveOp::kAllReduce, {4, 1}, mesh) == nearly(0.05));   // 1.5 / 30 GB/s
  CHECK(seconds(CollectiveOp::kAllReduce, {8, 1}, mesh) == nearly(0.025));  // 1.75 / 70 GB/s
}

TEST_CASE("one GPU in each node communicates over its NICs alone", "[case]") {
  // 10 GB/s: 2 * 3/4 * 1 GB.
  CHECK(seconds(CollectiveOp::kAllReduce, {4, 8}, round_cluster(4)) == nearly(0.15));
  CHECK(seconds(CollectiveOp::kSendRecv, {2, 8}, round_cluster(2)) == nearly(0.1));
  // 3/4 of 1 GB, and 0.3 us to issue a message to each of 3 peers.
  CHECK(seconds(CollectiveOp::kAllToAll, {4, 8}, round_cluster(4)) == nearly(0.075 + 0.9e-6));
}

TEST_CASE("a group over whole nodes uses the NICs of all its members", "[case]") {
  // 16 ranks on 2 nodes: a node takes in S (16 - 8) / 16 over 8 NICs of 10 GB/s: 6.25 ms;
  // inside, 15/16 S at 100 GB/s: 9.375 ms is longer.
  CHECK(seconds(CollectiveOp::kAllGather, {16, 1}, round_cluster(2)) == nearly(0.009375));
  // 64 ranks on 8 nodes: 56/64 S / 80 GB/s = 10.9375 ms; inside 63/64 S / 100 GB/s = 9.84 ms.
  CHECK(seconds(CollectiveOp::kAllGather, {64, 1}, round_cluster(8)) == nearly(0.0109375));
  // All-to-all: each rank sends 8/16 S over its own NIC, in 8 messages of 0.3 us.
  CHECK(seconds(CollectiveOp::kAllToAll, {16, 1}, round_cluster(2)) == nearly(0.05 + 2.4e-6));
}

TEST_CASE("latency is the base and the shorter of a ring's and a direct exchange's hops",
          "[case]") {
  ClusterSpec cluster = round_cluster(1);
  cluster.device.scale_up.base_latency = Seconds(5e-6);
  cluster.device.scale_up.hop_latency = Seconds(1e-6);
  CHECK(seconds(CollectiveOp::kAllGather, {8, 1}, cluster, Bytes{}) == nearly(6e-6));  // one hop
  CHECK(seconds(CollectiveOp::kAllReduce, {8, 1}, cluster, Bytes{}) == nearly(7e-6));  // two
  CHECK(seconds(CollectiveOp::kAllGather, {2, 1}, cluster, Bytes{}) == nearly(6e-6));
}

TEST_CASE("a NIC adds its own latency to what leaves the node", "[unit]") {
  ClusterSpec cluster = round_cluster(2);
  cluster.device.scale_up.base_latency = Seconds(5e-6);
  cluster.device.scale_out.base_latency = Seconds(2e-6);
  CHECK(seconds(CollectiveOp::kSendRecv, {2, 1}, cluster, Bytes{}) == nearly(5e-6));
  CHECK(seconds(CollectiveOp::kSendRecv, {2, 8}, cluster, Bytes{}) == nearly(7e-6));
}

TEST_CASE("oversubscription slows what leaves a pod and nothing else", "[unit]") {
  ClusterSpec cluster = round_cluster(8);
  cluster.network.nodes_per_pod = 4;
  cluster.network.oversubscription = 2.0;
  CHECK(link_group({32, 1}, cluster).outside == BytesPerSecond(10e9));  // one pod
  CHECK(link_group({64, 1}, cluster).outside == BytesPerSecond(5e9));   // two
  CHECK(link_group({8, 8}, cluster).outside == BytesPerSecond(5e9));
  CHECK(link_group({8, 1}, cluster).inside == BytesPerSecond(100e9));
}

TEST_CASE("several NICs a GPU add up, and efficiency scales them", "[unit]") {
  ClusterSpec cluster = round_cluster(2);
  cluster.device.scale_out.nics_per_gpu = 2.0;
  cluster.device.scale_out.efficiency = 0.9;
  CHECK(link_group({2, 8}, cluster).outside.value() == nearly(18e9));
}

TEST_CASE("a GPU's node without a fabric of its own communicates over its NICs", "[unit]") {
  const LinkGroup links = link_group({16, 8}, round_cluster(16));
  CHECK(links.members == 1);
  CHECK(links.domains == 16);
}

// No algorithm moves less than (n - 1) / n of S through a rank; all-reduce twice that.
TEST_CASE("no collective beats the bandwidth bound of a rank", "[property]") {
  const ClusterSpec cluster = round_cluster(8);
  for (std::int64_t stride = 1; stride <= 16; stride *= 2) {
    for (std::int64_t size = 2; size * stride <= 64; size *= 2) {
      const ProcessGroup group{size, stride};
      const auto n = static_cast<double>(size);
      const double bound = (n - 1.0) / n * 1e9 / 100e9;
      CAPTURE(size, stride);
      CHECK(seconds(CollectiveOp::kAllGather, group, cluster) >= bound * (1 - 1e-12));
      CHECK(seconds(CollectiveOp::kAllReduce, group, cluster) >= 2.0 * bound * (1 - 1e-12));
      CHECK(seconds(CollectiveOp::kReduceScatter, group, cluster) >= bound * (1 - 1e-12));
    }
  }
}

}  // namespace
}  // namespace stepcast::ring_direct_test
