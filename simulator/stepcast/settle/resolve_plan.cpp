// SPDX-License-Identifier: Apache-2.0
#include "stepcast/settle/settle_plan.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/expert_expansion.hpp"
#include "stepcast/model/parameter_inventory.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/plan/stage_layout.hpp"
#include "stepcast/settle/plan_rules.hpp"

namespace stepcast {
namespace {

class Resolver {
 public:
  Resolver(PlanRequest request, const ModelSpec& model, const TrainingRecipe& training,
           const ClusterSpec& cluster, const SoftwareSpec& software)
      : request_(std::move(request)),
        model_(model),
        training_(training),
        cluster_(cluster),
        software_(software) {
    result_.plan.exchange = software.exchange;
  }

  ResolvedPlan resolve(Wanted wanted) {
    using Step = void (Resolver::*)();
    // These read of the request nothing but kDegreeKeys.
    constexpr std::array<Step, 6> kOfDegrees = {&Resolver::check_device,   &Resolver::check_weights,
                                                &Resolver::copy_degrees,   &Resolver::divide_world,
                                                &Resolver::divide_experts, &Resolver::divide_batch};
    constexpr std::array<Step, 12> kOthers = {&Resolver::settle_order,
                                              &Resolver::settle_context,
                                              &Resolver::settle_exchange,
                                              &Resolver::divide_model,
                                              &Resolver::check_recomputed_layers,
                                              &Resolver::divide_context,
                                              &Resolver::settle_sharding,
                                              &Resolver::check_precision,
                                              &Resolver::check_optimizer,
                                              &Resolver::check_offload,
                                              &Resolver::settle_pipeline,
                                              &Resolver::settle_primitives};
    const bool open = take(kOfDegrees, wanted);
    result_.refused_by_degrees = !result_.reasons.empty();
    if (open) {
      take(kOthers, wanted);
    }
    return std::move(result_);
  }

 private:
  // Whether there is more to look at.
  template <typename Steps>
  bool take(const Steps& steps, Wanted wanted) {
    return std::ranges::all_of(steps, [&](const auto step) {
      (this->*step)();
      return wanted == Wanted::kAllReasons || result_.reasons.empty();
    });
  }

  void refuse(Reason reason) { result_.reasons.push_back(std::move(reason)); }
  void refuse_all(std::vector<Reason> reasons) {
    std::move(reasons.begin(), reasons.end(), std::back_inserter(result_.reasons));
  }
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  // 'value' must be a multiple of 'divisor'.
  bool divides(std::int64_t divisor, const std::string& divisor_name, std::int64_t value,
               const std::string& value_name) {
    if (divisor > 0 && value % divisor == 0) {
      return true;
    }
    refuse(does_not_divide(divisor_name, divisor, value_name, value));
    return false;
  }

  void check_device() {
    const Dtype dtype = training_.dtype;
    if (!cluster_.device.matrix_rate[slot(dtype)]) {
      refuse({cluster_.device.name + " has no matrix products in " + std::string(name(dtype)) +
              "; it has those of training.dtype " +
              std::string(name(cluster_.device.base_format()))});
    }
    const bool chooses =
        model_.attention.indexer || model_.attention.kind == AttentionKind::kSharedKv;
    if (chooses && software_.sparse_attention == SparseKernel::kTriton &&
        !cluster_.device.kernels.sparse_attention_triton) {
      refuse({"sparse_attention: triton has no constants for " + cluster_.device.name +
              "; leave it out for the GPU's library"});
    }
  }

  void check_weights() {
    const TrainedWeights& weights = training_.weights;
    const bool latent = model_.attention.kind != AttentionKind::kGqa;
    for (const LoraTarget target :
         {LoraTarget::kQkv, LoraTarget::kQ, LoraTarget::kK, LoraTarget::kV}) {
      if (latent && weights.adapts(target)) {
        refuse({"training.lora.targets names " + std::string(name(target)) + "; " + model_.name +
                " has latent attention without such a matrix, adapt o, gate_up or down"});
      }
    }
    if (!weights.whole_model() && count_trained(model_, weights).total == 0) {
      refuse({"nothing is left to train of " + model_.name +
              (weights.lora ? ": none of training.lora.targets is a matrix of it, and routed "
                              "experts have no adapters here"
                            : ": training.frozen names all of its parts")});
    }
  }

  void copy_degrees() {
    ParallelPlan& plan = result_.plan;
    plan.tp = request_.tp;
    plan.pp = request_.pp;
    plan.vpp = request_.vpp;
    plan.cp = request_.cp;
    plan.ep = request_.ep;
    plan.etp = request_.etp.value_or(1);
    plan.uniform = request_.uniform;
    plan.overlap = request_.overlap;
    plan.order = request_.order;
    plan.sequence_parallel = request_.sequence_parallel.value_or(plan.tp > 1) && plan.tp > 1;
  }

