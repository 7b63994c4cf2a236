// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nsys_export.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stepcast/base/error.hpp"
#include "trace_reader/foreign_traces.hpp"
#include "trace_reader/nccl_ranges.hpp"
#include "trace_reader/nvtx_payloads.hpp"
#include "trace_reader/stored_events.hpp"

namespace stepcast {
namespace {

// Of a process, in the numbers that nsys gives threads.
constexpr std::int64_t kIdsOfProcess = 0x1000000;
constexpr std::size_t kLongestDeviceName = 256;

constexpr std::string_view kTexts = "StringIds";
constexpr std::string_view kRanges = "NVTX_EVENTS";
constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

// A table of what ran on devices.
struct CallTable {
  std::string_view table;
  std::string_view category;  // as PyTorch's profiler calls it
  std::string_view name;      // of its calls; empty: each has its own
};
constexpr std::array kCallTables = {
    CallTable{"CUPTI_ACTIVITY_KIND_KERNEL", "kernel", ""},
    CallTable{"CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy", ""},
    CallTable{"CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset", "Memset (Device)"},
    CallTable{kGraphs, "kernel", "CUDA graph, recorded as a whole"},
};
constexpr std::array<std::string_view, 2> kLaunchTables = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                                                           "CUPTI_ACTIVITY_KIND_DRIVER"};

// As PyTorch's profiler calls copies, by CUPTI's number of their kind.
std::string_view name_of_copy(std::int64_t kind) {
  constexpr std::array<std::string_view, 11> kKinds = {
      "Memcpy",      "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA", "Memcpy AtoH", "Memcpy AtoA",
      "Memcpy AtoD", "Memcpy DtoA", "Memcpy DtoD", "Memcpy HtoH", "Memcpy PtoP"};
  return kKinds[kind >= 0 && kind < static_cast<std::int64_t>(kKinds.size())
                    ? static_cast<std::size_t>(kind)
                    : 0];
}

// Of the ids of a process or of one of its threads.
std::int64_t process_of(std::int64_t id) { return id / kIdsOfProcess; }
// The number that the system gave the process.
std::int64_t system_number(std::int64_t process) { return process % kIdsOfProcess; }

struct DeviceKey {
  std::int64_t process = 0;
  std::int64_t device = 0;
  auto operator<=>(const DeviceKey&) const = default;
};

class NsysReader {
 public:
  NsysReader(const SqliteDatabase& database, const std::function<void(const TraceEvent&)>& take)
      : database_(database), events_(database.name(), take) {}

