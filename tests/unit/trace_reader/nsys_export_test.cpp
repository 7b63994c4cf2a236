// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nsys_export.hpp"

#include <algorithm>

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "text_file.hpp"
#include "trace_reader/measured_step.hpp"
#include "trace_reader/nvtx_payloads.hpp"
#include "trace_reader/stored_events.hpp"
#include "unit/trace_reader/made_database.hpp"

namespace stepcast::nsys_export_test {
namespace {

// Process 5 of the system and its thread 6, as nsys numbers them: 5 * 2^24 + 6.
const std::string kProcess = "83886080";
const std::string kThread = "83886086";

// Texts by which rows name theirs.
const std::string kTexts =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'nvjet_tst'), (2, 'void flash_bwd<int>(float*)'), "
    "(3, 'cudaLaunchKernel'), (4, 'ncclDevKernel_AllGather_RING_LL(args)'), "
    "(5, 'cudaGraphLaunch_v10000'), (6, 'ncclAllGather'), (7, 'flash_bwd');";

const std::string kKernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, \"end\", deviceId, streamId, correlationId, "
    "globalPid, demangledName, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ);";

std::string kernel_row(int start, int end, int device, int correlation, int name) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + ", " +
         std::to_string(end) + ", " + std::to_string(device) + ", 7, " +
         std::to_string(correlation) + ", " + kProcess + ", " + std::to_string(name) + ", " +
         std::to_string(name) + ", 24, 1, 1, 544, 1, 1);";
}

const std::string kLaunches =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, \"end\", globalTid, correlationId, nameId);";

std::string launch_row(int start, int correlation, int name = 3) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + std::to_string(start) + ", " +
         std::to_string(start + 10) + ", " + kThread + ", " + std::to_string(correlation) + ", " +
         std::to_string(name) + ");";
}

const std::string kRanges =
    "CREATE TABLE NVTX_EVENTS(start, \"end\", globalTid, text, textId, binaryData);";

std::string range_row(int start, int end, const std::string& text,
                      const std::string& data = "NULL") {
  return "INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(start) + ", " + std::to_string(end) +
         ", " + kThread + ", '" + text + "', NULL, " + data + ");";
}

TraceRecording recording_of(const std::string& statements) {
  return read_recording(made_database(statements));
}

