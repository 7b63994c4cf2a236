// SPDX-License-Identifier: Apache-2.0
#include "frameworks/exported_file.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "frameworks/framework_table.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/experiment/settled_input.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

// The place of the innermost key of a dotted path that a mapping has; `around` if it has none.
Location innermost(const ConfigNode& mapping, std::string_view path, const Location& around) {
  const std::size_t dot = path.find('.');
  const ConfigEntry* entry = mapping.entry(path.substr(0, dot));
  if (entry == nullptr) {
    return around;
  }
  return dot == std::string_view::npos
             ? entry->location()
             : innermost(entry->value, path.substr(dot + 1), entry->location());
}

// A model in a file of its own says its keys there.
Location place_of(const std::string& key, const ConfigNode& root,
                  const std::filesystem::path& folder) {
  constexpr std::string_view kModel = "model.";
  const ConfigNode* model = root.find("model");
  if (key.starts_with(kModel) && model != nullptr && is_own_file(model->text)) {
    const ConfigNode own = load_config(folder / model->text);
    const std::string_view rest = std::string_view(key).substr(kModel.size());
    return innermost(own, rest, {own.location().file, 1, 1});
  }
  return innermost(root, key, root.location());
}

// Dotted key -> value on one line, of everything below a node that is no mapping itself.
using Leaves = std::map<std::string, std::string>;

void collect_leaves(const ConfigNode& node, const std::string& path, Leaves& leaves) {
  if (node.kind == ConfigNode::Kind::kMapping) {
    for (const ConfigEntry& entry : node.entries) {
      collect_leaves(entry.value, path.empty() ? entry.key : path + "." + entry.key, leaves);
    }
    return;
  }
  leaves[path] = to_flow_yaml(node);
}

// What ran: equal leaves mean equal reports.
Leaves settled_leaves(const Experiment& experiment) {
  const ResolvedPlan resolved = settle_plan(experiment.plan, experiment.model, experiment.training,
                                            experiment.cluster, experiment.software);
  Experiment named = experiment;
  named.named.software_assumed = false;
  named.named.training_assumed.clear();
  Leaves leaves;
  collect_leaves(settled_input(named, resolved.plan), "", leaves);
  return leaves;
}

// The experiment with its model written out.
Leaves leaves_of(const Experiment& experiment, const ConfigNode& root) {
  Leaves leaves;
  for (const ConfigEntry& entry : root.entries) {
    if (entry.key != "model" && entry.key != "description") {
      collect_leaves(entry.value, entry.key, leaves);
    }
  }
  collect_leaves(parse_config(to_yaml(experiment.model), "model"), "model", leaves);
  return leaves;
}

std::string with_comments(const std::string& text, const std::vector<std::string>& assignments) {
  const std::size_t begin = text.starts_with("#!") ? std::min(text.find('\n') + 1, text.size()) : 0;
  std::string lines;
  for (const std::string& assignment : assignments) {
    lines += "# stepcast: " + assignment + "\n";
  }
  return text.substr(0, begin) + lines + text.substr(begin);
}

