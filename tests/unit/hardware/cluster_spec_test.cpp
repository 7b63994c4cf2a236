// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/cluster_spec.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/hardware/process_group.hpp"

namespace stepcast::cluster_spec_test {
namespace {

using test::config_error;
using test::data_root;

TEST_CASE("every shipped cluster profile loads, and its GPU exists", "[unit]") {
  const std::vector<std::string> names = names_in(data_root().clusters());
  REQUIRE(names.size() >= 5);
  const SourceTable sources = load_shared_sources(data_root());
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(config_error([&] {
            const ClusterProfile profile =
                load_cluster_profile(data_root().clusters() / (name + ".yaml"), sources);
            CHECK(profile.name == name);
            const ClusterSpec cluster = cluster_of(profile, test::shipped_gpu(profile.gpu), 2);
            CHECK(cluster.gpus() == 2 * cluster.gpus_per_node);
            CHECK(cluster.network.oversubscription >= 1.0);
          }) == "no error");
  }
}

TEST_CASE("a cluster profile changes what it gives and keeps the rest", "[unit]") {
  DeviceSpec device;
  device.gpus_per_node = 8;
  device.scale_out.nic_rate = BytesPerSecond(50e9);
  device.scale_out.nics_per_gpu = 1.0;
  ClusterProfile profile;
  profile.name = "cluster";
  profile.nic_rate = BytesPerSecond(25e9);
  const ClusterSpec cluster = cluster_of(profile, device, 4);
  CHECK(cluster.gpus() == 32);
  CHECK(cluster.device.scale_out.nic_rate == BytesPerSecond(25e9));
  CHECK(cluster.device.scale_out.nics_per_gpu == 1.0);
}

TEST_CASE("a switched domain may span nodes and ends with the cluster", "[unit]") {
  DeviceSpec device;
  device.gpus_per_node = 4;
  device.scale_up.domain_size = 72;
  CHECK(cluster_of(device, 1).domain_size() == 4);    // one tray
  CHECK(cluster_of(device, 18).domain_size() == 72);  // one rack
  CHECK(cluster_of(device, 36).domain_size() == 72);  // two racks
}

// Groups on 4 nodes of 8 GPUs.
TEST_CASE("a process group has as many members in a domain as its stride leaves", "[unit]") {
  CHECK(members_in_domain({8, 1}, 8) == 8);
  CHECK(members_in_domain({4, 2}, 8) == 4);  // every second GPU
  CHECK(members_in_domain({16, 2}, 8) == 4);
  CHECK(members_in_domain({4, 8}, 8) == 1);  // one in each node
  CHECK(members_in_domain({2, 32}, 8) == 1);
  CHECK(domains_spanned({8, 1}, 8) == 1);
  CHECK(domains_spanned({16, 2}, 8) == 4);
  CHECK(domains_spanned({4, 8}, 8) == 4);
  CHECK(domains_spanned({1, 1}, 8) == 1);
}

}  // namespace
}  // namespace stepcast::cluster_spec_test
