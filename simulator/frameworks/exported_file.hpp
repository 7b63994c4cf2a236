// SPDX-License-Identifier: Apache-2.0
// An experiment as the files with which a framework is launched.
//
// A framework's file cannot say all of an experiment (which GPU, which switches of the software).
// What is lost when the files are imported again stands in the first of them as comments that an
// import takes: `# stepcast: software=primus_turbo`. So import(export(x)) is x, whatever a
// framework's words cover, and a key that it covers can be changed in the file.
#pragma once

#include <string>
#include <vector>

#include "frameworks/imported_experiment.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

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
// experiment is wrong or the framework cannot run it (export_refusal.hpp).
std::vector<ExportedFile> exported(const FrameworkInfo& framework, const ConfigNode& root,
                                   const std::filesystem::path& folder, const DataRoot& data);

// A comment by which an import calls the model as it is called here: "stepcast: model.name=mine".
std::string kept_model_name(const ModelSpec& model);

// What to tell whoever launches the files: notes, and the comments for the way back, which the
// framework passes over. One line each; empty where the files say all of the experiment.
std::string told_of_export(const std::vector<ExportedFile>& files);

}  // namespace stepcast
