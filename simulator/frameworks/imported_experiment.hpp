// SPDX-License-Identifier: Apache-2.0
// An experiment made from a framework's file, with what became of each key of the file.
//
//   # from train.sh: 31 keys carried, 1 key by the framework's default, 1 key not carried over
//   # not carried over: moe_z_loss_coeff 1e-3: a loss of some FLOPs that is not priced
//   # default: vpp 1
//   model: llama3.1_70b
//   cluster: {gpu: h100_sxm, nodes: 8}
//   ...
//
// What a framework's file cannot say stands in it as comments, `# stepcast: software=nemo`, which
// an import takes as --set does; exports write them (exported_file.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/setting_reader.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

class ProfileCache;

// What an import is given. Texts beside `text` are read from `folder`, which is empty for standard
// input.
struct ImportInput {
  std::string text;
  std::string file;  // as messages call it
  // What stands in `text`, where it is data that has been read already.
  std::shared_ptr<const ConfigNode> document;
  std::filesystem::path folder;
  std::vector<std::string> overrides;  // in the framework's own words: key=value
  // Each counts before what the file says, in its own words or in an export's comments.
  std::string gpu;  // a GPU's name; empty: not given
  // GPUs of its usual node, where its profile has been read already.
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::int64_t> nodes;  // not given: from the file's number of GPUs
  std::string software;               // instead of the framework's usual set; empty: not given
  std::string release;                // of which time the framework is; empty: read off the file
  UnknownSettings unknown = UnknownSettings::kRefused;
  DataRoot data;
};

// What stands in the text, as YAML, and as JSON where it is that. Throw ConfigError.
ConfigNode yaml_of(const ImportInput& input);
ConfigNode data_of(const ImportInput& input);

// The text of a file that lies beside the one that is read, or at most three folders above, if it
// is there; of `name`, which may be a path on the machine that launches it, the last part alone is
// looked for as well.
std::optional<std::string> text_beside(const ImportInput& input, const std::string& name);

// The sizes between which a vocabulary lies that no file says.
struct VocabularyRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

// What a framework's reader makes of its file.
struct FrameworkExperiment {
  std::optional<ModelSpec> model;  // by its shape
  std::string model_name;          // or by a name of `configs/models`
  ConfigNode training;             // mappings in our words
  ConfigNode plan;
  ConfigNode expert_exchange;        // may be empty
  ConfigNode software_changes;       // may be empty: switches beside the set
  bool grows_segments = false;       // memory.expandable_segments, beside those
  std::string software;              // the framework's usual set
  std::string gpu;                   // empty where the file names none
  std::optional<std::int64_t> gpus;  // of the whole job, where the file says so
  std::optional<std::int64_t> gpus_per_node;
  std::optional<VocabularyRange> vocabulary{};  // where the model's is a guess
  std::vector<ImportRemark> remarks;
};

struct ImportedExperiment {
  ConfigNode experiment;
  std::vector<ImportRemark> remarks;
};

// Puts the parts together: the model by its name where a shipped one has its shape, the cluster
// from what was given or else from the file, comments of exports last but for what was given.
// Throws ConfigError.
ImportedExperiment assembled(FrameworkExperiment parts, const ImportInput& input);

// The same once every setting has been read: what nobody asked for and every problem is told first.
ImportedExperiment assembled(FrameworkReader& settings, FrameworkExperiment parts,
                             const ImportInput& input);

// Whether an import made an experiment: what a framework's file says may be read and still be none.
//
//   train.toml:14:21: error: 'training.global_batch_size': 1000000000000000000 is out of range; ...
//
// Reads the experiment as `stepcast project` does. Throws ConfigError with each problem at the
// place in the framework's file from which the key came, or at the file as a whole. An import
// without a cluster is none yet and passes.
void check_import(const ImportedExperiment& imported, const ImportInput& input,
                  ProfileCache& profiles);

// The file that `stepcast project` takes, with remarks as comments.
std::string to_yaml(const ImportedExperiment& imported, const std::string& file);
// What to tell the user: counts, what was left out, defaulted and assumed; a line each.
std::string remarks_text(const ImportedExperiment& imported, const std::string& file);

// The assignments of `# stepcast: key=value` lines, in the order of the text.
std::vector<std::string> kept_assignments(std::string_view text);

}  // namespace stepcast
