// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/exchange_rules.hpp"

#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/model/routing.hpp"

namespace stepcast {
namespace {

using Primitive = ExchangePrimitive;

bool has_a_choice(const DispatcherModel& model) {
  return !model.dispatch.choices.empty() || !model.combine.choices.empty();
}

class ProblemList {
 public:
  explicit ProblemList(const ExchangeSpec& spec)
      : spec_(spec), dispatcher_(name(spec.dispatcher)), model_(model_of(spec.dispatcher)) {}

  std::vector<ExchangeProblem> collect(const std::optional<MoeSpec>& moe) {
    rows_sent();
    primitives();
    buffers();
    collectives();
    if (moe) {
      routing(routing_of(spec_, *moe), *moe);
      copies(routing_of(spec_, *moe));
    }
    return std::move(problems_);
  }

 private:
  void refuse(std::string_view key, std::string message) {
    problems_.push_back({key, std::move(message)});
  }

  void rows_sent() {
    if (spec_.dispatch_dtype != Dtype::kBf16 && !model_.sends_fp8) {
      refuse("dispatch_dtype",
             "must be bf16: the dispatcher " + dispatcher_ + " sends 16-bit rows; " +
                 dispatchers_that([](const DispatcherModel& other) { return other.sends_fp8; }) +
                 " can send fp8");
    }
    if (spec_.compute_units > 0 && !model_.takes_num_sms) {
      refuse(
          "num_sms",
          "must be left out: the dispatcher " + dispatcher_ + " has no such setting; " +
              dispatchers_that([](const DispatcherModel& other) { return other.takes_num_sms; }) +
              " have");
    }
  }

  void primitives() {
    primitive("dispatch_primitive", spec_.dispatch_primitive, model_.dispatch);
    primitive("combine_primitive", spec_.combine_primitive, model_.combine);
    if (spec_.redispatch_in_backward && !model_.redispatches) {
      refuse("redispatch_in_backward",
             "must be false: only " + dispatchers_that([](const DispatcherModel& other) {
               return other.redispatches;
             }) + " can do it");
    }
  }

  void primitive(std::string_view key, Primitive asked, const PhasePrimitives& possible) {
    if (asked == Primitive::kAuto || (has_a_choice(model_) && possible.has(asked))) {
      return;
    }
    refuse(key, has_a_choice(model_) ? "cannot be " + std::string(name(asked)) +
                                           " with the dispatcher " + dispatcher_
                                     : "must be auto: only " + dispatchers_that(has_a_choice) +
                                           " can be told what to send");
  }

  void buffers() {
    const ReceiveBuffer buffer = receive_buffer_of(spec_);
    if (!model_.receives.has(buffer)) {
      refuse(spec_.receive_buffer ? "receive_buffer" : "capacity_factor",
             "cannot be with the dispatcher " + dispatcher_ + ": its receive buffer is " +
                 supported());
    }
    if ((buffer == ReceiveBuffer::kCapacity) != spec_.capacity_factor.has_value()) {
      refuse("capacity_factor", "belongs to receive_buffer: capacity; give both or neither");
    }
    if (cpu_sync_of(spec_) == CpuSync::kNone && buffer == ReceiveBuffer::kDynamic) {
      refuse("cpu_sync",
             "must be blocking with a dynamic receive buffer, whose size the host waits "
             "for; " +
                 dispatcher_ + " has the receive buffers " + supported());
    }
    if (cpu_sync_of(spec_) == CpuSync::kBlocking && !model_.receives.dynamic) {
      refuse("cpu_sync", "must be none: the dispatcher " + dispatcher_ + " never waits");
    }
  }

  [[nodiscard]] std::string supported() const {
    std::string text;
    for (const ReceiveBuffer buffer :
         {ReceiveBuffer::kDynamic, ReceiveBuffer::kWorstCase, ReceiveBuffer::kCapacity}) {
      if (model_.receives.has(buffer)) {
        text += (text.empty() ? "" : " or ") + std::string(name(buffer));
      }
    }
    return text;
  }

