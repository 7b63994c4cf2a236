// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_import.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "frameworks/job_size.hpp"
#include "frameworks/launch_command.hpp"
#include "frameworks/megatron_writer.hpp"
#include "frameworks/megatron_yaml.hpp"
#include "frameworks/words.hpp"
#include "frameworks/written_text.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

// Since this day Transformer Engine's layers run where nothing is said, and Megatron's own before
// it (e7b74a4b7e).
constexpr std::string_view kTransformerEngineDay = "2024-04-03";

// What runs a script, by its words: it names no recipe.
struct MegatronProgram {
  std::string set;
  std::string why;
  bool deepspeed = false;
  bool own_layers = false;
};

// "--disable-bias-linear" of add_bias_linear: false; empty where no argument says it.
std::string argument_of(const FrameworkWords& words, const Setting& field) {
  const std::optional<Setting> argument = words.as_argument(field);
  if (!argument) {
    return {};
  }
  std::string name = "--" + argument->name;
  std::replace(name.begin(), name.end(), '_', '-');
  const std::string& value = argument->value.text;
  return value == "true" ? name : name + " " + shell_arguments(value);
}

std::string array_of(const std::string& name, const FrameworkWords& words,
                     const std::vector<Setting>& fields) {
  std::string text = name + "=(\n";
  for (const Setting& field : fields) {
    if (const std::string argument = argument_of(words, field); !argument.empty()) {
      text += "    " + argument + "\n";
    }
  }
  return text + ")\n\n";
}

// FSDP's collectives run on streams of their own; overlap of tensor parallelism wants one queue.
int connections(const Experiment& experiment, const ParallelPlan& plan) {
  if (plan.zero == 3) {
    return 8;
  }
  return experiment.software.ep_overlap ? 32 : 1;
}

bool is_yaml(const ImportInput& input) {
  const std::filesystem::path file(input.file);
  if (file.extension() == ".yaml" || file.extension() == ".yml") {
    return true;
  }
  return file.extension() != ".sh" && input.text.find("--") == std::string::npos;
}

bool has_small_letter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_lower);
}

struct MegatronFile {
  std::vector<Setting> written;  // in the file's own words
  LaunchSize size;
  std::string program;  // empty where none is named
  std::vector<SettingDoubt> doubts;
  bool grows_segments = false;
};

MegatronFile read_megatron_file(const ImportInput& input, const FrameworkWords& words) {
  if (is_yaml(input)) {
    MegatronYaml yaml = read_megatron_yaml(input);
    return {std::move(yaml.settings), {}, {}, std::move(yaml.doubts), false};
  }
  const ShellSources sources = [&](const std::string& name) { return text_beside(input, name); };
  const ShellScript script =
      run_script(input.text, input.file, shell_assignments(input.overrides), sources);
  const auto trains = [&words](const std::string& program) {
    const FrameworkWord* const row = words.program(program);
    return row == nullptr || row->effect != WordEffect::kRefused;
  };
  LaunchCommand command = training_command(script, input.file, trains);
  return {argument_settings(command.arguments), launch_size(command.launcher), command.program,
          std::move(command.doubts), command.grows_segments};
}

// A value that nothing here reads: that it stands there is told, and no other value changes more.
bool is_unread(const SettingDoubt& doubt, const FrameworkWords& words) {
  const FrameworkWord* const row = words.word(doubt.name);
  return doubt.of == DoubtOf::kValue && row != nullptr && row->is.empty() && row->ours.empty() &&
         row->effect == WordEffect::kChangesResult;
}

// The vocabulary is assumed where the tokenizer does not say it.
void weigh_tokenizers(std::vector<SettingDoubt>& doubts) {
  for (SettingDoubt& doubt : doubts) {
    const bool of_vocabulary = is_among("tokenizer_model tokenizer_name_or_path", doubt.name);
    doubt.of = of_vocabulary && doubt.of == DoubtOf::kValue ? DoubtOf::kAssumed : doubt.of;
  }
}

// What is given behind the file is in no doubt, and says how large the job is.
void give_overrides(const ImportInput& input, const FrameworkWords& words, MegatronFile& file,
                    std::vector<Setting>& fields) {
  for (Setting& setting : override_settings(input.overrides, words)) {
    std::erase_if(file.doubts,
                  [&](const SettingDoubt& doubt) { return doubt.name == setting.name; });
    if (!given_size(setting, file.size)) {
      fields.push_back(std::move(setting));
    }
  }
}

bool is_given(const std::vector<Setting>& settings, std::string_view name, std::string_view value) {
  return std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
    return setting.name == name && setting.value.text == value;
  });
}

MegatronProgram program_of(const std::vector<Setting>& written, const FrameworkWords& words) {
  if (is_given(written, "deepspeed", "true")) {
    const bool flash = std::ranges::any_of(written, [&](const Setting& setting) {
      const FrameworkWord* const row = words.word(setting.name);
      const bool of_attention = row != nullptr && row->ours == "software.attention";
      return setting.value.text == "true" && (of_attention || setting.name == "use_flash_attn");
    });
    return flash ? MegatronProgram{"megatron_deepspeed_2023",
                                   "Megatron-DeepSpeed since July 2023, by --deepspeed and its "
                                   "FlashAttention",
                                   true, true}
                 : MegatronProgram{"megatron_deepspeed_2022",
                                   "Megatron-DeepSpeed with attention as separate kernels, by "
                                   "--deepspeed without FlashAttention",
                                   true, true};
  }
  const FrameworkWord* const oldest = words.oldest(written);
  const bool older = oldest != nullptr && oldest->until < kTransformerEngineDay &&
                     !is_given(written, "transformer_impl", "transformer_engine");
  if (older) {
    return {"megatron_2021",
            "Megatron-LM gave '" + oldest->theirs.front() + "' up on " + oldest->until +
                ": its own layers, which ran unless Transformer Engine's were asked for",
            false, true};
  }
  return {"megatron_plain",
          "Megatron-LM of 2025 and 2026 with Transformer Engine, each kernel launched by the "
          "host; a script names no version, and neither fusions of a tuned recipe nor its "
          "graphs"};
}