// Keys that say what a model is called and where it comes from, not what it is.
bool describes_model(const std::string& key) {
  constexpr std::array<std::string_view, 5> kKeys = {"model.name", "model.title", "model.family",
                                                     "model.source", "model.note"};
  return key.starts_with("model.published.") ||
         std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

class RoundTrip {
 public:
  RoundTrip(const FrameworkInfo& framework, const ConfigNode& root,
            const std::filesystem::path& folder, const DataRoot& data)
      : framework_(framework),
        root_(root),
        data_(data),
        profiles_(data),
        wanted_(read_experiment(root, folder, profiles_)),
        leaves_(leaves_of(wanted_, root)),
        settled_(settled_leaves(wanted_)),
        files_(written(framework, root, folder)) {}

  std::vector<ExportedFile> files() {
    std::vector<std::string> kept;
    if (!is_kept_by(kept)) {
      kept = candidates();
      if (!is_kept_by(kept)) {
        throw ConfigError(
            {"export " + std::string(framework_.name), 0, 0},
            "holds what neither the framework's files nor comments in them can say: " + lost(kept) +
                "; leave it out of the experiment, or export to another framework");
      }
      drop_needless(kept);
    }
    files_.front().text = with_comments(files_.front().text, kept);
    return std::move(files_);
  }

 private:
  [[nodiscard]] std::vector<ExportedFile> written(const FrameworkInfo& framework,
                                                  const ConfigNode& root,
                                                  const std::filesystem::path& folder) const {
    const ResolvedPlan resolved = settle_plan(wanted_.plan, wanted_.model, wanted_.training,
                                              wanted_.cluster, wanted_.software);
    const ConfigEntry* plan = root.entry("plan");
    Diagnostics diagnostics;
    for (const Reason& reason : resolved.reasons) {
      diagnostics.error(plan == nullptr ? root.location() : plan->location(),
                        "the plan cannot run: " + reason.text());
    }
    diagnostics.throw_if_any();
    const ExportInput input{wanted_, resolved.plan, data_};
    throw_refusals(framework.why_not(input), framework.name, root, folder);
    return framework.export_to(input);
  }

  [[nodiscard]] ImportedExperiment imported(const std::vector<std::string>& kept) const {
    ImportInput input;
    input.text = with_comments(files_.front().text, kept);
    input.file = files_.front().name;
    input.data = data_;
    return framework_.import_from(input);
  }

  // Whether the file with these comments comes back as the experiment.
  [[nodiscard]] bool is_kept_by(const std::vector<std::string>& kept) {
    try {
      const ConfigNode root = imported(kept).experiment;
      return settled_leaves(read_experiment(root, {}, profiles_)) == settled_;
    } catch (const ConfigError&) {
      return false;  // without the cluster there is no experiment
    }
  }

  // The first key that does not come back with these comments, or why nothing does.
  [[nodiscard]] std::string lost(const std::vector<std::string>& kept) {
    try {
      const ConfigNode root = imported(kept).experiment;
      const Leaves back = settled_leaves(read_experiment(root, {}, profiles_));
      for (const Leaves* leaves : std::initializer_list<const Leaves*>{&settled_, &back}) {
        for (const auto& [key, value] : *leaves) {
          const auto wanted = settled_.find(key);
          const auto found = back.find(key);
          if (wanted == settled_.end() || found == back.end() || wanted->second != found->second) {
            return key + ", " + value;
          }
        }
      }
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  }

  // The names that an import needs before all others.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> lines;
    const auto add = [&](const char* key, const std::string& name) {
      if (!name.empty()) {
        lines.push_back(key + name);
      }
    };
    add("model=", wanted_.named.model);
    add("cluster.name=", wanted_.named.cluster);
    if (wanted_.named.cluster.empty()) {
      add("cluster.gpu=", wanted_.named.gpu);
    }
    add("software=", wanted_.named.software);
    // On which degrees follow that a file leaves to the number of GPUs.
    if (const auto nodes = leaves_.find("cluster.nodes"); nodes != leaves_.end()) {
      add("cluster.nodes=", nodes->second);
    }
    return lines;
  }

  // Every key that the file alone does not bring back, and before them a null for what it brings
  // besides: `training.optimizer=null` for the one word of a mapping.
  [[nodiscard]] std::vector<std::string> candidates() const {
    std::vector<std::string> kept = names();
    const ConfigNode bare = imported(kept).experiment;
    Leaves back = leaves_of_import(bare);
    const std::vector<std::string> wanted = values_beside(back);
    for (const ConfigEntry& entry : bare.entries) {
      // A set is named in any case; what stands beside its name goes key by key.
      if (root_.find(entry.key) == nullptr && entry.key != "software") {
        kept.push_back(entry.key + "=null");
        std::erase_if(back, [&](const auto& leaf) { return leaf.first.starts_with(entry.key); });
      }
    }
    for (const auto& [key, value] : back) {
      const bool is_passed_over = describes_model(key) && !wanted_.named.model.empty();
      if (!leaves_.contains(key) && key != "software" && !is_passed_over) {
        kept.push_back(key + "=null");
      }
    }
    kept.insert(kept.end(), wanted.begin(), wanted.end());
    return kept;
  }

  // What the experiment says and an import that has `back` does not.
  [[nodiscard]] std::vector<std::string> values_beside(const Leaves& back) const {
    std::vector<std::string> values;
    for (const auto& [key, value] : leaves_) {
      if (describes_model(key)) {
        // Of a model that is none of the shipped ones the way back takes over none of these.
        if (wanted_.named.model.empty()) {
          values.push_back(key + "=" + value);
        }
        continue;
      }
      const auto same = back.find(key);
      if (key != "cluster.gpu" && key != "cluster.name" && key != "software" &&
          key != "software.base" && (same == back.end() || same->second != value)) {
        values.push_back(key + "=" + value);
      }
    }
    return values;
  }

  [[nodiscard]] Leaves leaves_of_import(const ConfigNode& bare) const {
    Leaves back;
    collect_leaves(bare, "", back);
    const ConfigNode* model = bare.find("model");
    if (model->kind == ConfigNode::Kind::kScalar) {
      collect_leaves(parse_config(to_yaml(load_named_model(model->text, data_, {})), "model"),
                     "model", back);
      back.erase("model");
    }
    return back;
  }

  // In blocks that halve: most lines are needless, and each trial is an import.
  void drop_needless(std::vector<std::string>& kept) {
    for (std::size_t size = (kept.size() + 1) / 2; size > 0; size /= 2) {
      for (std::size_t i = 0; i < kept.size();) {
        std::vector<std::string> fewer = kept;
        const std::size_t end = std::min(i + size, kept.size());
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i),
                    fewer.begin() + static_cast<std::ptrdiff_t>(end));
        if (is_kept_by(fewer)) {
          kept = std::move(fewer);
        } else {
          i = end;
        }
      }
    }
  }

  const FrameworkInfo& framework_;
  const ConfigNode& root_;
  const DataRoot& data_;
  ProfileCache profiles_;  // of all readings: an experiment's profiles take longest to read
  Experiment wanted_;
  Leaves leaves_;
  Leaves settled_;
  std::vector<ExportedFile> files_;
};

}  // namespace

