// SPDX-License-Identifier: Apache-2.0
// Events of an SQLite export of Nsight Systems, as those of a profiler's trace
// (trace_recording.hpp):
//
//   nsys profile --trace cuda,nvtx --pytorch=autograd-shapes-nvtx ...   records it
//   nsys export --type sqlite --include-blobs true report.nsys-rep      writes it
//
//   CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET   calls of a device, with the launch of each
//   CUPTI_ACTIVITY_KIND_RUNTIME                    launches
//   CUPTI_ACTIVITY_KIND_GRAPH_TRACE                whole CUDA graphs, whose kernels are not known
//   NVTX_EVENTS                                    operators, steps, calls of NCCL: below
//   TARGET_INFO_GPU, TARGET_INFO_CUDA_DEVICE       the device's name, memory and units
//
// Given are the calls of the device that is busy for longest, and the events of its process.
//
// Operators are the ranges of PyTorch's emit_nvtx, "aten::mm, seq = 3, op_id = 7, sizes =
// [[8, 4], [4, 2]]": those whose name has a namespace, or that have a number of their sequence.
// Steps are ranges that are called one with its number behind ("step 7", "Iteration: 7",
// "train_step_7", "ProfilerStep#7"). NCCL's say what its kernels carry (nccl_ranges.hpp).
//
// Tables and columns differ by version: without kernels and whole graphs, which copies alone are
// not, or without the table of texts an export is refused, without others what they say is not
// known. Times are as they are stored; a call that
// ends before it starts is left out.
#pragma once

#include <functional>

#include "trace_reader/sqlite_database.hpp"
#include "trace_reader/trace_recording.hpp"

namespace stepcast {

// What an export lacks is told in the remarks of what it gives. Throws ConfigError for a database
// that is no such export, says what it is where that is known, or holds no call of a device.
TraceHead read_nsys_export(const SqliteDatabase& database,
                           const std::function<void(const TraceEvent&)>& take);

}  // namespace stepcast
