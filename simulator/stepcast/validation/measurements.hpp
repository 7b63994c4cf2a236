// SPDX-License-Identifier: Apache-2.0
// What a file of measurements holds. Canonical records are read here; the readers of foreign
// formats turn their rows into such records and are passed in by the program, as it passes in the
// backends.
#pragma once

#include <filesystem>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/operator_lines/operator_line.hpp"
#include "stepcast/result/validation.hpp"
#include "stepcast/validation/canonical_record.hpp"

namespace stepcast {

// The readers of files that other programs wrote.
struct Importers {
  // The rows of a text as canonical records, in its order. Tells the format from the first line;
  // throws ConfigError for no known format and for rows that are wrong.
  std::vector<RecordLine> (*records)(const std::string& text, const std::string& file,
                                     ProfileCache& profiles) = nullptr;
  // Profiler traces are no rows but one step, compared by category with an experiment.
  bool (*is_trace)(const std::filesystem::path& file) = nullptr;
  std::vector<ValidationRow> (*trace_rows)(const std::filesystem::path& file,
                                           const std::optional<Experiment>& experiment,
                                           ProfileCache& profiles, const CostModel& cost) = nullptr;
};

// The rows of a file in its order, each with an id: its own, else its number. Throws ConfigError
// for a file that cannot be read and for canonical records with problems; a foreign row that no
// record can be made of is there with the reason why it is skipped.
std::vector<MeasuredRow> read_measurements(const std::filesystem::path& file,
                                           const Importers& importers, ProfileCache& profiles);

// The rows of one kind. Throws ConfigError for a file that has none of them.
std::vector<MeasuredRun> measured_runs(const std::filesystem::path& file,
                                       const Importers& importers, ProfileCache& profiles);
std::vector<MeasuredKernel> measured_kernels(const std::filesystem::path& file,
                                             const Importers& importers, ProfileCache& profiles);

// Those kernels whose time is that of one operator alone, for a backend that prices by them.
MeasuredOperators measured_operators(const std::filesystem::path& file, const Importers& importers,
                                     ProfileCache& profiles);

}  // namespace stepcast