  void divide_world() {
    ParallelPlan& plan = result_.plan;
    const std::int64_t world = cluster_.gpus();
    const std::int64_t model_ranks = plan.tp * plan.cp * plan.pp;
    if (divides(model_ranks, "tp * cp * pp", world, "the number of GPUs")) {
      plan.dp = world / model_ranks;
    }
    if (request_.dp && *request_.dp != plan.dp) {
      refuse({"dp", of_plan(" = " + std::to_string(*request_.dp) + ", but ", world),
              of_rule(" is not the number of"), " GPUs / (tp * cp * pp)", of_plan(" = ", plan.dp),
              "; leave dp out, it follows"});
    }
  }

  void divide_experts() {
    ParallelPlan& plan = result_.plan;
    if (!model_.moe) {
      if (plan.ep > 1 || plan.etp > 1) {
        refuse({"ep and etp must be 1: the model has no experts"});
      }
      return;
    }
    divides(plan.ep, "ep", model_.moe->experts, "the number of experts");
    divides(plan.etp, "etp", model_.moe->expert_ffn_hidden, "the experts' ffn_hidden");
    const std::int64_t stage_ranks = plan.tp * plan.cp * plan.dp;
    divide_copies();
    if (divides(plan.etp * plan.ep, "etp * ep", stage_ranks, "tp * cp * dp")) {
      plan.edp = stage_ranks / (plan.etp * plan.ep);
    }
  }

  // Both numberings must cut the ranks into the same pipelines, as Megatron's RankGenerator asks.
  void settle_order() {
    ParallelPlan& plan = result_.plan;
    if (plan.order == AxisOrder{}) {
      return;
    }
    plan.strides = rank_strides(plan.order, plan.degrees());
    const RankStrides& apart = *plan.strides;
    if (model_.moe && plan.pp > 1 && apart.pp != apart.expert_pp) {
      refuse({"order = " + text_of(plan.order) + " makes pipelines of every " +
              std::to_string(apart.pp) +
              "th rank, but of the experts, where ep and etp take the "
              "place of cp and tp, of every " +
              std::to_string(apart.expert_pp) + "th; put pp last or first"});
    }
  }

  void divide_copies() {
    const std::int64_t copies = result_.plan.exchange.redundant_experts;
    if (copies > 0 && result_.plan.ep == 1) {
      refuse({"expert_exchange.redundant_experts must be 0 with ep", of_plan(" = 1"),
              ": no other rank could take rows"});
    } else if (copies > 0) {
      divides(result_.plan.ep, "ep", copies, "expert_exchange.redundant_experts");
    }
  }

  void settle_exchange() {
    ParallelPlan& plan = result_.plan;
    if (request_.dispatcher) {
      plan.exchange.dispatcher = *request_.dispatcher;
      if (!model_.moe) {
        refuse({"dispatcher must be left out: the model has no experts"});
      }
    }
    plan.ep_in_domain = members_in_domain(plan.ep_group(), cluster_.domain_size());
    plan.exchange_units = exchange_units(plan.exchange, cluster_.device.exchange);
    if (model_.moe && plan.ep > 1) {
      const DispatcherModel& dispatcher = model_of(carried_by(plan.exchange));
      refuse_all(dispatcher.refusals(plan, training_.recompute));
    }
  }

  // What `auto` stands for, once for time and memory.
  void settle_primitives() {
    ParallelPlan& plan = result_.plan;
    const bool has_choice = model_of(dispatcher_in_use(plan)).fastest != nullptr;
    if (!has_choice || !model_.moe || plan.ep == 1 || !result_.reasons.empty()) {
      return;
    }
    const ExpansionContext context{model_, plan, training_, software_};
    const ExchangeShape shape = exchange_shape(context);
    const auto settle = [&](ExchangePhase phase, Dtype dtype, ExchangePrimitive& primitive) {
      primitive = chosen_primitive(expert_exchange(context, shape, phase, dtype), cluster_);
    };
    settle(ExchangePhase::kDispatch, plan.exchange.dispatch_dtype,
           plan.exchange.dispatch_primitive);
    settle(ExchangePhase::kCombine, Dtype::kBf16, plan.exchange.combine_primitive);
  }

  void settle_context() {
    settle_context_parallel(request_, model_, cluster_, software_, result_.plan);
  }

  void divide_model() { refuse_all(layer_division_reasons(model_, result_.plan)); }

