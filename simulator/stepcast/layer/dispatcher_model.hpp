// SPDX-License-Identifier: Apache-2.0
// One dispatcher of tokens to experts: everything that is true of it, in one value.
//
// A dispatcher is one file of dispatchers/ that defines such a value, and one row of
// hardware/dispatcher.hpp; its constants are a section of hardware_profiles/exchange. Whoever needs
// to know what a dispatcher does asks its model; no other code names one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/hardware/exchange_constants.hpp"
#include "stepcast/layer/exchange_shape.hpp"
#include "stepcast/plan/reason.hpp"

namespace stepcast {

class CollectiveModel;
class ExpertLayer;
struct ClusterSpec;
struct FabricContext;
struct OpCost;

// Which rows travel in one direction, where the plan leaves it to the dispatcher and where it does
// not.
struct PhasePrimitives {
  ExchangePrimitive usual = ExchangePrimitive::kAllToAll;
  std::span<const ExchangePrimitive> choices{};  // empty: there is only the usual one

  [[nodiscard]] bool has(ExchangePrimitive primitive) const;
};

// The receive buffers that a dispatcher has, and which one it takes if the plan says nothing.
struct ReceiveBuffers {
  bool dynamic = false;
  bool worst_case = false;
  bool capacity = false;
  ReceiveBuffer usual = ReceiveBuffer::kDynamic;

  [[nodiscard]] bool has(ReceiveBuffer buffer) const;
};

// The compute units that an exchange holds while it runs, as far as nobody gives their number:
// those of the dispatcher's section in the profile, as many as a collective of the library, or
// none.
enum class HeldUnits { kProfile, kAsCollective, kNone };

// How a dispatcher gets along with expert tensor parallelism: the ranks that share an expert gather
// their rows after the exchange, or each of them is a rank of the exchange, as Megatron's flex
// dispatcher has it.
enum class ExpertTensorRanks { kGatherAfterwards, kTakePart };

// Where the host learns how many rows arrive, if it has to know them: before it launches the
// exchange, so that it waits for the kernel in front; or the device counts them, and the host waits
// for what arrived before it launches the experts one by one.
enum class RowCounts { kBeforeDispatch, kOnDevice };

struct DispatcherModel {
  // What `stepcast describe` says of it.
  std::string_view equation{};
  std::string_view assumptions{};
  std::string_view source{};

  // What travels.
  PhasePrimitives dispatch{};
  PhasePrimitives combine{};
  // Whether one of several primitives can run between the ranks of an exchange.
  bool (*serves)(ExchangePrimitive, const ExpertExchange&, const ClusterSpec&) = &serves_always;
  // What `auto` stands for in the direction of an exchange where time decides; kAuto where the part
  // says nothing of it. Null: there is no such choice.
  ExchangePrimitive (*fastest)(const ExpertExchange&, const ClusterSpec&) = nullptr;
  Bytes message_header{};  // that each row has at dispatch, beside its values

  // What the keys of `expert_exchange` may ask of it.
  ReceiveBuffers receives{};
  bool sends_fp8 = false;
  bool takes_num_sms = false;
  bool redispatches = false;     // may gather the tokens once more in backward
  bool takes_algorithm = false;  // is an all-to-all of the library, whose algorithm can be set
  bool stands_for_all_to_all = false;  // may be priced as an all-to-all (collective_only)
  // The algorithm of that all-to-all beyond one scale-up domain.
  CollectiveAlgorithm all_to_all_beyond_domain = CollectiveAlgorithm::kAuto;
  // What the keys `version: 2` and `low_latency: true` of an operator line make of it, if it has
  // such a variant.
  std::optional<Dispatcher> second_version{};
  std::optional<Dispatcher> low_latency{};

