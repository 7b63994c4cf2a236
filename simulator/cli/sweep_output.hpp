// SPDX-License-Identifier: Apache-2.0
// What `sweep` and `merge` write: the report, and every priced plan as a line. Chunks are streamed,
// so that the plans of a sweep need not fit in memory.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "cli/common_options.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"

namespace stepcast::cli {

struct SweepOutputOptions {
  OutputOptions report;
  std::string plans;               // FILE.csv or FILE.jsonl
  std::optional<std::size_t> top;  // plans in the report and the folder
  bool every_plan = false;         // is priced, whatever the report has
  std::string save_dir;            // a folder for the best plans; empty: none
  std::string plot;                // an SVG of the plans; empty: none
  std::string command;             // that a page names as its maker
};

void add_sweep_output_options(CLI::App& command, SweepOutputOptions& options);

// What keeps the options from being followed, found before any work is done.
void check_sweep_output(const SweepOutputOptions& options, Diagnostics& diagnostics);

// How many of the best plans, beside the Pareto sets, are all that the output has; nothing where it
// needs every plan.
std::optional<std::size_t> best_of_output(const SweepOutputOptions& options);

// The exit code: whether any plan can run, or that `stop` was asked for, and nothing written.
// `source` is what `space` was read from.
int write_sweep(const SweepSource& source, const SweepSpace& space, const ChunkReader& chunks,
                const ChunkGrid& grid, const SweepOutputOptions& options, const DataRoot& data,
                int threads, const std::stop_token& stop);

}  // namespace stepcast::cli