// Refuses a program that trains no such model, and names what another does besides.
void judge_program(const std::string& program, const FrameworkWords& words,
                   const ImportInput& input, FrameworkReader& settings) {
  const FrameworkWord* const row = words.program(program);
  if (row == nullptr) {
    return;
  }
  const std::string name = std::filesystem::path(program).filename().string();
  if (row->effect == WordEffect::kRefused) {
    throw ConfigError({input.file, 0, 0}, "runs " + name.substr(0, 60) + ", which " + row->why);
  }
  settings.leave_out("program", name, row->why);
}

}  // namespace

std::vector<Setting> override_settings(const std::vector<std::string>& overrides,
                                       const FrameworkWords& words) {
  std::vector<Setting> settings;
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    const Location where{"override '" + text.substr(0, 60) + "'", 0, 0};
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError(where, "must be KEY=VALUE");
    }
    const std::string name = text.substr(0, equals);
    if (has_small_letter(name)) {
      settings.push_back(text_setting(megatron_field_name(name), text.substr(equals + 1), where));
    }
  }
  return words.as_fields(std::move(settings));
}

ImportedExperiment import_megatron(const ImportInput& input) {
  const FrameworkWords words = megatron_words(input.data);
  MegatronFile file = read_megatron_file(input, words);
  std::vector<Setting> fields = words.as_fields(file.written);
  std::erase_if(file.doubts, [&](const SettingDoubt& doubt) { return is_unread(doubt, words); });
  for (SettingDoubt& doubt : file.doubts) {
    doubt.name = words.field_of(doubt.name);
  }
  weigh_tokenizers(file.doubts);
  give_overrides(input, words, file, fields);
  take_one_process(input, fields, file.size);
  fit_nodes(input, file.size);
  const MegatronProgram program = program_of(file.written, words);
  MegatronSource source;
  source.model = megatron_default_model();
  source.software = program.set;
  source.deepspeed = program.deepspeed;
  source.own_layers = program.own_layers;
  source.uneven_stages = program.deepspeed;
  source.shipped = input.data;
  source.whole_file = {input.file, 0, 0};
  source.gpus = cluster_gpus(input, file.size.nodes, file.size.gpus_per_node, {});
  source.gpus = source.gpus || input.nodes ? source.gpus : file.size.gpus;
  source.gpus_per_node = file.size.gpus_per_node;
  Diagnostics diagnostics;
  FrameworkReader settings(std::move(fields), diagnostics);
  settings.add_doubts(std::move(file.doubts));
  assume_size(file.size, input, settings);
  judge_program(file.program, words, input, settings);
  (void)settings.is_on("deepspeed", "software");
  settings.assume("software", program.set, program.why);
  FrameworkExperiment parts = read_megatron(settings, source, words, input.unknown);
  diagnostics.throw_if_any();
  parts.grows_segments = file.grows_segments;
  return assembled(std::move(parts), input);
}

std::vector<ExportRefusal> why_not_megatron(const ExportInput& input) {
  return megatron_refusals(input, MegatronDialect::kMegatron);
}

std::vector<ExportedFile> export_megatron(const ExportInput& input) {
  constexpr MegatronDialect kDialect = MegatronDialect::kMegatron;
  const Experiment& experiment = input.experiment;
  const ParallelPlan& plan = input.plan;
  const FrameworkWords words = megatron_words(input.data);
  std::string text = "#!/bin/bash\n";
  text += "# For pretrain_gpt.py of Megatron-LM: " + experiment.model.name + "\n";
  text += "export CUDA_DEVICE_MAX_CONNECTIONS=" + std::to_string(connections(experiment, plan)) +
          "\n\n";
  text += "NNODES=" + std::to_string(experiment.cluster.nodes) + "\n";
  text += "GPUS_PER_NODE=" + std::to_string(experiment.cluster.gpus_per_node) + "\n\n";
  text += array_of("MODEL_ARGS", words, megatron_model_fields(experiment.model, kDialect));
  text += array_of("TRAINING_ARGS", words, megatron_training_fields(experiment));
  text += array_of("PARALLEL_ARGS", words, megatron_plan_fields(experiment, plan, words, kDialect));
  text += array_of("SOFTWARE_ARGS", words, megatron_software_fields(experiment, plan, kDialect));
  text +=
      "OTHER_ARGS=(\n"
      "    --use-mcore-models\n"
      "    --transformer-impl transformer_engine\n"
      "    --tokenizer-type NullTokenizer\n"
      "    --mock-data\n"
      "    --train-iters 50\n"
      "    --lr 1e-4\n"
      "    --eval-iters 0\n"
      "    --log-interval 1\n"
      "    --log-throughput\n"
      ")\n\n"
      "torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES \\\n"
      "    --node_rank ${NODE_RANK:-0} --master_addr ${MASTER_ADDR:-localhost} \\\n"
      "    --master_port ${MASTER_PORT:-29500} \\\n"
      "    pretrain_gpt.py \"${MODEL_ARGS[@]}\" \"${TRAINING_ARGS[@]}\" \\\n"
      "    \"${PARALLEL_ARGS[@]}\" \"${SOFTWARE_ARGS[@]}\" \"${OTHER_ARGS[@]}\"\n";
  return {{"train.sh", std::move(text)}};
}

}  // namespace stepcast