  // Rows.
  ExpertTensorRanks expert_tensor_ranks = ExpertTensorRanks::kTakePart;
  bool serves_one_rank = false;   // its kernels run where one rank has all experts
  bool pads_to_capacity = false;  // rows beyond a capacity are dropped, and missing ones filled up,
                                  // before anything is sent
  bool weights_in_fp32 = false;   // of the rows that arrive; otherwise they have the model's format
  bool skips_padding = false;     // its experts' kernels do not compute what pads an expert's rows
  std::int64_t (*worst_case_rows)(const ExchangeShape&) = &rows_of_all_choices;
  // Rows of a receive buffer with a capacity factor.
  std::int64_t (*capacity_rows)(const ExchangeShape&, double factor) = &rows_of_usual_share;

  // What a rank runs between the router and the sum of the experts' results.
  void (*operators)(ExpertLayer&) = &dispatch_experts_combine;
  RowCounts row_counts = RowCounts::kBeforeDispatch;

  // What is kept for backward: rows of the experts' input, and rows that come back one by one,
  // whose weights' gradients need them; where the rows of a token are summed before they come back,
  // the gradient follows from what the activation keeps.
  std::int64_t (*kept_inputs)(const LayerExchange&) = &all_rows;
  std::int64_t (*kept_results)(const LayerExchange&) = &no_rows;
  // Those rows are weighted and summed by operators of the software, not by the dispatcher's
  // kernels.
  bool software_sums_rows = false;
  // It moves, counts and weights rows and activates them by kernels of its own, whatever the
  // framework compiles.
  bool own_kernels = false;
  // The experts' first product gathers its rows from what arrived, which is kept as it came in 16
  // bits, and the second one's input is recomputed.
  bool gathers_in_product = false;

  // Compute units.
  HeldUnits units = HeldUnits::kAsCollective;
  std::optional<Dispatcher> units_as{};  // the section whose `units` it takes, if not its own

  // Memory.
  bool buffers_last = true;  // beyond a layer; otherwise they are tensors like others
  std::vector<ExchangeBuffer> (*buffers)(const LayerExchange&) = nullptr;

  // Why it cannot carry the exchange of a plan whose degrees are settled.
  std::vector<Reason> (*refusals)(const ParallelPlan&, const RecomputeSpec&) = &never_refuses;

  // The price of an exchange among several ranks.
  OpCost (*price)(const ExpertExchange&, const FabricContext&, const CollectiveModel&) = nullptr;

  static std::vector<Reason> never_refuses(const ParallelPlan& plan,
                                           const RecomputeSpec& recompute);
  static void dispatch_experts_combine(ExpertLayer& layer);
  static bool serves_always(ExchangePrimitive /*primitive*/, const ExpertExchange& /*exchange*/,
                            const ClusterSpec& /*cluster*/) {
    return true;
  }
  static std::int64_t all_rows(const LayerExchange& exchange) { return exchange.rows; }
  static std::int64_t no_rows(const LayerExchange& /*exchange*/) { return 0; }
  [[nodiscard]] const PhasePrimitives& primitives(ExchangePhase phase) const {
    return phase == ExchangePhase::kDispatch ? dispatch : combine;
  }
};

// The rows of the table are in dispatchers/dispatcher_table.cpp.
const DispatcherModel& model_of(Dispatcher dispatcher);

// The primitive of an exchange, `auto` being the one that its dispatcher finds the fastest; still
// `auto` where time does not decide.
ExchangePrimitive chosen_primitive(const ExpertExchange& op, const ClusterSpec& cluster);
// The names of those of which `holds`, as "deepep, deepep_v2 and hybridep".
std::string dispatchers_that(bool (*holds)(const DispatcherModel&));

// The compute units that the plan's exchange asks for, else those of the dispatcher's section; 0
// where that has no number, because the dispatcher chooses it by formula or uses copy engines.
std::int64_t exchange_units(const ExchangeSpec& spec, const ExchangeConstants& constants);
// The compute units that the exchange of a settled plan holds while it runs, where a collective
// holds `library_units`.
std::int64_t units_held(const ParallelPlan& plan, std::int64_t library_units);

}  // namespace stepcast
