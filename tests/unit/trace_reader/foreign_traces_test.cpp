// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/foreign_traces.hpp"

#include <sstream>

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "trace_reader/trace_recording.hpp"

namespace stepcast::foreign_traces_test {
namespace {

std::string fault_of(const std::string& text, const std::string& file = "trace") {
  std::istringstream stream(text);
  try {
    read_recording(stream, file);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& fault, const std::string& what) {
  return fault.find(what) != std::string::npos;
}

TEST_CASE("What is no trace of PyTorch's profiler is called what it is", "[unit]") {
  std::string tar(512, '\0');
  tar.replace(0, 7, "a.json\0", 7);
  tar.replace(257, 5, "ustar");
  CHECK(says(fault_of(tar), "a tar archive; unpack it"));
  tar.replace(0, 1, "1");  // a name that begins as a number does
  CHECK(says(fault_of(tar), "a tar archive; unpack it"));
  CHECK(says(fault_of(std::string("\n\x9d\xb2\x08\x12\x0e/host:metadata", 20)),
             "a profile of XLA (xplane.pb)"));
  CHECK(says(fault_of("\x80\x04\x95"), "a pickle"));
  CHECK(says(fault_of("<!DOCTYPE html>"), "a page (HTML)"));
  CHECK(says(fault_of("\x01\x02", "report.nsys-rep"), "a report of Nsight Systems"));
  CHECK(says(fault_of("SQLite format 3"), "an SQLite database, which is read from a file"));
  CHECK(says(fault_of("\xda\xd0\x01\x12", "rank0.et"), "an execution trace"));
}

TEST_CASE("JSON of another tool is told by the keys at its top", "[unit]") {
  CHECK(says(fault_of(R"({"schema": "1.0.1", "pid": 1, "nodes": []})"),
             "an execution trace (PyTorch ET or Chakra), which has no times"));
  CHECK(says(fault_of(R"({"rocprofiler-sdk-tool": []})"), "a result of rocprof"));
  // Nsight Systems writes a JSON object a line.
  CHECK(says(fault_of("{\"CudaEvent\": {}}\n{\"CudaEvent\": {}}"), "a report of Nsight Systems"));
  CHECK(says(fault_of("[1, 2]"), "a list, not an object"));
  CHECK(says(fault_of(R"({"step": 1, "loss": 2.5})"), "its keys are step, loss"));
}

TEST_CASE("A trace of XLA or rocprof is told by what its events carry", "[unit]") {
  CHECK(says(fault_of(R"({"traceEvents": [{"ph": "X", "name": "fusion", "ts": 1, "dur": 1,
                          "args": {"hlo_op": "fusion"}}]})"),
             "a trace of XLA"));
  CHECK(says(fault_of(R"({"traceEvents": [{"ph": "X", "name": "k", "ts": "1", "dur": "2",
                          "args": {"BeginNs": "10"}}]})"),
             "a result of rocprof"));
}

}  // namespace
}  // namespace stepcast::foreign_traces_test
