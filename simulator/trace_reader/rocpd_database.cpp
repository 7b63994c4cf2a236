// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/rocpd_database.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/error.hpp"
#include "trace_reader/stored_events.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kDispatches = "rocpd_kernel_dispatch";

// As PyTorch's profiler calls copies, by rocprofv3's name of their kind.
struct CopyName {
  std::string_view stored;
  std::string_view published;
};
constexpr std::array kCopyNames = {
    CopyName{"HOST_TO_DEVICE", "Memcpy HtoD"}, CopyName{"DEVICE_TO_HOST", "Memcpy DtoH"},
    CopyName{"DEVICE_TO_DEVICE", "Memcpy DtoD"}, CopyName{"HOST_TO_HOST", "Memcpy HtoH"}};

std::string_view published_copy(std::string_view stored) {
  const auto* const known = std::ranges::find_if(
      kCopyNames, [&](const CopyName& copy) { return stored.ends_with(copy.stored); });
  return known == kCopyNames.end() ? "Memcpy" : known->published;
}

// What the tables of each process end in.
std::vector<std::string> endings(const SqliteDatabase& database) {
  std::vector<std::string> found;
  for (const std::string& table : database.tables()) {
    if (table.starts_with(kDispatches) && std::ranges::all_of(table, ascii::is_word)) {
      found.push_back(table.substr(kDispatches.size()));
    }
  }
  return found;
}

// An agent of the process whose tables end so.
struct Agent {
  std::string ending;
  std::int64_t id = 0;
  auto operator<=>(const Agent&) const = default;
};

class RocpdReader {
 public:
  RocpdReader(const SqliteDatabase& database, const std::function<void(const TraceEvent&)>& take)
      : database_(database), events_(take) {}

