// SPDX-License-Identifier: Apache-2.0
// What holds of collectives on every GPU, at any number of ranks and any stride.
#include <cmath>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/collective_algorithm.hpp"

namespace stepcast::collective_property_test {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CollectiveOp;

constexpr std::array kKinds = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter,
                               Kind::kAllToAll,  Kind::kSendRecv,  Kind::kBroadcast};

Seconds time_of(const Collective& op, const ClusterSpec& cluster) {
  return make_library_collective()->collective(op, {cluster}).duration;
}

// Calls `check` on every GPU with groups from 2 to 131,072 ranks at several strides, and tensors
// from a few bytes to 1 MiB a rank and more.
template <typename Check>
void for_each_group(const Check& check) {
  for (const char* gpu : {"a100_80gb", "h100_sxm", "gb200", "mi300x", "mi355x"}) {
    const ClusterSpec cluster = cluster_of(test::shipped_gpu(gpu), 1 << 20);
    for (std::int64_t ranks = 2; ranks <= 131'072; ranks = ranks * 4 + 1) {
      for (const std::int64_t stride : {1, 3, 8, 64}) {
        for (const double rank_bytes : {3.0, 4096.0, 1048576.0, 3e7}) {
          const Bytes bytes = static_cast<double>(ranks) * Bytes(rank_bytes);
          INFO(gpu << ", " << ranks << " ranks, stride " << stride << ", " << bytes.value()
                   << " bytes");
          check(cluster, ProcessGroup{ranks, stride}, bytes);
        }
      }
    }
  }
}

TEST_CASE("every collective is finite and positive from 2 to 131,072 ranks", "[property]") {
  for_each_group([](const ClusterSpec& cluster, ProcessGroup group, Bytes bytes) {
    for (const AlgorithmInfo& info : algorithm_table()) {
      if (info.algorithm == Algorithm::kInSwitch && !cluster.device.collectives.in_switch) {
        continue;
      }
      Collective op{info.op, bytes, group, Axis::kData};
      op.algorithm = info.algorithm;
      const double seconds = time_of(op, cluster).value();
      INFO(name(info.op) << " by " << name(info.algorithm));
      REQUIRE(std::isfinite(seconds));
      REQUIRE(seconds > 0.0);
    }
  });
}

TEST_CASE("an all-reduce of 1 MiB a rank takes at least its halves", "[property]") {
  for_each_group([](const ClusterSpec& cluster, ProcessGroup group, Bytes bytes) {
    if (bytes < static_cast<double>(group.size) * Bytes(1048576.0)) {
      return;
    }
    const Seconds whole = time_of({Kind::kAllReduce, bytes, group, Axis::kData}, cluster);
    REQUIRE(whole >= time_of({Kind::kAllGather, bytes, group, Axis::kData}, cluster));
    REQUIRE(whole >= time_of({Kind::kReduceScatter, bytes, group, Axis::kData}, cluster));
  });
}

TEST_CASE("inside a family an all-reduce takes at least its halves at any size", "[property]") {
  for_each_group([](const ClusterSpec& cluster, ProcessGroup group, Bytes bytes) {
    for (const Algorithm family : {Algorithm::kRing, Algorithm::kRecursiveDoubling,
                                   Algorithm::kDirect, Algorithm::kHierarchical}) {
      Collective whole{Kind::kAllReduce, bytes, group, Axis::kData};
      whole.algorithm = family;
      Collective half = whole;
      half.op = Kind::kAllGather;
      INFO("family " << name(family));
      REQUIRE(time_of(whole, cluster) >= time_of(half, cluster));
    }
  });
}

TEST_CASE("twice the links or NICs never slow a collective", "[property]") {
  for_each_group([](const ClusterSpec& cluster, ProcessGroup group, Bytes bytes) {
    ClusterSpec links = cluster;
    links.device.scale_up.link_rate = 2.0 * links.device.scale_up.link_rate;
    ClusterSpec nics = cluster;
    nics.device.scale_out.nic_rate = 2.0 * nics.device.scale_out.nic_rate;
    for (const Kind kind : kKinds) {
      const Collective op{kind, bytes, group, Axis::kData};
      REQUIRE(time_of(op, links) <= time_of(op, cluster));
      REQUIRE(time_of(op, nics) <= time_of(op, cluster));
    }
  });
}

TEST_CASE("a switch is never slower than the mesh of the same links", "[property]") {
  for_each_group([](const ClusterSpec& cluster, ProcessGroup group, Bytes bytes) {
    ClusterSpec mesh = cluster;
    mesh.device.scale_up.topology = ScaleUpTopology::kFullMesh;
    ClusterSpec switched = cluster;
    switched.device.scale_up.topology = ScaleUpTopology::kSwitch;
    for (const Kind kind : kKinds) {
      const Collective op{kind, bytes, group, Axis::kData};
      INFO(name(kind));
      REQUIRE(time_of(op, switched) <= time_of(op, mesh));
    }
  });
}

}  // namespace
}  // namespace stepcast::collective_property_test