  void check_recomputed_layers() {
    for (const std::int64_t layer : training_.recompute.layer_list) {
      if (layer >= model_.layers) {
        refuse({"recompute_layers names",
                of_plan(" layer " + std::to_string(layer) + ", but the model's layers are 0 to ",
                        model_.layers - 1),
                of_rule(" a layer that the model does not have")});
      }
    }
  }

  void divide_context() {
    const ParallelPlan& plan = result_.plan;
    for (const std::int64_t ratio : model_.attention.compression.ratios) {
      if (ratio > 0 && training_.sequence_length / plan.cp % ratio != 0) {
        refuse({"a rank's share of sequence_length must be a multiple of " + std::to_string(ratio) +
                ", the positions of a compressed key"});
        break;
      }
    }
    refuse_all(context_parallel_reasons(request_, model_, training_, software_, plan));
    if (plan.sequence_parallel) {
      divides(plan.tp * plan.cp, "tp * cp (sequence parallel)", training_.sequence_length,
              "sequence_length");
    }
  }

  void divide_batch() {
    ParallelPlan& plan = result_.plan;
    const std::int64_t samples = training_.micro_batch_size * plan.dp;
    if (divides(samples, "micro_batch_size * dp", training_.global_batch_size,
                "global_batch_size")) {
      plan.micro_batches = training_.global_batch_size / samples;
    }
  }

  void check_optimizer() {
    const OptimizerSpec& optimizer = training_.optimizer;
    const auto* muon = std::get_if<MuonSpec>(&optimizer.rule);
    const bool whole = muon != nullptr && muon->sharding == MuonSharding::kWholeMatrices;
    if (whole && result_.plan.zero == 3) {
      refuse({"muon: no matrix lies whole with zero", of_plan(" = 3"),
              "; sharding can be gather or all_to_all"});
    }
    if (muon != nullptr && software_.memory.optimizer_on_host) {
      refuse({"muon: no host iterates on matrices; leave memory.optimizer_on_host out"});
    }
    const HostSpec& host = cluster_.host;
    const bool link = cluster_.host_link().has_value();
    const bool known = link && host.core_memory && host.socket_memory && host.norm_memory;
    if (optimizer.offload && !known) {
      refuse(
          {"optimizer: offload needs device_link, core_memory, socket_memory and norm_memory of "
           "the host " +
           host.name});
    }
  }

  void check_offload() {
    const ParallelPlan& plan = result_.plan;
    const bool parameters = training_.offload.parameters;
    if ((training_.optimizer.paged || training_.offload.any()) && !cluster_.host_link()) {
      refuse({"training.offload and optimizer.paged need device_link of the host " +
              cluster_.host.name});
    }
    if (parameters && plan.zero != 3) {
      refuse(
          {"training.offload: parameters on the host are fetched for each use of a unit of full "
           "sharding; set zero",
           of_plan(" = 3")});
    } else if (parameters && !plan.fsdp_reshard) {
      refuse(
          {"training.offload: fsdp_reshard: false keeps parameters on the device that are to lie "
           "on the host"});
    }
  }

  void settle_sharding() {
    ParallelPlan& plan = result_.plan;
    const std::int64_t replicas = plan.replicas();
    const bool sharded = request_.fsdp.value_or(1) > 1 || request_.hsdp.has_value();
    plan.zero = request_.zero.value_or(sharded ? 3 : 1);
    const bool groups = plan.zero == 1 && request_.hsdp && request_.fsdp.value_or(1) == 1;
    if (sharded && plan.zero != 3 && !groups) {
      refuse({"zero", of_plan(" = ", plan.zero), " contradicts fsdp and hsdp, which are zero 3"});
    }
    if (groups) {
      plan.fsdp = divides(*request_.hsdp, "hsdp", replicas, "dp * cp") ? *request_.hsdp : 1;
      plan.zero = plan.fsdp > 1 ? 1 : 0;
    }
    if (plan.zero == 3) {
      plan.fsdp = request_.hsdp.value_or(request_.fsdp.value_or(replicas));
      if (request_.hsdp && request_.fsdp && *request_.fsdp != replicas) {
        refuse({"fsdp", of_plan(" = ", *request_.fsdp), " with hsdp given must be dp * cp",
                of_plan(" = ", replicas)});
      }
      if (!divides(plan.fsdp, request_.hsdp ? "hsdp" : "fsdp", replicas, "dp * cp")) {
        plan.fsdp = 1;
      }
    }
    check_shards_in_runs();
    // Experts may have replicas where the rest of the model has none.
    if (plan.replicas() == 1 && plan.edp == 1 && plan.zero < 3) {
      plan.zero = 0;
    }
    plan.fsdp_experts = request_.fsdp_experts.value_or(true);
    if (!plan.fsdp_experts && (plan.zero < 3 || !model_.moe)) {
      refuse(
          {"fsdp_experts: false needs zero: 3 and a model with experts: nothing else shards them "
           "as it shards the rest"});
    }
    // Pipelines keep gathered weights over the micro-batches, as torchtitan does.
    plan.fsdp_reshard = request_.fsdp_reshard.value_or(plan.pp == 1);
  }

