// SPDX-License-Identifier: Apache-2.0
// Degrees, stages and sharding of Megatron. Sources: megatron/training/arguments.py
// (validate_args), core/pipeline_parallel, core/transformer/transformer_layer.py
// (get_num_layers_to_build); of Primus: configs/modules/megatron/zero_bubble.yaml and
// primus_pipeline.yaml.
#include <algorithm>
#include <array>

#include "frameworks/megatron_core.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/plan/axis_order.hpp"
#include "stepcast/plan/stage_layout.hpp"

namespace stepcast {
namespace {

class PlanFields {
 public:
  PlanFields(const MegatronFields& fields, const ModelSpec& model, MegatronDegrees& degrees)
      : fields_(fields),
        settings_(fields.settings()),
        source_(fields.source()),
        model_(model),
        degrees_(degrees) {}

  ConfigNode plan() {
    read_degrees();
    read_stages();
    read_schedule();
    read_sharding();
    read_context();
    if (settings_.is_on("use_tp_pp_dp_mapping", "plan.order")) {
      writer_.field("order", kPipelinesWithinReplicas);
    }
    return writer_.take();
  }

 private:
  std::int64_t degree(std::string_view ours) {
    const std::int64_t value = fields_.degree(ours).value_or(1);
    writer_.field(ours.substr(ours.find('.') + 1), value);
    return value;
  }

  void read_degrees() {
    degrees_.tp = degree("plan.tp");
    degrees_.pp = degree("plan.pp");
    degrees_.cp = degree("plan.cp");
    const bool experts = model_.moe.has_value();
    const std::int64_t ep = fields_.degree("plan.ep").value_or(1);
    const auto etp = fields_.degree("plan.etp");
    if (experts) {
      degrees_.ep = ep;
      etp_ = etp.value_or(source_.deepspeed ? expert_tensor_degree() : degrees_.tp);
      writer_.field("ep", ep);
      if (etp_ > 1) {
        writer_.field("etp", etp_);  // without its own it is tp
      }
      if (model_.moe->experts % ep != 0) {
        settings_.error("expert_model_parallel_size",
                        "(" + std::to_string(ep) + ") must divide num_experts (" +
                            std::to_string(model_.moe->experts) + ")");
      }
    }
    const bool sequence = settings_.is_on("sequence_parallel", "plan.sequence_parallel");
    if (degrees_.tp > 1 && !sequence) {
      writer_.field("sequence_parallel", false);
      if (experts && !source_.deepspeed) {
        settings_.error("tensor_model_parallel_size",
                        "more than 1 needs sequence_parallel in a model with experts");
      }
    }
    divide_world();
  }

  // Experts are whole in Megatron-DeepSpeed unless it is told to divide them.
  std::int64_t expert_tensor_degree() {
    return settings_.is_on("enable_expert_tensor_parallelism", "plan.etp") ? degrees_.tp : 1;
  }

  void divide_world() {
    const std::int64_t rank = degrees_.tp * degrees_.pp * degrees_.cp;
    const std::int64_t experts = degrees_.ep * etp_ * degrees_.pp;
    if (model_.moe && source_.gpus && *source_.gpus % experts != 0) {
      settings_.error("expert_model_parallel_size",
                      "with expert tensor and pipeline parallelism needs a multiple of " +
                          std::to_string(experts) + " GPUs; there are " +
                          std::to_string(*source_.gpus) + "; give --nodes");
    }
    if (source_.gpus && *source_.gpus % rank == 0) {
      degrees_.dp = *source_.gpus / rank;
    } else if (source_.gpus) {
      settings_.diagnostics().error(
          settings_.location("tensor_model_parallel_size"),
          "tensor * pipeline * context parallelism (" + std::to_string(degrees_.tp) + " * " +
              std::to_string(degrees_.pp) + " * " + std::to_string(degrees_.cp) +
              ") must divide the number of GPUs (" + std::to_string(*source_.gpus) +
              "); give --nodes");
    }
  }

  // --- stages -----------------------------------------------------------------------------------

