// SPDX-License-Identifier: Apache-2.0
// What a Python text that builds a Trainer says in its calls, without running it.
//
//   TrainingArguments(bf16=True, per_device_train_batch_size=4)   bf16, per_device_train_batch_size
//   AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16)
//                                                                 model_name_or_path, torch_dtype
//   LoraConfig(r=16, target_modules=["q_proj", "v_proj"])         adapter.r, adapter.target_modules
#include <algorithm>
#include <array>

#include "frameworks/python_recipe.hpp"
#include "frameworks/trainer_files.hpp"
#include "frameworks/words.hpp"

namespace stepcast {
namespace {

// Whose arguments are Trainer's, and whose training is of another kind.
constexpr std::string_view kArgumentClasses =
    "TrainingArguments Seq2SeqTrainingArguments SFTConfig UnslothTrainingArguments";
constexpr std::string_view kTrainerClasses = "SFTTrainer";
constexpr std::string_view kOtherTraining =
    "DPOConfig DPOTrainer GRPOConfig GRPOTrainer PPOConfig PPOTrainer KTOConfig KTOTrainer "
    "ORPOConfig ORPOTrainer CPOConfig CPOTrainer RewardConfig RewardTrainer RLOOConfig RLOOTrainer "
    "OnlineDPOConfig OnlineDPOTrainer GKDConfig GKDTrainer PRMConfig PRMTrainer BCOConfig "
    "BCOTrainer NashMDConfig XPOConfig";
constexpr std::string_view kOtherCalls =
    "LoraConfig BitsAndBytesConfig from_pretrained gradient_checkpointing_enable "
    "ParallelismConfig";

// "from_pretrained" of "AutoModelForCausalLM.from_pretrained".
std::string called_name(const std::string& dotted) {
  return dotted.substr(dotted.rfind('.') == std::string::npos ? 0 : dotted.rfind('.') + 1);
}

ConfigNode node_of_call(const PythonValue& value) {
  ConfigNode node = text_setting({}, value.text, value.where).value;
  if (value.kind == PythonValue::Kind::kList) {
    node.kind = ConfigNode::Kind::kSequence;
    for (const PythonValue& item : value.items) {
      node.items.push_back(node_of_call(item));
    }
  }
  return node;
}

class CallReader {
 public:
  CallReader(const ImportInput& input, TrainerFile& file) : input_(input), file_(file) {}

  void read() {
    std::string names(kArgumentClasses);
    for (const std::string_view more : {kTrainerClasses, kOtherTraining, kOtherCalls}) {
      names += " " + std::string(more);
    }
    const std::vector<PythonValue> calls = python_calls(input_.text, input_.file, names);
    check(calls);
    file_.tool = TrainerTool::kPlain;
    for (const PythonValue& call : calls) {
      read_call(call);
    }
  }

 private:
  void check(const std::vector<PythonValue>& calls) const {
    const auto of = [](std::string_view names) {
      return [names](const PythonValue& call) { return is_among(names, called_name(call.text)); };
    };
    const auto other = std::find_if(calls.begin(), calls.end(), of(kOtherTraining));
    if (other != calls.end()) {
      throw ConfigError(other->where, "trains by " + called_name(other->text) +
                                          ", which is not supervised training and is not modelled; "
                                          "Trainer and SFTTrainer are");
    }
    if (std::none_of(calls.begin(), calls.end(), of(kArgumentClasses)) &&
        std::none_of(calls.begin(), calls.end(), of(kTrainerClasses))) {
      throw ConfigError({input_.file, 0, 0},
                        "builds no TrainingArguments(...) and no SFTConfig(...); import the script "
                        "or the command that launches it");
    }
  }

  void put(std::string name, const PythonValue& value) {
    const bool braces = value.kind == PythonValue::Kind::kOpaque && value.text.starts_with("{");
    if (braces && put_mapping(name, value)) {
      return;
    }
    file_.settings.push_back({std::move(name), node_of_call(value)});
  }

