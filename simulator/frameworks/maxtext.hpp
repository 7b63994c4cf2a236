// SPDX-License-Identifier: Apache-2.0
// MaxText's configurations: YAML whose absent keys are those of `base_config`, src/maxtext/configs/
// base.yml in the end, whose defaults stand here.
//
//   model_name: "llama3.1-405b"           model: llama3.1_405b
//   dcn_fsdp_parallelism: -1              plan: {tp: 8, pp: 1, fsdp: 64}
//   ici_tensor_parallelism: 8             training: {micro_batch_size: 1, ...}
//
// Of each axis one part lies between nodes (dcn_) and one within (ici_); -1 takes what is left of
// the nodes, or of a node's GPUs. The batch is spread over data, fsdp and expert; parameters
// outside the experts are sharded over fsdp, context and expert together.
//
// When it is wrong: policies of recomputation that keep a few products of a layer are taken for
// full recomputation, and MaxText's circular pipeline, which runs all forward passes first, for an
// interleaved one. Flags of XLA are not in the file: the sets maxtext_2026_04 and maxtext_2026_05
// are AMD's, and are given with --software.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frameworks/exported_file.hpp"
#include "frameworks/framework_words.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/known_model.hpp"
#include "frameworks/setting_reader.hpp"

namespace stepcast {

ImportedExperiment import_maxtext(const ImportInput& input);
std::vector<ExportedFile> export_maxtext(const ExportInput& input);
std::vector<ExportRefusal> why_not_maxtext(const ExportInput& input);

// Of settings that stand in a reader already. Problems go to its diagnostics. `of_file` are the
// names that a configuration file says and no argument after it.
FrameworkExperiment read_maxtext(FrameworkReader& settings, const ImportInput& input,
                                 std::span<const std::string> of_file = {});

// The model of a configuration: a name, and widths that stand beside it. Empty, with an error,
// where the name is not known. Of a named model MaxText takes its own models/NAME.yml over the
// file's widths, and refuses other widths as arguments without override_model_config
// (src/maxtext/configs/pyconfig.py, _initialize_pydantic).
std::optional<KeptModel> read_maxtext_model(FrameworkReader& settings, const FrameworkWords& words,
                                            const ImportInput& input,
                                            std::span<const std::string> of_file);

// The words of configs/frameworks/maxtext.yaml.
FrameworkWords maxtext_words(const DataRoot& data);

}  // namespace stepcast