  void read_stages() {
    const auto layout = settings_.as_written("pipeline_model_parallel_layout", "plan.stage_layout");
    const auto split = settings_.texts("decoder_pipeline_manual_split_list", "plan.stage_layout");
    const bool embedding =
        settings_.is_on("account_for_embedding_in_pipeline_split", "plan.stage_layout");
    const bool loss = settings_.is_on("account_for_loss_in_pipeline_split", "plan.stage_layout");
    const auto first = settings_.count("decoder_first_pipeline_num_layers", "plan.stage_layout");
    const auto last = settings_.count("decoder_last_pipeline_num_layers", "plan.stage_layout");
    degrees_.vpp = virtual_stages(layout, (embedding ? 1 : 0) + (loss ? 1 : 0));
    if (degrees_.vpp > 1) {
      writer_.field("vpp", degrees_.vpp);
    }
    if (degrees_.pp == 1) {
      return;
    }
    if (layout) {
      writer_.field("stage_layout", *layout);
    } else if (split) {
      write_split(*split);
    } else if (first || last) {
      write_uneven(first, last);
    } else if (embedding || loss) {
      write_balanced(embedding, loss);
    } else if (model_.layers % (degrees_.pp * degrees_.vpp) != 0 && source_.uneven_stages) {
      settings_.assume("plan.stage_layout", "balanced",
                       "the layers are no multiple of the pipeline's stages");
      writer_.field("stage_layout", "balanced");
    } else if (model_.layers % (degrees_.pp * degrees_.vpp) != 0) {
      settings_.error("num_layers", "(" + std::to_string(model_.layers) +
                                        ") must be a multiple of the pipeline's stages (" +
                                        std::to_string(degrees_.pp * degrees_.vpp) +
                                        "), or pipeline_model_parallel_layout must say where they "
                                        "are");
    }
  }

  std::int64_t virtual_stages(const std::optional<std::string>& layout, std::int64_t ends) {
    const auto count = settings_.count("num_virtual_stages_per_pipeline_rank", "plan.vpp");
    const auto layers = settings_.count("num_layers_per_virtual_pipeline_stage", "plan.vpp");
    const auto size = fields_.count("plan.vpp");
    if (layout) {
      const LayoutResult parsed = parse_layout(*layout);
      for (const Reason& reason : parsed.reasons) {
        settings_.error("pipeline_model_parallel_layout", "cannot be read: " + reason.text());
      }
      const auto stages = static_cast<std::int64_t>(parsed.stages.size());
      if (parsed.reasons.empty() && stages % degrees_.pp != 0) {
        settings_.error("pipeline_model_parallel_layout",
                        "has " + std::to_string(stages) +
                            " stages, which must be a multiple of pipeline_model_parallel_size (" +
                            std::to_string(degrees_.pp) + ")");
      }
      return std::max<std::int64_t>(1, stages / degrees_.pp);
    }
    if (layers) {
      const std::int64_t of_rank = (model_.layers + ends) / degrees_.pp;
      if (*layers < 1 || of_rank % *layers != 0) {
        settings_.error(
            "num_layers_per_virtual_pipeline_stage",
            "must divide the layers of a pipeline rank (" + std::to_string(of_rank) + ")");
        return 1;
      }
      return of_rank / *layers;
    }
    return std::clamp<std::int64_t>(count.value_or(size.value_or(1)), 1, kDegree.highest);
  }

  void write_split(const std::vector<std::string>& split) {
    ConfigNode list = list_node(split);
    for (ConfigNode& item : list.items) {
      item.quoted = false;
    }
    writer_.field("stage_layout", std::move(list));
  }

  // A rank's layers are divided over its virtual stages; stage c * pp + r is chunk c of rank r.
  void write_uneven(std::optional<std::int64_t> first, std::optional<std::int64_t> last) {
    const std::int64_t ends = (first ? 1 : 0) + (last ? 1 : 0);
    const std::int64_t rest = model_.layers - first.value_or(0) - last.value_or(0);
    const std::int64_t between = degrees_.pp - ends;
    const std::int64_t middle = between > 0 ? rest / between : 0;
    const std::array ranks = {first.value_or(middle), middle, last.value_or(middle)};
    const bool divides = std::all_of(ranks.begin(), ranks.end(), [this](std::int64_t layers) {
      return layers >= 0 && layers % degrees_.vpp == 0;
    });
    if ((between > 0 ? rest % between != 0 : rest != 0) || !divides || degrees_.pp > 10'000) {
      settings_.error("decoder_first_pipeline_num_layers",
                      "and decoder_last_pipeline_num_layers leave layers that the other stages "
                      "cannot share evenly");
      return;
    }
    std::vector<std::int64_t> stages;
    for (std::int64_t chunk = 0; chunk < degrees_.vpp; ++chunk) {
      for (std::int64_t rank = 0; rank < degrees_.pp; ++rank) {
        const std::int64_t layers = rank == 0                 ? ranks[0]
                                    : rank == degrees_.pp - 1 ? ranks[2]
                                                              : ranks[1];
        stages.push_back(layers / degrees_.vpp);
      }
    }
    writer_.field("stage_layout", list_node(stages));
  }

