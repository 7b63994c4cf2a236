// SPDX-License-Identifier: Apache-2.0
// The training command of a script, as accelerate, torchrun, DeepSpeed's launcher, TRL, axolotl and
// LLaMA-Factory are started.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <sstream>

#include "frameworks/launch_command.hpp"
#include "frameworks/shell_script.hpp"
#include "frameworks/trainer_files.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

// Programs and modules that train, whose first word may be a task.
struct TrainingProgram {
  std::string_view name;
  TrainerTool tool;
  std::string_view tasks{};   // those that train; empty: none is named
  std::string_view others{};  // training of another kind, which is refused
};
constexpr auto kPrograms = std::to_array<TrainingProgram>({
    {"trl", TrainerTool::kTrl, "sft", "dpo grpo kto rloo ppo reward gkd orpo cpo prm"},
    {"axolotl", TrainerTool::kAxolotl, "train"},
    {"axolotl.cli.train", TrainerTool::kAxolotl},
    {"scripts/finetune.py", TrainerTool::kAxolotl},
    {"llamafactory-cli", TrainerTool::kLlamaFactory, "train"},
    {"llamafactory.cli", TrainerTool::kLlamaFactory, "train"},
    {"lmf", TrainerTool::kLlamaFactory, "train"},
    {"src/train.py", TrainerTool::kLlamaFactory},
    {"src/train_bash.py", TrainerTool::kLlamaFactory},
});
// Modules that only start others.
constexpr std::string_view kStarters =
    "torch.distributed.launch torch.distributed.run accelerate.commands.launch deepspeed "
    "torch_npu.distributed.launch deepspeed.launcher.runner";

const TrainingProgram* program_of(const std::string& word) {
  const auto* const found =
      std::find_if(kPrograms.begin(), kPrograms.end(), [&](const TrainingProgram& row) {
        return word == row.name || word.ends_with("/" + std::string(row.name));
      });
  return found == kPrograms.end() ? nullptr : found;
}

struct Training {
  std::vector<ShellWord> launcher;
  std::vector<ShellWord> around;  // what starts it, and what the batch system is asked for
  std::map<std::string, std::string> environment;
  std::string program;
  std::vector<ShellWord> rest;  // a task, files, arguments
  TrainingProgram known{{}, TrainerTool::kPlain};
};

// The program of a command; nothing where none of its words is one.
std::optional<Training> training_in(const std::vector<ShellWord>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool module = i > 0 && (words[i - 1].text == "-m" || words[i - 1].text == "--module");
    if (module && is_among(kStarters, word)) {
      continue;
    }
    const TrainingProgram* known = program_of(word);
    if (!module && known == nullptr && !word.ends_with(".py")) {
      continue;
    }
    Training found;
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(i);
    found.launcher.assign(words.begin(), at);
    found.program = word;
    found.rest.assign(at + 1, words.end());
    found.known = known == nullptr ? TrainingProgram{{}, TrainerTool::kPlain} : *known;
    return found;
  }
  return std::nullopt;
}

bool is_option(const std::string& word) { return word.starts_with("--"); }

// Arguments that programs around Trainer have, of which one shows that it is one.
constexpr std::string_view kTrainerOptions =
    "--model_name_or_path --per_device_train_batch_size --gradient_accumulation_steps "
    "--output_dir --bf16 --fp16 --config --deepspeed --model_id --base_model";

bool is_data_file(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

// Whether a program has a task that trains, and arguments of Trainer or a file of data.
bool trains(const Training& training) {
  const std::string task = training.rest.empty() ? std::string{} : training.rest.front().text;
  const bool tasked = training.known.tasks.empty() || is_among(training.known.tasks, task) ||
                      is_among(training.known.others, task);
  return tasked && std::any_of(training.rest.begin(), training.rest.end(), [](const auto& word) {
           const std::string name = word.text.substr(0, word.text.find('='));
           return is_among(kTrainerOptions, name) || is_data_file(name);
         });
}

// Of the options before a program the name of the launcher.
std::string launcher_name(const std::vector<ShellWord>& words) {
  constexpr std::array<std::string_view, 5> kLaunchers = {
      "accelerate", "accelerate.commands.launch", "torchrun", "torch.distributed.run", "deepspeed"};
  for (const ShellWord& word : words) {
    const std::string name = std::filesystem::path(word.text).filename().string();
    if (std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end()) {
      return name.starts_with("accelerate") ? "accelerate" : name;
    }
    if (word.text == "torch.distributed.launch") {
      return "torchrun";
    }
  }
  return words.empty() ? std::string{} : "python";
}

// Slots of a host file of DeepSpeed, "worker-1 slots=8" a line.
LaunchSize size_of_hosts(const std::string& text) {
  LaunchSize size;
  std::istringstream lines(text);
  std::int64_t hosts = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t slots = line.find("slots=");
    if (slots != std::string::npos && !line.starts_with('#')) {
      ++hosts;
      size.gpus_per_node = leading_number(std::string_view(line).substr(slots + 6));
    }
  }
  size.nodes = hosts > 0 ? std::optional(hosts) : std::nullopt;
  return size;
}

