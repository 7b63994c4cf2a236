// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan_recipe.hpp"

#include "frameworks/python_recipe.hpp"

namespace stepcast {
namespace {

using Kind = PythonValue::Kind;

ConfigNode node_of(const PythonValue& value) {
  ConfigNode node = text_setting({}, value.text, value.where).value;
  if (value.kind == Kind::kList) {
    node.kind = ConfigNode::Kind::kSequence;
    for (const PythonValue& item : value.items) {
      node.items.push_back(node_of(item));
    }
  }
  return node;
}

// "Float8LinearConverter" of "Float8LinearConverter.Config".
std::string class_of(const PythonValue& value) {
  return value.text.substr(0, value.text.find('.'));
}

class Flattening {
 public:
  std::vector<Setting> settings(const PythonValue& root) {
    for (const auto& [name, value] : root.keywords) {
      put_section(name, value);
    }
    return std::move(settings_);
  }

 private:
  void put(std::string name, std::string text, const PythonValue& value) {
    settings_.push_back(text_setting(std::move(name), std::move(text), value.where));
  }
  void put_all(const std::string& prefix, const PythonValue& value) {
    for (const auto& [name, inner] : value.keywords) {
      if (inner.kind == Kind::kCall) {
        put_all(prefix + name + ".", inner);
      } else {
        settings_.push_back({prefix + name, node_of(inner)});
      }
    }
  }

  void put_section(const std::string& name, const PythonValue& value) {
    if (name == "model_spec") {
      put_model(value);
    } else if (name == "activation_checkpoint") {
      put_checkpointing(value);
    } else if (value.kind != Kind::kCall) {
      settings_.push_back({name, node_of(value)});
    } else {
      if (name == "optimizer" || name == "loss") {
        put(name + ".class", class_of(value), value);
      }
      put_all(name + ".", value);
    }
  }

  void put_model(const PythonValue& registry) {
    if (!registry.items.empty()) {
      settings_.push_back({"model.flavor", node_of(registry.items.front())});
    }
    for (const auto& [name, value] : registry.keywords) {
      if (name == "converters" && value.kind == Kind::kList) {
        put_converters(value);
      } else {
        settings_.push_back({"model." + name, node_of(value)});
      }
    }
  }

  void put_converters(const PythonValue& list) {
    ConfigNode names = node_of(list);
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      names.items[i].text = class_of(list.items[i]);
      put_all("converters." + class_of(list.items[i]) + ".", list.items[i]);
    }
    settings_.push_back({"model.converters", std::move(names)});
  }

  void put_checkpointing(const PythonValue& value) {
    const std::string policy = class_of(value);
    const std::string section = "activation_checkpoint.";
    if (policy == "SelectiveAC") {
      put(section + "mode", "selective", value);
      put(section + "selective_ac_option", "op", value);
    } else if (policy == "FullAC") {
      put(section + "mode", "full", value);
    } else if (policy == "MemoryBudgetAC") {
      put(section + "mode", "memory_budget", value);
    } else {
      put(section + "mode", policy == "None" ? "none" : policy, value);
    }
    put_all(section, value);
  }

  std::vector<Setting> settings_;
};

std::string chosen_function(std::string_view text, const std::string& file) {
  const std::vector<std::string> functions = recipe_functions(text, file);
  if (functions.size() == 1) {
    return functions.front();
  }
  std::string listed;
  for (const std::string& function : functions) {
    listed += (listed.empty() ? "" : ", ") + function;
  }
  throw ConfigError({file, 0, 0}, functions.empty()
                                      ? "has no function that builds a configuration"
                                      : "has several configurations; add CONFIG=NAME with one of " +
                                            listed.substr(0, 1000));
}

}  // namespace

std::vector<Setting> torchtitan_recipe(std::string_view text, const std::string& file,
                                       const std::string& function) {
  const std::string name = function.empty() ? chosen_function(text, file) : function;
  const PythonValue root = python_result(text, file, name);
  if (root.kind != Kind::kCall || root.keywords.empty()) {
    throw ConfigError(root.where, "function '" + name + "' does not return a Trainer.Config(...)");
  }
  return Flattening().settings(root);
}

}  // namespace stepcast
