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
      : database_(database), events_(database.name(), take) {}

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

  // A column of one table that holds the id of a row of another.
  struct Reference {
    std::string table;
    std::string column;
    std::string other;
  };

  // A column of the other table's row; nothing where either table lacks what it takes.
  [[nodiscard]] std::string other(const Reference& by, const std::string& wanted) const {
    return other(by, wanted, "o.\"" + wanted + "\"");
  }
  // What an expression makes of that column.
  [[nodiscard]] std::string other(const Reference& by, const std::string& wanted,
                                  const std::string& expression) const {
    const bool is_there = database_.has(by.table, by.column) && database_.has(by.other, "id") &&
                          database_.has(by.other, wanted);
    return is_there ? "(SELECT " + expression + " FROM \"" + by.other + "\" o WHERE o.id = t.\"" +
                          by.column + "\")"
                    : std::string("NULL");
  }
  [[nodiscard]] std::string name_of_kernel(const std::string& ending) const {
    const Reference symbol{std::string(kDispatches) + ending, "kernel_id",
                           "rocpd_info_kernel_symbol" + ending};
    return "coalesce(" + other(symbol, "display_name") + ", " + other(symbol, "kernel_name") + ")";
  }

  // Columns: start, end, agent, queue, number of the launch, name, and of copies the other agent.
  template <typename Take>
  void for_each_call(const std::string& ending, bool copies, const Take& take) const {
    const std::string table = (copies ? "rocpd_memory_copy" : std::string(kDispatches)) + ending;
    if (!database_.has(table)) {
      return;
    }
    const auto column = [&](const char* name) { return database_.column(table, name); };
    const std::string name = copies ? other({table, "name_id", "rocpd_string" + ending}, "string")
                                    : name_of_kernel(ending);
    const std::string launch = other({table, "event_id", "rocpd_event" + ending}, "stack_id");
    database_.read("SELECT " + column("start") + ", " + column("end") + ", " +
                       column(copies ? "dst_agent_id" : "agent_id") + ", " + column("queue_id") +
                       ", " + launch + ", " + name + ", " +
                       column(copies ? "src_agent_id" : "agent_id") + " FROM \"" + table + "\" t",
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
    if (database_.has(table, "id") && database_.has(table, "type")) {
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
    refuse_without_names();
    gpus_ = gpus_of(agent_.ending);
    head_.devices_with_calls = busy.size();
    head_.devices = {{0, identity()}};
  }

  // Without the names of its kernels nothing of a recording is known.
  void refuse_without_names() const {
    const std::string& ending = agent_.ending;
    const std::string symbols = "rocpd_info_kernel_symbol" + ending;
    const bool named = database_.has(symbols, "id") && (database_.has(symbols, "display_name") ||
                                                        database_.has(symbols, "kernel_name"));
    if (!database_.has(std::string(kDispatches) + ending, "kernel_id") || !named) {
      refuse(
          "the database of rocprofv3 lacks the names of its kernels: column 'kernel_id' of "
          "rocpd_kernel_dispatch, or 'id' and 'display_name' of rocpd_info_kernel_symbol; it is of "
          "a version that is not read, so give the trace of PyTorch's profiler of the same step");
    }
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
      events_.check_held(launches_.size());
    }
  }

  void read_regions() {
    const std::string table = "rocpd_region" + agent_.ending;
    const std::string events = "rocpd_event" + agent_.ending;
    if (!database_.has(table)) {
      return;
    }
    const auto column = [&](const char* name) { return database_.column(table, name); };
    const Reference event{table, "event_id", events};
    const std::string message =
        other(event, "extdata",
              "CASE WHEN json_valid(o.extdata) THEN json_extract(o.extdata, '$.message') END");
    database_.read("SELECT " + column("start") + ", " + column("end") + ", " + column("tid") +
                       ", " + other({table, "name_id", "rocpd_string" + agent_.ending}, "string") +
                       ", " + other(event, "stack_id") + ", " + message + " FROM \"" + table +
                       "\" t",
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
      head_.unmarked = kNoStepsMarked;
      head_.remarks.push_back(std::string(kNoStepsMarked) + std::string(kTakenForOne));
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
