// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/host_transfers.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/schedule/host_launches.hpp"

namespace stepcast::host_transfers_test {
namespace {

using test::nearly;
using test::Sample;

constexpr double kInput = 1024.0 * 1024.0 * 2.0;  // of a layer: 1,024 tokens of 1,024 values

struct OnHost {
  Sample sample = test::dense_sample();
  ClusterSpec cluster = test::round_cluster(1);
  CostModel cost;

  OnHost() {
    cluster.host.device_link = BytesPerSecond(50e9);
    cluster.host.core_memory = BytesPerSecond(12.5e9);
    cluster.host.update_cores = 16;
    cluster.host.socket_memory = BytesPerSecond(200e9);
    cluster.host.norm_memory = BytesPerSecond(10e9);
  }
  [[nodiscard]] HostTraffic traffic() const {
    return host_traffic(sample.context(), cluster, StageBuilder().stage(sample.context(), 0));
  }
  // Of 1e9 parameters.
  [[nodiscard]] double update() const {
    const ExpansionContext context = sample.context();
    return offload_time({context, cluster, cost, Hertz(1e9)}, {{1e9, 0.0, 0.0, 0.0}, {}}).value();
  }
};

TEST_CASE("Saved tensors go down in forward and come up in backward", "[case]") {
  OnHost on_host;
  on_host.sample.training.recompute.kind = RecomputeKind::kFull;
  CHECK(on_host.traffic().forward.down == Bytes{});
  on_host.sample.training.offload.activations = true;
  CHECK(on_host.traffic().forward.down == Bytes(8.0 * kInput));
  CHECK(on_host.traffic().backward.up == Bytes(8.0 * kInput));
  CHECK(on_host.traffic().backward.down == Bytes{});
  on_host.sample.training.offload.activations_overlap = false;
  CHECK(on_host.traffic().forward.down == Bytes{});
  CHECK(on_host.traffic().forward.behind == Bytes(8.0 * kInput));
  CHECK(on_host.traffic().backward.behind == Bytes(8.0 * kInput));
}

// Eight layers and the ends beside them are nine units, of which the first waits.
TEST_CASE("Parameters come up for each gather of forward and of backward", "[case]") {
  OnHost on_host;
  on_host.sample.plan.zero = 3;
  on_host.sample.software.fsdp_parameters_fp32 = false;
  on_host.sample.training.offload.parameters = true;
  const Sample& sample = on_host.sample;
  const double all = StageBuilder().stage(sample.context(), 0).parameters.all().total();
  const HostTraffic traffic = on_host.traffic();
  CHECK(traffic.forward.up == Bytes(2.0 * all));
  CHECK(traffic.forward.first.value() == nearly(2.0 * all / 9.0));
  CHECK(traffic.backward.up == Bytes(2.0 * all));
}

// Reduced gradients of 4 bytes go down after every micro-batch and come up to be added to; the
// update reads 4 more.
TEST_CASE("Gradients go to the host that takes all", "[case]") {
  OnHost on_host;
  on_host.sample.training.optimizer.offload = OptimizerOffload{1.0, false, OffloadedStates::kAll};
  const Sample& sample = on_host.sample;
  const double all = StageBuilder().stage(sample.context(), 0).parameters.all().total();
  CHECK(on_host.traffic().backward.down == Bytes(4.0 * all));
  CHECK(on_host.traffic().backward.up == Bytes(4.0 * all));
  CHECK(on_host.traffic().last_backward.down == Bytes(8.0 * all));
  on_host.sample.plan.micro_batches = 1;
  CHECK(on_host.traffic().last_backward.down == Bytes(4.0 * all));
  CHECK(on_host.traffic().last_backward.up == Bytes{});
  on_host.sample.software.overlap_grad_reduce = false;
  CHECK(on_host.traffic().last_backward.behind == Bytes(4.0 * all));
}

// 10 GB down beside 5 GB up over 10 GB/s, of which 1 GB comes first: 0.1 s and what 1 s is longer
// than the pass.
TEST_CASE("A pass waits for its first unit and for what it does not hide", "[case]") {
  const LinkBytes bytes{Bytes(10e9), Bytes(5e9), Bytes(1e9), {}};
  const BytesPerSecond link(10e9);
  CHECK(waiting_for_link(bytes, link, Seconds(2.0)).value() == nearly(0.1));
  CHECK(waiting_for_link(bytes, link, Seconds(0.25)).value() == nearly(0.85));
  CHECK(waiting_for_link(bytes, {}, Seconds(0.25)) == Seconds{});
  CHECK(waiting_for_link({{}, {}, {}, Bytes(5e9)}, link, Seconds(9.0)).value() == nearly(0.5));
}

// Moments: 4 bytes down, 28 moved, 4 of the fp32 copy up. All: gradients are down already, 14 bytes
// more are moved (scaled in place, and a copy of 16 bits made), 2 up.
TEST_CASE("What an offload takes decides what its update moves", "[case]") {
  OnHost on_host;
  std::optional<OptimizerOffload>& offload = on_host.sample.training.optimizer.offload;
  offload = OptimizerOffload{};
  CHECK(on_host.update() == nearly(4.0 / 50 + 28.0 / 100 + 2.0 / 50));
  offload->states = OffloadedStates::kMoments;
  CHECK(on_host.update() == nearly(4.0 / 50 + 28.0 / 100 + 4.0 / 50));
  offload->states = OffloadedStates::kAll;
  CHECK(on_host.update() == nearly(42.0 / 100 + 2.0 / 50));
  on_host.sample.training.offload.parameters = true;
  CHECK(on_host.update() == nearly(42.0 / 100));
}

// 4 cores of 12.5 GB/s and a socket of 200: 20 + 5 ms a GB; 16 cores 5 + 5; with four devices on
// the socket 5 + 20.
TEST_CASE("A byte of an update takes the time of its cores and of its socket's memory", "[case]") {
  OnHost on_host;
  std::optional<OptimizerOffload>& offload = on_host.sample.training.optimizer.offload;
  offload = OptimizerOffload{};
  offload->cores = 4;
  CHECK(on_host.update() == nearly(4.0 / 50 + 28.0 * 0.025 + 2.0 / 50));
  offload->cores = 16;
  CHECK(on_host.update() == nearly(4.0 / 50 + 28.0 * 0.010 + 2.0 / 50));
  on_host.cluster.host.socket_devices = 4;
  CHECK(on_host.update() == nearly(4.0 / 50 + 28.0 * 0.025 + 2.0 / 50));
}

// 4 bytes of gradient at 10 GB/s, then 28 of the update and 8 in which gradients are scaled.
TEST_CASE("clip_grad_norm_ of gradients on the host is one core's", "[case]") {
  OnHost on_host;
  OptimizerOffload all{1.0, false, OffloadedStates::kAll};
  on_host.sample.training.optimizer.offload = all;
  on_host.sample.training.offload.parameters = true;
  on_host.sample.software.norms_on_host = true;
  CHECK(on_host.update() == nearly(28.0 / 100));
  on_host.sample.software.scales_gradients = true;
  CHECK(on_host.update() == nearly(4.0 / 10 + 36.0 / 100));
}

TEST_CASE("A GPU's own link goes before that of its host's profile", "[unit]") {
  OnHost on_host;
  CHECK(on_host.cluster.host_link() == BytesPerSecond(50e9));
  on_host.cluster.device.host_link = BytesPerSecond(150e9);
  CHECK(on_host.cluster.host_link() == BytesPerSecond(150e9));
}

// Moments of 8 bytes, of which as much comes and goes as the device lacks.
TEST_CASE("Paged moments move where the device has no room for them", "[case]") {
  OnHost on_host;
  on_host.sample.training.optimizer.paged = true;
  const ExpansionContext context = on_host.sample.context();
  const double used = memory_by_stage(context).front().used().value();
  const auto seconds = [&](double capacity) {
    on_host.cluster.device.hbm.capacity = Bytes(capacity);
    return paging_time({context, on_host.cluster, on_host.cost, Hertz(1e9)},
                       {{1e9, 0.0, 0.0, 0.0}, {}})
        .value();
  };
  CHECK(seconds(used + 8e9) == 0.0);
  CHECK(seconds(used + 6e9) == nearly(2.0 * 2.0 / 50));
  CHECK(seconds(used - 1e9) == nearly(2.0 * 8.0 / 50));
}

}  // namespace
}  // namespace stepcast::host_transfers_test
