// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/device_spec.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::exchange_assumptions_test {
namespace {

Provenance constant(const std::string& key, SourceKind kind, const std::string& source) {
  return {.key = key,
          .value = "1",
          .kind = kind,
          .source = source,
          .note = "",
          .stated_in = "",
          .file = ""};
}

TEST_CASE("assumed constants of a dispatcher are counted, with the reason of most of them",
          "[unit]") {
  DeviceSpec device;
  device.name = "part";
  device.provenance = {
      constant("deepep.units", SourceKind::kMeasured, "TABLE"),
      constant("deepep.relay_share", SourceKind::kAssumed, "as another part"),
      constant("deepep.dispatch.start_up", SourceKind::kAssumed, "as H100"),
      constant("deepep.combine.start_up", SourceKind::kAssumed, "as H100"),
      constant("deepep_v2.combine.start_up", SourceKind::kAssumed, "a barrier"),
      constant("simple.start_up", SourceKind::kAssumed, "of another table"),
  };
  CHECK(assumed_exchange(device, Dispatcher::kDeepEp) ==
        "exchange constants of deepep on part assumed, 3 of 4: as H100; ...");
  CHECK(assumed_exchange(device, Dispatcher::kDeepEpV2) ==
        "exchange constants of deepep_v2 on part assumed, 1 of 1: a barrier");
}

TEST_CASE("a dispatcher whose constants all have a source rests on no assumption", "[unit]") {
  CHECK(assumed_exchange(test::shipped_gpu("h100_sxm"), Dispatcher::kDeepEp).empty());
  CHECK(assumed_exchange(test::shipped_gpu("h100_sxm"), Dispatcher::kAllGather).empty());
}

TEST_CASE("DeepEP on every AMD part says what of it is assumed", "[unit]") {
  for (const char* gpu : {"mi300x", "mi325x", "mi355x"}) {
    const std::string text = assumed_exchange(test::shipped_gpu(gpu), Dispatcher::kDeepEp);
    INFO(text);
    CHECK(text.starts_with("exchange constants of deepep on " + std::string(gpu) +
                           " assumed, 11 of 19: "));
  }
}

}  // namespace
}  // namespace stepcast::exchange_assumptions_test
