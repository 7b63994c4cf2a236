// SPDX-License-Identifier: Apache-2.0
// Batch, number format and recomputation of Megatron. Sources: megatron/training/arguments.py,
// core/transformer/transformer_config.py (recompute_*, fp8_recipe, fp4_recipe).
#include <algorithm>
#include <utility>

#include "frameworks/megatron_core.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {
namespace {

class TrainingFields {
 public:
  TrainingFields(const MegatronFields& fields, const MegatronDegrees& degrees)
      : fields_(fields),
        settings_(fields.settings()),
        source_(fields.source()),
        degrees_(degrees) {}

  ConfigNode training() {
    read_batch();
    writer_.field("dtype", format());
    read_recompute();
    read_dropout();
    writer_.field("optimizer", read_megatron_optimizer(fields_));
    read_activation_offload();
    return writer_.take();
  }

 private:
  void read_batch() {
    if (const auto sequence = fields_.degree("training.sequence_length")) {
      writer_.field("sequence_length", *sequence);
    } else if (!fields_.has("training.sequence_length")) {
      fields_.error("the training needs 'seq_length'; give it");
    }
    const std::int64_t micro = fields_.degree("training.micro_batch_size").value_or(1);
    writer_.field("micro_batch_size", micro);
    const std::optional<std::int64_t> global = fields_.degree("training.global_batch_size");
    if (global) {
      check_batch(micro, *global);
      writer_.field("global_batch_size", *global);
    } else if (degrees_.dp) {
      const std::int64_t usual = micro * *degrees_.dp;  // one micro-batch a replica
      settings_.assume("training.global_batch_size", std::to_string(usual),
                       "global_batch_size is not given: micro_batch_size * data parallelism");
      writer_.field("global_batch_size", usual);
    } else {
      fields_.error(
          "the training needs 'global_batch_size', or the number of GPUs "
          "that it follows from: give --gpu and --nodes");
    }
  }

  // The first layers of a stage leave what they save on the host. Megatron takes the flag from the
  // number, and NeMo gives both.
  void read_activation_offload() {
    constexpr std::string_view kOffload = "training.offload.activations";
    const std::int64_t layers = settings_.count("cpu_offloading_num_layers", kOffload).value_or(0);
    if (!settings_.flag("cpu_offloading", kOffload).value_or(layers > 0) || layers < 1) {
      return;
    }
    writer_.begin("offload");
    writer_.begin("activations");
    writer_.field("layers", layers);
    writer_.end();
    writer_.end();
  }

  void check_batch(std::int64_t micro, std::int64_t global) {
    if (!degrees_.dp) {
      return;
    }
    if (global % micro != 0 || global / micro % *degrees_.dp != 0) {
      settings_.error("global_batch_size", "(" + std::to_string(global) +
                                               ") must be a multiple of micro_batch_size * "
                                               "data parallelism (" +
                                               std::to_string(micro) + " * " +
                                               std::to_string(*degrees_.dp) + ")");
    }
  }

  std::string format() {
    const std::string fp4 = word_of("fp4");
    const std::string fp8 = word_of("fp8");
    const std::string recipe = settings_.text("fp8_recipe", "training.dtype").value_or("delayed");
    (void)settings_.text("fp4_recipe", "training.dtype");
    const bool half = settings_.is_on("fp16", "training.dtype");
    const bool bf16 = settings_.flag("bf16", "training.dtype").value_or(source_.bf16);
    if (!fp4.empty()) {
      return "fp4";
    }
    if (!fp8.empty()) {
      const std::optional<std::string> known = fields_.words().ours_of("fp8_recipe", recipe);
      if (!known) {
        settings_.error("fp8_recipe",
                        "must be delayed, tensorwise, mxfp8 or blockwise, not '" + recipe + "'");
        return "fp8";
      }
      if (std::string note = fields_.words().nearest_note("fp8_recipe", recipe); !note.empty()) {
        settings_.assume("training.dtype", *known, std::move(note));
      }
      return *known;
    }
    if (!half && !bf16) {
      fields_.error("the training is in fp32, which no plan is priced in; give bf16 or fp16");
    }
    return half ? "fp16" : "bf16";
  }

