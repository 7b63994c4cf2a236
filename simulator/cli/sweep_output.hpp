// SPDX-License-Identifier: Apache-2.0
// What `sweep` and `merge` write: the report, and every priced plan as a line. Chunks are streamed,
// so that the plans of a sweep need not fit in memory.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "cli/common_options.hpp"
#include "stepcast/experiment/error_model.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"

namespace stepcast::cli {

struct SweepOutputOptions {
  OutputOptions report;
  std::string plans;               // FILE.csv or FILE.jsonl
  std::optional<std::size_t> top;  // plans in the report
};

void add_sweep_output_options(CLI::App& command, SweepOutputOptions& options);

// What keeps the options from being followed, found before any work is done.
void check_sweep_output(const SweepOutputOptions& options, Diagnostics& diagnostics);

// The exit code: whether any plan can run, or that `stop` was asked for, and nothing written. The
// errors to expect follow from the `known` runs.
int write_sweep(const SweepSpace& space, const ChunkReader& chunks, const ChunkGrid& grid,
                const SweepOutputOptions& options, const std::vector<HeldOutRun>& known,
                int threads, const std::stop_token& stop);

}  // namespace stepcast::cli