  // What trains in fp32 is never priced as 16 bits.
  void check_precision() {
    const ParallelPlan& plan = result_.plan;
    if (software_.autocast != Autocast::kNone && plan.zero > 0 && plan.zero < 3 && plan.dp > 1) {
      refuse({software_.name +
              " has no optimizer that is sharded by itself; give zero: 0 "
              "(DistributedDataParallel), fsdp, or software: huggingface_deepspeed"});
    }
    if (trains_in_fp32(software_.mixed_precision,
                       {.sharded = plan.zero == 3 ? plan.fsdp > 1 : plan.zero > 0,
                        .replicated = plan.replicas() > 1,
                        .whole = plan.tp * plan.pp == 1})) {
      refuse({software_.name +
              " trains this plan in fp32, since FSDP alone applies its mixed precision; give fsdp "
              "of at least 2, or software.mixed_precision: always"});
    }
  }

  // An order of ranks may put others between those of cp and of dp.
  void check_shards_in_runs() {
    ParallelPlan& plan = result_.plan;
    if (!divides_runs(plan.dp_group(), plan.fsdp)) {
      refuse({"hsdp", of_plan(" = ", plan.fsdp), " does not fit cp", of_plan(" = ", plan.cp),
              " and dp", of_plan(" = ", plan.dp),
              ", which order = " + text_of(plan.order) +
                  " keeps apart; give a divisor or a multiple of the inner one"});
      plan.fsdp = 1;
    }
  }

  void settle_pipeline() {
    ParallelPlan& plan = result_.plan;
    infer_virtual_stages();
    plan.schedule =
        request_.schedule.value_or(plan.vpp > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB);
    const bool two_chunks = info(plan.schedule).chunks == ChunkRule::kTwo;
    if (two_chunks && plan.pp > 1 && plan.vpp == 1) {
      plan.vpp = 2;
      note("vpp 2 follows from schedule " + std::string(name(plan.schedule)));
    }
    if (plan.pp == 1 && plan.vpp > 1) {
      refuse({"vpp", of_plan(" = ", plan.vpp), " needs pp > 1"});
    }
    refuse_all(schedule_reasons(plan.schedule, plan.pp, plan.vpp));
    refuse_all(paired_order_reasons(plan, model_, training_, software_));
    LayoutResult layout = stage_layout(request_, plan.vpp, model_.layers, model_.mtp_layers);
    plan.stages = std::move(layout.stages);
    note_uneven_layers();
    refuse_all(layout.reasons);
  }

  void note_uneven_layers() {
    const std::int64_t stages = result_.plan.pp * result_.plan.vpp;
    const bool asked = !request_.layout.empty() || !request_.stage_layers.empty();
    if (!asked && model_.layers % stages != 0) {
      note(std::to_string(model_.layers) + " layers do not divide into " + std::to_string(stages) +
           " stages: stage_layout balanced");
    }
  }

  // A layout text may hold several stages a rank without vpp being given.
  void infer_virtual_stages() {
    ParallelPlan& plan = result_.plan;
    std::size_t stages = request_.stage_layers.size();
    if (!request_.layout.empty() && request_.layout != "balanced" && request_.layout != "even") {
      stages = parse_layout(request_.layout).stages.size();
    }
    const auto count = static_cast<std::int64_t>(stages);
    if (request_.vpp == 1 && count > plan.pp && count % plan.pp == 0) {
      plan.vpp = count / plan.pp;
      note("vpp " + std::to_string(plan.vpp) + " follows from stage_layout");
    }
  }

  PlanRequest request_;
  const ModelSpec& model_;
  const TrainingRecipe& training_;
  const ClusterSpec& cluster_;
  const SoftwareSpec& software_;
  ResolvedPlan result_;
};

}  // namespace

ResolvedPlan resolve_plan(const PlanRequest& request, const ModelSpec& model,
                          const TrainingRecipe& training, const ClusterSpec& cluster,
                          const SoftwareSpec& software, Wanted wanted) {
  return Resolver(request, model, training, cluster, software).resolve(wanted);
}

}  // namespace stepcast
