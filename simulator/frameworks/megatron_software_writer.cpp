// SPDX-License-Identifier: Apache-2.0
// The switches of an experiment's software as Megatron's fields.
#include <array>

#include "frameworks/megatron_writer.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

class SoftwareFieldWriter {
 public:
  SoftwareFieldWriter(const Experiment& experiment, const ParallelPlan& plan,
                      MegatronDialect dialect)
      : software_(experiment.software),
        experiment_(experiment),
        plan_(plan),
        primus_(dialect == MegatronDialect::kPrimus),
        bridge_(dialect == MegatronDialect::kBridge) {}

  std::vector<Setting> fields() {
    write_kernels();
    if (experiment_.model.moe) {
      write_experts();
    }
    write_overlap();
    write_states();
    return std::move(fields_);
  }

 private:
  void text(std::string_view name, std::string value) {
    fields_.push_back(text_setting(std::string(name), std::move(value), {}));
  }
  void flag(std::string_view name, bool on) { text(name, on ? "true" : "false"); }
  // Where Megatron and the programs around it have another default, an off is written too.
  void on_if(std::string_view name, bool on) {
    if (on) {
      flag(name, true);
    }
  }

  void write_kernels() {
    const bool fused = software_.cross_entropy != Implementation::kEager;
    on_if("cross_entropy_loss_fusion", fused);
    if (software_.cross_entropy == Implementation::kFused) {
      text("cross_entropy_fusion_impl", "te");
    }
    if (!software_.accumulates_in_gemm || plan_.zero == 3) {
      flag("gradient_accumulation_fusion", false);
    }
    if (!primus_) {
      write_attention();
    } else if (software_.attention_kernel() == AttentionKernel::kAiter) {
      flag("enable_primus_turbo", true);
      flag("use_turbo_attention", true);
    }
    if (software_.cuda_graph) {
      const bool whole = software_.cuda_graph_scope == CudaGraphScope::kWhole;
      text("cuda_graph_impl", whole ? "local" : "transformer_engine");
    }
    if (software_.vocabulary_multiple != 128) {
      text("make_vocab_size_divisible_by", std::to_string(software_.vocabulary_multiple));
    }
  }

  // What the software asked for, not what a library takes instead.
  void write_attention() {
    switch (software_.attention) {
      case AttentionKernel::kFlash2:
        text("attention_backend", "flash");
        break;
      case AttentionKernel::kUnfused:
        text("attention_backend", "unfused");
        break;
      default:
        break;  // Transformer Engine chooses
    }
  }

  void write_experts() {
    const Dispatcher dispatcher = plan_.exchange.dispatcher;
    const bool library = dispatcher == Dispatcher::kDeepEp || dispatcher == Dispatcher::kHybridEp;
    if (library && primus_ && dispatcher == Dispatcher::kDeepEp) {
      flag("enable_primus_turbo", true);
      flag("use_turbo_deepep", true);
    } else if (library) {
      text("moe_token_dispatcher_type", "flex");
      text("moe_flex_dispatcher_backend", std::string(name(dispatcher)));
    } else {
      text("moe_token_dispatcher_type", std::string(name(dispatcher)));
    }
    if (primus_ && software_.grouped_gemm == GroupedGemmMode::kTurbo) {
      flag("enable_primus_turbo", true);
      flag("use_turbo_grouped_gemm", true);
    }
    on_if("moe_grouped_gemm", software_.grouped_gemm != GroupedGemmMode::kLegacy || primus_);
    on_if("moe_use_legacy_grouped_gemm",
          primus_ && software_.grouped_gemm == GroupedGemmMode::kLegacy);
    flag_where("moe_permute_fusion", software_.permute == Implementation::kFused);
    flag_where("moe_shared_expert_overlap", software_.shared_expert_overlap);
    on_if("overlap_moe_expert_parallel_comm", software_.ep_overlap);
    on_if("delay_wgrad_compute", software_.ep_overlap && software_.delays_weight_gradients);
    write_exchange(library);
  }

  void flag_where(std::string_view name, bool on) {
    if (on || primus_ || bridge_) {
      flag(name, on);
    }
  }

  void write_exchange(bool library) {
    const ExchangeSpec& exchange = plan_.exchange;
    if (exchange.capacity_factor) {
      text("moe_expert_capacity_factor", to_flow_yaml(scalar_node(*exchange.capacity_factor)));
    }
    if (library && exchange.compute_units > 0) {
      text(primus_ ? "turbo_deepep_num_cu" : "moe_flex_dispatcher_num_sms",
           std::to_string(exchange.compute_units));
    }
    if (!exchange.routing) {
      return;
    }
    const bool forced = exchange.routing->kind == RoutingKind::kRoundRobinForced;
    if ((primus_ && forced) || (!primus_ && exchange.routing->kind == RoutingKind::kUniform)) {
      flag("moe_router_force_load_balancing", true);
    }
  }

  void write_overlap() {
    if (plan_.tp > 1) {
      on_if("tp_comm_overlap", software_.async_tp);
    }
    if (plan_.zero < 3) {
      on_if("overlap_grad_reduce", software_.overlap_grad_reduce);
      on_if("overlap_param_gather",
            software_.overlap_param_gather && plan_.zero >= 1 && software_.overlap_grad_reduce);
    } else {
      flag("overlap_grad_reduce", true);
    }
  }

  void write_states() {
    on_if("grad_reduce_in_bf16", software_.gradient_reduce == Bytes(2));
    const bool said = experiment_.training.optimizer != OptimizerSpec{};
    if (software_.states.optimizer == Bytes(8) && !said) {
      flag("use_precision_aware_optimizer", true);
      text("exp_avg_dtype", "bf16");
      text("exp_avg_sq_dtype", "bf16");
    }
    if (software_.memory.optimizer_on_host && !said) {
      flag("optimizer_cpu_offload", true);
    }
  }

  const SoftwareSpec& software_;
  const Experiment& experiment_;
  const ParallelPlan& plan_;
  bool primus_;
  bool bridge_;
  std::vector<Setting> fields_;
};

}  // namespace

std::vector<Setting> megatron_software_fields(const Experiment& experiment,
                                              const ParallelPlan& plan, MegatronDialect dialect) {
  return SoftwareFieldWriter(experiment, plan, dialect).fields();
}

}  // namespace stepcast