std::string fault_of(const std::string& statements) {
  try {
    recording_of(statements);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

std::string remarks_on(const TraceRecording& recording) {
  std::string all;
  for (const std::string& remark : recording.head.remarks) {
    all += remark + "\n";
  }
  return all;
}

const std::string& name_of(const TraceRecording& recording, std::size_t call) {
  return recording.texts.text(recording.calls[call].name);
}

TEST_CASE("Kernels of an export have their names and their times in nanoseconds", "[unit]") {
  const TraceRecording recording = recording_of(
      kTexts + kKernels + kernel_row(1000, 4000, 0, 1, 1) + kernel_row(5000, 5500, 0, 2, 2));
  REQUIRE(recording.calls.size() == 2);
  CHECK(name_of(recording, 0) == "nvjet_tst");
  CHECK(recording.calls[0].category == StepCategory::kGemm);
  CHECK(recording.calls[0].stream == 7);
  CHECK(name_of(recording, 1) == "void flash_bwd<int>(float*)");
  CHECK(recording.calls[1].category == StepCategory::kAttentionBackward);
  CHECK(recording.calls[1].end - recording.calls[0].start == Approx(4.5e-6));
  CHECK(recording.has_backward);
}

TEST_CASE("Ranges of emit_nvtx are the operators of what was launched in them", "[unit]") {
  const TraceRecording recording = recording_of(
      kTexts + kKernels + kLaunches + kRanges + kernel_row(1000, 4000, 0, 1, 1) +
      launch_row(150, 1) + range_row(100, 300, "aten::mm, seq = 3, sizes = [[8, 4], [4, 2]]"));
  REQUIRE(recording.calls.size() == 1);
  REQUIRE(recording.calls[0].op >= 0);
  CHECK(recording.texts.text(recording.operators[0].name) == "aten::mm");
  const MeasuredStep step = measured_step(recording, "report.sqlite");
  REQUIRE(step.operators.size() == 1);
  REQUIRE(step.operators[0].shape);
  CHECK(shape_text(*step.operators[0].shape) == "8 x 2 x 4");
}

TEST_CASE("A launch of another process with the same number is not taken for it", "[unit]") {
  const std::string other = std::to_string(std::int64_t{9} << 24);
  const TraceRecording recording = recording_of(
      kTexts + kKernels + kLaunches + kernel_row(1000, 4000, 0, 1, 1) +
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (150, 160, " + other + ", 1, 3);");
  CHECK_FALSE(recording.calls[0].launched.has_value());
}

TEST_CASE("Steps are cut at ranges that are called steps", "[unit]") {
  const std::string calls = kTexts + kKernels + kLaunches + kRanges +
                            kernel_row(1000, 2000, 0, 1, 1) + kernel_row(3000, 5000, 0, 2, 1) +
                            kernel_row(6000, 7000, 0, 3, 1) + launch_row(110, 1) +
                            launch_row(210, 2) + launch_row(310, 3);
  const TraceRecording recording = recording_of(
      calls + range_row(100, 200, "train_step_8") + range_row(200, 300, "train_step_9") +
      range_row(300, 400, "train_step_10") + range_row(205, 210, "batch 1"));
  CHECK(recording.steps.size() == 3);
  const MeasuredStep ninth = measured_step(recording, "report.sqlite", "9");
  CHECK(ninth.name == "train_step_9");
  CHECK(ninth.follows_others);
  // From its first call at 3 us to that of the next step at 6 us.
  CHECK(ninth.summary.step.value() == Approx(3e-6));
  CHECK(remarks_on(recording).empty());
  CHECK(says(remarks_on(recording_of(calls)), "no range is called a step"));
}

TEST_CASE("The calls of a step are the same in whatever order an export has its rows", "[unit]") {
  std::vector<std::string> rows = {range_row(100, 200, "step 8"),
                                   range_row(105, 110, "aten::mm, seq = 1"),
                                   range_row(200, 300, "step 9"),
                                   range_row(205, 260, "aten::add, seq = 2"),
                                   range_row(265, 290, "aten::mul, seq = 3"),
                                   launch_row(106, 1),
                                   launch_row(210, 2),
                                   launch_row(270, 3),
                                   kernel_row(150, 180, 0, 1, 1),
                                   kernel_row(250, 260, 0, 2, 1),
                                   kernel_row(300, 340, 0, 3, 1)};
  for (std::size_t first = 0; first < rows.size(); ++first) {
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    CAPTURE(rows.front());
    std::string statements = kTexts + kKernels + kLaunches + kRanges;
    for (const std::string& row : rows) {
      statements += row;
    }
    const MeasuredStep step = measured_step(recording_of(statements), "report.sqlite", "9");
    CHECK(step.summary.spans == 2);  // 10 and 40 ns, with 40 between
    CHECK(step.with_operator == 2);
    CHECK(step.summary.step.value() == Approx(90e-9));
    CHECK(step.summary.idle.value() == Approx(40e-9));
  }
}

TEST_CASE("A loop that counts its steps from 0 or from 1 begins with its first", "[unit]") {
  const auto follows = [](int first, int second, const std::string& wanted) {
    const auto name = [](int number) { return "iteration " + std::to_string(number); };
    const TraceRecording recording =
        recording_of(kTexts + kKernels + kLaunches + kRanges + kernel_row(1000, 2000, 0, 1, 1) +
                     kernel_row(3000, 5000, 0, 2, 1) + launch_row(110, 1) + launch_row(210, 2) +
                     range_row(100, 200, name(first)) + range_row(200, 300, name(second)));
    return measured_step(recording, "report.sqlite", wanted).follows_others;
  };
  CHECK_FALSE(follows(0, 1, "0"));
  CHECK(follows(0, 1, "1"));
  CHECK_FALSE(follows(1, 2, "1"));
  CHECK(follows(1, 2, "2"));
  CHECK(follows(2, 3, "2"));
  CHECK(follows(1, 0, "1"));  // one with a lesser number is recorded
}

// The payload of an all-gather of 4,096 bytes in communicator 9, and of the making of that of 2.
const std::string kSchemas =
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId, schemaId, type, name, offset);"
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 20, 18, 'NCCL communicator ID', NULL), "
    "(1, 20, 22, 'Message size [bytes]', 8), (1, 18, 18, 'NCCL communicator ID', NULL), "
    "(1, 18, 5, 'No. of ranks', 8);";
const std::string kGathers =
    "x'01000000000000001400000000000000100000000000000030000000000000000900000000000000"
    "0010000000000000'";
const std::string kMakes =
    "x'010000000000000012000000000000000c000000000000002c000000000000000900000000000000"
    "02000000'";

TEST_CASE("Collectives have the sizes that NCCL states in its ranges", "[unit]") {
  const std::string calls = kTexts + kKernels + kLaunches + kRanges +
                            kernel_row(1000, 4000, 0, 1, 4) + launch_row(150, 1);
  const TraceRecording recording =
      recording_of(calls + kSchemas + range_row(10, 20, "ncclCommInitRank", kMakes) +
                   range_row(100, 300, "ncclAllGather", kGathers));
  const MeasuredStep step = measured_step(recording, "report.sqlite");
  REQUIRE(step.operators.size() == 1);
  CHECK(step.operators[0].category == StepCategory::kAllGather);
  REQUIRE(step.operators[0].shape);
  CHECK(bytes_of(*step.operators[0].shape) == 8192.0);
  CHECK(ranks_of(*step.operators[0].shape) == 2);
  CHECK(step.operators[0].launch == KernelLaunch{24, 544});

  const TraceRecording without = recording_of(calls + range_row(100, 300, "ncclAllGather"));
  CHECK_FALSE(measured_step(without, "report.sqlite").operators[0].shape);
  CHECK(says(remarks_on(without), "nsys export --include-blobs true"));
}

TEST_CASE("A payload that is not laid out as its header says gives nothing", "[unit]") {
  const SqliteDatabase database = made_database(kSchemas);
  const NvtxPayloads payloads(database);
  std::string bytes(48, '\0');
  bytes[0] = 1;
  bytes[8] = 20;
  bytes[16] = 16;
  bytes[40] = 7;
  CHECK(payloads.nccl(bytes).bytes == 7);
  CHECK(payloads.nccl(bytes).communicator == 0);
  CHECK_FALSE(payloads.nccl(bytes.substr(0, 47)).bytes);
  CHECK_FALSE(payloads.nccl(bytes + "x").bytes);
  bytes[8] = 21;  // no schema
  CHECK_FALSE(payloads.nccl(bytes).bytes);
}

TEST_CASE("A schema that two processes list alike is one, and one that they list otherwise is none",
          "[unit]") {
  const auto bytes_by = [](const std::string& more) {
    std::string payload(48, '\0');
    payload[0] = 1;
    payload[8] = 20;
    payload[16] = 16;
    payload[40] = 7;
    const SqliteDatabase database = made_database(
        kSchemas + "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 20, " + more + ");");
    return NvtxPayloads(database).nccl(payload).bytes;
  };
  CHECK(bytes_by("22, 'Message size [bytes]', 8") == 7);
  CHECK(bytes_by("5, 'Reduction operation', 8") == 7);  // which is not read
  CHECK_FALSE(bytes_by("22, 'Message size [bytes]', 0"));
  CHECK_FALSE(bytes_by("5, 'Peer rank', 12"));  // where the other has half of its size
}

TEST_CASE("A database of more rows than a trace has is refused before they are held", "[unit]") {
  const std::string file = "report.sqlite";
  const StoredEvents events(file, [](const TraceEvent& /*event*/) {});
  events.check_held(2'500'000);
  CHECK_THROWS_WITH(events.check_held(2'500'001),
                    test::contains_text("more than 2500000 ranges or launches"));
  const std::string marks =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001) "
      "INSERT INTO NVTX_EVENTS SELECT i, i + 1, " +
      kThread + ", 'step ' || i, NULL, NULL FROM n;";
  CHECK(says(fault_of(kTexts + kKernels + kRanges + kernel_row(1, 2, 0, 1, 1) + marks),
             "marks more than 100000 steps; record fewer"));
}