// How many GPUs "localhost:0,1,2,3" and "0,1" name.
std::int64_t gpus_listed(const std::string& text) {
  const std::string list =
      text.substr(text.find(':') == std::string::npos ? 0 : text.find(':') + 1);
  return list.empty() ? 0 : std::count(list.begin(), list.end(), ',') + 1;
}

class CommandReader {
 public:
  CommandReader(const ImportInput& input, TrainerFile& file) : input_(input), file_(file) {}

  void read(TrainerDoor door) {
    const ShellSources sources = [&](const std::string& name) { return text_near(input_, name); };
    script_ = run_script(input_.text, input_.file, shell_assignments(input_.overrides), sources);
    const Training training = chosen();
    check_task(training);
    if (training.known.tool != TrainerTool::kPlain) {
      file_.tool = training.known.tool;
    }
    if (door == TrainerDoor::kTrl && training.known.tool == TrainerTool::kPlain) {
      file_.tool = TrainerTool::kTrl;
      file_.remarks.push_back({ImportOutcome::kAssumed,
                               {},
                               training.program.substr(0, 60),
                               "command",
                               "taken for a script of SFTTrainer, whose defaults are TRL's; "
                               "'import accelerate' takes Trainer's",
                               {}});
    }
    read_launcher(training);
    read_files(training);
    for (Setting& setting : argument_settings(options_of(training.rest))) {
      add_argument(std::move(setting));
    }
  }

