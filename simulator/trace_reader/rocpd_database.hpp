// SPDX-License-Identifier: Apache-2.0
// Events of a database of rocprofv3 (rocpd), as those of a profiler's trace (trace_recording.hpp):
//
//   rocprofv3 --kernel-trace --memory-copy-trace --hip-runtime-trace --marker-trace
//             --output-format rocpd -- python ...
//
//   rocpd_kernel_dispatch_UUID, rocpd_memory_copy_UUID   calls of agents, with their queue
//   rocpd_region_UUID, rocpd_event_UUID                  launches, and ranges of roctx
//   rocpd_info_agent_UUID                                the device's name and units
//
// Each process has tables of its own. Given are the calls of the agent that is busy for longest,
// and the events of its process. Ranges of roctx are what those of NVTX are (nsys_export.hpp): on
// AMD PyTorch's emit_nvtx writes them. Collectives have no sizes.
//
// Read is schema 3, as rocprofv3 writes it since ROCm 7.0, after its own statements; version 4, in
// which times lie in a table of their own, is refused.
#pragma once

#include <functional>

#include "trace_reader/sqlite_database.hpp"
#include "trace_reader/trace_recording.hpp"

namespace stepcast {

bool is_rocpd_database(const SqliteDatabase& database);

// Throws ConfigError for one that is of another version or holds no call of a device.
TraceHead read_rocpd_database(const SqliteDatabase& database,
                              const std::function<void(const TraceEvent&)>& take);

}  // namespace stepcast