  TraceHead read() {
    refuse_others();
    choose_device();
    note_correlations();
    read_launches(NcclRanges(read_ranges()));
    for (const CallTable& table : kCallTables) {
      read_calls(table);
    }
    add_remarks();
    return std::move(head_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw ConfigError({database_.name(), 0, 0}, why);
  }

  void refuse_others() const {
    const std::string_view other = trace_by_tables(database_.tables());
    if (!other.empty()) {
      refuse("the file is " + std::string(other));
    }
    if (!database_.has(kTexts, "id") || !database_.has(kTexts, "value")) {
      refuse(
          "the export of Nsight Systems lacks the table of its texts, StringIds; export it "
          "whole: nsys export --type sqlite REPORT.nsys-rep");
    }
  }

  // --- queries ----------------------------------------------------------------------------------

  [[nodiscard]] std::string columns(std::string_view table,
                                    std::initializer_list<std::string_view> names) const {
    std::string list;
    for (const std::string_view name : names) {
      list += (list.empty() ? "" : ", ") + database_.column(table, name);
    }
    return list;
  }
  // The text that a column stands for.
  [[nodiscard]] std::string text(std::string_view table, std::string_view name) const {
    return database_.has(table, name)
               ? "(SELECT s.value FROM StringIds s WHERE s.id = t.\"" + std::string(name) + "\")"
               : std::string("NULL");
  }
  static std::string from(std::string_view table) { return " FROM " + std::string(table) + " t"; }

  static DeviceKey device_of(const SqliteRow& row, int process, int device) {
    return {process_of(row.whole(process).value_or(0)), row.whole(device).value_or(0)};
  }

  // --- the device -------------------------------------------------------------------------------

  void choose_device() {
    std::map<DeviceKey, double> busy;
    bool has_kernels = false;  // or whole graphs
    for (const CallTable& calls : kCallTables) {
      if (!database_.has(calls.table)) {
        continue;
      }
      const bool runs_kernels = calls.category == "kernel";
      database_.read("SELECT " + columns(calls.table, {"start", "end", "globalPid", "deviceId"}) +
                         from(calls.table),
                     [&](const SqliteRow& row) {
                       if (const auto interval = stored_interval(row)) {
                         if (busy.empty()) {
                           events_.begin_at(interval->start);
                         }
                         busy[device_of(row, 2, 3)] += interval->length();
                         has_kernels = has_kernels || runs_kernels;
                       }
                     });
    }
    if (!has_kernels) {
      refuse(
          "the export of Nsight Systems holds no kernels; record them: nsys profile --trace "
          "cuda,nvtx, and export again");
    }
    device_ =
        std::ranges::max_element(busy, {}, [](const auto& entry) { return entry.second; })->first;
    head_.devices_with_calls = busy.size();
    head_.devices = {{0, identity()}};
  }

  struct ListedGpu {
    std::int64_t id = 0;
    std::int64_t cuda = -1;  // its number in CUDA; -1: not stated
    DeviceIdentity says;
  };

  [[nodiscard]] std::vector<ListedGpu> listed_gpus() const {
    constexpr std::string_view kTable = "TARGET_INFO_GPU";
    std::vector<ListedGpu> gpus;
    if (database_.has(kTable)) {
      database_.read(
          "SELECT " + columns(kTable, {"id", "cuDevice", "name", "totalMemory", "smCount"}) +
              from(kTable),
          [&](const SqliteRow& row) {
            ListedGpu& gpu = gpus.emplace_back();
            gpu.id = row.whole(0).value_or(-1);
            gpu.cuda = row.whole(1).value_or(-1);
            gpu.says.name = row.text(2).substr(0, kLongestDeviceName);
            const std::int64_t memory = row.whole(3).value_or(0);
            const std::int64_t units = row.whole(4).value_or(0);
            gpu.says.memory =
                memory > 0 ? std::optional(Bytes(static_cast<double>(memory))) : std::nullopt;
            gpu.says.compute_units = units > 0 ? std::optional(units) : std::nullopt;
          });
    }
    return gpus;
  }

  // The machine's number of the GPU that the process calls by device_; empty: not stated.
  [[nodiscard]] std::optional<std::int64_t> number_of_gpu() const {
    constexpr std::string_view kTable = "TARGET_INFO_CUDA_DEVICE";
    std::optional<std::int64_t> number;
    if (database_.has(kTable)) {
      database_.read(
          "SELECT " + columns(kTable, {"gpuId", "cudaId", "pid"}) + from(kTable),
          [&](const SqliteRow& row) {
            if (row.whole(1) == device_.device && row.whole(2) == system_number(device_.process)) {
              number = row.whole(0);
            }
          });
    }
    return number;
  }

  // Of GPUs that are all alike it does not matter which one it was.
  [[nodiscard]] DeviceIdentity identity() const {
    const std::vector<ListedGpu> gpus = listed_gpus();
    if (gpus.empty()) {
      return {};
    }
    const std::optional<std::int64_t> number = number_of_gpu();
    const auto own = std::ranges::find_if(gpus, [&](const ListedGpu& gpu) {
      return number ? gpu.id == *number : gpu.cuda == device_.device;
    });
    if (own != gpus.end()) {
      return own->says;
    }
    const bool alike = std::ranges::all_of(
        gpus, [&](const ListedGpu& gpu) { return gpu.says.name == gpus.front().says.name; });
    return alike ? gpus.front().says : DeviceIdentity{};
  }

  // --- the host ---------------------------------------------------------------------------------

  [[nodiscard]] bool of_process(std::int64_t thread) const {
    return process_of(thread) == device_.process;
  }

  std::vector<NcclRange> read_ranges() {
    std::vector<NcclRange> nccl;
    if (!database_.has(kRanges)) {
      return nccl;
    }
    const NvtxPayloads payloads(database_);
    database_.read("SELECT " + columns(kRanges, {"start", "end", "globalTid", "text"}) + ", " +
                       text(kRanges, "textId") + ", " + database_.column(kRanges, "binaryData") +
                       from(kRanges),
                   [&](const SqliteRow& row) {
                     const auto interval = stored_interval(row);
                     const std::int64_t thread = row.whole(2).value_or(0);
                     if (!interval || !of_process(thread)) {
                       return;
                     }
                     const std::string_view own = row.text(3);
                     const std::string_view name = own.empty() ? row.text(4) : own;
                     if (is_nccl_range(name)) {
                       nccl.push_back({thread, interval->start, interval->end,
                                       std::string(name.substr(0, kLongestStoredName)),
                                       payloads.nccl(row.blob(5))});
                       events_.check_held(nccl.size());
                     } else {
                       events_.add_range(*interval, thread, name);
                     }
                   });
    has_steps_ = events_.give_steps();
    has_sizes_ = std::ranges::any_of(
        nccl, [](const NcclRange& range) { return range.payload.bytes.has_value(); });
    return nccl;
  }

  // Numbers that a process gives its launches.
  void note_correlations() {
    for (const CallTable& calls : kCallTables) {
      if (!database_.has(calls.table, "correlationId")) {
        continue;
      }
      database_.read("SELECT " + columns(calls.table, {"correlationId", "globalPid", "deviceId"}) +
                         from(calls.table),
                     [&](const SqliteRow& row) {
                       if (device_of(row, 1, 2) == device_) {
                         correlations_.insert(row.whole(0).value_or(0));
                         events_.check_held(correlations_.size());
                       }
                     });
    }
  }

  void read_launches(const NcclRanges& nccl) {
    for (const std::string_view table : kLaunchTables) {
      if (!database_.has(table)) {
        continue;
      }
      database_.read("SELECT " + columns(table, {"start", "end", "globalTid", "correlationId"}) +
                         ", " + text(table, "nameId") + from(table),
                     [&](const SqliteRow& row) {
                       const auto interval = stored_interval(row);
                       const std::int64_t thread = row.whole(2).value_or(0);
                       const std::int64_t correlation = row.whole(3).value_or(0);
                       if (!interval || correlation == 0 || !of_process(thread) ||
                           !correlations_.contains(correlation)) {
                         return;
                       }
                       TraceEvent event = events_.event(*interval, "cuda_runtime", row.text(4));
                       event.thread = thread;
                       event.correlation = correlation;
                       events_.give(event);
                       if (auto call = nccl.launched_at(thread, interval->start)) {
                         collectives_.emplace(correlation, std::move(*call));
                       }
                     });
    }
  }

  // --- calls of the device ----------------------------------------------------------------------

  void read_calls(const CallTable& calls) {
    if (!database_.has(calls.table)) {
      return;
    }
    const std::string_view table = calls.table;
    database_.read(
        "SELECT " +
            columns(table, {"start", "end", "globalPid", "deviceId", "streamId", "correlationId",
                            "copyKind", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"}) +
            ", " + text(table, "demangledName") + ", " + text(table, "shortName") + from(table),
        [&](const SqliteRow& row) {
          const auto interval = stored_interval(row);
          if (interval && device_of(row, 2, 3) == device_) {
            add_call(*interval, row, calls);
          }
        });
  }

  static std::string_view name_of_call(const SqliteRow& row, const CallTable& calls) {
    constexpr int kKind = 6;
    constexpr int kWhole = 13;
    if (!calls.name.empty()) {
      return calls.name;
    }
    const std::string_view whole = row.text(kWhole);
    const std::string_view name = whole.empty() ? row.text(kWhole + 1) : whole;
    return name.empty() ? name_of_copy(row.whole(kKind).value_or(0)) : name;
  }

  // "[24,1,1]" of three columns.
  static std::string extents(const SqliteRow& row, int first) {
    std::string text = "[";
    for (int i = 0; i < 3; ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(row.whole(first + i).value_or(0));
    }
    return text + "]";
  }

  void add_call(const StoredInterval& interval, const SqliteRow& row, const CallTable& calls) {
    constexpr int kGridAt = 7;
    TraceEvent event = events_.event(interval, calls.category, name_of_call(row, calls));
    event.process = 0;
    event.thread = row.whole(4).value_or(0);
    event.correlation = row.whole(5).value_or(0);
    has_graphs_ = has_graphs_ || calls.table == kGraphs;
    if (event.name.starts_with("nccl")) {
      has_nccl_ = true;
      const auto known = collectives_.find(event.correlation);
      event.collective = known == collectives_.end() ? CollectiveCall{} : known->second;
      event.grid = extents(row, kGridAt);
      event.block = extents(row, kGridAt + 3);
    }
    events_.give(event);
  }

  void add_remarks() {
    const auto say = [this](bool lacks, std::string_view what) {
      if (lacks) {
        head_.remarks.emplace_back(what);
      }
    };
    say(has_graphs_,
        "CUDA graphs were recorded as wholes, whose kernels are not known; record with "
        "--cuda-graph-trace=node");
    if (!has_steps_) {
      head_.unmarked = kNoStepsMarked;
      head_.remarks.push_back(std::string(kNoStepsMarked) + std::string(kTakenForOne));
    }
    say(has_nccl_ && !has_sizes_,
        "the sizes of collectives are not in the export; nsys export --include-blobs true writes "
        "those that NCCL states");
    head_.shapes_are_recorded_by = "record it with nsys profile --pytorch=autograd-shapes-nvtx";
  }

  const SqliteDatabase& database_;
  StoredEvents events_;
  TraceHead head_;
  DeviceKey device_;
  std::unordered_set<std::int64_t> correlations_;                 // of the device's calls
  std::unordered_map<std::int64_t, CollectiveCall> collectives_;  // by the same
  bool has_steps_ = false;
  bool has_graphs_ = false;
  bool has_nccl_ = false;
  bool has_sizes_ = false;
};

}  // namespace

TraceHead read_nsys_export(const SqliteDatabase& database,
                           const std::function<void(const TraceEvent&)>& take) {
  return NsysReader(database, take).read();
}

}  // namespace stepcast
