// SPDX-License-Identifier: Apache-2.0
#include "cli/command_words.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace stepcast::cli {
namespace {

struct Word {
  std::string_view name;  // of an option or a command
  std::string_view word;
};

// What an option takes, where CLI11 would say TEXT, INT or FLOAT.
constexpr std::array kTypes = {
    Word{"experiment", "FILE|-"},
    Word{"other", "FILE"},
    Word{"file", "FILE|-"},
    Word{"files", "FILE|-"},
    Word{"parts", "FILE|FOLDER"},
    Word{"kind", "KIND"},
    Word{"name", "NAME|FILE"},
    Word{"overrides", "KEY=VALUE"},
    Word{"shell", "SHELL"},
    Word{"of", "NAME"},
    Word{"traces", "FILE"},
    Word{"--rank", "N"},
    Word{"--ranks", "RANKS"},
    Word{"--step", "N"},
    Word{"--set", "KEY=VALUE"},
    Word{"--price", "GPU=PRICE"},
    Word{"--currency", "SIGN"},
    Word{"--tokens", "TOKENS"},
    Word{"--memory-margin", "SHARE"},
    Word{"--constraint", "RULE"},
    Word{"--days", "DAYS"},
    Word{"--budget", "PRICE"},
    Word{"--gpus", "N"},
    Word{"--format", "FORM"},
    Word{"--metric", "METRIC"},
    Word{"--of", "PART"},
    Word{"--layer", "LAYER"},
    Word{"--block", "BLOCK"},
    Word{"--state", "STATE"},
    Word{"--map-ranks", "N,..."},
    Word{"--map-nodes", "N,..."},
    Word{"--map-topk", "N,..."},
    Word{"--map-tokens", "N,..."},
    Word{"--backend", "ROLE=NAME"},
    Word{"--measured", "FILE"},
    Word{"--model", "NAME|FILE"},
    Word{"--gpu", "NAME|FILE"},
    Word{"--cluster", "NAME"},
    Word{"--nic-rate", "RATE"},
    Word{"--software", "NAME"},
    Word{"--schedule", "NAME"},
    Word{"--dtype", "NAME"},
    Word{"--recompute", "NAME"},
    Word{"--name", "NAME"},
    Word{"--nodes", "N"},
    Word{"--tp", "N"},
    Word{"--pp", "N"},
    Word{"--vpp", "N"},
    Word{"--cp", "N"},
    Word{"--ep", "N"},
    Word{"--etp", "N"},
    Word{"--fsdp", "N"},
    Word{"--zero", "N"},
    Word{"--seq", "N"},
    Word{"--mbs", "N"},
    Word{"--gbs", "N"},
    Word{"--threads", "N"},
    Word{"--top", "N"},
    Word{"--gpu-clock-mhz", "MHZ"},
    Word{"--power-limit", "POWER"},
    Word{"--shard", "K/N"},
    Word{"--pieces", "FOLDER"},
    Word{"--submission", "NAME"},
    Word{"--beside", "NAME"},
    Word{"--plans", "FILE"},
    Word{"--out", "FILE"},
    Word{"--html", "FILE|-"},
    Word{"--plot", "FILE.svg"},
    Word{"--save-dir", "FOLDER"},
    Word{"--experiment", "FILE"},
    Word{"--date", "DATE"},
    Word{"--constant", "KEY"},
    Word{"--data", "FOLDER"},
};

// What it takes within one command alone.
struct OwnWord {
  std::string_view command;
  Word word;
};
constexpr std::array kOwnTypes = {OwnWord{"export", {"--out", "FOLDER"}}};

// In the root of the source tree.
constexpr std::array kExamples = {
    Word{"project",
         "stepcast project examples/01_llama3.1_70b_mi300x/experiment.yaml --gpu mi355x"},
    Word{"memory", "stepcast memory --model llama3.1_8b --gpu h100_sxm --nodes 1 --fsdp 8"},
    Word{"explain", "stepcast explain examples/08_mixtral_8x7b_mi300x/experiment.yaml"},
    Word{"sweep", "stepcast sweep configs/sweeps/llama3_70b_512_h100.yaml --top 5 --save-dir best"},
    Word{"merge", "stepcast merge shard1.part shard2.part"},
    Word{"compare",
         "stepcast compare examples/04_llama3.1_8b_mi300x/experiment.yaml --gpu mi300x "
         "--gpu h100_sxm"},
    Word{
        "recommend",
        "stepcast recommend --model llama3.1_8b --gpu h100_sxm --gpu mi300x --tokens 1T --days 30"},
    Word{"cost",
         "echo '{\"kind\": \"gemm\", \"m\": 4096, \"n\": 4096, \"k\": 4096}' | stepcast cost "
         "--gpu h100_sxm"},
    Word{"validate", "stepcast validate tests/validation/pair_steps.jsonl"},
    Word{"calibrate",
         "stepcast calibrate tests/validation/mi355x_gemm.jsonl --gpu mi355x "
         "--constant gemm.start_up"},
    Word{"layer", "stepcast layer examples/15_deepseek_v3_h100/experiment.yaml"},
    Word{"import", "stepcast import megatron train.sh --gpu h100_sxm --nodes 8 --out mine.yaml"},
    Word{"export", "stepcast export megatron examples/12_llama3.1_405b_h100/experiment.yaml"},
    Word{"trace",
         "stepcast trace examples/04_llama3.1_8b_mi300x/experiment.yaml --out step.json.gz"},
    Word{"trace-compare", "stepcast trace-compare experiment.yaml rank0.json.gz rank1.json.gz"},
    Word{"list", "stepcast list gpus"},
    Word{"describe", "stepcast describe h100_sxm"},
    Word{"completion", "stepcast completion bash"},
    Word{"manual", "stepcast manual"},
};

template <typename Words>
std::string_view word_of(const Words& words, const std::string& name) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&name](const Word& word) { return word.name == name; });
  return found == words.end() ? std::string_view{} : found->word;
}

std::string_view type_of(const CLI::App& command, const std::string& option) {
  const CLI::App* around = command.get_parent();
  for (const OwnWord& own : kOwnTypes) {
    if (around != nullptr && around->get_name() == own.command && own.word.name == option) {
      return own.word.word;
    }
  }
  return word_of(kTypes, option);
}

void add_types(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string name =
        option->get_positional()
            ? option->get_name(true)
            : "--" + (option->get_lnames().empty() ? std::string{} : option->get_lnames()[0]);
    if (const std::string_view word = type_of(command, name); !word.empty()) {
      option->type_name(std::string(word));
    }
  }
  for (CLI::App* inner : command.get_subcommands([](CLI::App*) { return true; })) {
    add_types(*inner);
  }
}

}  // namespace

void add_words(CLI::App& program) {
  program.name("stepcast");
  add_types(program);
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    if (const std::string_view example = word_of(kExamples, command->get_name());
        !example.empty() && command->get_footer().empty()) {
      command->footer("Example: " + std::string(example));
    }
  }
}

std::vector<const CLI::App*> inner_commands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

CLI::Validator unsaid(const CLI::Validator& check) { return check.description(""); }

}  // namespace stepcast::cli
