// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/trace_recording.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "stepcast/base/error.hpp"
#include "stepcast/base/printable.hpp"
#include "trace_reader/compressed_stream.hpp"
#include "trace_reader/launch_join.hpp"
#include "trace_reader/nsys_export.hpp"
#include "trace_reader/operator_categories.hpp"
#include "trace_reader/rocpd_database.hpp"

namespace stepcast {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr double kLongest = 1e18;  // us, of a time and of a duration: beyond it is no time
constexpr std::size_t kMostTextBytes = 32U << 20U;
constexpr std::string_view kCoalesced = "nccl:coalesced";

// PyTorch's operators and kernels of libraries say by their name that they go backward:
// "MmBackward0", "autograd::engine::evaluate_function", "fmha_bwd".
bool is_of_backward(std::string_view name) {
  constexpr std::array<std::string_view, 3> kWords = {"ackward", "bwd", "autograd::engine"};
  return std::ranges::any_of(
      kWords, [name](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

// Of the numbers of a list, "[24,1,1]"; 0 of what is none.
std::int64_t product_of(const std::string& list) {
  constexpr double kMost = 1e9;
  double product = list.empty() ? 0.0 : 1.0;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    std::int64_t number = 0;
    const auto [after, fault] = std::from_chars(at, end, number);
    product *= fault == std::errc{} ? static_cast<double>(number) : 1.0;
    at = after == at ? at + 1 : after;
  }
  return product >= 1.0 && product <= kMost ? static_cast<std::int64_t>(product) : 0;
}

enum class EventKind { kCall, kOperator, kLaunch, kAnnotation };
struct KnownCategory {
  std::string_view name;
  EventKind kind;
};
// Those with a capital are of PyTorch before 1.13.
constexpr std::array kCategories = {
    KnownCategory{"kernel", EventKind::kCall},
    KnownCategory{"gpu_memcpy", EventKind::kCall},
    KnownCategory{"gpu_memset", EventKind::kCall},
    KnownCategory{"cpu_op", EventKind::kOperator},
    KnownCategory{"cuda_runtime", EventKind::kLaunch},
    KnownCategory{"cuda_driver", EventKind::kLaunch},
    KnownCategory{"user_annotation", EventKind::kAnnotation},
    KnownCategory{"Kernel", EventKind::kCall},
    KnownCategory{"Memcpy", EventKind::kCall},
    KnownCategory{"Memset", EventKind::kCall},
    KnownCategory{"Operator", EventKind::kOperator},
    KnownCategory{"Runtime", EventKind::kLaunch},
};

class RecordingBuilder {
 public:
  explicit RecordingBuilder(const std::string& file) : file_(file) {}

  void take(const TraceEvent& event) {
    foreign_ = event.foreign.empty() ? foreign_ : event.foreign;
    const auto* const known = std::ranges::find(kCategories, event.category, &KnownCategory::name);
    if (known == kCategories.end()) {
      note_other_device(event.category);
      return;
    }
    has_known_ = true;
    const bool timed = std::abs(event.start) <= kLongest && event.duration >= 0.0 &&
                       event.duration <= kLongest;  // false without the fields
    if (event.phase != "X" || !timed) {
      return;
    }
    switch (known->kind) {
      case EventKind::kCall:
        return add_call(event);
      case EventKind::kOperator:
        return add_operator(event);
      case EventKind::kLaunch:
        return add_launch(event);
      case EventKind::kAnnotation:
        return add_annotation(event);
    }
  }

  TraceRecording finished(TraceHead head) {
    made_.head = std::move(head);
    if (made_.calls.empty()) {
      throw ConfigError({file_, 0, 0}, why_without_calls());
    }
    keep_one_device();
    made_.has_backward = annotates_backward_ || made_.texts.any_of(is_of_backward);
    std::ranges::sort(made_.steps, {},
                      [](const MarkedStep& step) { return std::tie(step.start, step.name); });
    join_launches(std::move(launches_), std::move(threads_), made_);
    join_transfers(std::move(transfers_), made_);
    settle_categories(made_);
    return std::move(made_);
  }

 private:
  // "mtia_runtime" launches on an accelerator that is no GPU.
  void note_other_device(const std::string& category) {
    if (other_device_.empty() && category.ends_with("_runtime")) {
      other_device_ = beginning_of(category, kLongestCategory);
    }
  }

  [[nodiscard]] std::string why_without_calls() const {
    if (!foreign_.empty()) {
      return "the file is " + std::string(foreign_);
    }
    if (!other_device_.empty()) {
      return "the trace is of a device that is no GPU ('" + other_device_ +
             "'), whose kernels are not priced; give a trace taken on a GPU";
    }
    if (!has_known_) {
      return "the trace has no kernels, nor any other event of PyTorch's profiler: it is another "
             "program's; give what export_chrome_trace wrote";
    }
    return "the trace has no kernels (events of category 'kernel' with 'ts' and 'dur'); record the "
           "device's activity too";
  }

  // Times since boot would lose digits.
  double seconds(double microseconds) {
    origin_ = has_origin_ ? origin_ : microseconds;
    has_origin_ = true;
    return (microseconds - origin_) * kMicrosecond;
  }
  double start_of(const TraceEvent& event) { return seconds(event.start); }
  double end_of(const TraceEvent& event) {
    return seconds(event.start) + event.duration * kMicrosecond;
  }

  std::int32_t thread_of(const TraceEvent& event) {
    const auto [known, is_new] = thread_places_.try_emplace(
        std::pair(event.process, event.thread), static_cast<std::int32_t>(threads_.size()));
    if (is_new) {
      threads_.emplace_back();
      transfers_.emplace_back();
    }
    return known->second;
  }

  void add_call(const TraceEvent& event) {
    DeviceCall& call = made_.calls.emplace_back();
    call.start = start_of(event);
    call.end = end_of(event);
    call.correlation = event.correlation;
    call.external = event.external;
    call.stream = event.thread;
    call.device = static_cast<std::int32_t>(event.process);
    call.name = made_.texts.id_of(event.name);
    call.category = category_of_kernel(event.name, event.collective.name);
    if (!event.collective.name.empty() || event.collective.in_elements > 0.0 ||
        event.collective.out_elements > 0.0) {
      call.collective = static_cast<std::int32_t>(made_.collectives.size());
      add_collective(event.collective);
      made_.collectives.back().launch = {product_of(event.grid), product_of(event.block)};
    }
    check_size();
  }

  void add_collective(const CollectiveCall& call) {
    const bool grouped = !call.group.empty() || !call.members.empty();
    made_.collectives.push_back(
        {made_.texts.id_of(call.name),
         grouped ? made_.texts.id_of(call.group + " " + call.members) : kNoText,
         made_.texts.id_of(call.dtype), call.in_elements, call.out_elements, call.ranks,
         call.source, call.destination});
  }

  void add_operator(const TraceEvent& event) {
    HostOperator op{start_of(event), end_of(event), event.external, made_.texts.id_of(event.name)};
    const bool sized = event.input_dims.find_first_of("0123456789") != std::string::npos;
    op.input_dims = sized ? made_.texts.id_of(event.input_dims) : kNoText;
    const auto thread = static_cast<std::size_t>(thread_of(event));
    threads_[thread].push_back(static_cast<std::int32_t>(made_.operators.size()));
    made_.operators.push_back(op);
    if (event.collective.source >= 0 || event.collective.destination >= 0) {
      transfers_[thread].called.push_back(
          {op.start, static_cast<std::int32_t>(made_.collectives.size())});
      add_collective(event.collective);
    }
    check_size();
  }

  void add_annotation(const TraceEvent& event) {
    annotates_backward_ = annotates_backward_ || is_of_backward(event.name);
    if (event.marks_step || event.name.starts_with(kProfilerStep)) {
      made_.steps.push_back({event.name, start_of(event), end_of(event)});
    } else if (event.name.starts_with(kFsdpMark)) {
      const std::string hook = event.name.substr(0, event.name.find(' '));
      threads_[static_cast<std::size_t>(thread_of(event))].push_back(
          static_cast<std::int32_t>(made_.operators.size()));
      made_.operators.push_back({start_of(event), end_of(event), 0, made_.texts.id_of(hook)});
    } else if (event.name == kCoalesced) {
      transfers_[static_cast<std::size_t>(thread_of(event))].launches.push_back(
          {start_of(event), end_of(event)});
      ++coalesced_;
    }
    check_size();
  }

  void add_launch(const TraceEvent& event) {
    if (event.correlation != 0) {
      const bool graph = event.name.find("GraphLaunch") != std::string::npos;
      launches_.push_back({event.correlation, start_of(event), thread_of(event), graph});
      check_size();
    }
  }

  void check_size() const {
    const std::size_t events = made_.calls.size() + made_.operators.size() + launches_.size() +
                               made_.steps.size() + coalesced_ + 2 * made_.collectives.size();
    if (made_.steps.size() > kMostMarkedSteps) {
      throw ConfigError(
          {file_, 0, 0},
          "the trace marks more than " + std::to_string(kMostMarkedSteps) + " steps; record fewer");
    }
    if (events > kMostTracedEvents || made_.texts.bytes() > kMostTextBytes) {
      throw ConfigError({file_, 0, 0},
                        "the trace has more than " + std::to_string(kMostTracedEvents) +
                            " events or 32 MiB of different names; record fewer steps");
    }
  }

  void keep_one_device() {
    std::map<std::int32_t, double> busy;
    for (const DeviceCall& call : made_.calls) {
      busy[call.device] += call.end - call.start;
    }
    const auto busiest =
        std::ranges::max_element(busy, {}, [](const auto& entry) { return entry.second; });
    made_.devices = std::max(busy.size(), made_.head.devices_with_calls);
    if (busy.size() > 1) {
      std::erase_if(made_.calls,
                    [&](const DeviceCall& call) { return call.device != busiest->first; });
    }
    std::ranges::sort(made_.calls, {}, [](const DeviceCall& call) {
      return std::tie(call.start, call.end, call.stream);
    });
    const std::vector<TracedDevice>& listed = made_.head.devices;
    const auto own = std::ranges::find(listed, busiest->first, &TracedDevice::id);
    made_.head.device = own != listed.end() ? own->says
                        : listed.empty()    ? DeviceIdentity{}
                                            : listed.front().says;
  }

  const std::string& file_;
  static constexpr std::size_t kLongestCategory = 40;

  std::string_view foreign_;  // what an argument of an event says that the trace is
  std::string other_device_;  // the category of what launches on a device that is no GPU
  bool has_known_ = false;
  bool annotates_backward_ = false;
  TraceRecording made_;
  std::deque<TracedLaunch> launches_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> thread_places_;
  std::vector<std::vector<std::int32_t>> threads_;
  std::vector<ThreadTransfers> transfers_;  // of the same threads
  std::size_t coalesced_ = 0;               // launches among them
  double origin_ = 0.0;
  bool has_origin_ = false;
};

}  // namespace

TraceRecording read_recording(std::istream& stream, const std::string& file) {
  RecordingBuilder builder(file);
  TraceHead head =
      read_trace_events(stream, file, [&builder](const TraceEvent& event) { builder.take(event); });
  return builder.finished(std::move(head));
}

TraceRecording read_recording(const SqliteDatabase& database) {
  RecordingBuilder builder(database.name());
  const auto take = [&builder](const TraceEvent& event) { builder.take(event); };
  TraceHead head = is_rocpd_database(database) ? read_rocpd_database(database, take)
                                               : read_nsys_export(database, take);
  return builder.finished(std::move(head));
}

TraceRecording read_recording(const std::filesystem::path& file) {
  if (is_sqlite_database(file)) {
    return read_recording(SqliteDatabase(file));
  }
  CompressedInput input(file);
  std::istream stream(&input);
  try {
    return read_recording(stream, file.string());
  } catch (const ConfigError&) {
    if (!input.fault().empty()) {
      throw ConfigError({file.string(), 0, 0}, input.fault());
    }
    throw;
  }
}

}  // namespace stepcast
