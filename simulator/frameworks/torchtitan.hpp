// SPDX-License-Identifier: Apache-2.0
// torchtitan's files: TOML job configs up to February 2026, and since then the Python functions of
// config_registry.py, from which it is launched as `MODULE=llama3 CONFIG=llama3_70b`. Their form
// says of which time they are, and so which software set they run (torchtitan_release.hpp).
//
//   [parallelism]                                 plan: {tp: 8, pp: 1, fsdp: 8}
//   tensor_parallel_degree = 8                    software: torchtitan
//
// The files do not say on how many GPUs of which kind a job runs: both are given beside them, and a
// degree of -1 takes what is left. Written are TOML files, which torchtitan took up to 23 February
// 2026 (9810191bb); its later versions take no files but Python.
//
// When it is wrong: losses in chunks, FP8 on some of the matrices alone, and what a recipe does in
// conditions are not carried over; each is named where it is met.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frameworks/exported_file.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/known_model.hpp"
#include "frameworks/setting_reader.hpp"
#include "frameworks/torchtitan_release.hpp"

namespace stepcast {

ImportedExperiment import_torchtitan(const ImportInput& input);
std::vector<ExportedFile> export_torchtitan(const ExportInput& input);
std::vector<ExportRefusal> why_not_torchtitan(const ExportInput& input);

// What differs between generations of files besides their names.
struct TorchtitanJob {
  bool recipe = false;         // a Python function of 2026
  bool counts_tokens = false;  // its batch is a number of tokens
  std::string module{};        // of a recipe: llama3
  TorchtitanRelease release{};

  [[nodiscard]] bool is_before(std::string_view day) const { return release.day < day; }
};

// Of settings that stand in a reader already, under the names of job configs. Problems go to its
// diagnostics; the result counts if there are none.
FrameworkExperiment read_torchtitan(FrameworkReader& settings, const TorchtitanJob& job,
                                    const ImportInput& input);

}  // namespace stepcast