  TraceHead read() {
    choose_agent();
    for (const bool copies : {false, true}) {
      for_each_call(agent_.ending, copies, [this](const SqliteRow& row) { note_launch(row); });
    }
    read_regions();
    for (const bool copies : {false, true}) {
      for_each_call(agent_.ending, copies, [&](const SqliteRow& row) { add_call(row, copies); });
    }
    add_remarks();
    return std::move(head_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw ConfigError({database_.name(), 0, 0}, why);
  }

  // --- queries ----------------------------------------------------------------------------------

  // Of the row of another table whose id a column of this one is.
  [[nodiscard]] std::string other(const std::string& wanted, const std::string& table,
                                  const std::string& column) const {
    return database_.has(table, "id") ? "(SELECT " + wanted + " FROM \"" + table +
                                            "\" o WHERE o.id = t.\"" + column + "\")"
                                      : std::string("NULL");
  }

  // Columns: start, end, agent, queue, number of the launch, name, and of copies the other agent.
  template <typename Take>
  void for_each_call(const std::string& ending, bool copies, const Take& take) const {
    const std::string table = (copies ? "rocpd_memory_copy" : std::string(kDispatches)) + ending;
    if (!database_.has(table)) {
      return;
    }
    const auto column = [&](const char* name) { return database_.column(table, name); };
    const std::string name = copies ? other("o.string", "rocpd_string" + ending, "name_id")
                                    : other("coalesce(o.display_name, o.kernel_name)",
                                            "rocpd_info_kernel_symbol" + ending, "kernel_id");
    database_.read("SELECT " + column("start") + ", " + column("end") + ", " +
                       column(copies ? "dst_agent_id" : "agent_id") + ", " + column("queue_id") +
                       ", " + other("o.stack_id", "rocpd_event" + ending, "event_id") + ", " +
                       name + ", " + column(copies ? "src_agent_id" : "agent_id") + " FROM \"" +
                       table + "\" t",
                   take);
  }

  // Of a copy the GPU, where it is one's from or to the host.
  static std::int64_t agent_of(const SqliteRow& row, const std::set<std::int64_t>& gpus) {
    const std::int64_t to = row.whole(2).value_or(0);
    return gpus.contains(to) ? to : row.whole(6).value_or(to);
  }

  [[nodiscard]] std::set<std::int64_t> gpus_of(const std::string& ending) const {
    std::set<std::int64_t> gpus;
    const std::string table = "rocpd_info_agent" + ending;
    if (database_.has(table, "type")) {
      database_.read("SELECT t.id FROM \"" + table + "\" t WHERE t.type = 'GPU'",
                     [&](const SqliteRow& row) { gpus.insert(row.whole(0).value_or(0)); });
    }
    return gpus;
  }

  // --- the agent --------------------------------------------------------------------------------

  void choose_agent() {
    std::map<Agent, double> busy;
    for (const std::string& ending : endings(database_)) {
      if (!database_.has(std::string(kDispatches) + ending, "start")) {
        refuse(
            "the database of rocprofv3 is of a version whose times lie in a table of their own, "
            "which is not read; give the trace of PyTorch's profiler of the same step");
      }
      const std::set<std::int64_t> gpus = gpus_of(ending);
      for (const bool copies : {false, true}) {
        for_each_call(ending, copies, [&](const SqliteRow& row) {
          const auto interval = stored_interval(row);
          const std::int64_t agent = agent_of(row, gpus);
          if (!interval || (copies && !gpus.contains(agent))) {
            return;  // copies within the host's memory are no device's
          }
          if (busy.empty()) {
            events_.begin_at(interval->start);
          }
          busy[{ending, agent}] += interval->length();
        });
      }
    }
    if (busy.empty()) {
      refuse(
          "the database of rocprofv3 holds no kernels; record them with --kernel-trace and "
          "--memory-copy-trace");
    }
    agent_ =
        std::ranges::max_element(busy, {}, [](const auto& entry) { return entry.second; })->first;
    gpus_ = gpus_of(agent_.ending);
    head_.devices_with_calls = busy.size();
    head_.devices = {{0, identity()}};
  }

  [[nodiscard]] DeviceIdentity identity() const {
    DeviceIdentity says;
    const std::string table = "rocpd_info_agent" + agent_.ending;
    const auto column = [&](const char* name) { return database_.column(table, name); };
    if (database_.has(table, "id")) {
      const std::string units = "CASE WHEN json_valid(" + column("extdata") +
                                ") THEN json_extract(" + column("extdata") + ", '$.cu_count') END";
      database_.read("SELECT t.id, coalesce(nullif(" + column("product_name") + ", ''), " +
                         column("name") + "), " + units + " FROM \"" + table + "\" t",
                     [&](const SqliteRow& row) {
                       if (row.whole(0) == agent_.id) {
                         says.name = row.text(1).substr(0, kLongestAgentName);
                         const std::int64_t count = row.whole(2).value_or(0);
                         says.compute_units = count > 0 ? std::optional(count) : std::nullopt;
                       }
                     });
    }
    return says;
  }

  // --- the host ---------------------------------------------------------------------------------

  void note_launch(const SqliteRow& row) {
    if (agent_of(row, gpus_) == agent_.id) {
      launches_.insert(row.whole(4).value_or(0));
    }
  }

  void read_regions() {
    const std::string table = "rocpd_region" + agent_.ending;
    const std::string events = "rocpd_event" + agent_.ending;
    if (!database_.has(table)) {
      return;
    }
    const auto column = [&](const char* name) { return database_.column(table, name); };
    const std::string message =
        database_.has(events, "extdata")
            ? other("CASE WHEN json_valid(o.extdata) THEN json_extract(o.extdata, '$.message') END",
                    events, "event_id")
            : "NULL";
    database_.read("SELECT " + column("start") + ", " + column("end") + ", " + column("tid") +
                       ", " + other("o.string", "rocpd_string" + agent_.ending, "name_id") + ", " +
                       other("o.stack_id", events, "event_id") + ", " + message + " FROM \"" +
                       table + "\" t",
                   [this](const SqliteRow& row) { add_region(row); });
    has_steps_ = events_.give_steps();
  }

  // A range with its text, or a call of the runtime.
  void add_region(const SqliteRow& row) {
    const auto interval = stored_interval(row);
    const std::int64_t thread = row.whole(2).value_or(0);
    const std::int64_t launch = row.whole(4).value_or(0);
    if (!interval) {
      return;
    }
    if (const std::string_view message = row.text(5); !message.empty()) {
      events_.add_range(*interval, thread, message);
    } else if (launch != 0 && launches_.contains(launch)) {
      TraceEvent event = events_.event(*interval, "cuda_runtime", row.text(3));
      event.thread = thread;
      event.correlation = launch;
      events_.give(event);
    }
  }

  // --- calls of the agent -----------------------------------------------------------------------

  void add_call(const SqliteRow& row, bool copies) {
    const auto interval = stored_interval(row);
    if (!interval || agent_of(row, gpus_) != agent_.id) {
      return;
    }
    const std::string_view stored = row.text(5);
    TraceEvent event = events_.event(*interval, copies ? "gpu_memcpy" : "kernel",
                                     copies ? published_copy(stored) : stored);
    event.process = 0;
    event.thread = row.whole(3).value_or(0);
    event.correlation = row.whole(4).value_or(0);
    has_collectives_ = has_collectives_ || event.name.starts_with("nccl");
    events_.give(event);
  }

  void add_remarks() {
    if (!has_steps_) {
      head_.remarks.emplace_back(kNoStepsMarked);
    }
    if (has_collectives_) {
      head_.remarks.emplace_back("the sizes of collectives are not in a database of rocprofv3");
    }
    head_.shapes_are_recorded_by =
        "record it within torch.autograd.profiler.emit_nvtx(record_shapes=True), with rocprofv3 "
        "--marker-trace";
  }

  static constexpr std::size_t kLongestAgentName = 256;

  const SqliteDatabase& database_;
  StoredEvents events_;
  TraceHead head_;
  Agent agent_;
  std::set<std::int64_t> gpus_;                // of its process
  std::unordered_set<std::int64_t> launches_;  // numbers of those of the agent's calls
  bool has_steps_ = false;
  bool has_collectives_ = false;
};

}  // namespace

bool is_rocpd_database(const SqliteDatabase& database) { return !endings(database).empty(); }

TraceHead read_rocpd_database(const SqliteDatabase& database,
                              const std::function<void(const TraceEvent&)>& take) {
  return RocpdReader(database, take).read();
}

}  // namespace stepcast
