// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/problem_set.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/sweep/sweep_axes.hpp"
#include "stepcast/sweep/sweep_defaults.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {
namespace {

// Two 64-bit FNV-1a hashes that start apart.
class Hash {
 public:
  void add(std::string_view text) {
    add_bytes(std::to_string(text.size()));
    add_bytes(":");
    add_bytes(text);
  }

  void add(const ConfigNode& node) {
    add(std::to_string(static_cast<int>(node.kind)));
    add(node.text);
    add(std::to_string(node.items.size()) + " " + std::to_string(node.entries.size()));
    for (const ConfigNode& item : node.items) {
      add(item);
    }
    for (const ConfigEntry& entry : node.entries) {
      add(entry.key);
      add(entry.value);
    }
  }

  // Nothing if there is no such file.
  void add_file(const std::filesystem::path& file) {
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error)) {
      constexpr std::size_t kLargest = 1U << 30U;
      add(file.filename().string());
      add(read_file(file, kLargest));
    }
  }

  [[nodiscard]] std::string text() const {
    std::array<char, 33> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                  static_cast<unsigned long long>(a_), static_cast<unsigned long long>(b_));
    return digits.data();
  }

 private:
  void add_bytes(std::string_view text) {
    constexpr std::uint64_t kPrime = 0x100000001b3U;
    for (const char c : text) {
      a_ = (a_ ^ static_cast<unsigned char>(c)) * kPrime;
      b_ = (b_ ^ (static_cast<unsigned char>(c) + 0x5bU)) * kPrime;
    }
  }

  std::uint64_t a_ = 0xcbf29ce484222325U;
  std::uint64_t b_ = 0x84222325cbf29ce4U;
};

void add_folder(const std::filesystem::path& folder, Hash& hash) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    // What measured runs say of projections, accuracy.json and published_runs.json, is no part of
    // them.
    if (entry.is_regular_file(error) && entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    hash.add_file(file);
  }
}

// Texts below `key` of the root, wherever they stand: names and files.
void collect_texts(const ConfigNode& node, std::set<std::string>& texts) {
  if (node.kind == ConfigNode::Kind::kScalar) {
    texts.insert(node.text);
  }
  for (const ConfigNode& item : node.items) {
    collect_texts(item, texts);
  }
  for (const ConfigEntry& entry : node.entries) {
    collect_texts(entry.value, texts);
  }
}

// 32 hexadecimal digits. `root`: the sweep as a tree, with overrides; comments and blanks do not
// count. Of the data folder the hardware profiles count whole, of models and software sets those
// that `sites` use.
std::string sweep_digest(const ConfigNode& root, const std::vector<Experiment>& sites,
                         const std::filesystem::path& folder, const DataRoot& data,
                         const std::string& version) {
  Hash hash;
  hash.add(version);
  hash.add(root);
  add_folder(data.folder / "hardware_profiles", hash);
  std::set<std::filesystem::path> files;
  std::set<std::string> models;
  if (const ConfigNode* model = root.find("model")) {
    collect_texts(*model, models);
  }
  for (const std::string& model : models) {
    files.insert(model.ends_with(".yaml") || model.ends_with(".yml")
                     ? folder / model
                     : data.models() / (model + ".yaml"));
  }
  for (const Experiment& site : sites) {
    files.insert(data.software() / (site.software.name + ".yaml"));
    for (const auto& [role, chosen] : site.backends) {
      const BackendChoice choice = parse_backend_choice(chosen);
      files.insert(choice.files.begin(), choice.files.end());
    }
    if (const ConfigNode* kernels = site.cluster_given.find("kernels")) {
      files.insert(kernels->text);
    }
  }
  for (const std::filesystem::path& file : files) {
    hash.add_file(file);
  }
  return hash.text();
}

constexpr std::string_view kConstraints = "constraints";
constexpr std::string_view kRankBy = "rank_by";
constexpr std::array kOwnKeys = {kConstraints, kRankBy};
constexpr std::string_view kOffered = "offered";

bool is_site_key(std::string_view key) {
  constexpr std::string_view kPlan = "plan.";
  if (key.starts_with(kPlan)) {
    const PlanKey* known = plan_key(key.substr(kPlan.size()));
    return known != nullptr && known->of_site;
  }
  return !key.starts_with("training.");
}

bool is_site_axis(const WrittenAxis& axis) { return std::ranges::all_of(axis.keys, is_site_key); }

// The keys and texts of a written axis, as reports name them.
SweepAxis described(const WrittenAxis& axis) {
  SweepAxis result;
  result.keys = axis.keys;
  for (const AxisValue& value : axis.values) {
    std::vector<std::string> texts(axis.keys.size());
    for (const AxisSetting& setting : value) {
      const auto key = std::ranges::find(axis.keys, setting.key);
      texts[static_cast<std::size_t>(key - axis.keys.begin())] = flow_text(setting.value);
    }
    result.values.push_back(std::move(texts));
  }
  return result;
}

