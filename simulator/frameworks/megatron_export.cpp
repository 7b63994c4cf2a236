// SPDX-License-Identifier: Apache-2.0
// The script that launches Megatron-LM, with what its examples (examples/llama) add around the
// model and the plan.
#include <algorithm>
#include <array>

#include "frameworks/megatron_import.hpp"
#include "frameworks/megatron_writer.hpp"
#include "frameworks/written_text.hpp"

namespace stepcast {
namespace {

// Fields that an argument of another name turns off.
struct OffArgument {
  std::string_view field;
  std::string_view argument;
};
constexpr std::array kOffArguments = {
    OffArgument{"add_bias_linear", "--disable-bias-linear"},
    OffArgument{"gradient_accumulation_fusion", "--no-gradient-accumulation-fusion"},
    OffArgument{"muon_split_qkv", "--muon-no-split-qkv"},
};

constexpr std::array kFieldArguments = {OffArgument{"fp8", "--fp8-format"},
                                        OffArgument{"fp4", "--fp4-format"}};

std::string argument_of(const Setting& field) {
  const std::string& value = field.value.text;
  if (value == "false") {
    const auto* const off =
        std::find_if(kOffArguments.begin(), kOffArguments.end(),
                     [&](const OffArgument& entry) { return entry.field == field.name; });
    return off == kOffArguments.end() ? std::string{} : std::string(off->argument);
  }
  const auto* const renamed =
      std::find_if(kFieldArguments.begin(), kFieldArguments.end(),
                   [&](const OffArgument& entry) { return entry.field == field.name; });
  std::string name = "--" + field.name;
  std::replace(name.begin(), name.end(), '_', '-');
  name = renamed == kFieldArguments.end() ? name : std::string(renamed->argument);
  if (value == "true") {
    return name;
  }
  return name + " " + shell_arguments(value);
}

std::string array_of(const std::string& name, const std::vector<Setting>& fields) {
  std::string text = name + "=(\n";
  for (const Setting& field : fields) {
    if (const std::string argument = argument_of(field); !argument.empty()) {
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

}  // namespace

std::vector<ExportRefusal> why_not_megatron(const ExportInput& input) {
  return megatron_refusals(input, MegatronDialect::kMegatron);
}

std::vector<ExportedFile> export_megatron(const ExportInput& input) {
  constexpr MegatronDialect kDialect = MegatronDialect::kMegatron;
  const Experiment& experiment = input.experiment;
  const ParallelPlan& plan = input.plan;
  std::string text = "#!/bin/bash\n";
  text += "# For pretrain_gpt.py of Megatron-LM: " + experiment.model.name + "\n";
  text += "export CUDA_DEVICE_MAX_CONNECTIONS=" + std::to_string(connections(experiment, plan)) +
          "\n\n";
  text += "NNODES=" + std::to_string(experiment.cluster.nodes) + "\n";
  text += "GPUS_PER_NODE=" + std::to_string(experiment.cluster.gpus_per_node) + "\n\n";
  text += array_of("MODEL_ARGS", megatron_model_fields(experiment.model, kDialect));
  text += array_of("TRAINING_ARGS", megatron_training_fields(experiment));
  text += array_of("PARALLEL_ARGS", megatron_plan_fields(experiment, plan, kDialect));
  text += array_of("SOFTWARE_ARGS", megatron_software_fields(experiment, plan, kDialect));
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
