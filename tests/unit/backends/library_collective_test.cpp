// SPDX-License-Identifier: Apache-2.0
// The algorithms of collectives on round numbers: 8 GPUs a node with 500 GB/s of links, of which
// rings reach 400, and a NIC of 50 GB/s each.
#include "backends/builtin_backends.hpp"
#include "backends/collective/collective_time.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/collective_algorithm.hpp"

namespace stepcast::library_collective_test {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CollectiveOp;
using test::nearly;

constexpr double kMicro = 1e-6;

ClusterSpec cluster(std::int64_t nodes = 4) {
  ClusterSpec made = test::round_cluster(nodes);
  ScaleUpSpec& fabric = made.device.scale_up;
  fabric.links = 10;
  fabric.link_rate = BytesPerSecond(50e9);
  made.device.scale_out.nic_rate = BytesPerSecond(50e9);
  made.device.scale_out.efficiency = 1.0;
  made.device.scale_out.nics_per_gpu = 1.0;
  CollectiveConstants& c = made.device.collectives;
  c.ll = {{Seconds(5e-6), Seconds(1e-6), Seconds(3e-6)}, BytesPerSecond(200e9)};
  c.ll128 = {{Seconds(8e-6), Seconds(2e-6), Seconds(5e-6)}, 0.9375};
  c.simple = {{Seconds(10e-6), Seconds(4e-6), Seconds(10e-6)},
              Seconds(4e-6),
              0.8,
              0.5,
              BytesPerSecond(1e12),
              Bytes(1e12),
              1.0,
              Bytes(1e6)};
  c.in_switch = InSwitchConstants{8, Seconds(20e-6), 0.6, Seconds(40e-6), Bytes(1e7)};
  c.message.ll_bytes = Bytes(2048);
  c.message.ll_rate = BytesPerSecond(1e9);
  c.message.ll_peer = Seconds(0.5e-6);
  c.message.base = Seconds(10e-6);
  c.message.share = 0.8;
  c.message.own_rate = BytesPerSecond(1e12);
  c.message.ramp = Seconds{};
  c.message.ramp_transfer = Seconds(47e-6);
  c.all_reduce_floor = Bytes(1 << 20);
  c.message.network_share = 1.0;
  c.message.issue = Seconds(1e-6);
  c.message.connections = 1'000'000;
  return made;
}

ClusterSpec mesh() {
  ClusterSpec made = cluster();
  made.device.scale_up.topology = ScaleUpTopology::kFullMesh;
  made.device.scale_up.links = 7;
  made.device.scale_up.link_rate = BytesPerSecond(500e9 / 7.0);
  made.device.collectives.in_switch.reset();
  return made;
}

double seconds(const Collective& op, const ClusterSpec& on) {
  return make_library_collective()->collective(op, {on}).duration.value();
}

Collective forced(Kind op, double bytes, ProcessGroup group, Algorithm algorithm,
                  Protocol protocol = Protocol::kSimple) {
  Collective made{op, Bytes(bytes), group, Axis::kData};
  made.algorithm = algorithm;
  made.protocol = protocol;
  return made;
}

TEST_CASE("a group of one is free with every algorithm", "[unit]") {
  for (const AlgorithmInfo& info : algorithm_table()) {
    CHECK(seconds(forced(info.op, 1e9, {1, 1}, info.algorithm), cluster()) == 0.0);
  }
}

// base + 3 hops + S / R: every byte is sent, received or kept by the units.
// 16 ranks of two nodes: 15/16 of 1.6 GB at 15 GB/s; twice that for an all-reduce at 30 GB/s.
TEST_CASE("a bus rate that was measured between nodes stands for the transfer, and inside one not",
          "[case]") {
  ClusterSpec slow = cluster();
  slow.network.bus_rates.all_gather = BytesPerSecond(15e9);
  slow.network.bus_rates.all_reduce = BytesPerSecond(30e9);
  const Collective gather{Kind::kAllGather, Bytes(1.6e9), {16, 1}, Axis::kData};
  const Collective reduce{Kind::kAllReduce, Bytes(1.6e9), {16, 1}, Axis::kData};
  const OpCost cost = make_library_collective()->collective(gather, {slow, Detail::kTerms});
  const auto transfer = std::ranges::find(cost.terms, "scale_out", &CostTerm::name);
  REQUIRE(transfer != cost.terms.end());
  CHECK(transfer->duration.value() == nearly(0.1));
  CHECK(seconds(reduce, slow) - seconds(gather, slow) < 1e-3);  // 0.1 s as well
  const Collective inside{Kind::kAllGather, Bytes(1.6e9), {8, 1}, Axis::kData};
  CHECK(seconds(inside, slow) == nearly(seconds(inside, cluster())));
}

TEST_CASE("a ring by LL is bound by the units", "[case]") {
  CHECK(seconds(forced(Kind::kAllGather, 1e6, {4, 1}, Algorithm::kRing, Protocol::kLl),
                cluster()) == nearly((5 + 3 + 5) * kMicro));
  // 6 hops and 7/4 of the tensor.
  CHECK(seconds(forced(Kind::kAllReduce, 4e6, {4, 1}, Algorithm::kRing, Protocol::kLl),
                cluster()) == nearly((5 + 6 + 35) * kMicro));
}

// What rank 1 of 16 gathers from rank 2 comes through both nodes and back into the first.
TEST_CASE("a ring crosses the network once for each of its nodes", "[case]") {
  ClusterSpec far = cluster();
  far.device.collectives.ll.network_hop += Seconds(1 * kMicro);
  const auto crossings = [&](Kind op, ProcessGroup group) {
    const Collective ring = forced(op, 8.0, group, Algorithm::kRing, Protocol::kLl);
    return (seconds(ring, far) - seconds(ring, cluster())) / kMicro;
  };
  CHECK(crossings(Kind::kAllGather, {16, 1}) == Approx(2.0));
  CHECK(crossings(Kind::kReduceScatter, {32, 1}) == Approx(4.0));
  CHECK(crossings(Kind::kAllReduce, {16, 1}) == Approx(4.0));
  CHECK(crossings(Kind::kBroadcast, {16, 1}) == Approx(1.0));
  CHECK(crossings(Kind::kAllGather, {4, 8}) == Approx(3.0));  // one GPU of each node
}

// 3 hops of 2 us, 3/4 S over links of 375 GB/s, S / 4 copied at 1 TB/s.
TEST_CASE("a ring by LL128 carries 120 bytes in 128", "[case]") {
  CHECK(seconds(forced(Kind::kAllGather, 4e6, {4, 1}, Algorithm::kRing, Protocol::kLl128),
                cluster()) == nearly((8 + 6 + 8 + 1) * kMicro));
}

// Patarasuk and Yuan: 2 (n - 1)/n S / B, and the rank's own part.
TEST_CASE("a large ring all-reduce by Simple takes 2 (n-1)/n S / B and a copy", "[case]") {
  CHECK(seconds(forced(Kind::kAllReduce, 40e9, {8, 1}, Algorithm::kRing), cluster()) ==
        Approx(0.175 + 0.005).epsilon(1e-3));
  CHECK(seconds(forced(Kind::kAllGather, 40e9, {8, 1}, Algorithm::kRing), cluster()) ==
        Approx(0.0875 + 0.005).epsilon(1e-3));
}

// Of 2 GB between two ranks at 400 GB/s each copies 1 GB for itself at 1 TB/s: half of it keeps the
// link waiting where channels are apart after as much, and never less than the least share.
TEST_CASE("the own block of a large ring is copied beside the link for the most part", "[case]") {
  ClusterSpec apart = cluster();
  SimpleConstants& simple = apart.device.collectives.simple;
  simple.base = simple.hop = Seconds{};
  simple.own_apart = Bytes(1e9);
  simple.own_exposed = 0.25;
  const auto gather = [&](double bytes) {
    return seconds(forced(Kind::kAllGather, bytes, {2, 1}, Algorithm::kRing), apart);
  };
  CHECK(gather(2e9) == nearly(2500 * kMicro + 0.5 * 1000 * kMicro));
  CHECK(gather(2e6) == nearly(2.5 * kMicro + 1.0 / 1.001 * kMicro));
  CHECK(gather(2e10) == nearly(25'000 * kMicro + 0.25 * 10'000 * kMicro));
}

// 27 steps of 3 us inside nodes and 4 of 10 us between them, 31/32 S at 400 GB/s and the own part
// at 1 TB/s. Of 0.5 MB each step waits for all; of 1 GB for the slice of a thousandth.
TEST_CASE("between nodes a ring waits for every step while a part is one slice on each channel",
          "[case]") {
  ClusterSpec long_rings = cluster();
  long_rings.device.collectives.simple.long_hop = Seconds(3e-6);
  const auto gather = [&](double bytes) {
    return seconds(forced(Kind::kAllGather, bytes, {32, 1}, Algorithm::kRing), long_rings);
  };
  CHECK(gather(16e6) == nearly((10 + 121 + 38.75 + 0.5) * kMicro));
  CHECK(gather(32e9) == nearly(10 * kMicro + 77.5e-3 + 1e-3));
}

// Four nodes of eight: 77.5 ms of 32 GB at 400 GB/s, and a half more where a ring reaches two
// thirds.
TEST_CASE("a ring that leaves a leaf of the fabric reaches a share of its rate", "[case]") {
  ClusterSpec leaves = cluster();
  leaves.network.nodes_per_leaf = 2;
  leaves.network.beyond_leaf = 2.0 / 3.0;
  const auto gather = [&](ProcessGroup group, const ClusterSpec& on) {
    return seconds(forced(Kind::kAllGather, 32e9, group, Algorithm::kRing), on);
  };
  CHECK(gather({32, 1}, leaves) - gather({32, 1}, cluster()) == Approx(38.75e-3));
  CHECK(gather({16, 1}, leaves) == nearly(gather({16, 1}, cluster())));
}

TEST_CASE("a hidden hop costs between nothing and itself", "[unit]") {
  CHECK(partly_hidden(Seconds(1e-6), Seconds{}).value() == nearly(1e-6));
  CHECK(partly_hidden(Seconds(1.0), Seconds(1.0)).value() == Approx(1.5874));  // 2^(2/3)
  CHECK(partly_hidden(Seconds(1e-6), Seconds(1.0)).value() == Approx(1.0));
}

TEST_CASE("two GPUs of a mesh of eight have one link of seven", "[case]") {
  CHECK(seconds(forced(Kind::kAllGather, 8e9, {2, 1}, Algorithm::kRing), mesh()) ==
        Approx(4e9 / (400e9 / 7.0) + 0.004).epsilon(1e-3));
}

// Inside a node a ring that goes on to the next loads seven of eight links: 400 * 8/7 = 457 GB/s,
// and eight NICs carry 400.
TEST_CASE("a ring through the nodes of a mesh is bound by the NICs", "[case]") {
  CHECK(seconds(forced(Kind::kAllGather, 16e9, {16, 1}, Algorithm::kRing), mesh()) ==
        Approx(15e9 / 400e9 + 0.001).epsilon(2e-3));
  ClusterSpec fast = mesh();
  fast.device.scale_out.nic_rate = BytesPerSecond(500e9);
  CHECK(seconds(forced(Kind::kAllGather, 16e9, {16, 1}, Algorithm::kRing), fast) ==
        Approx(15e9 / (400e9 * 8.0 / 7.0) + 0.001).epsilon(2e-3));
}

// 2 (7 h + 2 H) and S at half the bus rate.
TEST_CASE("a tree climbs a chain in each node and a binary tree between them", "[case]") {
  CHECK(seconds(forced(Kind::kAllReduce, 4e6, {32, 1}, Algorithm::kTree), cluster()) ==
        nearly((10 + 2 * (28 + 20) + 20) * kMicro));
}

// 2 (3 h + 2 H), 2 * 7/8 S inside and 2 * 3/4 S / 8 of each NIC.
TEST_CASE("recursive doubling takes a logarithm of steps", "[case]") {
  CHECK(seconds(forced(Kind::kAllReduce, 8e6, {32, 1}, Algorithm::kRecursiveDoubling), cluster()) ==
        nearly((10 + 2 * (12 + 20) + 35 + 30) * kMicro));
}

// One hop each way; 28 messages leave the node; 28/32 S through every NIC.
TEST_CASE("a direct all-gather sends every part to every rank", "[case]") {
  CHECK(seconds(forced(Kind::kAllGather, 8e6, {32, 1}, Algorithm::kDirect), cluster()) ==
        nearly((10 + 4 + 10 + 24 + 120) * kMicro));
}

TEST_CASE("a hierarchical all-reduce leaves a node with an eighth of the tensor", "[case]") {
  CHECK(
      seconds(forced(Kind::kAllReduce, 80e9, {32, 1}, Algorithm::kHierarchical), cluster()) ==
      Approx(2 * 70e9 / 400e9 + 2 * 10e9 / 1e12 + 1.5 * 10e9 / 50e9 + 2.5e9 / 1e12).epsilon(1e-3));
}

TEST_CASE("a switch that reduces carries the tensor once", "[case]") {
  CHECK(seconds(forced(Kind::kAllReduce, 30e6, {8, 1}, Algorithm::kInSwitch), cluster()) ==
        nearly((20 + 40 + 100) * kMicro));
  CHECK(seconds(forced(Kind::kAllReduce, 3e6, {8, 1}, Algorithm::kInSwitch), cluster()) ==
        nearly((20 + 12 + 10) * kMicro));
}

// (g - 1)/n S inside at 400 GB/s beside (n - g)/n S over the NIC and one message a peer.
TEST_CASE("a single-shot all-to-all is bound by its NIC", "[case]") {
  CHECK(seconds(forced(Kind::kAllToAll, 32e6, {32, 1}, Algorithm::kDirect), cluster()) ==
        nearly((10 + 10 + 480) * kMicro));
  // Small messages: 24 of them take longer than their bytes.
  CHECK(seconds(forced(Kind::kAllToAll, 320e3, {32, 1}, Algorithm::kDirect), cluster()) ==
        nearly((10 + 10 + 24) * kMicro));
}

TEST_CASE("the most loaded rank sets the pace of an uneven all-to-all", "[case]") {
  Collective uneven = forced(Kind::kAllToAll, 32e6, {32, 1}, Algorithm::kDirect);
  uneven.imbalance = 2.0;
  CHECK(seconds(uneven, cluster()) == nearly((10 + 10 + 960) * kMicro));
}

// 3/4 S both ways at 400 GB/s; of twice that on one rank the second half comes alone, at 500.
TEST_CASE("what the most loaded rank gets above the mean comes when its sends are through",
          "[case]") {
  Collective uneven = forced(Kind::kAllToAll, 32e6, {4, 1}, Algorithm::kDirect);
  const double balanced = seconds(uneven, cluster());
  uneven.imbalance = 2.0;
  CHECK(seconds(uneven, cluster()) == nearly(balanced + 24e6 / 500e9));
}

// 5 us and a hop, half a microsecond for each peer after the first, and 1 kB at 1 GB/s: channels of
// peers work at once. Messages of 3 kB go by Simple.
TEST_CASE("small messages go by LL, each peer's through a channel of its own", "[case]") {
  const auto at = [](double bytes, std::int64_t ranks) {
    return seconds(forced(Kind::kAllToAll, bytes, {ranks, 1}, Algorithm::kDirect), cluster());
  };
  CHECK(at(2e3, 2) == nearly((5 + 1 + 1) * kMicro));
  CHECK(at(8e3, 8) == nearly((5 + 1 + 6 * 0.5 + 1) * kMicro));
  CHECK(at(6e3, 2) > 10 * kMicro);  // LL would take 9
}

TEST_CASE("PXN wins with many nodes and small messages and loses with few and large", "[case]") {
  const auto at = [](std::int64_t ranks, double bytes, Algorithm algorithm) {
    return seconds(forced(Kind::kAllToAll, bytes, {ranks, 1}, algorithm), cluster(128));
  };
  CHECK(at(1024, 4e6, Algorithm::kPxn) < 0.5 * at(1024, 4e6, Algorithm::kDirect));
  CHECK(at(16, 1e9, Algorithm::kPxn) > at(16, 1e9, Algorithm::kDirect));
  for (const double bytes : {1e5, 1e7, 1e9}) {
    for (const std::int64_t ranks : {16, 64, 1024}) {
      CHECK(at(ranks, bytes, Algorithm::kPxn) <= at(ranks, bytes, Algorithm::kHierarchical));
      CHECK(at(ranks, bytes, Algorithm::kAuto) <= at(ranks, bytes, Algorithm::kDirect));
    }
  }
}

// Seven of eight places are reached through a spine of half the rate: 480 us (1/8 + 7/8 * 2).
TEST_CASE("an oversubscribed spine slows what leaves its rail, and PXN stays on it", "[case]") {
  ClusterSpec oversubscribed = cluster();
  oversubscribed.network.oversubscription = 2.0;
  CHECK(seconds(forced(Kind::kAllToAll, 32e6, {32, 1}, Algorithm::kDirect), oversubscribed) ==
        nearly((10 + 10 + 900) * kMicro));
  CHECK(seconds(forced(Kind::kAllToAll, 32e6, {32, 1}, Algorithm::kPxn), oversubscribed) ==
        nearly(seconds(forced(Kind::kAllToAll, 32e6, {32, 1}, Algorithm::kPxn), cluster())));
  oversubscribed.network.topology = NetworkTopology::kFatTree;
  CHECK(seconds(forced(Kind::kAllToAll, 32e6, {32, 1}, Algorithm::kDirect), oversubscribed) ==
        nearly((10 + 10 + 480) * kMicro));
}

TEST_CASE("connections that a NIC does not hold cost a miss", "[case]") {
  ClusterSpec few = cluster();
  few.device.collectives.message.connections = 12;
  few.device.collectives.message.connection_miss = Seconds(2e-6);
  // Half of 24 messages miss: 24 (1 + 1) us.
  CHECK(seconds(forced(Kind::kAllToAll, 320e3, {32, 1}, Algorithm::kDirect), few) ==
        nearly((10 + 10 + 48) * kMicro));
}

// LL while 6 + S / 100 GB/s is less than 10 + S / 300 GB/s: up to 0.6 MB.
TEST_CASE("the library picks the protocol that it estimates to be faster", "[case]") {
  ClusterSpec tuned = cluster();
  tuned.device.collectives.tuning =
      TuningConstants{{Seconds(5e-6), Seconds(1e-6), BytesPerSecond(50e9)},
                      std::nullopt,
                      {Seconds(9e-6), Seconds(1e-6), BytesPerSecond(150e9)},
                      std::nullopt,
                      {}};
  const auto protocol_of = [&](double bytes) {
    const Collective op{Kind::kAllGather, Bytes(bytes), {2, 1}, Axis::kData};
    return make_library_collective()->collective(op, {tuned}).protocol;
  };
  CHECK(protocol_of(0.59e6) == "ll");
  CHECK(protocol_of(0.61e6) == "simple");
}

// Of 32 ranks on four nodes, 27 steps inside at least 1 us long and 4 between nodes: LL128 8 + 54 +
// 16 = 78 us and 31/32 S at 360 GB/s; Simple 9 + 108 + 56 = 173 us and 31/32 S at 400. Both
// estimates are the same at 353 MB.
TEST_CASE("between nodes the library picks by its estimates of the network", "[case]") {
  ClusterSpec tuned = cluster();
  const auto tuning = [](double base, double hop, double rate) {
    return ProtocolTuning{Seconds(base), Seconds(hop), BytesPerSecond(rate)};
  };
  TuningConstants& library = tuned.device.collectives.tuning.emplace();
  library.ll = tuning(5e-6, 0.5e-6, 100e9);
  library.ll128 = tuning(8e-6, 2e-6, 360e9);
  library.simple = tuning(9e-6, 4e-6, 400e9);
  library.network = {Seconds(4e-6), Seconds(14e-6), Seconds(1e-6), BytesPerSecond(25e9), 1.4};
  const auto time_of = [&](double bytes) {
    const Collective op{Kind::kAllGather, Bytes(bytes), {32, 1}, Axis::kData};
    return make_library_collective()->collective(op, {tuned});
  };
  CHECK(time_of(1e3).protocol == "ll");
  CHECK(time_of(350e6).protocol == "ll128");
  CHECK(time_of(356e6).protocol == "simple");
  const auto by_ll = [&](double bytes) {
    return seconds(forced(Kind::kAllGather, bytes, {32, 1}, Algorithm::kRing, Protocol::kLl),
                   tuned);
  };
  // 31/32 of 100 MB more at 25 GB/s.
  CHECK(by_ll(200e6) - by_ll(100e6) == nearly(3.875e-3));
  for (double bytes = 1e3; bytes < 1e9; bytes *= 2.0) {
    CHECK(time_of(bytes).duration.value() <= by_ll(bytes));
  }
}

TEST_CASE("faster NICs make no collective between nodes slower", "[property]") {
  for (const char* gpu : {"a100_80gb", "h100_sxm", "b200", "gb200", "mi300x"}) {
    ClusterSpec real = cluster_of(test::shipped_gpu(gpu), 128);
    for (const Kind op : {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter}) {
      for (const std::int64_t nodes : {2, 8, 32, 128}) {
        for (double bytes = 1e5; bytes < 1e10; bytes *= 3.0) {
          double before = 1e9;
          for (double rate = 3e9; rate < 4e11; rate *= 1.3) {
            real.device.scale_out.nic_rate = BytesPerSecond(rate);
            const double now =
                seconds({op, Bytes(bytes), {nodes * real.gpus_per_node, 1}, Axis::kData}, real);
            INFO(gpu << " " << name(op) << " of " << nodes << " nodes, " << bytes << " bytes, "
                     << rate << " bytes a second");
            REQUIRE(now <= before * (1.0 + 1e-12));
            before = now;
          }
        }
      }
    }
  }
}

// From one size to the next, 1.3 times as large, no more than the library's estimates flatter
// Simple against LL128.
TEST_CASE("between nodes no size takes much longer than one a little smaller", "[property]") {
  for (const char* gpu : {"a100_80gb", "h100_sxm", "b200", "gb200", "mi300x"}) {
    const ClusterSpec real = cluster_of(test::shipped_gpu(gpu), 128);
    for (const Kind op : {Kind::kAllGather, Kind::kReduceScatter}) {
      for (const std::int64_t nodes : {2, 8, 32, 128}) {
        if (nodes * real.gpus_per_node <= real.domain_size()) {
          continue;
        }
        double before = 1e9;
        for (double bytes = 1e5; bytes < 1e11; bytes *= 1.3) {
          const double now =
              seconds({op, Bytes(bytes), {nodes * real.gpus_per_node, 1}, Axis::kData}, real);
          INFO(gpu << " " << name(op) << " of " << nodes << " nodes, " << bytes << " bytes");
          REQUIRE(now <= 1.6 * before);
          before = now;
        }
      }
    }
  }
}

TEST_CASE("a library that does not use LL128 on a part does not between nodes either", "[case]") {
  const ClusterSpec b200 = cluster_of(test::shipped_gpu("b200"), 64);
  for (double bytes = 1e3; bytes < 1e11; bytes *= 10.0) {
    const Collective op{Kind::kAllReduce, Bytes(bytes), {512, 1}, Axis::kData};
    CHECK(make_library_collective()->collective(op, {b200}).protocol != "ll128");
  }
}

TEST_CASE("a switch of protocols never makes a larger tensor faster", "[unit]") {
  for (const char* gpu : {"a100_80gb", "h100_sxm", "b200", "gb200", "mi300x"}) {
    const ClusterSpec real = cluster_of(test::shipped_gpu(gpu), 4);
    for (const Kind op :
         {Kind::kAllReduce, Kind::kAllGather, Kind::kBroadcast, Kind::kAllToAll, Kind::kSendRecv}) {
      for (const std::int64_t ranks : {2, 4, 8, 32}) {
        double before = 0.0;
        for (double bytes = 256; bytes < 1e10; bytes *= 1.07) {
          const double now = seconds({op, Bytes(bytes), {ranks, 1}, Axis::kData}, real);
          INFO(gpu << " " << name(op) << " of " << ranks << ", " << bytes << " bytes");
          REQUIRE(now >= before);
          before = now;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stepcast::library_collective_test