// `plan: all` is short for `plan: {all: true}`, in which more keys can be set.
void write_out_all(ConfigNode& root) {
  for (ConfigEntry& entry : root.entries) {
    ConfigNode& plan = entry.value;
    if (entry.key == "plan" && plan.kind == ConfigNode::Kind::kScalar && plan.text == "all") {
      ConfigNode all = scalar_at(plan, "true");
      plan.kind = ConfigNode::Kind::kMapping;
      plan.text.clear();
      plan.entries.push_back({"all", all.line, all.column, std::move(all)});
    }
  }
}

// Applies what was given beside the text, as far as it can be.
void override_root(ConfigNode& root, const SweepSource& source, ProblemSet& problems) {
  write_out_all(root);
  for (const Override& override : source.overrides) {
    problems.collect([&] { apply_override(root, override); });
    write_out_all(root);
  }
}

class SweepReader {
 public:
  SweepReader(const SweepSource& source, const DataRoot& data) : source_(source), profiles_(data) {}

  SweepSpace read() {
    root_ = parse_config(source_.text, source_.name);
    override_root(root_, source_, problems_);
    take_written();
    bool read = read_sites();
    if (read && add_offered()) {
      content_.sites.clear();
      read = read_sites();
    }
    if (read) {
      Diagnostics found;
      check_constraints(content_.constraints, content_.sites, found);
      problems_.add(found);
    }
    if (all_plans_ && read) {
      add_all_plans();
    }
    read_patches();
    check_size();
    problems_.throw_if_any();
    return space();
  }

 private:
  void error(const ConfigNode& node, const std::string& message) {
    problems_.add({node.location(), message});
  }

  // Takes the tree apart: what belongs to sweeps alone, the axes, and an experiment.
  void take_written() {
    Diagnostics found;
    ConfigNode tree = root_;
    take_own_keys(tree, found);
    take_all(tree);
    written_ = take_axes(std::move(tree), found);
    join_recomputation(written_);
    sort();
    problems_.add(found);
  }

  void take_own_keys(ConfigNode& tree, Diagnostics& found) {
    const std::vector<std::string> own(kOwnKeys.begin(), kOwnKeys.end());
    std::vector<ConfigEntry> stay;
    for (ConfigEntry& entry : tree.entries) {
      if (entry.key == kConstraints) {
        content_.constraints = read_constraints(entry.value, found);
      } else if (entry.key == kRankBy) {
        const MappingReader reader(tree, "", found);
        content_.rank_by = reader.choice<RankBy>(kRankBy, entry.value, enum_names<RankBy>())
                               .value_or(content_.rank_by);
      } else if (const std::string near = nearest_name(entry.key, own); !near.empty()) {
        found.error({source_.name, entry.line, entry.column},
                    "unknown key '" + entry.key.substr(0, 60) + "'; did you mean '" + near + "'?");
      } else {
        if (entry.key == "description" && entry.value.kind == ConfigNode::Kind::kScalar) {
          content_.description = entry.value.text;
        }
        stay.push_back(std::move(entry));
      }
    }
    tree.entries = std::move(stay);
  }

  // `all: true` of plan or of software, which no experiment has, and `all: offered` of plan.
  void take_all(ConfigNode& tree) {
    for (ConfigEntry& entry : tree.entries) {
      if (entry.key == "plan") {
        take_all_of(entry, kOffered, all_plans_);
      } else if (entry.key == "software") {
        take_all_of(entry, "", all_switches_);
      }
    }
  }

  void take_all_of(ConfigEntry& section, std::string_view more, std::optional<ConfigNode>& taken) {
    const ConfigNode* all = section.value.find("all");
    if (all == nullptr) {
      return;
    }
    const bool known =
        all->kind == ConfigNode::Kind::kScalar &&
        (all->text == "true" || all->text == "false" || (!more.empty() && all->text == more));
    if (!known) {
      error(*all, "'" + section.key + ".all' must be true" +
                      (more.empty() ? "" : ", " + std::string(more)) + " or false");
    } else if (all->text != "false") {
      taken = *all;
    }
    std::erase_if(section.value.entries, [](const ConfigEntry& e) { return e.key == "all"; });
  }

  void sort() {
    sort_axes(written_.axes);
    std::stable_partition(written_.axes.begin(), written_.axes.end(), is_site_axis);
    site_axes_ = static_cast<std::size_t>(std::ranges::count_if(written_.axes, is_site_axis));
  }

  // The experiment with the first value of every axis.
  [[nodiscard]] ConfigNode at_first() const {
    ConfigNode tree = written_.base;
    for (const WrittenAxis& axis : written_.axes) {
      set_values(tree, axis.values.front());
    }
    return tree;
  }