  void write_balanced(bool embedding, bool loss) {
    const std::int64_t stages = degrees_.pp * degrees_.vpp;
    const std::int64_t all = model_.layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
    if (all % stages != 0 || stages > 10'000) {
      settings_.error("num_layers", "with embedding and loss counted as layers (" +
                                        std::to_string(all) +
                                        ") must be a multiple of the pipeline's stages (" +
                                        std::to_string(stages) + ")");
      return;
    }
    if (embedding && loss) {
      writer_.field("stage_layout", "balanced");
      return;
    }
    std::vector<std::int64_t> layers(static_cast<std::size_t>(stages), all / stages);
    layers.front() -= embedding ? 1 : 0;
    layers.back() -= loss ? 1 : 0;
    writer_.field("stage_layout", list_node(layers));
  }

  // Primus replaces Megatron's schedules where it is told to.
  void read_schedule() {
    const bool primus = settings_.is_on("patch_primus_pipeline", "plan.schedule");
    const bool zero_bubble = settings_.is_on("patch_zero_bubble", "plan.schedule");
    const auto algorithm = settings_.text("pp_algorithm", "plan.schedule");
    const bool v = settings_.is_on("zero_bubble_v_schedule", "plan.schedule");
    const auto memory = settings_.text("zero_bubble_v_schedule_mem_setup", "plan.schedule");
    if (degrees_.pp == 1) {
      return;
    }
    if (primus && algorithm) {
      const std::string ours = fields_.words().ours_of("pp_algorithm", *algorithm).value_or("");
      if (ours.empty()) {
        settings_.error("pp_algorithm", "is '" + *algorithm + "', which no schedule here is");
      } else if (ours != (degrees_.vpp > 1 ? "interleaved_1f1b" : "1f1b")) {
        writer_.field("schedule", ours);
      }
    } else if (zero_bubble) {
      const std::string setup = memory.value_or("half");
      writer_.field("schedule", !v                ? "zb_h1"
                                : setup == "half" ? "v_half"
                                : setup == "min"  ? "v_min"
                                                  : "zbv");
    }
  }

  // --- sharding ---------------------------------------------------------------------------------

  void read_sharding() {
    const bool fsdp2 = settings_.is_on("use_torch_fsdp2", "plan.fsdp");
    const bool custom = settings_.is_on("use_custom_fsdp", "plan.fsdp");
    const bool megatron = settings_.is_on("use_megatron_fsdp", "plan.fsdp") || custom;
    const auto strategy = settings_.text("data_parallel_sharding_strategy", "plan.zero");
    const bool distributed = settings_.flag("use_distributed_optimizer", "plan.zero")
                                 .value_or(source_.distributed_optimizer.value_or(false));
    const bool stays =
        settings_.is_on("torch_fsdp2_no_reshard_after_forward", "plan.fsdp_reshard") ||
        !settings_.flag("torch_fsdp2_reshard_after_forward", "plan.fsdp_reshard").value_or(true);
    // The older name of muon with a distributed optimizer.
    const bool whole = settings_.text("optimizer", "training.optimizer") == "dist_muon";
    std::string stage = source_.deepspeed ? zero_stage() : distributed || whole ? "1" : "0";
    if (megatron) {
      constexpr std::string_view kStrategy = "data_parallel_sharding_strategy";
      const FrameworkWords& words = fields_.words();
      stage =
          words.ours_of(kStrategy, strategy.value_or(words.word(kStrategy)->usual)).value_or("");
      if (stage.empty()) {
        settings_.error(
            "data_parallel_sharding_strategy",
            "must be no_shard, optim, optim_grads or optim_grads_params, not '" + *strategy + "'");
        return;
      }
    }
    if (fsdp2) {
      refuse_fsdp2();
      stage = "3";
    }
    degrees_.fully_sharded = stage == "3";
    degrees_.fsdp2 = fsdp2;
    write_sharding(stage);
    if (fsdp2 && stays) {
      writer_.field("fsdp_reshard", false);
    }
  }

