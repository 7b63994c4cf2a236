// SPDX-License-Identifier: Apache-2.0
#include "frameworks/imported_experiment.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "frameworks/known_model.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kKept = "# stepcast: ";
constexpr std::string_view kModelKey = "model=";
constexpr std::string_view kModelPart = "model.";

std::int64_t degree(const ConfigNode& plan, std::string_view key) {
  const ConfigNode* value = plan.find(key);
  const auto scanned =
      value == nullptr ? ScannedNumber<std::int64_t>{1} : scan_whole(*value, kPositiveCount);
  return scanned.fault == NumberFault::kNone ? scanned.value : 1;
}

// The least number of GPUs on which the plan has a rank for each place.
std::int64_t least_gpus(const ConfigNode& plan) {
  const std::int64_t experts = degree(plan, "ep") * degree(plan, "etp");
  const std::int64_t stage = degree(plan, "tp") * degree(plan, "cp") * degree(plan, "dp");
  return std::max({experts, stage, degree(plan, "fsdp")}) * degree(plan, "pp");
}

class Assembly {
 public:
  Assembly(FrameworkExperiment parts, const ImportInput& input)
      : parts_(std::move(parts)), input_(input), kept_(kept_assignments(input.text)) {}

  ImportedExperiment assembled() {
    ConfigWriter writer;
    writer.field("model", model());
    write_cluster(writer);
    writer.field("training", std::move(parts_.training));
    writer.field("plan", std::move(parts_.plan));
    writer.field("software", software());
    if (!parts_.expert_exchange.entries.empty()) {
      writer.field("expert_exchange", std::move(parts_.expert_exchange));
    }
    ImportedExperiment imported{writer.take(), std::move(parts_.remarks)};
    for (const std::string& assignment : kept_) {
      if (!assignment.starts_with(kModelKey) && !assignment.starts_with(kModelPart)) {
        apply_override(imported.experiment, assignment);
      }
    }
    return imported;
  }

 private:
  // The model of the file with what an export keeps of it: a model that a kept line names is
  // written out, unless another says that it is a shipped one.
  ConfigNode model() {
    if (!parts_.model) {
      return scalar_node(parts_.model_name);
    }
    ConfigNode root = shape_root();
    std::string preferred = parts_.model_name;
    bool written_out = false;
    for (const std::string& assignment : kept_) {
      if (assignment.starts_with(kModelKey)) {
        preferred = assignment.substr(kModelKey.size());
      } else if (assignment.starts_with(kModelPart)) {
        apply_override(root, assignment);
        written_out = written_out || assignment.starts_with("model.name=");
      }
    }
    const ConfigNode& shape = root.entries.front().value;
    const std::string known =
        written_out ? std::string{} : known_model(read_shape(shape), preferred, input_.data);
    return known.empty() ? shape : scalar_node(known);
  }

  // {model: the file's}, for assignments to lead into.
  [[nodiscard]] ConfigNode shape_root() const {
    ConfigWriter writer;
    writer.field("model", parse_config(to_yaml(*parts_.model), "model"));
    return writer.take();
  }

  static ModelSpec read_shape(const ConfigNode& shape) {
    Diagnostics diagnostics;
    MappingReader reader(shape, "model", diagnostics);
    ModelSpec model = read_model(reader);
    diagnostics.throw_if_any();
    return model;
  }

  void write_cluster(ConfigWriter& writer) {
    const std::string gpu = input_.gpu.empty() ? parts_.gpu : input_.gpu;
    if (gpu.empty()) {
      assume("cluster", "not stated",
             "give --gpu and --nodes, here or to the command that takes this file");
      return;
    }
    const std::int64_t usual =
        cluster_of(load_gpu(gpu, input_.data, {"--gpu", 0, 0}), 1).gpus_per_node;
    const std::int64_t per_node = parts_.gpus_per_node.value_or(usual);
    writer.begin("cluster");
    writer.field("gpu", gpu);
    writer.field("nodes", nodes(per_node));
    if (per_node != usual) {
      writer.field("gpus_per_node", per_node);
    }
    writer.end();
  }

