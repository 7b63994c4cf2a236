// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/trace_recording.hpp"

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "trace_text.hpp"

namespace stepcast::trace_recording_test {
using namespace stepcast::test;

namespace {

// Of the innermost operator of a call; empty: none is known.
std::string operator_of(const TraceRecording& recording, std::size_t call) {
  const std::int32_t op = recording.calls[call].op;
  return op < 0 ? "" : recording.texts.text(recording.operators[static_cast<std::size_t>(op)].name);
}

std::string fault_of(const std::string& text) {
  try {
    recording_of(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A kernel belongs to the innermost operator around its launch", "[unit]") {
  // aten::linear 0 to 100 calls aten::mm 10 to 50, which launches at 20; aten::add follows at 60.
  const TraceRecording recording = recording_of(trace_text(
      host_operator("aten::mm", 10, 40, "[[8, 4], [4, 2]]"), kernel("nvjet_a", 5, 200, 10),
      host_operator("aten::linear", 0, 100, "[[8, 4], [2, 4]]"), launch(5, 20), launch(6, 65),
      host_operator("aten::add", 60, 10), kernel("elementwise", 6, 220, 10), launch(7, 150),
      kernel("nvjet_alone", 7, 240, 10)));
  REQUIRE(recording.calls.size() == 3);
  CHECK(operator_of(recording, 0) == "aten::mm");
  CHECK(operator_of(recording, 1) == "aten::add");
  CHECK(operator_of(recording, 2).empty());
  const HostOperator& mm = recording.operators[0];
  CHECK(recording.texts.text(mm.input_dims) == "[[8,4],[4,2]]");
  REQUIRE(mm.parent >= 0);
  const HostOperator& linear = recording.operators[static_cast<std::size_t>(mm.parent)];
  CHECK(recording.texts.text(linear.name) == "aten::linear");
  CHECK(recording.head.device.name == "NVIDIA H200");
  CHECK(recording.head.rank == 1);
  CHECK(recording.head.world == 2);
}

TEST_CASE("Categories of PyTorch before 1.13 are those of today", "[unit]") {
  const TraceRecording recording = recording_of(trace_text(
      span_event("Operator", "aten::mm", 1, 0, 20), span_event("Kernel", "a", 7, 30, 1)));
  REQUIRE(recording.calls.size() == 1);
  CHECK(recording.operators.size() == 1);
  CHECK_FALSE(recording.has_backward);
}

TEST_CASE("Of several devices the identity is that of the one that is kept", "[unit]") {
  const std::string devices = R"({"deviceProperties": [{"id": 0, "name": "A", "numSms": 1},
    {"id": 3, "name": "B", "totalGlobalMem": 8e10, "numSms": 132}], "traceEvents": [)";
  const std::string calls =
      R"({"ph": "X", "cat": "kernel", "name": "fmha_bwd", "pid": 3, "tid": 7, "ts": 0, "dur": 9}]})";
  const TraceRecording recording = recording_of(devices + calls);
  CHECK(recording.head.device.name == "B");
  CHECK(recording.head.device.memory->value() == 8e10);
  CHECK(*recording.head.device.compute_units == 132);
  CHECK(recording.has_backward);
}

TEST_CASE("An operator ends before what its thread launches at that moment", "[unit]") {
  const TraceRecording recording =
      recording_of(trace_text(host_operator("aten::mm", 0, 20), launch(5, 20),
                              host_operator("aten::add", 20, 5), kernel("a", 5, 30, 1)));
  CHECK(operator_of(recording, 0) == "aten::add");
}

TEST_CASE("Without a launch the operator is found by its number", "[unit]") {
  const TraceRecording recording = recording_of(trace_text(
      span_event("cpu_op", "aten::mm", 1, 0, 9, R"("External id": 77)"),
      span_event("kernel", "nvjet", 7, 20, 5, R"("correlation": 3, "External id": 77)"),
      span_event("kernel", "nvjet", 7, 30, 5, R"("correlation": 4, "External id": 78)")));
  CHECK(operator_of(recording, 0) == "aten::mm");
  CHECK(operator_of(recording, 1).empty());
}

TEST_CASE("The kernels of a captured graph have no operator", "[unit]") {
  const TraceRecording recording =
      recording_of(trace_text(host_operator("aten::mm", 0, 100), launch(5, 20, "cudaGraphLaunch"),
                              kernel("nvjet_a", 5, 200, 10), kernel("nvjet_b", 5, 210, 10)));
  REQUIRE(recording.calls.size() == 2);
  CHECK(recording.calls[0].in_graph);
  CHECK(operator_of(recording, 0).empty());
  CHECK(operator_of(recording, 1).empty());
}

TEST_CASE("Of several devices the one that is busy for longest is kept", "[unit]") {
  const std::string other =
      R"({"ph": "X", "cat": "kernel", "name": "b", "pid": 3, "tid": 7, "ts": 0, "dur": 11})";
  const TraceRecording recording = recording_of(trace_text(kernel("a", 0, 0, 10), other));
  REQUIRE(recording.calls.size() == 1);
  CHECK(recording.calls[0].device == 3);
  CHECK(recording.devices == 2);
}

TEST_CASE("Shapes of lists of tensors and long ones do no harm", "[unit]") {
  std::string dims = "[[[8, 4], [2]], [3]";
  for (int i = 0; i < 5000; ++i) {
    dims += ", [1]";
  }
  const TraceRecording recording = recording_of(
      trace_text(host_operator("aten::_foreach_add_", 0, 10, dims + "]"), kernel("a", 0, 0, 1)));
  const std::string& kept = recording.texts.text(recording.operators[0].input_dims);
  CHECK(kept.starts_with("[[[8,4],[2]],[3],[1]"));
}

TEST_CASE("Files of other kinds are named in the refusal", "[unit]") {
  CHECK(fault_of("").find("the file is empty") != std::string::npos);
  CHECK(fault_of("PK\x03\x04rest").find("zip archive") != std::string::npos);
  CHECK(fault_of("\x80\x04rest").find("pickle") != std::string::npos);
  CHECK(fault_of("\x1f\x8brest").find("compressed twice") != std::string::npos);
  CHECK(fault_of("[1, 2]").find("a list, not an object with 'traceEvents'") != std::string::npos);
  CHECK(fault_of(R"({"traceEvents": [{"ph")").find("cut off") != std::string::npos);
  CHECK(fault_of(R"({"traceEvents": [}]})").find("wrong at byte 17") != std::string::npos);
  const std::string endless = R"({"traceEvents": [{"name": ")" + std::string(18U << 20U, 'x');
  CHECK(fault_of(endless).find("more than 16 MiB") != std::string::npos);
}

TEST_CASE("Numbers that JSON does not know stand in traces", "[unit]") {
  const TraceRecording recording = recording_of(trace_text(
      span_event("gpu_memcpy", "Memcpy DtoD", 7, 0, 0, R"("blocks per SM": Infinity, "x": NaN)")));
  CHECK(recording.calls.size() == 1);
}

}  // namespace stepcast::trace_recording_test
