// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/chosen_backends.hpp"

#include <map>

#include "backends/builtin_backends.hpp"
#include "importers/measurement_files.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/experiment/backend_choice.hpp"

namespace stepcast {
namespace {

// The backends of a role, with what they take: "tile, roofline, measured:FILE".
std::string names_of_role(const std::string& role) {
  std::vector<std::string> names;
  for (const BackendInfo& info : builtin_backends()) {
    if (name(info.role) == role) {
      names.push_back(std::string(info.name) + (info.takes_file() ? ":FILE" : ""));
    }
  }
  return text_list(names);
}

// What is wrong with a choice; empty if it can be used.
std::string fault_of(const BackendChoice& choice, const std::string& role,
                     const BackendInfo* backend) {
  if (const std::string names = names_of_role(role); names.empty()) {
    return "there is no role '" + role +
           "' of a backend; give one of: " + text_list(names_of<BackendRole>());
  }
  if (backend == nullptr) {
    return "unknown backend '" + choice.name + "' for the role '" + role +
           "'; give one of: " + names_of_role(role);
  }
  if (backend->takes_file() && choice.files.empty()) {
    return "needs a file of measured kernels; write '" + choice.name + ":FILE'";
  }
  return !backend->takes_file() && !choice.files.empty()
             ? "the backend '" + choice.name + "' takes no file; it is '" +
                   text_list(choice.files, ",") + "'"
             : "";
}

// The rows of all files of a choice. Where the experiment brings constants of its kernels, rows of
// its GPU are compared with what those say.
MeasuredOperators measured_of(const BackendChoice& choice, const Experiment& experiment,
                              const DataRoot& data) {
  MeasuredOperators all;
  all.file = text_list(choice.files, ",");
  for (const std::string& file : choice.files) {
    MeasuredOperators of_file = measured_in(file, data);
    all.rows.insert(all.rows.end(), std::make_move_iterator(of_file.rows.begin()),
                    std::make_move_iterator(of_file.rows.end()));
    all.machines.merge(of_file.machines);
  }
  const auto own = all.machines.find(experiment.cluster.device.name);
  if (experiment.own_kernels && own != all.machines.end()) {
    own->second.device.kernels = *experiment.own_kernels;
  }
  return all;
}

// Where the backend of a role is chosen.
Location place_of(const Experiment& experiment, const std::string& role) {
  const auto given = experiment.backends_given.find(role);
  return given == experiment.backends_given.end() ? Location{"backends." + role, 0, 0}
                                                  : given->second;
}

// Throws ConfigError with every choice that there is no backend for.
CostModel chosen_model(const Experiment& experiment, const DataRoot& data) {
  CostModel model = default_cost_model();
  Diagnostics diagnostics;
  for (const auto& [role, chosen] : experiment.backends) {
    const BackendChoice choice = parse_backend_choice(chosen);
    const BackendInfo* backend = find_backend(role, choice.name);
    if (const std::string fault = fault_of(choice, role, backend); !fault.empty()) {
      diagnostics.error(place_of(experiment, role), fault);
    } else {
      use_backend(
          model, *backend,
          choice.files.empty() ? MeasuredOperators{} : measured_of(choice, experiment, data));
    }
  }
  diagnostics.throw_if_any();
  return model;
}

}  // namespace

MeasuredOperators measured_in(const std::string& file, const DataRoot& data) {
  ProfileCache profiles(data);
  return measured_operators(file, all_importers(), profiles);
}

void name_backends(Experiment& experiment) {
  for (const BackendInfo& info : builtin_backends()) {
    experiment.backends.try_emplace(std::string(name(info.role)), info.name);
  }
}

CostModel cost_model_of(Experiment& experiment, const DataRoot& data) {
  CostModel model = chosen_model(experiment, data);
  name_backends(experiment);
  return model;
}

CostModel cost_model_of(const std::vector<Assignment>& choices, const DataRoot& data) {
  Experiment chosen;
  for (const Assignment& given : choices) {
    const std::string& choice = given.text;
    const std::size_t equals = choice.find('=');
    const Location place = place_of(given, "backends");
    if (equals == std::string::npos) {
      throw ConfigError(place, "write ROLE=NAME, e.g. gemm=roofline");
    }
    const std::string role = choice.substr(0, equals);
    const std::string backend = choice.substr(equals + 1);
    if (chosen.backends.emplace(role, backend).first->second != backend) {
      throw ConfigError(place, "chooses another backend for the role '" + role + "' than '" +
                                   chosen.backends_given[role].file + "'; leave one of them out");
    }
    chosen.backends_given[role] = place;
  }
  return cost_model_of(chosen, data);
}

std::vector<CostModel> cost_models_of(const std::vector<Experiment>& experiments,
                                      const DataRoot& data) {
  std::map<std::map<std::string, std::string>, CostModel> by_choice;
  std::vector<CostModel> costs;
  costs.reserve(experiments.size());
  for (const Experiment& experiment : experiments) {
    auto known = by_choice.find(experiment.backends);
    if (known == by_choice.end()) {
      known = by_choice.emplace(experiment.backends, chosen_model(experiment, data)).first;
    }
    costs.push_back(known->second);
  }
  return costs;
}

}  // namespace stepcast