TEST_CASE("The device is the busiest, by what the machine says of it", "[unit]") {
  const std::string calls = kTexts + kKernels + kernel_row(1000, 2000, 0, 1, 1) +
                            kernel_row(1000, 5000, 1, 2, 1) + kernel_row(6000, 7000, 1, 3, 1);
  const std::string gpus =
      "CREATE TABLE TARGET_INFO_GPU(id, cuDevice, name, totalMemory, smCount);"
      "INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA T400', 2000000000, 6), "
      "(1, 1, 'NVIDIA H100 80GB HBM3', 85000000000, 132);";
  const TraceRecording recording = recording_of(calls + gpus);
  CHECK(recording.calls.size() == 2);
  CHECK(recording.devices == 2);
  CHECK(recording.head.device.name == "NVIDIA H100 80GB HBM3");
  CHECK(recording.head.device.memory == Bytes(85e9));
  CHECK(recording.head.device.compute_units == 132);
  // The process sees its devices in another order.
  const std::string seen =
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 1, 4), (0, 1, 5), (1, 0, 5);";
  CHECK(recording_of(calls + gpus + seen).head.device.name == "NVIDIA T400");
  CHECK(recording_of(calls).head.device.name.empty());
}

TEST_CASE("Copies, memory sets and whole graphs are calls of the device too", "[unit]") {
  const std::string columns =
      "(start, \"end\", deviceId, streamId, correlationId, globalPid, copyKind);";
  const std::string row = ", 0, 7, 0, " + kProcess + ", 8);";
  const TraceRecording recording =
      recording_of(kTexts + "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY" + columns +
                   "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET" + columns +
                   "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE" + columns +
                   "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2" + row +
                   "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3, 4" + row +
                   "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5, 9" + row);
  REQUIRE(recording.calls.size() == 3);
  CHECK(name_of(recording, 0) == "Memcpy DtoD");
  CHECK(name_of(recording, 1) == "Memset (Device)");
  CHECK(recording.calls[1].category == StepCategory::kCopies);
  CHECK(says(remarks_on(recording), "--cuda-graph-trace=node"));
}

