// SPDX-License-Identifier: Apache-2.0
#include "frameworks/known_model.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

std::string without_mtp_name(const std::string& name) { return name + "_without_mtp"; }

ModelSpec read_changed(const std::filesystem::path& file, const ConfigNode& changes) {
  const ConfigNode root = changed(load_config(file), changes);
  Diagnostics diagnostics;
  MappingReader reader(root, "model", diagnostics);
  ModelSpec model = read_model(reader);
  diagnostics.throw_if_any();
  model.note = {};
  model.published = {};
  return model;
}

// The text of a model without what does not change its shape.
std::string shape_text(ModelSpec model) {
  model.name = "shape";
  model.title = {};
  model.family = {};
  model.source = {};
  model.note = {};
  model.published = {};
  return to_yaml(model);
}

}  // namespace

const ModelFlavor* find_flavor(std::span<const ModelFlavor> flavors, std::string_view module,
                               std::string_view flavor) {
  const auto found = std::find_if(flavors.begin(), flavors.end(), [&](const ModelFlavor& row) {
    return row.module == module && row.flavor == flavor;
  });
  return found == flavors.end() ? nullptr : &*found;
}

ModelSpec without_mtp(ModelSpec model) {
  model.name = without_mtp_name(model.name);
  model.title += " without multi-token prediction";
  model.note = {};
  model.mtp_layers = 0;
  std::vector<std::int64_t>& ratios = model.attention.compression.ratios;
  ratios.resize(std::min(ratios.size(), static_cast<std::size_t>(model.layers)));
  model.published = {};
  return model;
}

ModelSpec model_of(const ModelFlavor& flavor, const DataRoot& data) {
  const std::filesystem::path file = data.models() / (flavor.ours + ".yaml");
  ModelSpec model =
      flavor.changes.entries.empty() ? load_model(file) : read_changed(file, flavor.changes);
  return flavor.without_mtp && model.mtp_layers > 0 ? without_mtp(std::move(model)) : model;
}

const ModelFlavor* flavor_of(std::span<const ModelFlavor> flavors, const std::string& shipped,
                             const std::string& name) {
  const auto found = std::find_if(flavors.begin(), flavors.end(), [&](const ModelFlavor& row) {
    return row.without_mtp ? name == without_mtp_name(row.ours)

                           : row.changes.entries.empty() && row.ours == shipped;
  });
  return found == flavors.end() ? nullptr : &*found;
}

std::vector<std::string> flavor_names(std::span<const ModelFlavor> flavors,
                                      std::string_view module) {
  std::vector<std::string> names;
  for (const ModelFlavor& row : flavors) {
    if (row.module == module && std::ranges::find(names, row.flavor) == names.end()) {
      names.emplace_back(row.flavor);
    }
  }
  return names;
}

std::optional<KeptModel> kept_model(const ImportInput& input) {
  constexpr std::string_view kModelLine = "model=";
  constexpr std::string_view kLayersLine = "model.layers=";
  constexpr std::string_view kStandIn = "llama3.1_8b";
  std::optional<KeptModel> kept;
  for (const std::string& assignment : kept_assignments(input.text)) {
    if (!assignment.starts_with("model=") && !assignment.starts_with("model.")) {
      continue;
    }
    if (!kept) {
      kept = KeptModel{load_named_model(std::string(kStandIn), input.data, {}), false};
    }
    if (assignment.starts_with(kModelLine) && assignment.size() > kModelLine.size()) {
      kept = KeptModel{
          load_named_model(assignment.substr(kModelLine.size()), input.data, {input.file, 0, 0}),
          true};
    } else if (assignment.starts_with(kLayersLine)) {
      const ConfigNode written = scalar_at({}, assignment.substr(kLayersLine.size()));
      const auto layers = scan_whole(written, Range<std::int64_t>{1, 10'000});
      kept->model.layers = layers.fault == NumberFault::kNone ? layers.value : 1;
      kept->knows_layers = layers.fault == NumberFault::kNone;
    }
  }
  return kept;
}

// Writing a model takes longer than reading it, and most models differ in these.
bool same_shape(const ModelSpec& a, const ModelSpec& b) {
  return a.hidden == b.hidden && a.layers == b.layers && a.vocabulary == b.vocabulary &&
         shape_text(a) == shape_text(b);
}

namespace {

// Whether the text of a file has the digits of all of them.
bool has_counts(const std::filesystem::path& file, std::initializer_list<std::int64_t> counts) {
  const std::string text = read_file(file);
  return std::ranges::all_of(counts, [&text](std::int64_t count) {
    return text.find(std::to_string(count)) != std::string::npos;
  });
}

// Files of models that may have these counts, in the order of names: parsing every model takes
// longer than all the rest of an import, and a file without the digits of one is another model.
std::vector<std::filesystem::path> files_with(std::initializer_list<std::int64_t> counts,
                                              const DataRoot& data) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(data.models())) {
    if (entry.path().extension() == ".yaml" && has_counts(entry.path(), counts)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool same_sizes(const ModelSpec& a, const ModelSpec& b) {
  const auto experts = [](const ModelSpec& model) {
    return model.moe ? std::pair(model.moe->experts, model.moe->expert_ffn_hidden)
                     : std::pair<std::int64_t, std::int64_t>{};
  };
  const auto of_layers = [](const ModelSpec& model) {
    return std::array{model.attention.heads.pattern(), model.attention.kv_heads.pattern(),
                      model.mlp.ffn_hidden.pattern()};
  };
  return a.layers == b.layers && a.hidden == b.hidden && of_layers(a) == of_layers(b) &&
         experts(a) == experts(b);
}

}  // namespace

std::optional<ModelSpec> shipped_of_sizes(const ModelSpec& model, const DataRoot& data) {
  std::optional<ModelSpec> first;
  for (const std::filesystem::path& file : files_with({model.hidden}, data)) {
    ModelSpec shipped = load_model(file);
    if (!same_sizes(shipped, model)) {
      continue;
    }
    if (first && first->vocabulary != shipped.vocabulary) {
      return std::nullopt;
    }
    first = first ? std::move(first) : std::move(shipped);
  }
  return first;
}

std::string known_model(const ModelSpec& model, const std::string& preferred,
                        const DataRoot& data) {
  const auto is_same = [&](const std::filesystem::path& file) {
    return same_shape(load_model(file), model);
  };
  const std::filesystem::path wanted = data.models() / (preferred + ".yaml");
  if (!preferred.empty() && std::filesystem::exists(wanted) && has_counts(wanted, {model.hidden}) &&
      is_same(wanted)) {
    return preferred;
  }
  const std::vector<std::filesystem::path> files =
      files_with({model.hidden, model.vocabulary}, data);
  const auto found = std::find_if(files.begin(), files.end(), is_same);
  return found == files.end() ? std::string{} : found->stem().string();
}

}  // namespace stepcast
