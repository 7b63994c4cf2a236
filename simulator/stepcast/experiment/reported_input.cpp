// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/reported_input.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/experiment/settled_input.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kClusterSettings = "cluster_settings";
// What was written, beside what it settles to.
constexpr std::string_view kGiven = "given";

const ConfigNode* mapping_of(const ConfigNode& node, std::string_view key) {
  const ConfigNode* found = node.find(key);
  return found != nullptr && found->kind == ConfigNode::Kind::kMapping ? found : nullptr;
}

// The input that a report holds; null if `root` is an experiment. An experiment's cluster is a
// mapping, a report's is a name.
const ConfigNode* reported(const ConfigNode& root) {
  const ConfigNode* node = &root;
  for (const std::string_view key : {"context", "input"}) {
    if (const ConfigNode* inner = mapping_of(*node, key)) {
      node = inner;
    }
  }
  const ConfigNode* cluster = node->find("cluster");
  const bool named = cluster != nullptr && cluster->kind == ConfigNode::Kind::kScalar;
  return named && (node != &root || mapping_of(root, kClusterSettings) != nullptr) ? node : nullptr;
}

void copy_entry(const ConfigNode& from, std::string_view key, std::string_view as, ConfigNode& to) {
  for (const ConfigEntry& entry : from.entries) {
    if (entry.key == key) {
      to.entries.push_back({std::string(as), entry.line, entry.column, entry.value});
    }
  }
}

// The settings that stand beside a name, in the mapping that an experiment has for both.
void copy_settings(const ConfigNode& from, std::string_view key, ConfigNode& to) {
  if (const ConfigNode* settings = mapping_of(from, key)) {
    for (const ConfigEntry& entry : settings->entries) {
      std::erase_if(to.entries, [&entry](const ConfigEntry& e) { return e.key == entry.key; });
      to.entries.push_back(entry);
    }
  }
}

ConfigNode cluster_of_report(const ConfigNode& input) {
  ConfigNode cluster = empty_at(*input.find("cluster"), ConfigNode::Kind::kMapping);
  const ConfigNode* gpu = input.find("gpu");
  if (gpu == nullptr || gpu->text != input.find("cluster")->text) {
    copy_entry(input, "cluster", "name", cluster);
  }
  copy_entry(input, "gpu", "gpu", cluster);
  copy_entry(input, "nodes", "nodes", cluster);
  if (const ConfigNode* settings = mapping_of(input, kClusterSettings)) {
    for (const std::string_view name : {"name", "gpu"}) {
      if (settings->find(name) != nullptr) {
        std::erase_if(cluster.entries, [name](const ConfigEntry& e) { return e.key == name; });
        copy_entry(*settings, name, name, cluster);
      }
    }
    copy_settings(*settings, kGiven, cluster);
  }
  return cluster;
}

// Values that nobody gave are said to be written where such values are.
ConfigNode training_of_report(const ConfigNode& input, ConfigNode training) {
  const ConfigNode* assumed = input.find(kTrainingAssumed);
  const auto assume = [](ConfigNode& mapping, std::string_view key) {
    for (ConfigEntry& entry : mapping.entries) {
      if (entry.key == key) {
        entry.value.file = std::make_shared<const std::string>(kAssumedPlace);
      }
    }
  };
  for (const ConfigNode& key : assumed == nullptr ? std::vector<ConfigNode>() : assumed->items) {
    assume(training, key.text);
    for (ConfigEntry& entry : training.entries) {
      if (entry.key == "lora" && key.text == kLoraTargets) {
        assume(entry.value, "targets");
      }
    }
  }
  return training;
}