TEST_CASE("Kernels of a captured graph have no operator", "[unit]") {
  const TraceRecording recording =
      recording_of(kTexts + kKernels + kLaunches + kRanges + kernel_row(1000, 4000, 0, 1, 1) +
                   launch_row(150, 1, 5) + range_row(100, 300, "aten::mm, seq = 3"));
  CHECK(recording.calls[0].in_graph);
  CHECK(recording.calls[0].op == -1);
}

TEST_CASE("What is no time is left out", "[unit]") {
  const std::string late = std::to_string(std::int64_t{1} << 62);
  const TraceRecording recording = recording_of(
      kTexts + kKernels + kernel_row(4000, 1000, 0, 1, 1) + kernel_row(1000, 2000, 0, 2, 1) +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, \"end\", globalPid, deviceId) VALUES "
      "('soon', 5, " +
      kProcess + ", 0), (1, " + late + ", " + kProcess + ", 0), (NULL, NULL, " + kProcess +
      ", 0);");
  CHECK(recording.calls.size() == 1);
}

TEST_CASE("An export of a version with fewer columns is read by those that it has", "[unit]") {
  const TraceRecording recording =
      recording_of(kTexts +
                   "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, \"end\", shortName);"
                   "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 7);" +
                   "CREATE TABLE NVTX_EVENTS(start, \"end\", text);"
                   "INSERT INTO NVTX_EVENTS VALUES (0, 10, 'step 1');");
  REQUIRE(recording.calls.size() == 1);
  CHECK(name_of(recording, 0) == "flash_bwd");
  CHECK(recording.steps.size() == 1);
}

TEST_CASE("A database that is no export is called what it is", "[unit]") {
  CHECK(says(fault_of("CREATE TABLE albums(title);"), "an SQLite database of another program"));
  CHECK(says(fault_of("CREATE TABLE rocpd_op(id);"), "a database of an older tracer"));
  CHECK(says(fault_of("CREATE TABLE StringTable(_id_, value);"
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start);"),
             "a profile of nvprof"));
  CHECK(says(fault_of(kKernels), "lacks the table of its texts, StringIds"));
  CHECK(says(fault_of(kTexts), "holds no kernels; record them: nsys profile --trace cuda,nvtx"));
  CHECK(says(fault_of(kTexts + kKernels), "holds no kernels"));
  const std::string copies =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, \"end\", deviceId, globalPid, copyKind);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, " +
      kProcess + ", 1);";
  CHECK(says(fault_of(kTexts + copies), "holds no kernels"));
  CHECK(says(fault_of(kTexts + kKernels + copies), "holds no kernels"));
  CHECK(fault_of(kTexts + kKernels + copies + kernel_row(3, 4, 0, 1, 1)).empty());
}

TEST_CASE("A file with an export is told from a trace by how it begins", "[unit]") {
  const test::TextFile file("report.json",
                            made_database_bytes(kTexts + kKernels + kernel_row(1, 2, 0, 1, 1)));
  CHECK(is_step_trace(file.path()));
  CHECK(read_recording(file.path()).calls.size() == 1);
}

}  // namespace
}  // namespace stepcast::nsys_export_test
