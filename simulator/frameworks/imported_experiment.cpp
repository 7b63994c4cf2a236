// SPDX-License-Identifier: Apache-2.0
#include "frameworks/imported_experiment.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "frameworks/job_size.hpp"
#include "frameworks/known_model.hpp"
#include "frameworks/read_text.hpp"
#include "frameworks/vocabulary_range.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

void put(ConfigNode& node, const ConfigPlace& place) {
  static_cast<ConfigPlace&>(node) = place;
  for (ConfigNode& item : node.items) {
    put(item, place);
  }
  for (ConfigEntry& entry : node.entries) {
    entry.line = place.line;
    entry.column = place.column;
    put(entry.value, place);
  }
}

// What has no place of its own, as comments of an export have, gets that of the file.
void put_missing(ConfigNode& node, const std::shared_ptr<const std::string>& file) {
  if (node.file == nullptr) {
    node.file = file;
  }
  for (ConfigNode& item : node.items) {
    put_missing(item, file);
  }
  for (ConfigEntry& entry : node.entries) {
    put_missing(entry.value, file);
  }
}

// The value of a dotted path, or null.
ConfigNode* value_at(ConfigNode& root, std::string_view path) {
  ConfigNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    ConfigEntry* const found = node->entry(key);
    node = found == nullptr ? nullptr : &found->value;
  }
  return node;
}

constexpr std::string_view kKept = "# stepcast: ";
constexpr std::string_view kModelKey = "model=";
constexpr std::string_view kModelPart = "model.";
constexpr std::string_view kSoftwareKey = "software=";
constexpr std::string_view kSoftwareBase = "software.base=";
constexpr std::string_view kGpuKey = "cluster.gpu=";
constexpr std::string_view kClusterKey = "cluster.name=";
constexpr std::string_view kNodesKey = "cluster.nodes=";

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [text](std::string_view start) { return text.starts_with(start); });
}

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

// Takes the key of a dotted path out of a mapping, if it is there, and mappings inside it that are
// empty then.
void erase_within(ConfigNode& node, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  if (dot == std::string_view::npos) {
    std::erase_if(node.entries, [key](const ConfigEntry& entry) { return entry.key == key; });
    return;
  }
  if (ConfigEntry* const entry = node.entry(key)) {
    erase_within(entry->value, path.substr(dot + 1));
  }
  std::erase_if(node.entries, [key](const ConfigEntry& entry) {
    return entry.key == key && entry.value.kind == ConfigNode::Kind::kMapping &&
           entry.value.entries.empty();
  });
}

// The same of an experiment, whose parts stay though they are empty: `plan: {}` asks for one rank a
// replica, no plan at all for the usual one.
void erase_key(ConfigNode& experiment, std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    erase_within(experiment, path);
    return;
  }
  if (ConfigEntry* const part = experiment.entry(path.substr(0, dot))) {
    erase_within(part->value, path.substr(dot + 1));
  }
}

class Assembly {
 public:
  Assembly(FrameworkExperiment parts, const ImportInput& input)
      : parts_(std::move(parts)), input_(input), kept_(kept_assignments(input.text)) {}

  ImportedExperiment assembled() {
    ConfigWriter writer;
    ConfigNode shape = model();
    const ConfigNode* own_name = shape.find("name");
    const std::string named = own_name == nullptr ? shape.text : own_name->text;
    const bool latent = is_latent(shape);
    writer.field("model", std::move(shape));
    write_cluster(writer);
    ConfigNode software_set = software({named, {}, Dtype::kBf16, latent});
    writer.field("training", std::move(parts_.training));
    if (!parts_.plan.entries.empty()) {
      writer.field("plan", std::move(parts_.plan));
    }
    writer.field("software", std::move(software_set));
    if (!parts_.expert_exchange.entries.empty()) {
      writer.field("expert_exchange", std::move(parts_.expert_exchange));
    }
    if (const std::vector<UncarriedSaving> savings = uncarried_savings(); !savings.empty()) {
      writer.field(kUncarriedSavings, uncarried_savings_node(savings));
    }
    ImportedExperiment imported{writer.take(), std::move(parts_.remarks)};
    for (const std::string& assignment : kept_) {
      const bool is_given = input_.nodes && assignment.starts_with(kNodesKey);
      if (!is_given && !starts_with_any(assignment, {kModelKey, kModelPart, kSoftwareKey,
                                                     kSoftwareBase, kGpuKey, kClusterKey})) {
        apply_kept(imported.experiment, assignment);
      }
    }
    return imported;
  }

 private:
  // Of what is not carried over, what lowers memory.
  [[nodiscard]] std::vector<UncarriedSaving> uncarried_savings() const {
    std::vector<UncarriedSaving> savings;
    for (const ImportRemark& remark : parts_.remarks) {
      if (remark.saves) {
        savings.push_back({remark.name + " " + remark.value, *remark.saves});
      }
    }
    return savings;
  }