 private:
  Training chosen() {
    std::vector<Training> all;
    for (const ShellCommand& command : script_.commands) {
      if (std::optional<Training> found = training_in(command.words); found && trains(*found)) {
        found->around = launcher_of(command, 0, script_);
        found->environment = command.environment;
        all.push_back(*std::move(found));
      }
    }
    if (all.empty()) {
      throw ConfigError({input_.file, 0, 0},
                        "has no command that trains: none of its lines runs a .py with Trainer's "
                        "arguments, trl sft, axolotl train or llamafactory-cli train");
    }
    const auto best = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.rest.size() < b.rest.size();
    });
    if (all.size() > 1) {
      const Location where = best->rest.empty() ? Location{} : best->rest.front().where;
      file_.remarks.push_back({ImportOutcome::kAssumed,
                               {},
                               best->program,
                               "command",
                               "of " + std::to_string(all.size()) +
                                   " commands that train the one with most arguments, in line " +
                                   std::to_string(where.line),
                               {}});
    }
    return *best;
  }

  void check_task(const Training& training) {
    if (training.known.tasks.empty()) {
      return;
    }
    const std::string& task = training.rest.front().text;
    if (is_among(training.known.others, task)) {
      throw ConfigError(training.rest.front().where,
                        "runs '" + std::string(training.known.name) + " " + task.substr(0, 60) +
                            "', which is not supervised training and is not modelled; " +
                            std::string(training.known.tasks) + " is");
    }
  }

  void read_launcher(const Training& training) {
    file_.launcher = launcher_name(training.launcher);
    std::vector<ShellWord> launcher = training.launcher;
    launcher.insert(launcher.end(), training.around.begin(), training.around.end());
    file_.size = launch_size(launcher);
    const std::vector<Setting> options = argument_settings(training.launcher);
    if (file_.launcher == "accelerate") {
      read_accelerate(options);
    } else {
      read_hosts(training, options);
    }
  }

  void read_accelerate(const std::vector<Setting>& options) {
    constexpr auto kCommandKinds = std::to_array<Word>(
        {{"use_fsdp", "FSDP"}, {"use_deepspeed", "DEEPSPEED"}, {"multi_gpu", "MULTI_GPU"}});
    for (const Setting& option : options) {
      if (option.name == "config_file") {
        add_file(option.value.text, option.value.location());
      }
    }
    for (const Setting& option : options) {
      const std::string_view kind = ours_of(kCommandKinds, option.name);
      Setting setting = option;
      setting.name = "accelerate." + (kind.empty() ? option.name : "distributed_type");
      setting.value.text = kind.empty() ? option.value.text : std::string(kind);
      if (option.name != "config_file" && option.name != "nnodes") {
        add_argument(std::move(setting));
      }
    }
    file_.size.gpus_per_node.reset();  // one task of a batch system starts all of a node
  }

  // DeepSpeed's launcher takes hosts from a file, or GPUs of this one from a list.
  void read_hosts(const Training& training, const std::vector<Setting>& options) {
    for (const Setting& option : options) {
      if (option.name == "hostfile") {
        const std::optional<std::string> text = text_near(input_, option.value.text);
        const LaunchSize hosts = text ? size_of_hosts(*text) : LaunchSize{};
        file_.size.nodes = file_.size.nodes ? file_.size.nodes : hosts.nodes;
        file_.size.gpus_per_node =
            file_.size.gpus_per_node ? file_.size.gpus_per_node : hosts.gpus_per_node;
      } else if (option.name == "include" && gpus_listed(option.value.text) > 0 &&
                 option.value.text.find('@') == std::string::npos) {
        file_.size.gpus_per_node = gpus_listed(option.value.text);
        file_.size.nodes = 1;
      }
    }
    if (!file_.size.gpus_per_node) {
      const std::int64_t listed = gpus_listed(visible_devices(training));
      file_.size.gpus_per_node = listed > 0 ? std::optional(listed) : std::nullopt;
    }
    if (file_.launcher == "python" && !file_.size.nodes && !file_.size.gpus_per_node) {
      file_.size.nodes = 1;
      file_.size.gpus_per_node = 1;
    }
  }

  // CUDA_VISIBLE_DEVICES before the command, or as the script has it.
  [[nodiscard]] std::string visible_devices(const Training& training) const {
    constexpr const char* kName = "CUDA_VISIBLE_DEVICES";
    const auto own = training.environment.find(kName);
    const auto found = script_.variables.find(kName);
    return own != training.environment.end()                           ? own->second
           : found == script_.variables.end() || found->second.empty() ? std::string{}
                                                                       : found->second.front();
  }

  void add_file(const std::string& name, const Location& where) {
    const std::optional<std::string> text = text_near(input_, name);
    if (!text) {
      const std::string unknown = unknown_variables();
      throw ConfigError(
          where, "names the file '" + name.substr(0, 100) + "', which is not beside the script" +
                     (unknown.empty() ? std::string{} : " (nobody sets " + unknown + ")") +
                     "; put it there, or import it by itself with the arguments "
                     "behind it");
    }
    add_trainer_text(*text, name, file_);
  }

  // Files of data that stand before the options, and the one behind --config.
  void read_files(const Training& training) {
    for (std::size_t i = 0; i < training.rest.size(); ++i) {
      const ShellWord& word = training.rest[i];
      if (word.text == "--config" && i + 1 < training.rest.size()) {
        add_file(training.rest[i + 1].text, training.rest[i + 1].where);
      } else if (word.text.starts_with("--config=")) {
        add_file(word.text.substr(9), word.where);
      }
    }
    for (const ShellWord& word : training.rest) {
      if (is_option(word.text)) {
        return;
      }
      if (is_data_file(word.text)) {
        add_file(word.text, word.where);
      }
    }
  }

  static std::vector<ShellWord> options_of(const std::vector<ShellWord>& words) {
    const auto first = std::find_if(words.begin(), words.end(),
                                    [](const ShellWord& word) { return is_option(word.text); });
    return {first, words.end()};
  }

  // Variables that nobody sets, for messages; empty if there are none.
  [[nodiscard]] std::string unknown_variables() const {
    return text_list(std::vector<std::string>(script_.unknown.begin(), script_.unknown.end()))
        .substr(0, 100);
  }

  // LLaMA-Factory takes key=value as well; an option whose value nobody sets is named.
  void add_argument(Setting setting) {
    constexpr std::string_view kWithValue =
        "per_device_train_batch_size gradient_accumulation_steps model_name_or_path "
        "max_seq_length max_length model_max_length cutoff_len lora_r lora_rank base_model "
        "accelerate.num_processes accelerate.num_machines accelerate.mixed_precision";
    const bool empty =
        setting.value.text == "true" && !setting.value.quoted && is_among(kWithValue, setting.name);
    if (setting.name == "config") {
      return;
    }
    if (!empty) {
      file_.settings.push_back(std::move(setting));
      return;
    }
    const std::string unknown = unknown_variables();
    file_.remarks.push_back({ImportOutcome::kAssumed,
                             setting.name,
                             "not stated",
                             {},
                             "the script gives it a value that nobody sets" +
                                 (unknown.empty() ? std::string{} : ", one of " + unknown) +
                                 "; give NAME=VALUE behind the file",
                             setting.value.location()});
  }

  const ImportInput& input_;
  TrainerFile& file_;
  ShellScript script_;
};

}  // namespace

void read_trainer_command(const ImportInput& input, TrainerDoor door, TrainerFile& file) {
  CommandReader(input, file).read(door);
}

}  // namespace stepcast
