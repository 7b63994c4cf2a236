// SPDX-License-Identifier: Apache-2.0
#include "cli/command_words.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace stepcast::cli {
namespace {

// A word for what options take, where CLI11 would say TEXT, INT or FLOAT, and their names.
struct Takes {
  std::string_view word;
  std::string_view options;  // with a blank between any two
};
constexpr std::array kTypes = {
    Takes{"FILE|-", "experiment file files --html"},
    Takes{"FILE", "other traces --measured --plans --out --experiment --against"},
    Takes{"FILE|FOLDER", "parts"},
    Takes{"KIND", "kind"},
    Takes{"NAME|FILE", "name --model --gpu"},
    Takes{"KEY=VALUE", "overrides --set"},
    Takes{"SHELL", "shell"},
    Takes{"NAME",
          "of --cluster --software --schedule --dtype --recompute --name --submission --beside"},
    Takes{"N",
          "--rank --step --gpus --nodes --tp --pp --vpp --cp --ep --etp --fsdp --zero --seq --mbs "
          "--gbs --threads --top --gpus-from --gpus-to"},
    Takes{"RANKS", "--ranks"},
    Takes{"GPU=PRICE", "--price"},
    Takes{"SIGN", "--currency"},
    Takes{"TOKENS", "--tokens"},
    Takes{"ODDS", "--sure"},
    Takes{"RULE", "--constraint"},
    Takes{"DAYS", "--days"},
    Takes{"PRICE", "--budget"},
    Takes{"FORM", "--format"},
    Takes{"METRIC", "--metric"},
    Takes{"PART", "--of"},
    Takes{"LAYER", "--layer"},
    Takes{"BLOCK", "--block"},
    Takes{"STATE", "--state"},
    Takes{"N,...", "--map-ranks --map-nodes --map-topk --map-tokens"},
    Takes{"ROLE=NAME", "--backend"},
    Takes{"RATE", "--nic-rate"},
    Takes{"MHZ", "--gpu-clock-mhz"},
    Takes{"POWER", "--power-limit"},
    Takes{"K/N", "--shard"},
    Takes{"FOLDER", "--pieces --save-dir --data"},
    Takes{"FILE.svg", "--plot"},
    Takes{"DATE", "--date"},
    Takes{"MONTH", "--release"},
    Takes{"KEY", "--constant"},
    Takes{"KEY,...", "--free"},
    Takes{"KIND", "--template"},
    Takes{"TFLOP/s", "--tflops"},
    Takes{"PERCENT", "--mfu"},
    Takes{"SIZE", "--memory --tried"},
    Takes{"KEY=VALUE:FIGURE", "--point"},
    Takes{"FILE|-", "--points --trace"},
};

// What it takes within one command, or those below it, alone.
struct OwnWord {
  std::string_view command;
  std::string_view option;
  std::string_view word;
};
constexpr std::array kOwnTypes = {OwnWord{"export", "--out", "FOLDER"},
                                  OwnWord{"diagnose", "--measured", "RATE"},
                                  OwnWord{"diagnose", "--step", "TIME"}};

struct Example {
  std::string_view command;
  std::string_view line;
};

// In the root of the source tree.
constexpr std::array kExamples = {
    Example{"project",
            "stepcast project examples/01_llama3.1_70b_mi300x/experiment.yaml --gpu mi355x"},
    Example{"memory", "stepcast memory --model llama3.1_8b --gpu h100_sxm --nodes 1 --fsdp 8"},
    Example{"explain", "stepcast explain examples/08_mixtral_8x7b_mi300x/experiment.yaml"},
    Example{
        "diagnose",
        "stepcast diagnose examples/04_llama3.1_8b_mi300x/experiment.yaml --measured 6000tok/s"},
    Example{"sweep",
            "stepcast sweep configs/sweeps/llama3_70b_512_h100.yaml --top 5 --save-dir best"},
    Example{"merge", "stepcast merge shard1.part shard2.part"},
    Example{"compare",
            "stepcast compare examples/04_llama3.1_8b_mi300x/experiment.yaml --gpu mi300x "
            "--gpu h100_sxm"},
    Example{
        "recommend",
        "stepcast recommend --model llama3.1_8b --gpu h100_sxm --gpu mi300x --tokens 1T --days 30"},
    Example{"cost",
            "echo '{\"kind\": \"gemm\", \"m\": 4096, \"n\": 4096, \"k\": 4096}' | stepcast cost "
            "--gpu h100_sxm"},
    Example{"validate", "stepcast validate tests/validation/pair_steps.jsonl"},
    Example{"calibrate",
            "stepcast calibrate tests/validation/mi355x_gemm.jsonl --gpu mi355x "
            "--constant gemm.start_up"},
    Example{"layer", "stepcast layer examples/15_deepseek_v3_h100/experiment.yaml"},
    Example{"import", "stepcast import megatron train.sh --gpu h100_sxm --nodes 8 --out mine.yaml"},
    Example{"export", "stepcast export megatron examples/12_llama3.1_405b_h100/experiment.yaml"},
    Example{"trace",
            "stepcast trace examples/04_llama3.1_8b_mi300x/experiment.yaml --out step.json.gz"},
    Example{"trace-compare", "stepcast trace-compare experiment.yaml rank0.json.gz rank1.json.gz"},
    Example{"list", "stepcast list gpus"},
    Example{"describe", "stepcast describe h100_sxm"},
    Example{"completion", "stepcast completion bash"},
    Example{"manual", "stepcast manual"},
};

std::string_view type_of(const CLI::App& command, const std::string& option) {
  const CLI::App* around = command.get_parent();
  for (const OwnWord& own : kOwnTypes) {
    const bool is_of_it = command.get_name() == own.command ||
                          (around != nullptr && around->get_name() == own.command);
    if (is_of_it && own.option == option) {
      return own.word;
    }
  }
  const std::string whole = " " + option + " ";
  for (const Takes& row : kTypes) {
    if ((" " + std::string(row.options) + " ").find(whole) != std::string::npos) {
      return row.word;
    }
  }
  return {};
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
    const auto* const example =
        std::ranges::find(kExamples, command->get_name(), &Example::command);
    if (example != kExamples.end() && command->get_footer().empty()) {
      command->footer("Example: " + std::string(example->line));
    }
  }
}

std::vector<const CLI::App*> inner_commands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

CLI::Validator unsaid(const CLI::Validator& check) { return check.description(""); }

}  // namespace stepcast::cli
