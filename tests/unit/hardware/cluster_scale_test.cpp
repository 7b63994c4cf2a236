// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/cluster_scale.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/deciding_defaults.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast::cluster_scale_test {
namespace {

using test::config_error;
using test::contains_text;
using test::data_root;

std::filesystem::path example() {
  return data_root().folder / "examples/12_llama3.1_405b_h100/experiment.yaml";
}

TEST_CASE("a factor of one changes nothing", "[unit]") {
  const ClusterSpec plain = cluster_of(test::shipped_gpu("h100_sxm"), 2);
  const ClusterSpec same = scaled(plain, {});
  CHECK(same.device.hbm.achieved == plain.device.hbm.achieved);
  CHECK(same.device.scale_up.link_rate == plain.device.scale_up.link_rate);
  CHECK(same.device.matrix_peak(Dtype::kBf16, Hertz(1e9)) ==
        plain.device.matrix_peak(Dtype::kBf16, Hertz(1e9)));
  CHECK(same.device.collectives.simple.hop == plain.device.collectives.simple.hop);
}

TEST_CASE("each factor multiplies its own rates and no other", "[unit]") {
  const DeviceSpec plain = test::shipped_gpu("h100_sxm");
  const ClusterScale scale{.matrix_rate = 2.0,
                           .hbm_bandwidth = 3.0,
                           .scale_up_bandwidth = 5.0,
                           .scale_out_bandwidth = 7.0,
                           .latency = 11.0};
  const DeviceSpec device = scaled(cluster_of(plain, 2), scale).device;
  constexpr std::size_t bf16 = slot(Dtype::kBf16);
  CHECK(*device.matrix_rate[bf16] == 2.0 * *plain.matrix_rate[bf16]);
  CHECK(device.vector_rate == plain.vector_rate);
  CHECK(device.hbm.peak == 3.0 * plain.hbm.peak);
  CHECK(device.hbm.achieved == 3.0 * plain.hbm.achieved);
  CHECK(device.hbm.capacity == plain.hbm.capacity);
  CHECK(device.scale_up.link_rate == 5.0 * plain.scale_up.link_rate);
  CHECK(device.scale_out.nic_rate == 7.0 * plain.scale_out.nic_rate);
  CHECK(device.launch_latency == 11.0 * plain.launch_latency);
  CHECK(device.scale_out.base_latency == 11.0 * plain.scale_out.base_latency);
  CHECK(device.collectives.ll.network_hop == 11.0 * plain.collectives.ll.network_hop);
  CHECK(device.clock.peak == plain.clock.peak);
}

TEST_CASE("a host whose calls take longer is a factor of its own, of a set's own times too",
          "[unit]") {
  ClusterSpec plain = cluster_of(test::shipped_gpu("mi300x"), 1);
  plain.host.eager_call = Seconds(10e-6);
  const ClusterSpec slow = scaled(plain, {.host_time = 1.5});
  CHECK(slow.host.eager_call.value() == Approx(15e-6));
  CHECK(slow.host.pace == 1.5);
  CHECK(slow.device.launch_latency == plain.device.launch_latency);
}

TEST_CASE("a FLOP of faster matrix units takes the same energy", "[unit]") {
  const DeviceSpec plain = test::shipped_gpu("mi300x");
  const DeviceSpec device = scaled(cluster_of(plain, 1), {.matrix_rate = 2.0}).device;
  constexpr std::size_t bf16 = slot(Dtype::kBf16);
  const auto of_flop = [](const DeviceSpec& d) {
    return d.kernels.power.matrix_energy[bf16]->value() / d.matrix_rate[bf16]->value();
  };
  CHECK(of_flop(device) == of_flop(plain));
}

TEST_CASE("an experiment scales its cluster after everything else that it says of it", "[unit]") {
  const Experiment experiment = load_experiment(
      example(), {"cluster.nic_rate=100 Gb/s", "cluster.scale.scale_out_bandwidth=0.5"},
      data_root());
  CHECK(experiment.cluster.device.scale_out.nic_rate.value() == 6.25e9);
}

TEST_CASE("a step that waits for its host says what it would be with processes that are not bound",
          "[unit]") {
  const auto told = [](const std::vector<Override>& settings) {
    const CostModel cost = default_cost_model();
    const Experiment experiment = load_experiment(example(), settings, data_root());
    return note_of(deciding_defaults(experiment, project(experiment, cost), cost, data_root()));
  };
  const std::vector<Override> eager = {"model=llama3.1_8b", "software=torchtitan_eager",
                                       "training.sequence_length=256", "plan={fsdp: 8}",
                                       "cluster.nodes=1"};
  CHECK_THAT(told(eager), contains_text("host bound to the socket of its GPU (not bound: "));
  CHECK(told({}).find("not bound") == std::string::npos);
}

TEST_CASE("factors that are none are refused", "[unit]") {
  const auto refused = [](const std::string& setting) {
    return config_error([&] { load_experiment(example(), {setting}, data_root()); });
  };
  CHECK_THAT(refused("cluster.scale.hbm_bandwidth=0"), contains_text("hbm_bandwidth"));
  CHECK_THAT(refused("cluster.scale.latency=-1"), contains_text("latency"));
  CHECK_THAT(refused("cluster.scale.hbm_bandwith=1.01"),
             contains_text("did you mean 'hbm_bandwidth'"));
}

}  // namespace
}  // namespace stepcast::cluster_scale_test