  bool read_one_site(const ConfigNode& tree) {
    return problems_.collect([&] {
      content_.sites.push_back(read_experiment(tree, source_.folder, profiles_, kOwnKeys));
    });
  }

  // Every combination of the axes of the site; where they are too many, each value alone.
  bool read_sites() {
    std::int64_t sites = 1;
    for (std::size_t i = 0; i < site_axes_ && sites <= kMostSites; ++i) {
      sites *= std::ssize(written_.axes[i].values);
    }
    if (sites > kMostSites) {
      error(written_.axes.front().place, "the axes outside plan and training make more than " +
                                             std::to_string(kMostSites) +
                                             " combinations; sweep them in several files");
      return false;
    }
    const ConfigNode first = at_first();
    bool read = true;
    for (std::int64_t site = 0; site < sites; ++site) {
      ConfigNode tree = first;
      std::int64_t rest = site;
      for (std::size_t i = site_axes_; i-- > 0;) {
        const std::vector<AxisValue>& values = written_.axes[i].values;
        set_values(tree, values[static_cast<std::size_t>(rest % std::ssize(values))]);
        rest /= std::ssize(values);
      }
      read = read_one_site(tree) && read;
    }
    return read;
  }

  // Axes over what the software offers, each value of which is a site of its own. Whether there are
  // any.
  bool add_offered() {
    const std::size_t before = written_.axes.size();
    if (all_plans_) {
      add(offered_axes(content_.sites, given_texts(written_), Offered::kDispatcher, *all_plans_));
    }
    if (all_switches_) {
      add(offered_axes(content_.sites, given_texts(written_), Offered::kSwitches, *all_switches_));
    }
    return written_.axes.size() > before;
  }

  void add_all_plans() {
    const ScheduleScope scope =
        all_plans_->text == kOffered ? ScheduleScope::kOffered : ScheduleScope::kEvery;
    add(all_plan_axes(content_.sites, given_texts(written_), scope, *all_plans_));
  }

  void add(std::vector<WrittenAxis> more) {
    std::move(more.begin(), more.end(), std::back_inserter(written_.axes));
    sort();
  }

  void read_patches() {
    const ConfigNode first = at_first();
    for (std::size_t i = site_axes_; i < written_.axes.size(); ++i) {
      const bool of_plan = written_.axes[i].keys.front().starts_with("plan.");
      content_.patches.push_back(each_of(written_.axes[i].values, [&](const AxisValue& value) {
        return read_patch(first, value, of_plan ? "plan" : "training");
      }));
    }
  }

  SweepPatch read_patch(const ConfigNode& first, const AxisValue& value,
                        const std::string& section) {
    ConfigNode tree = empty_at(first, ConfigNode::Kind::kMapping);
    if (const ConfigNode* written = first.find(section)) {
      tree.entries.push_back({section, written->line, written->column, *written});
    }
    set_values(tree, value);
    SweepPatch patch;
    Diagnostics found;
    MappingReader reader(tree, "", found);
    if (section == "plan") {
      patch.plan = read_plan(reader.required_mapping(section));
    } else {
      patch.training = read_training(reader.required_mapping(section));
    }
    problems_.add(found);
    return patch;
  }

  void check_size() {
    std::int64_t size = 1;
    for (const WrittenAxis& axis : written_.axes) {
      const std::int64_t values = std::ssize(axis.values);
      if (size > kLargestSpace / std::max<std::int64_t>(values, 1)) {
        error(root_, "the sweep has more than 2^40 plans; leave values out");
        return;
      }
      size *= values;
    }
  }

  SweepSpace space() {
    content_.version = source_.version;
    content_.site_axes = site_axes_;
    content_.axes = each_of(written_.axes, described);
    content_.digest =
        sweep_digest(root_, content_.sites, source_.folder, profiles_.data(), source_.version);
    return SweepSpace(std::move(content_));
  }

  const SweepSource& source_;
  ProfileCache profiles_;  // of all sites
  ConfigNode root_;
  ProblemSet problems_;
  WrittenSweep written_;
  std::size_t site_axes_ = 0;
  std::optional<ConfigNode> all_plans_;     // where it was asked for
  std::optional<ConfigNode> all_switches_;  // likewise, of software
  SweepSpace::Content content_;
};

}  // namespace

SweepSpace read_sweep(const SweepSource& source, const DataRoot& data) {
  return SweepReader(source, data).read();
}

ConfigNode overridden_sweep(const SweepSource& source) {
  ProblemSet problems;
  ConfigNode root = parse_config(source.text, source.name);
  override_root(root, source, problems);
  problems.throw_if_any();
  return root;
}

SweepSource load_sweep_source(const std::filesystem::path& file, std::vector<Override> overrides,
                              const std::string& version) {
  return {file.string(), file.parent_path(), read_file(file), std::move(overrides), version};
}

}  // namespace stepcast
