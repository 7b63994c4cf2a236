// SPDX-License-Identifier: Apache-2.0
// Calls of the public header that read and write files of other programs.

#include <algorithm>
#include <memory>
#include <utility>

#include "frameworks/file_formats.hpp"
#include "frameworks/framework_table.hpp"
#include "frameworks/hf_config.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/read_text.hpp"
#include "frameworks/trainer_adapters.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/foreign_model.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/told_name.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

const FrameworkInfo& framework_of(const std::string& wanted) {
  std::vector<std::string_view> known;
  for (const FrameworkInfo& framework : frameworks()) {
    if (wanted == framework.name) {
      return framework;
    }
    known.push_back(framework.name);
  }
  throw ConfigError({"framework", 0, 0},
                    "there is no '" + wanted + "'; give one of " + text_list(known));
}

// The name of a recipe stands for its text where there is no file of that name.
std::string text_or_name(const FrameworkInfo& framework, const TextSource& source) {
  std::error_code error;
  const bool named = framework.takes_name && !source.text && source.file != kStandardInput &&
                     !std::filesystem::exists(source.file, error);
  return named ? source.file.string() : text_of(source);
}

// Of a file that is another framework's by its signs, what to do with it.
std::optional<ConfigError> wrong_door(const FrameworkInfo& from, const SeenFile& seen) {
  const std::optional<RecognizedFile>& found = seen.recognized;
  if (!found || found->format.door == from.name || found->sign.empty()) {
    return std::nullopt;
  }
  const FileFormat& format = found->format;
  return ConfigError(
      found->where, "is " + told_format(*found) + "; " +
                        (format.door.empty()
                             ? format.remedy
                             : "give it to stepcast import " + format.door + " " + seen.read.file));
}

SeenFile seen_text(std::string text, std::string file, const DataRoot& data) {
  SeenFile seen{read_text(std::move(text), std::move(file)), std::nullopt};
  seen.recognized = recognized_file(seen.read, data);
  return seen;
}

// The document of a file that was looked at; null where it has none.
std::shared_ptr<const ConfigNode> document_in(const std::shared_ptr<const SeenFile>& seen) {
  const bool has = seen != nullptr && seen->read.document;
  return has ? std::shared_ptr<const ConfigNode>(seen, &*seen->read.document) : nullptr;
}

// Data says what it is by its keys before they are read; scripts and Python, which may say a word
// for another reason, where they cannot be read. `seen`: the file, where it was looked at already.
ImportedExperiment imported_by(const FrameworkInfo& from, ImportInput& input,
                               std::shared_ptr<const SeenFile> seen, ProfileCache& profiles) {
  const TextForm form = form_of(input.text, input.file);
  const bool data = form == TextForm::kYaml || form == TextForm::kJson;
  const auto look = [&] {
    if (seen == nullptr) {
      seen = std::make_shared<const SeenFile>(seen_text(input.text, input.file, input.data));
    }
    return wrong_door(from, *seen);
  };
  if (const std::optional<ConfigError> wrong = data ? look() : std::nullopt) {
    throw ConfigError(*wrong);
  }
  input.document = document_in(seen);
  try {
    if (!input.gpu.empty()) {
      input.gpus_per_node = profiles.gpu(input.gpu, {"--gpu", 0, 0}).gpus_per_node;
    }
    return from.import_from(input);
  } catch (const ConfigError&) {
    const std::optional<ConfigError> other = data ? std::nullopt : look();
    if (!other) {
      throw;
    }
    throw ConfigError(*other);
  }
}

std::vector<std::string> missing_options(const ImportedExperiment& imported) {
  std::vector<std::string> options;
  const ConfigNode* const cluster = imported.experiment.find("cluster");
  if (cluster == nullptr || cluster->find("gpu") == nullptr) {
    options.emplace_back("--gpu");
  }
  const bool assumed = std::ranges::any_of(imported.remarks, [](const ImportRemark& remark) {
    return remark.outcome == ImportOutcome::kAssumed && remark.ours == "cluster.nodes";
  });
  if (assumed || cluster == nullptr || cluster->find("nodes") == nullptr) {
    options.emplace_back("--nodes");
  }
  return options;
}