  // "e4m3" or "hybrid"; empty where there is none.
  std::string word_of(std::string_view name) {
    const std::string word = settings_.text(name, "training.dtype").value_or("");
    return word == "false" || word == "False" ? std::string{} : word;
  }

  void read_recompute() {
    const bool activations = settings_.is_on("recompute_activations", "training.recompute");
    std::string granularity =
        settings_.text("recompute_granularity", "training.recompute").value_or("");
    granularity = granularity.empty() && activations ? "selective" : granularity;
    if (!granularity.empty() && granularity != "full" && granularity != "selective") {
      settings_.error("recompute_granularity",
                      "must be full or selective, not '" + granularity + "'");
      return;
    }
    const auto method = settings_.text("recompute_method", "training.recompute_method");
    const auto layers = fields_.count("training.recompute_layers");
    const auto listed = settings_.texts("recompute_layer_ids", "training.recompute_layers");
    const auto modules = settings_.texts("recompute_modules", "training.recompute_modules");
    if (granularity.empty()) {
      return;
    }
    writer_.field("recompute", granularity);
    if (granularity == "selective") {
      write_modules(modules.value_or(std::vector<std::string>{"core_attn"}));
    } else if (listed && !method) {
      write_layers(*listed);
    } else {
      write_method(method.value_or("uniform"), layers);
    }
  }

  void write_method(const std::string& method, std::optional<std::int64_t> layers) {
    if (method != "uniform" && method != "block") {
      settings_.error("recompute_method", "must be uniform or block, not '" + method + "'");
      return;
    }
    if (method == "uniform" && layers.value_or(1) == 1) {
      return;  // every layer, one input each: what recompute: full says
    }
    writer_.field("recompute_method", method);
    writer_.field("recompute_layers", layers.value_or(1));
  }

  void write_layers(const std::vector<std::string>& listed) {
    std::vector<std::int64_t> layers;
    for (const std::string& item : listed) {
      const bool whole = !item.empty() && item.size() < 6 &&
                         std::all_of(item.begin(), item.end(), ascii::is_digit);
      if (!whole) {
        settings_.error("recompute_layer_ids", "must be a list of layers, as in 0,3,4");
        return;
      }
      layers.push_back(std::stoll(item));
    }
    writer_.field("recompute_layers", list_node(layers));
  }

  void write_modules(const std::vector<std::string>& modules) {
    const std::span<const std::string_view> known = names_of<RecomputeModule>();
    std::vector<std::string> ours;
    for (const std::string& module : modules) {
      if (std::find(known.begin(), known.end(), module) != known.end()) {
        ours.push_back(module);
      } else if (module == "gdn_norm_out" || module == "mhc") {
        settings_.assume("training.recompute_modules", module,
                         "is of a layer that no model here has");
      } else {
        settings_.error(
            "recompute_modules",
            "has no module '" + module.substr(0, 60) + "'" +
                did_you_mean(module, {std::vector<std::string>(known.begin(), known.end())}));
      }
    }
    writer_.field("recompute_modules",
                  list_node(ours.empty() ? std::vector<std::string>{"core_attn"} : ours));
  }

  // Megatron drops a tenth of the values unless it is told otherwise.
  void read_dropout() {
    const double usual = source_.model_is_named ? 0.0 : 0.1;
    const double hidden = settings_.share("hidden_dropout", "training.dropout").value_or(usual);
    const double softmax = settings_.share("attention_dropout", "training.dropout").value_or(usual);
    if (!settings_.has("hidden_dropout") && !source_.model_is_named) {
      settings_.assume("training.dropout", "true", "hidden_dropout is 0.1 unless it is given as 0");
    }
    if (hidden > 0.0 || softmax > 0.0) {
      writer_.field("dropout", true);
    }
  }

  const MegatronFields& fields_;
  FrameworkReader& settings_;
  const MegatronSource& source_;
  const MegatronDegrees& degrees_;
  ConfigWriter writer_;
};

}  // namespace

ConfigNode read_megatron_training(const MegatronFields& fields, const MegatronDegrees& degrees) {
  return TrainingFields(fields, degrees).training();
}

}  // namespace stepcast