  // Of DeepSpeed, whose own file settles it; scripts give it to both. In bf16 its pipeline engine
  // takes BF16_Optimizer where ZeRO is off, which is stage 1 by another name
  // (deepspeed/runtime/engine.py, _do_optimizer_sanity_check, and bf16_optimizer.py at edaa7221).
  std::string zero_stage() {
    constexpr std::string_view kKey = "zero_stage";
    const std::optional<std::string> given = settings_.as_written(kKey, "plan.zero");
    if (!given) {
      settings_.assume("plan.zero", "1", "zero_stage is 1 unless it is given");
      return "1";
    }
    const std::optional<std::string> stage = fields_.words().ours_of(kKey, *given);
    if (!stage) {
      settings_.error(kKey, "must be 0, 1, 2 or 3, not '" + *given + "'");
    }
    const bool bf16 = settings_.flag("bf16", "training.dtype").value_or(source_.bf16);
    const bool piped = !settings_.is_on("no_pipeline_parallel", "plan.zero");
    if (stage == "0" && bf16 && piped) {
      settings_.assume("plan.zero", "1",
                       "DeepSpeed's optimizer for bf16 divides its states over the replicas under "
                       "zero_stage 0 as well");
      return "1";
    }
    return stage.value_or("0");
  }

  void refuse_fsdp2() {
    if (degrees_.pp > 1 || degrees_.ep > 1) {
      settings_.error("use_torch_fsdp2",
                      "runs without pipeline and expert parallelism only; "
                      "Megatron's own FSDP has both");
    }
  }

  void write_sharding(std::string_view stage) {
    const std::int64_t copies = std::max<std::int64_t>(
        1, settings_.count("num_distributed_optimizer_instances", "plan.hsdp").value_or(1));
    const bool sharded = stage != "0";
    if (sharded && copies > 1 && !degrees_.dp) {
      settings_.error("num_distributed_optimizer_instances",
                      "needs the number of GPUs, which its groups follow from; give --gpu and "
                      "--nodes");
      return;
    }
    const std::int64_t replicas = degrees_.dp.value_or(1) * degrees_.cp;
    if (sharded && copies > 1 && replicas % copies != 0) {
      settings_.error("num_distributed_optimizer_instances",
                      "(" + std::to_string(copies) + ") must divide data * context parallelism (" +
                          std::to_string(replicas) + ")");
      return;
    }
    const bool whole = stage == "3" && degrees_.dp && replicas > 1 && copies == 1;
    if (whole) {
      writer_.field("fsdp", replicas);
      return;
    }
    writer_.field("zero", std::int64_t{stage.front() - '0'});
    if (sharded && copies > 1) {
      writer_.field("hsdp", replicas / copies);
    }
  }

  void read_context() {
    const auto way = settings_.text("cp_comm_type", "plan.cp_algorithm");
    if (!way || degrees_.cp == 1) {
      return;
    }
    const std::string ours = fields_.words().ours_of("cp_comm_type", *way).value_or("");
    if (ours.empty()) {
      settings_.error("cp_comm_type", "must be p2p, a2a, allgather or a2a+p2p for all layers");
      return;
    }
    if (ours != "ring") {
      writer_.field("cp_algorithm", ours);
    }
    if (ours == "all_to_all_ring") {
      read_hierarchy();
    }
  }

  // Ranks that exchange heads, and groups of them that pass keys and values round.
  void read_hierarchy() {
    constexpr std::string_view kKey = "hierarchical_context_parallel_sizes";
    const auto written = settings_.texts(kKey, "plan.cp_all_to_all");
    std::int64_t product = 1;
    std::vector<std::int64_t> sizes;
    for (const std::string& item : written.value_or(std::vector<std::string>{})) {
      const std::optional<std::int64_t> size = parse_count(item);
      sizes.push_back(size.value_or(0));
      product *= std::min<std::int64_t>(sizes.back(), kDegree.highest);
    }
    if (sizes.size() != 2 || product != degrees_.cp) {
      settings_.error(kKey, "must be two numbers whose product is context_parallel_size = " +
                                std::to_string(degrees_.cp) + ": a2a+p2p divides the ranks so");
      return;
    }
    writer_.field("cp_all_to_all", sizes.front());
  }

  const MegatronFields& fields_;
  FrameworkReader& settings_;
  const MegatronSource& source_;
  const ModelSpec& model_;
  MegatronDegrees& degrees_;
  ConfigWriter writer_;
  std::int64_t etp_ = 1;
};

}  // namespace

ConfigNode read_megatron_plan(const MegatronFields& fields, const ModelSpec& model,
                              MegatronDegrees& degrees) {
  return PlanFields(fields, model, degrees).plan();
}

}  // namespace stepcast
