// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/rocpd_database.hpp"

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "trace_reader/measured_step.hpp"
#include "unit/trace_reader/made_database.hpp"

namespace stepcast::rocpd_database_test {
namespace {

// Columns of rocprofv3's own statements that are read, and two kernels, a copy and a launch of one
// process: agent 2 is a GPU, 1 its host.
std::string process_of(const std::string& ending) {
  const auto made = [&](const std::string& table, const std::string& columns,
                        const std::string& rows) {
    return "CREATE TABLE " + table + ending + "(id INTEGER PRIMARY KEY, " + columns +
           "); INSERT INTO " + table + ending + " VALUES " + rows + ";";
  };
  return made("rocpd_string", "string",
              "(1, 'hipLaunchKernel'), (2, 'MEMORY_COPY_HOST_TO_DEVICE'), "
              "(3, 'MEMORY_COPY_HOST_TO_HOST')") +
         made("rocpd_info_agent", "type, name, product_name, extdata",
              "(1, 'CPU', 'EPYC', 'AMD EPYC', '{}'), "
              "(2, 'GPU', 'gfx942', 'AMD Instinct MI300X', '{\"cu_count\": 304}')") +
         made("rocpd_info_kernel_symbol", "kernel_name, display_name",
              "(1, 'Cijk_Alik.kd', 'Cijk_Alik_Bljk_BBS_BH_MT256x256x64'), "
              "(2, 'fmha_bwd.kd', NULL)") +
         made("rocpd_event", "stack_id, extdata",
              "(1, 11, '{}'), (2, 12, '{}'), (3, 11, '{}'), (4, 13, '{\"message\": \"aten::mm, "
              "seq = 3, sizes = [[8, 4], [4, 2]]\"}'), (5, 14, '{\"message\": \"step 7\"}'), "
              "(6, 15, 'no JSON')") +
         made("rocpd_region", "tid, start, \"end\", name_id, event_id",
              "(1, 6, 100, 200, 1, 3), (2, 6, 50, 250, 1, 4), (3, 6, 0, 600, 1, 5), "
              "(4, 6, 0, 600, 1, 6)") +
         made("rocpd_kernel_dispatch", "agent_id, kernel_id, queue_id, start, \"end\", event_id",
              "(1, 2, 1, 1, 1000, 3000, 1), (2, 2, 2, 5, 2000, 5000, 2)") +
         made("rocpd_memory_copy",
              "start, \"end\", name_id, dst_agent_id, src_agent_id, queue_id, event_id",
              "(1, 500, 700, 2, 2, 1, 1, NULL), (2, 500, 900, 3, 1, 1, 1, NULL)");
}

TraceRecording recording_of(const std::string& statements) {
  return read_recording(made_database(statements));
}

TEST_CASE("A database of rocprofv3 has kernels and copies by agent and queue", "[unit]") {
  const TraceRecording recording = recording_of(process_of("_0a"));
  REQUIRE(recording.calls.size() == 3);
  const auto name = [&](std::size_t call) {
    return recording.texts.text(recording.calls[call].name);
  };
  CHECK(name(0) == "Memcpy HtoD");
  CHECK(name(1) == "Cijk_Alik_Bljk_BBS_BH_MT256x256x64");
  CHECK(recording.calls[1].category == StepCategory::kGemm);
  CHECK(name(2) == "fmha_bwd.kd");
  CHECK(recording.calls[2].stream == 5);
  CHECK(recording.calls[2].end - recording.calls[0].start == Approx(4.5e-6));
  CHECK(recording.devices == 1);  // the host is none
  CHECK(recording.head.device.name == "AMD Instinct MI300X");
  CHECK(recording.head.device.compute_units == 304);
  CHECK(recording.has_backward);
}

TEST_CASE("Ranges of roctx are operators and steps of what was launched in them", "[unit]") {
  const TraceRecording recording = recording_of(process_of("_0a"));
  REQUIRE(recording.calls[1].op >= 0);
  CHECK(recording.texts.text(recording.operators[0].name) == "aten::mm");
  REQUIRE(recording.steps.size() == 1);
  CHECK(recording.steps[0].name == "step 7");
  const MeasuredStep step = measured_step(recording, "results.db", "7");
  REQUIRE(step.operators.size() == 1);  // the others were launched outside of it
  REQUIRE(step.operators[0].shape);
  CHECK(shape_text(*step.operators[0].shape) == "8 x 2 x 4");
}

TEST_CASE("Of several processes the one with the busiest agent is taken", "[unit]") {
  const TraceRecording recording =
      recording_of(process_of("_0a") + process_of("_0b") +
                   "INSERT INTO rocpd_kernel_dispatch_0b VALUES (3, 2, 1, 1, 6000, 6500, NULL);");
  CHECK(recording.calls.size() == 4);
  CHECK(recording.devices == 2);
}

// The database with a column called otherwise.
std::string without(const std::string& table, const std::string& column) {
  return "ALTER TABLE " + table + "_0a RENAME COLUMN " + column + " TO other_" + column + ";";
}

TEST_CASE("A database of rocprofv3 is read by the columns that it has", "[unit]") {
  const std::string whole = process_of("_0a");
  const auto calls = [&](const std::string& table, const std::string& column) {
    CAPTURE(table, column);
    return recording_of(whole + without(table, column)).calls.size();
  };
  CHECK(calls("rocpd_info_kernel_symbol", "display_name") == 3);
  CHECK(calls("rocpd_info_kernel_symbol", "kernel_name") == 3);
  CHECK(calls("rocpd_event", "stack_id") == 3);
  CHECK(calls("rocpd_event", "extdata") == 3);
  CHECK(calls("rocpd_string", "string") == 3);
  for (const char* table : {"rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_region"}) {
    CHECK(calls(table, "event_id") == 3);
  }
  CHECK(calls("rocpd_memory_copy", "name_id") == 3);
  CHECK(calls("rocpd_region", "name_id") == 3);
  CHECK(calls("rocpd_info_agent", "id") == 2);  // of a copy it is not known which end is the GPU
  const TraceRecording named =
      recording_of(whole + without("rocpd_info_kernel_symbol", "display_name"));
  CHECK(named.texts.text(named.calls[1].name) == "Cijk_Alik.kd");
}

TEST_CASE("A database of rocprofv3 without names of kernels is refused by what it lacks",
          "[unit]") {
  const auto fault = [](const std::string& changes) -> std::string {
    try {
      recording_of(process_of("_0a") + changes);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const std::string display = without("rocpd_info_kernel_symbol", "display_name");
  for (const std::string& changes :
       {without("rocpd_kernel_dispatch", "kernel_id"), without("rocpd_info_kernel_symbol", "id"),
        display + without("rocpd_info_kernel_symbol", "kernel_name")}) {
    CAPTURE(changes);
    CHECK_THAT(fault(changes), test::contains_text("lacks the names of its kernels: column"));
  }
}

TEST_CASE("A database of rocprofv3 that is not read says why", "[unit]") {
  const auto fault = [](const std::string& statements) -> std::string {
    try {
      recording_of(statements);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(fault("CREATE TABLE rocpd_kernel_dispatch_0a(id, agent_id, start_id, end_id);")
            .find("of a version whose times lie in a table of their own") != std::string::npos);
  CHECK(fault("CREATE TABLE rocpd_kernel_dispatch_0a(id, agent_id, start, \"end\", event_id, "
              "kernel_id);")
            .find("holds no kernels; record them with --kernel-trace") != std::string::npos);
}

}  // namespace
}  // namespace stepcast::rocpd_database_test
