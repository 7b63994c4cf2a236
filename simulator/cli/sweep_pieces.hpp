// SPDX-License-Identifier: Apache-2.0
// `stepcast sweep --pieces FOLDER`: one of the tasks that price a sweep piece by piece, of a folder
// that all of them see.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/common_options.hpp"
#include "stepcast/sweep/part_format.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast::cli {

struct PieceOptions {
  std::string folder;      // empty: not by pieces
  std::string submission;  // empty: the Slurm job, or this process alone
  std::vector<std::string> beside;

  [[nodiscard]] bool given() const { return !folder.empty(); }
};

void add_piece_options(CLI::App& command, PieceOptions& options);

// What keeps the options from being followed.
void check_piece_options(const PieceOptions& options, Diagnostics& diagnostics);

// The sweep that the folder is of, as this version of the program reads it; nothing if there is
// none yet. Throws ConfigError.
std::optional<PartHeader> sweep_of_pieces(const PieceOptions& options);

// Prices pieces of `sweep`, whose shard is not read, until none is left; the exit code.
int run_piece_task(const PieceOptions& options, const PartHeader& sweep,
                   const MakeEvaluator& evaluator, int threads, const GlobalOptions& global,
                   const std::stop_token& stop);

}  // namespace stepcast::cli