std::optional<ExportRefusal> trains_less(const TrainedWeights& weights, std::string reason) {
  if (weights.whole_model()) {
    return std::nullopt;
  }
  return ExportRefusal{weights.lora ? "training.lora" : "training.frozen", "", std::move(reason),
                       "export primus or megatron_bridge, or leave the key out"};
}

void throw_refusals(const std::vector<ExportRefusal>& refusals, std::string_view framework,
                    const ConfigNode& root, const std::filesystem::path& folder) {
  Diagnostics diagnostics;
  for (const ExportRefusal& refusal : refusals) {
    const std::string value = refusal.value.empty() ? "" : " " + refusal.value;
    diagnostics.error(place_of(refusal.key, root, folder),
                      std::string(framework) + " cannot run '" + refusal.key + "'" + value + ": " +
                          refusal.reason + "; " + refusal.remedy);
  }
  diagnostics.throw_if_any();
}

std::vector<ExportedFile> exported(const FrameworkInfo& framework, const ConfigNode& root,
                                   const std::filesystem::path& folder, const DataRoot& data) {
  return RoundTrip(framework, root, folder, data).files();
}

std::string kept_model_name(const ModelSpec& model) {
  return "stepcast: model.name=" + to_flow_yaml(scalar_node(model.name));
}

std::string told_of_export(const std::vector<ExportedFile>& files) {
  std::string text;
  for (const ExportedFile& file : files) {
    for (const std::string& note : file.notes) {
      text += file.name + ": " + note + "\n";
    }
    for (const std::string& assignment : kept_assignments(file.text)) {
      const std::string key = assignment.substr(0, assignment.find('='));
      if (describes_model(key) || assignment.ends_with("=null")) {
        continue;  // of a name, or what the experiment leaves to the usual value
      }
      text += file.name + ": said by a comment alone: " + assignment + "\n";
    }
  }
  return text;
}

}  // namespace stepcast