  // A dictionary of literals, which YAML writes the same way.
  bool put_mapping(const std::string& name, const PythonValue& value) {
    try {
      ConfigNode mapping = parse_config(value.text, value.where.file);
      for (Setting& setting : flat_settings(mapping, name + ".")) {
        setting.value.line = value.where.line;
        setting.value.column = value.where.column;
        file_.settings.push_back(std::move(setting));
      }
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  }

  void put_all(const PythonValue& call, const std::string& prefix) {
    for (const auto& [name, value] : call.keywords) {
      put(prefix + name, value);
    }
  }

  void told(const PythonValue& call, const std::string& what) {
    file_.remarks.push_back(
        {ImportOutcome::kAssumed, {}, call.text.substr(0, 60), "arguments", what, {}});
  }

  void read_arguments(const PythonValue& call) {
    if (called_name(call.text) == "SFTConfig") {
      file_.tool = TrainerTool::kTrl;
    }
    if (has_arguments_) {
      told(call,
           "of several the first is read, in another line than " + std::to_string(call.where.line));
      return;
    }
    has_arguments_ = true;
    const bool followed = std::all_of(call.items.begin(), call.items.end(), [](const auto& item) {
      return item.kind == PythonValue::Kind::kLiteral;
    });
    if (!followed) {
      told(call, "what it is given as a whole, in line " + std::to_string(call.where.line) +
                     ", is not followed; give NAME=VALUE behind the file");
    }
    put_all(call, {});
  }

  // Up to TRL 0.12 the trainer took what is the configuration's since.
  void read_sft_trainer(const PythonValue& call) {
    file_.tool = TrainerTool::kTrl;
    for (const auto& [name, value] : call.keywords) {
      if (name == "max_seq_length" || name == "packing") {
        put(name, value);
      } else if (name == "model" && value.kind == PythonValue::Kind::kLiteral) {
        put("model_name_or_path", value);
      }
    }
  }

  void read_model(const PythonValue& call) {
    const bool unsloth = call.text.starts_with("Fast");
    const bool model = unsloth || call.text.starts_with("AutoModel") ||
                       call.text.find("ForCausalLM") != std::string::npos;
    if (!model || has_model_) {
      return;
    }
    has_model_ = true;
    if (unsloth) {
      file_.settings.push_back(text_setting("use_unsloth", "true", call.where));
    }
    if (!call.items.empty()) {
      put("model_name_or_path", call.items.front());
    }
    constexpr std::string_view kUsed =
        "torch_dtype dtype attn_implementation load_in_4bit load_in_8bit max_seq_length "
        "use_flash_attention_2";
    for (const auto& [name, value] : call.keywords) {
      if (is_among(kUsed, name)) {
        put(name, value);
      } else if (name == "pretrained_model_name_or_path" || name == "model_name") {
        put("model_name_or_path", value);
      }
    }
  }

  void read_call(const PythonValue& call) {
    const std::string name = called_name(call.text);
    if (is_among(kArgumentClasses, name)) {
      read_arguments(call);
    } else if (name == "SFTTrainer") {
      read_sft_trainer(call);
    } else if (name == "LoraConfig") {
      file_.settings.push_back(text_setting("adapter.peft_type", "LORA", call.where));
      put_all(call, "adapter.");
    } else if (name == "BitsAndBytesConfig") {
      for (const auto& [key, value] : call.keywords) {
        if (key == "load_in_4bit" || key == "load_in_8bit") {
          put(key, value);
        }
      }
    } else if (name == "gradient_checkpointing_enable") {
      file_.settings.push_back(text_setting("gradient_checkpointing", "true", call.where));
    } else if (name == "ParallelismConfig") {
      put_all(call, "parallelism_config.");
    } else {
      read_model(call);
    }
  }

  const ImportInput& input_;
  TrainerFile& file_;
  bool has_arguments_ = false;
  bool has_model_ = false;
};

}  // namespace

void read_trainer_python(const ImportInput& input, TrainerFile& file) {
  CallReader(input, file).read();
}

}  // namespace stepcast
