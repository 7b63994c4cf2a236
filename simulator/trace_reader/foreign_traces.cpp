// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/foreign_traces.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kXplane =
    "a profile of XLA (xplane.pb), which is not read; of JAX compare the time of a step with "
    "'stepcast project'";
constexpr std::string_view kRocprof =
    "a result of rocprof in a form that is not read; give the trace of PyTorch's profiler of the "
    "same step, or the database of rocprofv3 --output-format rocpd";
constexpr std::string_view kExecutionTrace =
    "an execution trace (PyTorch ET or Chakra), which has no times of kernels; give the profiler's "
    "trace of the same step (export_chrome_trace)";
constexpr std::string_view kNsysReport =
    "a report of Nsight Systems in a form that is not read; give its export: nsys export --type "
    "sqlite --include-blobs true REPORT.nsys-rep";
constexpr std::string_view kXlaTrace =
    "a trace of XLA, whose kernels are no operators of PyTorch and are not read; of JAX "
    "compare the time of a step with 'stepcast project'";
constexpr std::string_view kModelConfig =
    "a model's config.json; import it with 'stepcast import hf'";
constexpr std::string_view kPickle =
    "a pickle, as memory snapshots are, not JSON; export the trace with export_chrome_trace";

struct Signature {
  std::size_t at;
  std::string_view bytes;
  std::string_view what;
};
constexpr std::array kSignatures = {
    Signature{
        0, "SQLite format 3",
        "an SQLite database, which is read from a file of its own alone; unpack it and give its "
        "name"},
    Signature{0, "PK\x03\x04", "a zip archive; unpack it and give the trace inside"},
    Signature{257, "ustar", "a tar archive; unpack it and give a trace of it"},
    Signature{0, "\x80\x02", kPickle},
    Signature{0, "\x80\x03", kPickle},
    Signature{0, "\x80\x04", kPickle},
    Signature{0, "\x80\x05", kPickle},
    Signature{0, "\x1f\x8b", "compressed twice; unpack it once"},
    Signature{0, "\x28\xb5\x2f\xfd", "compressed with zstd; unpack it, or compress it with gzip"},
    Signature{0, "BZh", "compressed with bzip2; unpack it, or compress it with gzip"},
    Signature{0,
              "\xfd"
              "7zXZ",
              "compressed with xz; unpack it, or compress it with gzip"},
    Signature{0, "<!DOCTYPE", "a page (HTML); give the trace that it shows"},
    Signature{0, "<html", "a page (HTML); give the trace that it shows"},
};

// Planes of a profile of XLA, the first of which its first field holds.
constexpr std::array<std::string_view, 2> kPlanes = {"/host:", "/device:"};
constexpr std::size_t kFirstPlane = 64;  // bytes in which its name begins

bool begins_as_xplane(std::string_view start) {
  const std::string_view first = start.substr(0, kFirstPlane);
  return first.starts_with('\n') && std::ranges::any_of(kPlanes, [&](std::string_view plane) {
           return first.find(plane) != std::string_view::npos;
         });
}

struct Ending {
  std::string_view ending;
  std::string_view what;
};
constexpr std::array kEndings = {
    Ending{".nsys-rep", kNsysReport},
    Ending{".qdrep", kNsysReport},
    Ending{".qdstrm", kNsysReport},
    Ending{".et", kExecutionTrace},
    Ending{".xplane.pb", kXplane},
    Ending{".pb",
           "a protocol buffer, as profiles of XLA are, and not read; give the trace of "
           "PyTorch's profiler as JSON"},
    Ending{".pftrace", kRocprof},
    Ending{".perfetto-trace",
           "a trace of Perfetto, which is not read; give the trace of PyTorch's "
           "profiler as JSON"},
};

// All of the keys stand at the top.
struct KnownKeys {
  std::array<std::string_view, 2> keys;
  std::string_view what;
};
constexpr std::array kKnownKeys = {
    KnownKeys{{"rocprofiler-sdk-tool"}, kRocprof},
    KnownKeys{{"schema", "nodes"}, kExecutionTrace},
    KnownKeys{{"workload_graph"}, kExecutionTrace},
    KnownKeys{{"CudaEvent"}, kNsysReport},
    KnownKeys{{"TraceProcessEvent"}, kNsysReport},
    KnownKeys{{"segments", "device_traces"},
              "a snapshot of memory, not of time; give the profiler's trace"},
    KnownKeys{{"log_history"},
              "the log of a Trainer; compare its times with 'stepcast validate', or give the "
              "profiler's trace"},
    KnownKeys{{"architectures"}, kModelConfig},
    KnownKeys{{"model_type"}, kModelConfig},
};

// A table whose name begins so is in the databases of one tool.
struct KnownTable {
  std::string_view beginning;
  std::string_view what;  // empty: it is read
};
constexpr std::array kKnownTables = {
    KnownTable{
        "rocpd_",
        "a database of an older tracer (rocpd before rocprofv3), which is not read; give that "
        "of rocprofv3 --output-format rocpd, or the trace of PyTorch's profiler"},
    KnownTable{"StringTable",
               "a profile of nvprof, which is not read; record the step with Nsight Systems, or "
               "with PyTorch's profiler"},
    KnownTable{"StringIds", ""},
    KnownTable{"META_DATA_EXPORT", ""},
    KnownTable{"CUPTI_ACTIVITY_KIND_", ""},
};
constexpr std::string_view kOtherDatabase =
    "an SQLite database of another program; give an export of Nsight Systems (nsys export --type "
    "sqlite --include-blobs true REPORT.nsys-rep), a database of rocprofv3, or the trace of "
    "PyTorch's profiler";

struct KnownArgument {
  std::string_view key;
  std::string_view what;
};
constexpr std::array kKnownArguments = {
    KnownArgument{"hlo_op", kXlaTrace},
    KnownArgument{"hlo_module", kXlaTrace},
    KnownArgument{"BeginNs", kRocprof},
};

}  // namespace

std::string_view trace_by_beginning(std::string_view start) {
  for (const Signature& known : kSignatures) {
    if (start.size() > known.at && start.substr(known.at).starts_with(known.bytes)) {
      return known.what;
    }
  }
  return begins_as_xplane(start) ? kXplane : std::string_view();
}

std::string_view trace_by_name(std::string_view file) {
  const std::string name = ascii::lower_case(file);
  const auto* const known = std::ranges::find_if(
      kEndings, [&](std::string_view ending) { return name.ends_with(ending); }, &Ending::ending);
  return known == kEndings.end() ? std::string_view() : known->what;
}

std::string_view trace_by_keys(std::span<const std::string> keys) {
  const auto is_there = [&](std::string_view key) {
    return key.empty() || std::ranges::find(keys, key) != keys.end();
  };
  const auto* const known = std::ranges::find_if(
      kKnownKeys, [&](const auto& all) { return std::ranges::all_of(all, is_there); },
      &KnownKeys::keys);
  return known == kKnownKeys.end() ? std::string_view() : known->what;
}

std::string_view trace_by_tables(std::span<const std::string> tables) {
  const auto* const known = std::ranges::find_if(kKnownTables, [&](const KnownTable& sought) {
    return std::ranges::any_of(
        tables, [&](const std::string& table) { return table.starts_with(sought.beginning); });
  });
  return known == kKnownTables.end() ? kOtherDatabase : known->what;
}

std::string_view trace_by_argument(std::string_view key) {
  const auto* const known = std::ranges::find(kKnownArguments, key, &KnownArgument::key);
  return known == kKnownArguments.end() ? std::string_view() : known->what;
}

}  // namespace stepcast
