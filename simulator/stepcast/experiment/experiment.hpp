// SPDX-License-Identifier: Apache-2.0
// One experiment: a model, a cluster, a recipe, a plan and the software, each resolved to plain
// values.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/hardware/cluster_scale.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/run_spec.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"
#include "stepcast/plan/uncarried_saving.hpp"

namespace stepcast {

// Where values are written that stand in for what nobody gave.
inline constexpr const char* kAssumedPlace = "command line";
// The one of training_assumed that lies inside another key.
inline constexpr const char* kLoraTargets = "lora.targets";

// As the data folder calls the parts of an experiment; empty where a part has no name there.
struct NamedParts {
  std::string model;
  std::string cluster;
  std::string gpu;
  std::string software;
  std::string host;                           // empty: the usual one is assumed
  bool software_assumed = false;              // because none is given
  bool plan_assumed = false;                  // likewise: a search chose it (missing_plan.hpp)
  std::vector<std::string> training_assumed;  // keys whose values are written at kAssumedPlace
};

struct Experiment {
  ModelSpec model;
  ClusterSpec cluster;
  TrainingRecipe training;
  std::optional<RunSpec> run;  // of which the step is one; without tokens there is none
  PlanRequest plan;
  SoftwareSpec software;
  std::optional<Hertz> locked_clock;
  std::vector<UncarriedSaving> uncarried_savings;  // of the file that it was imported from
  // Role -> name or name:file (backend_choice.hpp), where the user chose one.
  std::map<std::string, std::string> backends;
  std::map<std::string, Location> backends_given;  // where, of each that the input chooses

  // What the above was made from.
  NamedParts named;
  SoftwareSpec software_base;  // the named set, before an experiment's own switches
  ConfigNode cluster_given;    // what the experiment changes of the node and the network
  // What the experiment says of its GPU's kernels instead of the profile, before it was scaled.
  std::optional<KernelConstants> own_kernels;
  ClusterScale scale;       // that `cluster` has already
  BytesPerSecond nic_rate;  // before it was scaled
  // What its reader chose because nothing was said, and what it doubts.
  std::vector<std::string> notes;
};

// The shared file of sources that profiles name.
SourceTable load_shared_sources(const DataRoot& data);

// Whether a part of an experiment is a file of the user's own (my.yaml) and no shipped name.
bool is_own_file(const std::string& name);
// Loads a named profile; of a GPU also a file of the user's own. Throws ConfigError at `where` with
// the nearest name if there is none. `shared_sources` are those of load_shared_sources, for who has
// them already.
DeviceSpec load_gpu(const std::string& name, const DataRoot& data, const Location& where);
DeviceSpec load_gpu(const std::string& name, const DataRoot& data, const Location& where,
                    const SourceTable& shared_sources);
// GPUs of the part's usual node, DeviceSpec::gpus_per_node, from the part's own file: its kernels
// and collectives, which take most of the time of load_gpu, are not read.
std::int64_t usual_gpus_per_node(const std::string& name, const DataRoot& data,
                                 const Location& where);
// The name of a model's file of the name that a repository of huggingface.co has, in any case of
// its letters; any other name as it is.
std::string model_named_elsewhere(const std::string& name, const DataRoot& data);
ModelSpec load_named_model(const std::string& name, const DataRoot& data, const Location& where);
SoftwareSpec load_named_software(const std::string& name, const DataRoot& data,
                                 const Location& where);
HostSpec load_named_host(const std::string& name, const DataRoot& data, const Location& where);
HostSpec load_named_host(const std::string& name, const DataRoot& data, const Location& where,
                         const SourceTable& shared_sources);

// Loads an experiment file and applies `overrides` ("plan.tp=8") in order. Relative file names
// inside are looked up beside the experiment. Throws ConfigError with every problem.
Experiment load_experiment(const std::filesystem::path& file,
                           const std::vector<Override>& overrides, const DataRoot& data);

// The same for an experiment that is already a tree, as the command line or an importer builds it.
Experiment read_experiment(const ConfigNode& root, const std::filesystem::path& folder,
                           const DataRoot& data);

}  // namespace stepcast