// Nothing where nobody named the software and its set is as it is.
std::optional<ConfigNode> software_of_report(const ConfigNode& input, const ConfigNode& name) {
  const bool assumed = input.find(kSoftwareAssumed) != nullptr;
  if (mapping_of(input, "software_settings") == nullptr) {
    return assumed ? std::nullopt : std::optional(name);
  }
  ConfigNode software = empty_at(name, ConfigNode::Kind::kMapping);
  if (!assumed) {
    copy_entry(input, "software", "base", software);
  }
  copy_settings(input, "software_settings", software);
  return software;
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

ConfigNode experiment_of(const ConfigNode& input) {
  ConfigNode root = empty_at(input, ConfigNode::Kind::kMapping);
  for (const ConfigEntry& entry : input.entries) {
    ConfigEntry copy = entry;
    if (entry.key == "cluster") {
      copy.value = cluster_of_report(input);
    } else if (entry.key == "model" && mapping_of(input, "model_settings") != nullptr) {
      copy.value = *mapping_of(input, "model_settings");
    } else if (entry.key == "training") {
      copy.value = training_of_report(input, entry.value);
    } else if (entry.key == "software") {
      std::optional<ConfigNode> software = software_of_report(input, entry.value);
      if (!software) {
        continue;
      }
      copy.value = *std::move(software);
    } else if (entry.key == "plan") {
      const ConfigNode* given = entry.value.find(kGiven);
      if (given == nullptr) {
        continue;
      }
      copy.value = *given;
      if (input.find(kPlanAssumed) != nullptr) {
        for (ConfigEntry& chosen : copy.value.entries) {
          chosen.value.file = std::make_shared<const std::string>(kAssumedPlace);
        }
      }
    } else if (is_one_of(entry.key, {"gpu", "nodes", "gpus", kClusterSettings, "software_date",
                                     kSoftwareAssumed, kTrainingAssumed, kPlanAssumed,
                                     "software_settings", "model_settings"})) {
      continue;
    }
    root.entries.push_back(std::move(copy));
  }
  return root;
}

std::string in_quotes(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::kScalar ? "'" + node.text + "'" : "something else";
}

bool same(const ConfigNode& a, const ConfigNode& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) {
      return false;
    }
  }
  return a.text == b.text || (number_of(a) && number_of(a) == number_of(b));
}

// What a report says must be what it settles to: otherwise an edit would be passed over.
void check(const ConfigNode& said, const ConfigNode& settled, const std::string& path,
           Diagnostics& diagnostics) {
  for (const ConfigEntry& entry : said.entries) {
    const std::string key = path + entry.key;
    const ConfigNode* follows = settled.find(entry.key);
    if (entry.key == kGiven) {
      continue;
    }
    if (follows == nullptr) {
      diagnostics.error(entry.value.location(), "'" + key + "' is no key of a reported input");
    } else if (entry.value.kind == ConfigNode::Kind::kMapping &&
               follows->kind == ConfigNode::Kind::kMapping) {
      check(entry.value, *follows, key + ".", diagnostics);
    } else if (!same(entry.value, *follows)) {
      diagnostics.error(entry.value.location(),
                        "'" + key + "' is " + in_quotes(entry.value) + " in the report, but " +
                            in_quotes(*follows) +
                            " follows from what was given; change that and take " +
                            "this out, or say --set plan.KEY=VALUE");
    }
  }
}

ConfigNode reported_input_of(const Experiment& experiment) {
  const ParallelPlan plan = settle_plan(experiment.plan, experiment.model, experiment.training,
                                        experiment.cluster, experiment.software)
                                .plan;
  return settled_input(experiment, plan);
}

void check_report(const ConfigNode& input, const ConfigNode& root, const DataRoot& data) {
  Diagnostics diagnostics;
  if (mapping_of(input, kClusterSettings) == nullptr) {
    diagnostics.error(input.location(),
                      "this report does not say all that ran: it has no 'cluster_settings'; run "
                      "the experiment that it is of again");
    diagnostics.throw_if_any();
  }
  check(input, reported_input_of(read_experiment(root, {}, data)), "", diagnostics);
  diagnostics.throw_if_any();
}

}  // namespace

ConfigNode settled_experiment(const Experiment& experiment) {
  return experiment_of(reported_input_of(experiment));
}

ExperimentTree load_experiment_tree(const std::filesystem::path& file, const DataRoot& data) {
  ConfigNode root = load_config(file);
  const ConfigNode* input = reported(root);
  if (input == nullptr) {
    return {std::move(root), file.parent_path()};
  }
  ConfigNode experiment = experiment_of(*input);
  check_report(*input, experiment, data);
  return {std::move(experiment), {}};
}

}  // namespace stepcast
