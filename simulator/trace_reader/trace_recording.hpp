// SPDX-License-Identifier: Apache-2.0
// What is kept of a profiler's trace: calls on the device, operators of the host that launched
// them, and the steps that the profiler marked.
//
// A call on the device has the `correlation` of the launch that made it. The launch lies in time
// inside the operators of its thread, innermost first:
//
//   kernel nvjet_tst_256x128 -> cudaLaunchKernelExC -> aten::mm [[8192,4096],[4096,1024]]
//
// Without a launch the operator is the one of the same `External id`. A captured graph launches all
// of its kernels at once, so they have no operator.
//
// What a call on the device is for follows of its name, and of the operators it has
// (operator_categories.hpp).
//
// Of traces of several devices the one that is busy for longest is kept. A trace of more than 2.5
// million such events, 100,000 marked steps, or 32 MiB of different names, is refused.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepcast/hardware/part_names.hpp"
#include "trace_reader/launch_protocol.hpp"
#include "trace_reader/sqlite_database.hpp"
#include "trace_reader/step_categories.hpp"

namespace stepcast {

// --- events as they are read --------------------------------------------------------------------
// Those of a profiler's trace (Chrome trace format as Kineto writes it), as a stream:
//
//   {"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150124494848,
//                          "numSms": 132}],
//    "distributedInfo": {"rank": 0, "world_size": 2},
//    "traceEvents": [{"ph": "X", "cat": "kernel", "name": "nvjet_tst", "pid": 0, "tid": 7,
//      "ts": 10.5, "dur": 3.25, "args": {"correlation": 57, "External id": 11}}, ...]}
//
// One event is held at a time. Texts are cut after 4,096 characters; a document that nests deeper
// than 256 levels, or whose every token does not end within 16 MiB, is refused. Numbers that JSON
// does not know (NaN, Infinity) are read, since profilers divide by durations of zero.

// What a collective's kernel says of its call.
struct CollectiveCall {
  std::string name;     // "_allgather_base"
  std::string group;    // of ranks, by its name
  std::string members;  // "[0, 1]"
  std::string dtype;    // "BFloat16"
  double in_elements = 0.0;
  double out_elements = 0.0;
  std::int64_t ranks = 0;
  std::int64_t source = -1;       // of a transfer that this rank receives: the sender; -1: none
  std::int64_t destination = -1;  // of one that it sends
};

struct TraceEvent {
  std::string category;
  std::string name;
  std::string phase;
  std::int64_t process = -1;  // -1: named by a text
  std::int64_t thread = -1;
  double start = NAN;  // us
  double duration = NAN;
  std::int64_t correlation = 0;  // 0: none
  std::int64_t external = 0;
  std::string input_dims;  // the list as it is written, without blanks
  std::string grid;        // likewise
  std::string block;
  CollectiveCall collective;
  bool marks_step = false;  // its name is a step's, with its number behind
  std::string_view
      foreign;  // what the trace is by an argument that PyTorch's profiler never writes
};

// A device as the trace lists it.
struct TracedDevice {
  std::int64_t id = -1;  // that the calls on it have as their process; -1: not stated
  DeviceIdentity says;
};

struct TraceHead {
  std::vector<TracedDevice> devices;
  DeviceIdentity device;   // whose calls are kept; says nothing where the trace does not
  std::int64_t rank = -1;  // -1: not stated
  std::int64_t world = 0;
  // With calls, where those of one alone are given; 0: all are.
  std::size_t devices_with_calls = 0;
  // Why it is not known where a step begins, as of a database that marks none; empty: it is known,
  // or a trace without marks is of one step.
  std::string_view unmarked;
  // What whoever reads of the trace is to know, a sentence each without its stop.
  std::vector<std::string> remarks;
  // How the shapes of operators come into such a trace.
  std::string_view shapes_are_recorded_by = "record it with record_shapes=True";
};

// Calls `take` for every event in order, and gives what stands beside the events. Throws
// ConfigError, which speaks of `file`, for what is no such document.
TraceHead read_trace_events(std::istream& stream, const std::string& file,
                            const std::function<void(const TraceEvent&)>& take);

// The first keys of a JSON text's outermost object, as far as the text can be read.
std::vector<std::string> keys_at_top(std::istream& stream);

// --- what is kept -------------------------------------------------------------------------------

// Texts that recur, each held once and known by a number.
enum class TextId : std::int32_t {};
inline constexpr TextId kNoText{-1};

class TextPool {
 public:
  TextId id_of(const std::string& text) {
    const auto [known, is_new] = ids_.try_emplace(text, TextId(static_cast<int>(texts_.size())));
    if (is_new) {
      texts_.push_back(&known->first);
      bytes_ += text.size() + kEntry;
    }
    return known->second;
  }
  [[nodiscard]] const std::string& text(TextId id) const {
    static const std::string kEmpty;
    return id == kNoText ? kEmpty : *texts_[static_cast<std::size_t>(id)];
  }
  template <typename Predicate>
  [[nodiscard]] bool any_of(const Predicate& predicate) const {
    return std::ranges::any_of(texts_, predicate,
                               [](const std::string* text) { return std::string_view(*text); });
  }
  // That the texts take in memory.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kEntry = 96;  // of the table, beside the text

