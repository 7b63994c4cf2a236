// SPDX-License-Identifier: Apache-2.0
// An experiment as the files with which a framework is launched.
//
// A framework's file cannot say all of an experiment (which GPU, which switches of the software).
// What is lost when the files are imported again stands in the first of them as comments that an
// import takes: `# stepcast: software=primus_turbo`. So import(export(x)) is x, whatever a
// framework's words cover, and a key that it covers can be changed in the file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/imported_experiment.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/model/trained_weights.hpp"

namespace stepcast {

// Why a framework cannot run an experiment: each reason with the key of ours that is in the way, at
// the place where an experiment or the file of its model says it.
//
//   mine.yaml:7:26: error: megatron cannot run 'model.attention.qk_norm' full: it norms each head;
//   take none or head
struct ExportRefusal {
  std::string key;     // "plan.schedule"
  std::string value;   // that it has, "dualpipe"; empty: the key alone is in the way
  std::string reason;  // "it has no such pipeline schedule"
  std::string remedy;  // "take 1f1b or interleaved_1f1b"
};

// Of a framework that trains all parameters, which `reason` says; nothing if they are all trained.
std::optional<ExportRefusal> trains_less(const TrainedWeights& weights, std::string reason);

// Throws ConfigError with each of them, if there is any. `root` is the experiment, whose files lie
// in `folder`.
void throw_refusals(const std::vector<ExportRefusal>& refusals, std::string_view framework,
                    const ConfigNode& root, const std::filesystem::path& folder);

struct ExportedFile {
  std::string name;  // "train.sh"
  std::string text;
  // Where the framework has but the nearest word, what it will run instead of the experiment.
  std::vector<std::string> notes{};
};

// What a writer is given: the plan has every degree settled.
struct ExportInput {
  const Experiment& experiment;
  const ParallelPlan& plan;
  const DataRoot& data;
};

struct FrameworkInfo;

// The files of `framework` for the experiment `root`, whose files lie in `folder`, with what they
// cannot say as comments. The first is the one that an import takes. Throws ConfigError where the
// experiment is wrong or the framework cannot run it.
std::vector<ExportedFile> exported(const FrameworkInfo& framework, const ConfigNode& root,
                                   const std::filesystem::path& folder, const DataRoot& data);

// A comment by which an import calls the model as it is called here: "stepcast: model.name=mine".
std::string kept_model_name(const ModelSpec& model);

// What to tell whoever launches the files: notes, and the comments for the way back, which the
// framework passes over. One line each; empty where the files say all of the experiment.
std::string told_of_export(const std::vector<ExportedFile>& files);

}  // namespace stepcast
