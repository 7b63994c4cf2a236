// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/foreign_model.hpp"

#include <string_view>
#include <system_error>

#include "frameworks/hf_config.hpp"
#include "frameworks/trainer_adapters.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/config/json_node.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kModelKey = "model";

// The file that a name means; nothing where it is another kind of name.
std::optional<std::filesystem::path> config_json(const std::string& name,
                                                 const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path file = folder / name;
  if (name.ends_with(".json")) {
    return file;
  }
  const bool is_path = name.find('/') != std::string::npos;
  return is_path && std::filesystem::is_regular_file(file / "config.json", error)
             ? std::optional(file / "config.json")
             : std::nullopt;
}

std::string assignment_of(const std::filesystem::path& file, const DataRoot& data) {
  const std::string text = read_file(file, kLargestHfConfig);
  if (is_adapter_config(text)) {
    throw ConfigError({file.string(), 0, 0},
                      "describes adapters and no model; 'stepcast import hf " + file.string() +
                          "' makes the key training.lora of it");
  }
  const ModelSpec model = import_hf_config(text, file.string(), usual_model_name(file),
                                           load_hf_types(data.hugging_face_types()));
  const ConfigNode written = parse_config(to_yaml(model), file.string());
  return std::string(kModelKey) + "=" + json_dump(json_of(written));
}

}  // namespace

std::string usual_model_name(const std::filesystem::path& file) {
  if (file.filename() != "config.json") {
    return file.stem().string();
  }
  const std::string folder =
      std::filesystem::weakly_canonical(file).parent_path().filename().string();
  return folder.empty() ? file.stem().string() : folder;
}

std::string with_foreign_model(const std::string& assignment, const std::filesystem::path& folder,
                               const DataRoot& data) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || assignment.substr(0, equals) != kModelKey) {
    return assignment;
  }
  const auto file = config_json(assignment.substr(equals + 1), folder);
  return file ? assignment_of(*file, data) : assignment;
}

std::optional<std::string> foreign_model_of(const ConfigNode& root,
                                            const std::filesystem::path& folder,
                                            const DataRoot& data) {
  const ConfigNode* model = root.find(kModelKey);
  if (model == nullptr || model->kind != ConfigNode::Kind::kScalar) {
    return std::nullopt;
  }
  const auto file = config_json(model->text, folder);
  return file ? std::optional(assignment_of(*file, data)) : std::nullopt;
}

}  // namespace stepcast