  void collectives() {
    if (spec_.collective_only && !model_.stands_for_all_to_all) {
      refuse("collective_only", "must be false: the dispatcher " + dispatcher_ +
                                    " has no all-to-all that could stand for it");
    }
    if (spec_.all_to_all != CollectiveAlgorithm::kAuto &&
        !model_of(carried_by(spec_)).takes_algorithm) {
      refuse("moe_all_to_all", "must be auto: the dispatcher " + dispatcher_ +
                                   " brings its own kernels; collective_only: true prices it as "
                                   "an all-to-all");
    }
  }

  void routing(const Routing& routing, const MoeSpec& moe) {
    const auto experts = static_cast<std::size_t>(moe.experts);
    if (routing.kind == RoutingKind::kCounts && routing.counts.size() != experts) {
      refuse("counts", "has " + std::to_string(routing.counts.size()) + " entries, but the model " +
                           std::to_string(experts) + " experts");
    }
    if (routing.kind != RoutingKind::kGroupLimited) {
      return;
    }
    if (routing.groups_per_token > routing.groups || moe.experts % routing.groups != 0) {
      refuse("groups", "must divide the " + std::to_string(moe.experts) +
                           " experts and be at least groups_per_token");
    } else if (moe.experts / routing.groups * routing.groups_per_token < moe.experts_per_token) {
      refuse("groups_per_token", "leaves a token fewer experts than the " +
                                     std::to_string(moe.experts_per_token) + " that it takes");
    }
  }

  void copies(const Routing& routing) {
    if (spec_.redundant_experts == 0) {
      return;
    }
    if (!is_weighted(routing.kind)) {
      refuse("redundant_experts",
             "must be 0 with routing: " + std::string(name(routing.kind)) +
                 ", whose experts are all as loaded; routing: learned, zipf or counts says which "
                 "are hot");
    }
    if (model_.pads_to_capacity && receive_buffer_of(spec_) == ReceiveBuffer::kCapacity) {
      refuse("redundant_experts", "must be 0 with receive_buffer: capacity of the dispatcher " +
                                      dispatcher_ + ", which pads all experts alike");
    }
  }

  const ExchangeSpec& spec_;
  std::string dispatcher_;
  const DispatcherModel& model_;
  std::vector<ExchangeProblem> problems_;
};

}  // namespace

ReceiveBuffer receive_buffer_of(const ExchangeSpec& spec) {
  const ReceiveBuffers& possible = model_of(carried_by(spec)).receives;
  if (spec.receive_buffer) {
    return *spec.receive_buffer;
  }
  if (spec.capacity_factor) {
    return ReceiveBuffer::kCapacity;
  }
  if (spec.cpu_sync == CpuSync::kBlocking && possible.dynamic) {
    return ReceiveBuffer::kDynamic;
  }
  if (spec.cpu_sync == CpuSync::kNone && possible.worst_case) {
    return ReceiveBuffer::kWorstCase;
  }
  return possible.usual;
}

CpuSync cpu_sync_of(const ExchangeSpec& spec) {
  const bool waits = receive_buffer_of(spec) == ReceiveBuffer::kDynamic;
  return spec.cpu_sync.value_or(waits ? CpuSync::kBlocking : CpuSync::kNone);
}

CollectiveAlgorithm all_to_all_of(const ExchangeSpec& spec, std::int64_t domains) {
  return spec.all_to_all == CollectiveAlgorithm::kAuto && domains > 1
             ? model_of(spec.dispatcher).all_to_all_beyond_domain
             : spec.all_to_all;
}

std::vector<ExchangeProblem> exchange_problems(const ExchangeSpec& spec,
                                               const std::optional<MoeSpec>& moe) {
  return ProblemList(spec).collect(moe);
}

}  // namespace stepcast
