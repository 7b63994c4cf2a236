// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nvtx_names.hpp"

#include "catch.hpp"

namespace stepcast::nvtx_names_test {
namespace {

TEST_CASE("A range of emit_nvtx is an operator with the shapes of its inputs", "[unit]") {
  const NvtxRangeName mm = nvtx_range_name(
      "aten::mm, seq = 3, op_id = 7, sizes = [[8, 4], [4, 2], []], input_op_ids = [(5,0), (6,1)]");
  CHECK(mm.name == "aten::mm");
  CHECK(mm.input_dims == "[[8,4],[4,2],[]]");
  CHECK(mm.of_operator);
  CHECK(nvtx_range_name("MmBackward0, seq = 3").of_operator);
  CHECK(nvtx_range_name("c10d::allreduce_, op_id = 12").of_operator);
  CHECK(nvtx_range_name("aten::add, op_id = 12").input_dims.empty());
}

TEST_CASE("A range of a user's own is no operator", "[unit]") {
  CHECK_FALSE(nvtx_range_name("## forward ##, op_id = 12").of_operator);
  CHECK_FALSE(nvtx_range_name("std::sort of a user").of_operator);
  CHECK(nvtx_range_name("FSDP::pre_forward (layers.0), op_id = 3").name ==
        "FSDP::pre_forward (layers.0)");
}

TEST_CASE("A step is a range that is called one with its number", "[unit]") {
  for (const char* step : {"step 7", "Iteration: 7", "train_step_7", "ProfilerStep#7", "iter=0",
                           "Training Step #12", "iteration7"}) {
    CAPTURE(step);
    CHECK(step_kind(step).has_value());
  }
  for (const char* other : {"step", "7", "", "optimizer step 7", "layer 7", "micro-batch 3",
                            "aten::mm", "forward_step_3", "stepping 7", "   7"}) {
    CAPTURE(other);
    CHECK_FALSE(step_kind(other).has_value());
  }
  CHECK(step_kind("ProfilerStep#7") < step_kind("step 7"));
  CHECK(step_kind("step 7") < step_kind("batch 7"));
}

}  // namespace
}  // namespace stepcast::nvtx_names_test