  std::int64_t nodes(std::int64_t per_node) {
    if (input_.nodes) {
      return *input_.nodes;
    }
    if (parts_.gpus) {
      return std::max<std::int64_t>(1, (*parts_.gpus + per_node - 1) / per_node);
    }
    const std::int64_t least = (least_gpus(parts_.plan) + per_node - 1) / per_node;
    assume("cluster.nodes", std::to_string(least),
           "the fewest on which the plan has a place for each rank; give --nodes");
    return least;
  }

  ConfigNode software() {
    const std::string& set = input_.software.empty() ? parts_.software : input_.software;
    if (parts_.software_changes.entries.empty()) {
      return scalar_node(set);
    }
    ConfigNode changes = std::move(parts_.software_changes);
    changes.entries.insert(changes.entries.begin(), {"base", 0, 0, scalar_node(set)});
    return changes;
  }

  void assume(std::string ours, std::string value, std::string note) {
    parts_.remarks.push_back({.outcome = ImportOutcome::kAssumed,
                              .name = {},
                              .value = std::move(value),
                              .ours = std::move(ours),
                              .note = std::move(note),
                              .where = {}});
  }

  FrameworkExperiment parts_;
  const ImportInput& input_;
  std::vector<std::string> kept_;
};

// On one line, and not longer than a line of a terminal can show.
std::string one_line(const std::string& text) {
  constexpr std::size_t kLongest = 160;
  std::string line;
  for (const char c : text.substr(0, kLongest)) {
    line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return text.size() > kLongest ? line + "..." : line;
}

struct OutcomeWords {
  ImportOutcome outcome;
  std::string_view counted;  // "31 keys carried"
  std::string_view line;     // "left out: ..."; empty: not listed
};
constexpr std::array kOutcomes = {
    OutcomeWords{ImportOutcome::kCarried, "carried", ""},
    OutcomeWords{ImportOutcome::kDefaulted, "by the framework's default", "default"},
    OutcomeWords{ImportOutcome::kAssumed, "assumed", "assumed"},
    OutcomeWords{ImportOutcome::kWithoutEffect, "without effect on the result", ""},
    OutcomeWords{ImportOutcome::kNotCarried, "not carried over", "not carried over"},
};

std::string line_of(const ImportRemark& remark, std::string_view word) {
  std::string text(word);
  text += ": " + (remark.name.empty() ? remark.ours : remark.name) + " " + remark.value;
  if (!remark.ours.empty() && !remark.name.empty()) {
    text += " (" + remark.ours + ")";
  }
  return one_line(remark.note.empty() ? text : text + ": " + remark.note);
}

std::vector<std::string> lines_of(const ImportedExperiment& imported, const std::string& file) {
  std::string counts = "from " + one_line(file) + ": ";
  std::string between;
  for (const OutcomeWords& words : kOutcomes) {
    if (const std::size_t count = count_of(imported.remarks, words.outcome); count > 0) {
      counts += between + std::to_string(count) + " keys " + std::string(words.counted);
      between = ", ";
    }
  }
  std::vector<std::string> lines = {counts};
  for (const OutcomeWords& words : kOutcomes) {
    for (const ImportRemark& remark : imported.remarks) {
      if (remark.outcome == words.outcome && !words.line.empty()) {
        lines.push_back(line_of(remark, words.line));
      }
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> kept_assignments(std::string_view text) {
  std::vector<std::string> assignments;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.starts_with(kKept)) {
      line.remove_prefix(kKept.size());
      assignments.emplace_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    }
  }
  return assignments;
}

ImportedExperiment assembled(FrameworkExperiment parts, const ImportInput& input) {
  return Assembly(std::move(parts), input).assembled();
}

std::string to_yaml(const ImportedExperiment& imported, const std::string& file) {
  std::string text;
  for (const std::string& line : lines_of(imported, file)) {
    text += "# " + line + "\n";
  }
  return text + to_yaml(imported.experiment);
}

std::string remarks_text(const ImportedExperiment& imported, const std::string& file) {
  std::string text;
  for (const std::string& line : lines_of(imported, file)) {
    text += line + "\n";
  }
  return text;
}

}  // namespace stepcast
