// SPDX-License-Identifier: Apache-2.0
// Small traces as the profiler writes them; times in microseconds.
#pragma once

#include <sstream>
#include <string>

#include "trace_reader/trace_recording.hpp"

namespace stepcast::test {

// "name", or a number as it is.
inline std::string span_event(const std::string& category, const std::string& name, int thread,
                              double start, double duration, const std::string& args = "") {
  std::ostringstream text;
  text << R"({"ph": "X", "cat": ")" << category << R"(", "name": ")" << name
       << R"(", "pid": 0, "tid": )" << thread << R"(, "ts": )" << start << R"(, "dur": )"
       << duration << R"(, "args": {)" << args << "}}";
  return text.str();
}

// A kernel of stream 7.
inline std::string kernel(const std::string& name, int correlation, double start, double duration) {
  return span_event("kernel", name, 7, start, duration,
                    "\"correlation\": " + std::to_string(correlation));
}

// A collective's kernel on stream 22: elements in 16 bits, among `members`.
inline std::string collective(const std::string& name, double start, double duration,
                              long long in_elements, long long out_elements,
                              const std::string& members = "[0, 1]") {
  return span_event("kernel", "ncclDevKernel_Generic", 22, start, duration,
                    R"("Collective name": ")" + name + R"(", "In msg nelems": )" +
                        std::to_string(in_elements) + R"(, "Out msg nelems": )" +
                        std::to_string(out_elements) +
                        R"(, "Group size": 2, "dtype": "BFloat16", "Process Group Name": "0", )" +
                        R"("Process Group Ranks": ")" + members + "\"");
}

// Of the host's thread 1.
inline std::string launch(int correlation, double start,
                          const std::string& name = "cudaLaunchKernel") {
  return span_event("cuda_runtime", name, 1, start, 1,
                    "\"correlation\": " + std::to_string(correlation));
}
inline std::string host_operator(const std::string& name, double start, double duration,
                                 const std::string& input_dims = "[]") {
  return span_event("cpu_op", name, 1, start, duration, "\"Input Dims\": " + input_dims);
}
inline std::string step_mark(int number, double start, double duration) {
  return span_event("user_annotation", "ProfilerStep#" + std::to_string(number), 1, start,
                    duration);
}

template <typename... Events>
std::string trace_text(const Events&... events) {
  std::string list;
  ((list += (list.empty() ? "" : ",\n") + std::string(events)), ...);
  return R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
    "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
    "traceEvents": [)" +
         list + "]}";
}

inline TraceRecording recording_of(const std::string& text) {
  std::istringstream stream(text);
  return read_recording(stream, "trace.json");
}

}  // namespace stepcast::test
