// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/placed_constants.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::placed_numbers_test {
namespace {

const PlacedNumber* find(const std::vector<PlacedNumber>& numbers, std::string_view key) {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [key](const PlacedNumber& entry) {
    return entry.origin->key == key;
  });
  return found == numbers.end() ? nullptr : &*found;
}

TEST_CASE("a placed number is the one that the profile's key was read into", "[unit]") {
  ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 2);
  const std::vector<PlacedNumber> numbers = placed_numbers(cluster);
  const PlacedNumber* hbm = find(numbers, "hbm.peak");
  REQUIRE(hbm != nullptr);
  CHECK(hbm->value() == cluster.device.hbm.peak.value());
  hbm->set(1e12);
  CHECK(cluster.device.hbm.peak == BytesPerSecond(1e12));
  const PlacedNumber* share = find(numbers, "simple.ring_share");
  REQUIRE(share != nullptr);
  share->set(0.25);
  CHECK(cluster.device.collectives.simple.ring_share == 0.25);
  const PlacedNumber* efficiency = find(numbers, "gemm.matrix_efficiency.bf16");
  REQUIRE(efficiency != nullptr);
  efficiency->set(0.5);
  CHECK(cluster.device.kernels.gemm.matrix_efficiency[slot(Dtype::kBf16)] == 0.5);
}

TEST_CASE("a number that the profile gives has a place, a count has none", "[unit]") {
  for (const char* gpu : {"h100_sxm", "mi300x", "b200", "a100_80gb", "mi355x"}) {
    CAPTURE(gpu);
    ClusterSpec cluster = cluster_of(test::shipped_gpu(gpu), 2);
    const std::vector<PlacedNumber> numbers = placed_numbers(cluster);
    for (const char* key :
         {"clock.peak", "power.limit", "power.matrix_energy.bf16", "attention.group_cycles",
          "memory_bound.streaming", "message.issue", "scale_out.nic_rate",
          "deepep.dispatch.start_up", "attention.forward_efficiency", "launch_latency"}) {
      CAPTURE(key);
      CHECK(find(numbers, key) != nullptr);
    }
    CHECK(find(numbers, "compute_units") == nullptr);
    CHECK(find(numbers, "scale_up.links") == nullptr);
  }
}

TEST_CASE("every number with a unit that a part's profile states has a place", "[unit]") {
  for (const char* gpu : {"h100_sxm", "mi300x", "gb200"}) {
    ClusterSpec cluster = cluster_of(test::shipped_gpu(gpu), 2);
    std::set<std::string> placed;
    for (const PlacedNumber& number : placed_numbers(cluster)) {
      placed.insert(number.origin->key);
    }
    for (const Provenance& entry : cluster.device.provenance) {
      const bool has_unit = entry.value.find_first_of("0123456789") == 0 &&
                            entry.value.find(' ') != std::string::npos &&
                            entry.value.find(',') == std::string::npos &&
                            entry.value.find('x') == std::string::npos;
      CAPTURE(gpu, entry.key, entry.value);
      CHECK((!has_unit || placed.contains(entry.key)));
    }
  }
}

TEST_CASE("the numbers of a host are its own", "[unit]") {
  HostSpec host = load_named_host(std::string(kUsualHost), test::data_root(), {"test", 1, 1});
  const std::vector<PlacedNumber> numbers = placed_numbers(host);
  CHECK(numbers.size() + 2 == host.provenance.size());  // update_cores, socket_devices are counts
  const PlacedNumber* call = find(numbers, "eager_call");
  REQUIRE(call != nullptr);
  call->set(1.0);
  CHECK(host.eager_call == Seconds(1.0));
}

}  // namespace
}  // namespace stepcast::placed_numbers_test
