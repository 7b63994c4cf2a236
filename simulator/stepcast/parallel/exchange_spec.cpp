// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/exchange_spec.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

using Primitive = ExchangePrimitive;

// What each dispatcher can do, in the order of the enumeration.
struct DispatcherTraits {
  Dispatcher dispatcher;
  bool sends_fp8;
  bool counts_units;  // the number of SMs of its kernels can be set
  bool dynamic;
  bool worst_case;
  bool capacity;
  ReceiveBuffer usual;
};

constexpr std::array<DispatcherTraits, 8> kTraits = {{
    {Dispatcher::kAllGather, false, false, true, false, false, ReceiveBuffer::kDynamic},
    {Dispatcher::kAllToAll, false, false, true, false, true, ReceiveBuffer::kDynamic},
    {Dispatcher::kDeepEp, true, true, true, true, false, ReceiveBuffer::kDynamic},
    {Dispatcher::kDeepEpV2, true, true, true, true, false, ReceiveBuffer::kDynamic},
    {Dispatcher::kDeepEpLowLatency, true, false, false, true, false, ReceiveBuffer::kWorstCase},
    {Dispatcher::kHybridEp, true, true, true, true, true, ReceiveBuffer::kDynamic},
    {Dispatcher::kSonic, false, false, true, true, false, ReceiveBuffer::kWorstCase},
    {Dispatcher::kMinimalAsyncEp, false, false, false, true, true, ReceiveBuffer::kWorstCase},
}};

constexpr bool traits_in_order() {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (static_cast<std::size_t>(kTraits.at(i).dispatcher) != i) {
      return false;
    }
  }
  return true;
}
static_assert(traits_in_order());

const DispatcherTraits& traits(Dispatcher dispatcher) {
  return kTraits[static_cast<std::size_t>(dispatcher)];
}

bool supports(const DispatcherTraits& t, ReceiveBuffer buffer) {
  switch (buffer) {
    case ReceiveBuffer::kDynamic:
      return t.dynamic;
    case ReceiveBuffer::kWorstCase:
      return t.worst_case;
    case ReceiveBuffer::kCapacity:
      return t.capacity;
  }
  return false;
}

// SMs that the kernels of DeepEP and HybridEP take unless told otherwise.
constexpr std::int64_t kDeepEpUnits = 24;
constexpr std::int64_t kHybridEpUnits = 16;

class ProblemList {
 public:
  explicit ProblemList(const ExchangeSpec& spec)
      : spec_(spec), dispatcher_(name(spec.dispatcher)), traits_(traits(spec.dispatcher)) {}

  std::vector<ExchangeProblem> collect(const std::optional<MoeSpec>& moe) {
    rows_sent();
    primitives();
    buffers();
    collectives();
    if (moe) {
      routing(routing_of(spec_, *moe), *moe);
    }
    return std::move(problems_);
  }

 private:
  void refuse(std::string_view key, std::string message) {
    problems_.push_back({key, std::move(message)});
  }
  [[nodiscard]] bool is(Dispatcher dispatcher) const { return spec_.dispatcher == dispatcher; }

  void rows_sent() {
    if (spec_.dispatch_dtype != Dtype::kBf16 && !traits_.sends_fp8) {
      refuse("dispatch_dtype", "must be bf16: the dispatcher " + dispatcher_ +
                                   " sends 16-bit rows; deepep and hybridep can send fp8");
    }
    if (spec_.compute_units > 0 && !traits_.counts_units) {
      refuse("num_sms", "must be left out: the dispatcher " + dispatcher_ +
                            " has no such setting; deepep, deepep_v2 and hybridep have");
    }
  }

  void primitives() {
    const std::string why = " must be auto: only the dispatcher sonic has a choice";
    if (spec_.dispatch_primitive != Primitive::kAuto && !is(Dispatcher::kSonic)) {
      refuse("dispatch_primitive", why.substr(1));
    }
    if (spec_.combine_primitive != Primitive::kAuto && !is(Dispatcher::kSonic)) {
      refuse("combine_primitive", why.substr(1));
    }
    if (spec_.redispatch_in_backward && !is(Dispatcher::kSonic)) {
      refuse("redispatch_in_backward", "must be false: only the dispatcher sonic does it");
    }
  }