  // What a kept line says of a name that the parts depend on; empty if none does.
  [[nodiscard]] std::string kept_name(std::string_view key) const {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [key](const std::string& line) {
      return line.starts_with(key);
    });
    const std::string name = found == kept_.end() ? std::string{} : found->substr(key.size());
    return name == "null" ? std::string{} : name;
  }

  // As --set does; null takes a key out, and a switch beside a set that stands as a name alone
  // makes a mapping of it.
  void apply_kept(ConfigNode& experiment, const std::string& assignment) const {
    constexpr std::string_view kNothing = "=null";
    if (assignment.ends_with(kNothing)) {
      erase_key(experiment, assignment.substr(0, assignment.size() - kNothing.size()));
      return;
    }
    ConfigEntry* const software = experiment.entry("software");
    if (assignment.starts_with("software.") && software != nullptr &&
        software->value.kind == ConfigNode::Kind::kScalar) {
      ConfigWriter writer;
      writer.field("base", software->value);
      software->value = writer.take();
    }
    apply_override(experiment, {assignment, place_of(assignment)});
  }

  // "train.toml:3", the line of the comment.
  [[nodiscard]] std::string place_of(const std::string& assignment) const {
    const std::size_t at = input_.text.find(std::string(kKept) + assignment);
    const auto end =
        input_.text.begin() + static_cast<std::ptrdiff_t>(std::min(at, input_.text.size()));
    return input_.file + ":" + std::to_string(std::count(input_.text.begin(), end, '\n') + 1);
  }

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
        apply_kept(root, assignment);
        written_out = written_out || assignment.starts_with("model.name=");
      }
    }
    const ConfigNode& shape = root.entries.front().value;
    const std::string known =
        written_out ? std::string{} : known_model(read_shape(shape), preferred, input_.data);
    return known.empty() ? shape : scalar_node(known);
  }

  // Of a model as the experiment has it, by its shape or by the name of a shipped one.
  [[nodiscard]] bool is_latent(const ConfigNode& model) const {
    if (model.kind == ConfigNode::Kind::kMapping) {
      return read_shape(model).attention.kind == AttentionKind::kMla;
    }
    const auto shipped = file_named(input_.data.models(), model.text);
    return shipped && load_model(*shipped).attention.kind == AttentionKind::kMla;
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
    const std::string gpu = gpu_name();
    const std::string cluster = kept_name(kClusterKey);
    if (!cluster.empty() && !input_.gpu.empty()) {
      assume("cluster.gpu", gpu, "instead of the cluster " + cluster + " that the file names");
    }
    if (!cluster.empty() && gpu.empty()) {
      writer.begin("cluster");
      writer.field("name", cluster);
      writer.field("nodes", nodes(parts_.gpus_per_node.value_or(8)));
      writer.end();
      return;
    }
    if (gpu.empty()) {
      assume("cluster", "not stated",
             "give --gpu and --nodes, here or to the command that takes this file");
      return;
    }
    const std::int64_t usual = usual_node(gpu, input_);
    const std::int64_t per_node = parts_.gpus_per_node.value_or(gpus_of_node(usual));
    writer.begin("cluster");
    writer.field("gpu", gpu);
    writer.field("nodes", nodes(per_node));
    if (per_node != usual) {
      writer.field("gpus_per_node", per_node);
    }
    writer.end();
  }

  [[nodiscard]] std::string gpu_name() const {
    const std::string named = parts_.gpu.empty() ? kept_name(kGpuKey) : parts_.gpu;
    return input_.gpu.empty() ? named : input_.gpu;
  }

  // A job of fewer GPUs than a usual node has is one of as many GPUs on one node.
  [[nodiscard]] std::int64_t gpus_of_node(std::int64_t usual) const {
    const bool one_node = input_.nodes.value_or(1) == 1;
    return one_node && parts_.gpus ? std::clamp<std::int64_t>(*parts_.gpus, 1, usual) : usual;
  }

  std::int64_t nodes(std::int64_t per_node) {
    if (input_.nodes) {
      return *input_.nodes;
    }
    if (parts_.gpus) {
      const std::int64_t whole =
          std::max<std::int64_t>(1, (*parts_.gpus + per_node - 1) / per_node);
      if (whole * per_node != *parts_.gpus) {
        assume("cluster.nodes", std::to_string(whole),
               std::to_string(*parts_.gpus) + " GPUs fill no whole nodes of " +
                   std::to_string(per_node) + "; all " + std::to_string(whole * per_node) +
                   " are counted");
      }
      return whole;
    }
    const std::int64_t least = (least_gpus(parts_.plan) + per_node - 1) / per_node;
    assume("cluster.nodes", std::to_string(least),
           "the fewest on which the plan has a place for each rank; give --nodes");
    return least;
  }

  // The set with the changes that it does not have anyway.
  ConfigNode software(const RecipeSubject& subject) {
    const std::string kept = kept_name(kSoftwareKey) + kept_name(kSoftwareBase);
    const std::string named = kept.empty() ? parts_.software : kept;
    const std::string& set = input_.software.empty() ? named : input_.software;
    drop_needless(load_set(set, subject));
    if (parts_.software_changes.entries.empty()) {
      return scalar_node(set);
    }
    ConfigNode changes = std::move(parts_.software_changes);
    changes.entries.insert(changes.entries.begin(), {"base", 0, 0, scalar_node(set)});
    return changes;
  }

  // As a run of this model in this format on this GPU has it.
  [[nodiscard]] SoftwareSpec load_set(const std::string& set, RecipeSubject subject) const {
    SoftwareSpec software = load_named_software(set, input_.data, {"--software", 0, 0});
    const ConfigNode* dtype = parts_.training.find("dtype");
    const std::string gpu = gpu_name();
    subject.dtype =
        dtype == nullptr ? Dtype::kBf16 : dtype_named(dtype->text).value_or(Dtype::kBf16);
    subject.gpu = gpu;
    follow_recipes(subject, software);
    return software;
  }

  void drop_needless(const SoftwareSpec& set) {
    Diagnostics diagnostics;
    SoftwareSpec changed = set;
    changed.memory.expandable_segments = set.memory.expandable_segments || parts_.grows_segments;
    parts_.software_changes.kind = ConfigNode::Kind::kMapping;  // it may be empty
    MappingReader reader(parts_.software_changes, "software", diagnostics);
    read_software_switches(reader, changed);
    reader.finish();
    diagnostics.throw_if_any();
    parts_.software_changes = written_changes(changed, set);
    const ConfigNode* dispatcher = parts_.plan.find("dispatcher");
    if (dispatcher != nullptr && dispatcher->text == name(changed.exchange.dispatcher)) {
      std::erase_if(parts_.plan.entries,
                    [](const ConfigEntry& entry) { return entry.key == "dispatcher"; });
    }
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

// Says of a vocabulary that is a guess between which it may lie, and what that may change.
void tell_range(const VocabularyRange& range, const DataRoot& data, ImportedExperiment& imported) {
  for (ImportRemark& remark : imported.remarks) {
    if (remark.outcome == ImportOutcome::kAssumed && remark.ours == "model.vocabulary") {
      const std::string effect = effect_of_vocabulary(range, imported.experiment, data);
      remark.note += "; " + with_separators(range.lowest) + " to " +
                     with_separators(range.highest) + (effect.empty() ? "" : ": " + effect);
    }
  }
}

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
      counts += between + std::to_string(count) + (count == 1 ? " key " : " keys ") +
                std::string(words.counted);
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

ConfigNode yaml_of(const ImportInput& input) {
  const bool read = input.document != nullptr && !is_json_text(input.text);
  return read ? *input.document : parse_config(input.text, input.file);
}

ConfigNode data_of(const ImportInput& input) {
  return input.document != nullptr ? *input.document : parse_data(input.text, input.file);
}

void check_import(const ImportedExperiment& imported, const ImportInput& input,
                  ProfileCache& profiles) {
  ConfigNode root = imported.experiment;
  if (root.find("cluster") == nullptr) {
    return;
  }
  for (const ImportRemark& remark : imported.remarks) {
    ConfigNode* const value = remark.ours.empty() ? nullptr : value_at(root, remark.ours);
    if (value != nullptr && value->file == nullptr && !remark.where.file.empty()) {
      put(*value, {std::make_shared<const std::string>(remark.where.file), remark.where.line,
                   remark.where.column});
    }
  }
  put_missing(root, std::make_shared<const std::string>(input.file));
  (void)read_experiment(root, {}, profiles);
}

std::optional<std::string> text_beside(const ImportInput& input, const std::string& name) {
  const std::filesystem::path wanted = std::filesystem::path(name).lexically_normal();
  constexpr std::ptrdiff_t kFoldersUp = 3;
  const bool near =
      wanted.is_relative() && std::count(wanted.begin(), wanted.end(), "..") <= kFoldersUp;
  std::error_code error;
  for (const std::filesystem::path& path :
       {near ? input.folder / wanted : std::filesystem::path{}, input.folder / wanted.filename()}) {
    if (!input.folder.empty() && std::filesystem::is_regular_file(path, error)) {
      return read_file(path);
    }
  }
  return std::nullopt;
}

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
  const std::optional<VocabularyRange> vocabulary = parts.vocabulary;
  ImportedExperiment imported = Assembly(std::move(parts), input).assembled();
  if (vocabulary) {
    tell_range(*vocabulary, input.data, imported);
  }
  return imported;
}

ImportedExperiment assembled(FrameworkReader& settings, FrameworkExperiment parts,
                             const ImportInput& input) {
  settings.finish(input.unknown);
  settings.diagnostics().throw_if_any();
  parts.remarks = settings.take_remarks();
  return assembled(std::move(parts), input);
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