// A file that has keys and cannot be read is no stranger: what is wrong with it is told.
std::optional<KnownFile> broken_file(const ReadText& read) {
  if (!read.fault || !has_keys(read)) {
    return std::nullopt;
  }
  const auto& [where, message] = *read.fault;
  KnownFile file;
  file.refusal = {where.file, where.line, where.column, message};
  return file;
}

}  // namespace

std::vector<Framework> Simulator::frameworks() {
  return each_of(stepcast::frameworks(), [](const FrameworkInfo& framework) {
    return Framework{std::string(framework.name),
                     std::string(framework.reads),
                     std::string(framework.example),
                     std::string(framework.export_to == nullptr ? "" : framework.writes),
                     framework.takes_name,
                     framework.dated};
  });
}

std::optional<KnownFile> Simulator::known_file(const TextSource& file) const {
  return answer_of([&]() -> std::optional<KnownFile> {
    const DataRoot data{data_};
    const auto seen = std::make_shared<const SeenFile>(
        seen_text(text_of(file, kLargestHfConfig), told_name(file.file), data));
    const std::optional<RecognizedFile>& found = seen->recognized;
    if (!found) {
      return broken_file(seen->read);
    }
    const FileFormat& format = found->format;
    const std::string what = told_format(*found);
    const Location& where = found->where;
    return KnownFile{what,
                     format.door,
                     format.remedy,
                     format.is_experiment,
                     {where.file, where.line, where.column, "is " + what + "; " + format.remedy},
                     {file.file, seen->read.text, seen}};
  });
}

Imported Simulator::import_experiment(const std::string& framework, const TextSource& file,
                                      const ImportSettings& settings) const {
  return answer_of([&]() -> Imported {
    const FrameworkInfo& from = framework_of(framework);
    ImportInput input;
    input.text = text_or_name(from, file);
    input.file = told_name(file.file);
    input.folder = folder_of(file);
    input.overrides = settings.overrides;
    input.gpu = settings.gpu;
    input.nodes = settings.nodes;
    input.software = settings.software;
    input.release = settings.release;
    if (!from.dated && !settings.release.empty()) {
      throw ConfigError({"--release", 0, 0}, "is not known of " + framework + "; give --software");
    }
    input.unknown = settings.lenient ? UnknownSettings::kRemarked : UnknownSettings::kRefused;
    input.data = {data_};
    ProfileCache profiles(input.data);
    const ImportedExperiment imported = imported_by(from, input, file.seen, profiles);
    check_import(imported, input, profiles);
    return {to_yaml(imported, input.file), remarks_text(imported, input.file),
            missing_options(imported)};
  });
}

std::string Simulator::import_model(const TextSource& file, const std::string& name) const {
  return answer_of([&] {
    std::error_code error;
    TextSource config = file;
    if (!file.text && std::filesystem::is_directory(file.file, error)) {
      config.file /= "config.json";
    }
    const std::string text = text_of(config, kLargestHfConfig);
    if (is_adapter_config(text)) {
      return imported_adapters(text, told_name(config.file));
    }
    return to_yaml(import_hf_config(text, told_name(config.file),
                                    name.empty() ? usual_model_name(config.file) : name,
                                    load_hf_types(DataRoot{data_}.hugging_face_types())));
  });
}

Exported Simulator::export_files(const std::string& framework,
                                 const ExperimentSource& experiment) const {
  return answer_of([&] {
    const DataRoot data{data_};
    const ExperimentTree tree = tree_of(experiment, data);
    const FrameworkInfo& to = framework_of(framework);
    if (to.export_to == nullptr) {
      throw ConfigError({"framework", 0, 0}, "nothing is written for '" + framework + "'");
    }
    Job job = job_of(tree, data);
    // A plan that was searched is written as what was found, which the files then state.
    const bool searched = std::exchange(job.experiment.named.plan_assumed, false);
    const ConfigNode root = searched ? settled_experiment(job.experiment) : tree.root;
    const std::vector<ExportedFile> files = exported(to, root, tree.folder, data);
    Exported result{{}, told_of_export(files)};
    for (const ExportedFile& file : files) {
      result.files.emplace_back(file.name, file.text);
    }
    return result;
  });
}

}  // namespace stepcast
