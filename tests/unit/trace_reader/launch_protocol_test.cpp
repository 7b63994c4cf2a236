// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/launch_protocol.hpp"

#include "catch.hpp"
#include "trace_reader/measured_step.hpp"
#include "trace_text.hpp"

namespace stepcast::launch_protocol_test {
using namespace stepcast::test;

namespace {

// Kernels of one name, whatever the protocol is.
std::string gather(double start, long long elements, const char* grid, const char* block) {
  return span_event(
      "kernel", "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 22, start, 10,
      R"("Collective name": "_allgather_base", "Out msg nelems": )" + std::to_string(elements) +
          R"(, "Group size": 2, "dtype": "BFloat16", "Process Group Name": "0", )" +
          R"("Process Group Ranks": "[0, 1]", "grid": )" + grid + R"(, "block": )" + block);
}

}  // namespace

TEST_CASE("A ring of Simple has a warp more than LL, and 640 threads tell nothing", "[unit]") {
  CHECK(protocol_of_launch({24, 544}) == Protocol::kSimple);
  CHECK(protocol_of_launch({1, 160}) == Protocol::kSimple);
  CHECK(protocol_of_launch({1, 128}) == Protocol::kLl);
  CHECK(protocol_of_launch({16, 512}) == Protocol::kLl);
  CHECK_FALSE(protocol_of_launch({32, 640}));
  CHECK_FALSE(protocol_of_launch({}));
}

TEST_CASE("The protocol of a traced collective is read from its launch, not from its name",
          "[unit]") {
  const MeasuredStep step =
      measured_step(recording_of(trace_text(gather(0, 2000, "[24, 1, 1]", "[544, 1, 1]"),
                                            gather(20, 2000, "[24, 1, 1]", "[544, 1, 1]"),
                                            gather(40, 8, "[1, 1, 1]", "[128, 1, 1]"),
                                            gather(60, 900, "[1, 1, 1]", "[128, 1, 1]"),
                                            gather(80, 900, "[24, 1, 1]", "[544, 1, 1]"))),
                    "trace.json");
  REQUIRE(step.operators.size() == 3);
  for (const TracedOperator& row : step.operators) {
    const double bytes = bytes_of(row.shape.value());
    if (bytes == 4000) {
      CHECK(row.launch == KernelLaunch{24, 544});
      CHECK(row.protocol == Protocol::kSimple);
    } else if (bytes == 16) {
      CHECK(row.protocol == Protocol::kLl);
    } else {  // the calls differ
      CHECK_FALSE(row.protocol);
    }
  }
}

}  // namespace stepcast::launch_protocol_test