  std::unordered_map<std::string, TextId> ids_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

// What PyTorch's profiler calls its steps, with the number of each behind, which it counts from 0.
inline constexpr std::string_view kProfilerStep = "ProfilerStep#";
// What a name that FSDP marks its hooks with begins with: "FSDP::pre_forward (layers.0)".
inline constexpr std::string_view kFsdpMark = "FSDP::";
// That are looked at for what an operator is for.
inline constexpr int kFarthestCaller = 16;

// An operator of the host, in seconds from the origin of the recording; or a hook of FSDP, by its
// mark without the modules.
struct HostOperator {
  double start = 0.0;
  double end = 0.0;
  std::int64_t external = 0;
  TextId name{};
  TextId input_dims = kNoText;  // no text: not stated
  std::int32_t parent = -1;     // the operator that called it
};

// What a collective's kernel carries.
struct RecordedCollective {
  TextId name{};
  TextId group{};  // of ranks: its name and its members
  TextId dtype{};
  double in_elements = 0.0;
  double out_elements = 0.0;
  std::int64_t ranks = 0;         // 0: not stated
  std::int64_t source = -1;       // of a transfer that is received; -1: it is none
  std::int64_t destination = -1;  // of a transfer that is sent
  KernelLaunch launch{};
};

// A kernel, copy or memory set.
struct DeviceCall {
  double start = 0.0;
  double end = 0.0;
  // By the host; empty: not known. Times before the origin are below 0.
  std::optional<double> launched;
  std::int64_t correlation = 0;
  std::int64_t external = 0;
  std::int64_t stream = 0;
  std::int32_t device = 0;
  std::int32_t thread = -1;  // of the host, that launched it; -1: not known
  TextId name{};
  std::int32_t op = -1;          // innermost operator; -1: none known
  std::int32_t collective = -1;  // place in TraceRecording::collectives
  StepCategory category = StepCategory::kOther;
  bool in_graph = false;
};

// A step as it was marked on the host ("ProfilerStep#7", "train step 7").
struct MarkedStep {
  std::string name;
  double start = 0.0;
  double end = 0.0;
};

// That are kept of a trace.
inline constexpr std::size_t kMostTracedEvents = 2'500'000;
inline constexpr std::size_t kMostMarkedSteps = 100'000;

struct TraceRecording {
  TraceHead head;
  TextPool texts;
  std::deque<DeviceCall> calls;  // by their start
  std::deque<HostOperator> operators;
  std::deque<RecordedCollective> collectives;
  std::vector<MarkedStep> steps;  // by their start
  std::size_t devices = 0;        // in the trace
  // Whether an operator, a kernel or a range is called one of a backward pass.
  bool has_backward = false;
};

// Throws ConfigError, which speaks of `file`, for what is no trace or holds no call of a device.
TraceRecording read_recording(std::istream& stream, const std::string& file);
// Of an export of Nsight Systems (nsys_export.hpp) or a database of rocprofv3 (rocpd_database.hpp).
TraceRecording read_recording(const SqliteDatabase& database);
// Of a file: either, or a trace compressed with gzip.
TraceRecording read_recording(const std::filesystem::path& file);

// Which calls of a trace are the step that is looked at (measured_step.hpp says which).
struct ChosenStep {
  std::string name;                // empty: the whole trace
  bool follows_others = false;     // steps ran right before it
  std::optional<double> until;     // where the next one begins; empty: not recorded
  std::vector<std::size_t> calls;  // places in TraceRecording::calls
};

ChosenStep chosen_step(const TraceRecording& recording, const std::string& file,
                       const std::string& wanted);

}  // namespace stepcast