  void buffers() {
    const ReceiveBuffer buffer = receive_buffer_of(spec_);
    if (!supports(traits_, buffer)) {
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
    if (cpu_sync_of(spec_) == CpuSync::kBlocking && !traits_.dynamic) {
      refuse("cpu_sync", "must be none: the dispatcher " + dispatcher_ + " never waits");
    }
  }

  [[nodiscard]] std::string supported() const {
    std::string text;
    for (const ReceiveBuffer buffer :
         {ReceiveBuffer::kDynamic, ReceiveBuffer::kWorstCase, ReceiveBuffer::kCapacity}) {
      if (supports(traits_, buffer)) {
        text += (text.empty() ? "" : " or ") + std::string(name(buffer));
      }
    }
    return text;
  }

  void collectives() {
    const bool possible = is(Dispatcher::kAllToAll) || is(Dispatcher::kDeepEp) ||
                          is(Dispatcher::kDeepEpV2) || is(Dispatcher::kHybridEp);
    if (spec_.collective_only && !possible) {
      refuse("collective_only", "must be false: the dispatcher " + dispatcher_ +
                                    " has no all-to-all that could stand for it");
    }
    if (spec_.all_to_all != CollectiveAlgorithm::kAuto &&
        carried_by(spec_) != Dispatcher::kAllToAll) {
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

  const ExchangeSpec& spec_;
  std::string dispatcher_;
  const DispatcherTraits& traits_;
  std::vector<ExchangeProblem> problems_;
};

}  // namespace

Dispatcher carried_by(const ExchangeSpec& spec) {
  return spec.collective_only ? Dispatcher::kAllToAll : spec.dispatcher;
}

Routing routing_of(const ExchangeSpec& spec, const MoeSpec& moe) {
  Routing routing;
  if (spec.routing) {
    routing = *spec.routing;
  } else if (moe.router.groups > 1) {
    routing.kind = RoutingKind::kGroupLimited;
  }
  if (routing.kind == RoutingKind::kGroupLimited && routing.groups <= 1) {
    routing.groups = moe.router.groups;
    routing.groups_per_token = moe.router.topk_groups;
  }
  return routing;
}

ReceiveBuffer receive_buffer_of(const ExchangeSpec& spec) {
  const DispatcherTraits& t = traits(carried_by(spec));
  if (spec.receive_buffer) {
    return *spec.receive_buffer;
  }
  if (spec.capacity_factor) {
    return ReceiveBuffer::kCapacity;
  }
  if (spec.cpu_sync == CpuSync::kBlocking && t.dynamic) {
    return ReceiveBuffer::kDynamic;
  }
  if (spec.cpu_sync == CpuSync::kNone && t.worst_case) {
    return ReceiveBuffer::kWorstCase;
  }
  return t.usual;
}

CpuSync cpu_sync_of(const ExchangeSpec& spec) {
  const bool waits = receive_buffer_of(spec) == ReceiveBuffer::kDynamic;
  return spec.cpu_sync.value_or(waits ? CpuSync::kBlocking : CpuSync::kNone);
}

// DeepEP gathers rows on the GPU of the destination's rail, which is what PXN does.
CollectiveAlgorithm all_to_all_of(const ExchangeSpec& spec, std::int64_t domains) {
  const bool by_rail = spec.dispatcher == Dispatcher::kDeepEp && domains > 1;
  return spec.all_to_all == CollectiveAlgorithm::kAuto && by_rail ? CollectiveAlgorithm::kPxn
                                                                  : spec.all_to_all;
}

std::int64_t units_held(const ExchangeSpec& spec, std::int64_t library_units) {
  if (spec.compute_units > 0) {
    return spec.compute_units;
  }
  switch (carried_by(spec)) {
    case Dispatcher::kDeepEp:
      return kDeepEpUnits;
    case Dispatcher::kHybridEp:
      return kHybridEpUnits;
    case Dispatcher::kDeepEpLowLatency:
      return 0;  // receives on a hook, without kernels that wait
    default:
      return library_units;
  }
}

std::vector<ExchangeProblem> exchange_problems(const ExchangeSpec& spec,
                                               const std::optional<MoeSpec>& moe) {
  return ProblemList(spec).collect(moe);
}

}  // namespace stepcast
