// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/expert_expansion.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_rules.hpp"

namespace stepcast {
namespace {

// Every rank of an expert tensor group gets the tokens of the group's experts.
void repeat_counts(const ParallelPlan& plan, const ExchangeShape& shape, Routing& routing) {
  const auto local = static_cast<std::size_t>(shape.local_experts());
  std::vector<std::int64_t> repeated;
  repeated.reserve(routing.counts.size() * static_cast<std::size_t>(plan.etp));
  for (std::size_t first = 0; first < routing.counts.size(); first += local) {
    for (std::int64_t copy = 0; copy < plan.etp; ++copy) {
      for (std::size_t i = first; i < first + local; ++i) {
        repeated.push_back(routing.counts[i]);
      }
    }
  }
  routing.counts = std::move(repeated);
}

ProcessGroup group_of(const ParallelPlan& plan, const ExchangeShape& shape) {
  return shape.ranks > plan.ep ? plan.expert_group() : plan.ep_group();
}

// Bytes that pass the epilogue for an element of a product's result.
struct EpilogueBytes {
  Bytes first{2};   // of the product before the activation, forward
  Bytes second{2};  // of the gradient of what the product after it read
};

// An activation inside the products. Forward, the product writes what backward needs of its result
// and the activation beside it, a half as wide where gate and up are one product; apart, the second
// of the two reads what the first one made. Backward, the gradient of the activation's output meets
// the activation's inputs, and leaves as the gradients of those, beside the output itself where it
// has to be made again.
EpilogueBytes epilogue_of_activation(const ExpansionContext& context) {
  if (!context.software.activation_in_product) {
    return {};
  }
  const bool gated = context.model.mlp.gated;
  const bool again = model_of(dispatcher_in_use(context.plan)).gathers_in_product ||
                     !context.software.keeps_activation_product;
  const double inputs = gated ? 2.0 : 1.0;
  const double first = !gated ? 2.0 : context.software.experts_fuse_gate_up() ? 1.5 : 3.0;
  return {first * kSixteenBits, (2.0 * inputs + (again ? 1.0 : 0.0)) * kSixteenBits};
}

// torchtitan's kernels in the place of others.
MemoryBoundKind put_by_index(OpId id, MemoryBoundKind kind) {
  switch (id) {
    case OpId::kMoePermute:
      return MemoryBoundKind::kRowsTaken;
    case OpId::kMoeSort:
      return MemoryBoundKind::kRowsGathered;
    case OpId::kMoeUnsort:
      return MemoryBoundKind::kRowsPut;
    case OpId::kMoeUnpermute:
      return MemoryBoundKind::kRowsWeighted;
    default:
      return kind;
  }
}

// Those of transformers.
MemoryBoundKind masked_by_index(OpId id, MemoryBoundKind kind) {
  switch (id) {
    case OpId::kMoePermute:
      return MemoryBoundKind::kMaskedRowsTaken;
    case OpId::kMoeUnpermute:
      return MemoryBoundKind::kMaskedRowsWeighted;
    default:
      return kind;
  }
}

}  // namespace

ExpertExchange expert_exchange(const ExpansionContext& context, const ExchangeShape& shape,
                               ExchangePhase phase, Dtype dtype) {
  const ParallelPlan& plan = context.plan;
  const ExchangeSpec& spec = plan.exchange;
  ExpertExchange op;
  op.phase = phase;
  op.dispatcher = dispatcher_in_use(plan);
  op.primitive =
      phase == ExchangePhase::kDispatch ? spec.dispatch_primitive : spec.combine_primitive;
  op.tokens = shape.tokens;
  op.hidden = shape.hidden;
  op.experts = shape.experts;
  op.topk = shape.topk;
  op.group = group_of(plan, shape);
  op.dtype = dtype;
  op.compute_units = spec.compute_units;
  op.routing = placed_experts(context).routing;
  if (op.group.size > plan.ep) {
    repeat_counts(plan, shape, op.routing);
  }
  return op;
}

// Elements of one expert of a rank: after expert tensor parallelism.
double expert_elements(const ExpansionContext& context) {
  const MoeSpec& moe = *context.model.moe;
  return real((context.model.mlp.gated ? 3 : 2) * moe.expert_ffn_hidden *
              routed_width(context.model)) /
         real(context.plan.etp);
}

std::int64_t kept_results(const ExpansionContext& context, const LayerExchange& exchange) {
  const DispatcherModel& model = model_of(dispatcher_in_use(context.plan));
  const bool before = model.software_sums_rows && context.software.memory.weighs_in_activation;
  return before ? 0 : model.kept_results(exchange);
}

Bytes weighted_row_element(const ExpansionContext& context) {
  const DispatcherModel& model = model_of(dispatcher_in_use(context.plan));
  const Bytes summed = max(context.software.weighted_sum, context.stream_element());
  return model.software_sums_rows ? summed : kSixteenBits;
}

ExpertLayer::ExpertLayer(const ExpansionContext& context, BlockBuilder& builder)
    : context_(context),
      build_(builder),
      shape_(exchange_shape(context)),
      rows_(expert_rows(context)),
      passed_rows_(context.software.expert_buffer == ExpertBuffer::kWorstCase
                       ? std::max(rows_, rows_of_all_choices(shape_))
                       : rows_),
      exchange_(layer_exchange(context)) {}

// A dispatcher's own kernels move rows in their own way.
bool ExpertLayer::puts_by_index() const {
  return context_.software.permute_order == PermuteOrder::kIndexPut &&
         row_kernels() != Implementation::kFused;
}

bool ExpertLayer::masks_rows() const {
  return context_.software.permute_order == PermuteOrder::kIndexMasked &&
         row_kernels() != Implementation::kFused;
}

MemoryBoundKind ExpertLayer::kind_in_use(OpId id, MemoryBoundKind kind) const {
  if (puts_by_index()) {
    return put_by_index(id, kind);
  }
  if (masks_rows()) {
    return masked_by_index(id, kind);
  }
  if (kind == MemoryBoundKind::kStridedCopy &&
      context_.software.permute_order == PermuteOrder::kIndex) {
    return MemoryBoundKind::kSortRows;
  }
  const bool in_fp32 = weighted_row_element(context_) > kSixteenBits;
  return kind == MemoryBoundKind::kUnpermute && in_fp32 ? MemoryBoundKind::kUnpermuteFp32 : kind;
}

// What moves, counts and weights rows: kernels of the dispatcher or operators of the framework.
Implementation ExpertLayer::row_kernels() const {
  return model_of(dispatcher_in_use(plan())).own_kernels ? Implementation::kFused
                                                         : context_.software.permute;
}

void ExpertLayer::permute(OpId id, MemoryBoundKind kind, std::int64_t rows) {
  build_.memory_bound(id, kind_in_use(id, kind), rows, routed_width(context_.model), row_kernels(),
                      context_.stream_element());
}

void ExpertLayer::index_rows() {
  if (context_.software.permute_order != PermuteOrder::kBlocks) {
    build_.forward_memory_bound(OpId::kMoeIndex, MemoryBoundKind::kRowIndex, rows_, 1,
                                row_kernels(), Bytes(8));
  }
}

bool ExpertLayer::multiplies_masks() const {
  return context_.software.row_gather == RowGather::kProduct &&
         receive_buffer_of(spec()) == ReceiveBuffer::kCapacity;
}

// Both masks of a sequence, tokens x (experts x capacity), are written in 16 bits before the first
// product; the second one carries the weights of the rows, which need a gradient.
void ExpertLayer::spread(std::int64_t rows) {
  const BlockBuilder::ModuleScope scope(build_, {RecomputeModule::kMoeDispatch});
  if (!multiplies_masks()) {
    if (puts_by_index()) {
      // Zeros, into which the gradients of a token's rows are added: written, not read.
      build_.backward_memory_bound(OpId::kMoePermute, MemoryBoundKind::kCopy, shape_.tokens / 2,
                                   routed_width(context_.model), row_kernels(), kSixteenBits);
    }
    return permute(OpId::kMoePermute, MemoryBoundKind::kPermute, rows);
  }
  const std::int64_t sequences = context_.training.micro_batch_size;
  const std::int64_t of_sequence = rows / sequences;
  build_.forward_memory_bound(OpId::kMoeMasks, MemoryBoundKind::kCopy, shape_.tokens, of_sequence,
                              row_kernels(), kSixteenBits);
  build_.masked_product(OpId::kMoeDispatchProduct, sequences, of_sequence,
                        shape_.tokens / sequences, BlockBuilder::MaskGradient::kNone);
}

void ExpertLayer::gather_back(std::int64_t rows) {
  if (!multiplies_masks()) {
    if (puts_by_index()) {
      // One tile of 32 rows holds a token's choices, so that how many they are makes no difference.
      build_.backward_memory_bound(OpId::kMoeRowGradient, MemoryBoundKind::kRowsOuter,
                                   shape_.tokens, routed_width(context_.model), row_kernels(),
                                   kSixteenBits);
    }
    return permute(OpId::kMoeUnpermute, MemoryBoundKind::kUnpermute, rows);
  }
  const std::int64_t sequences = context_.training.micro_batch_size;
  build_.masked_product(OpId::kMoeCombineProduct, sequences, shape_.tokens / sequences,
                        rows / sequences, BlockBuilder::MaskGradient::kNeeded);
}

void ExpertLayer::index(std::int64_t choices) {
  constexpr int kPasses = 3;
  for (int pass = 0; pass < kPasses; ++pass) {
    build_.forward_memory_bound(OpId::kMoeIndex, MemoryBoundKind::kCopy, choices, 1, row_kernels(),
                                Bytes(4));
  }
}

void ExpertLayer::sum_gradients(std::int64_t choices) {
  build_.backward_memory_bound(OpId::kMoeLocalSum, MemoryBoundKind::kUnpermute, choices,
                               routed_width(context_.model), row_kernels(), kSixteenBits);
}

void ExpertLayer::dispatch() {
  const BlockBuilder::ModuleScope scope(build_, {RecomputeModule::kMoeDispatch});
  if (spec().dispatch_dtype != Dtype::kBf16) {
    build_.forward_memory_bound(OpId::kMoeDispatchQuantize, MemoryBoundKind::kQuantizeBlock,
                                shape_.tokens, routed_width(context_.model), row_kernels(),
                                Bytes(2));
  }
  build_.forward_collective(OpId::kMoeDispatch,
                            exchange(ExchangePhase::kDispatch, spec().dispatch_dtype));
  build_.backward_collective(OpId::kMoeDispatch, exchange(ExchangePhase::kCombine, Dtype::kBf16));
}

void ExpertLayer::combine() {
  build_.forward_collective(OpId::kMoeCombine, exchange(ExchangePhase::kCombine, Dtype::kBf16));
  build_.backward_collective(OpId::kMoeCombine, exchange(ExchangePhase::kDispatch, Dtype::kBf16));
}

Collective ExpertLayer::over_ranks(CollectiveOp op, std::int64_t values, Bytes element) const {
  return {op, static_cast<double>(values) * element, group_of(plan(), shape_), Axis::kExpert};
}

// Without an answer of its own the dispatcher's default is kept: sonic's and MinimalAsyncEP's
// kernels skip what pads, and others pass over the rows of their software.
std::int64_t ExpertLayer::activated_rows() const {
  const std::optional<bool>& aware = spec().offset_aware_activation;
  if (!aware) {
    return passed_rows_;
  }
  return *aware ? rows_ : std::max(passed_rows_, exchange_.rows);
}

// What the first product multiplies: what has arrived, or of one rank what is permuted there.
OpId ExpertLayer::input_maker() const {
  for (const OpId id : {OpId::kMoeDispatch, OpId::kMoeDispatchProduct, OpId::kMoePermute}) {
    if (build_.has_run(id)) {
      return id;
    }
  }
  return shares_norm(context_.model) ? OpId::kAttentionNorm : OpId::kMlpNorm;
}

void ExpertLayer::save_input() {
  const BlockBuilder::ModuleScope scope(build_, {RecomputeModule::kMoeDispatch});
  const DispatcherModel& model = model_of(dispatcher_in_use(plan()));
  if (const std::int64_t kept = model.kept_inputs(exchange_); kept > 0 && build_.trains()) {
    const Bytes read = context_.in_autocast() ? context_.stream_element() : build_.operand();
    build_.save(TensorId::kExpertsInput, input_maker(), kept, routed_width(context_.model),
                model.gathers_in_product ? kSixteenBits : read);
  }
}

void ExpertLayer::save_results() {
  if (const std::int64_t kept = kept_results(context_, exchange_); kept > 0) {
    const OpId maker = build_.has_run(OpId::kMoeCombine) ? OpId::kMoeCombine : OpId::kExpertsDown;
    build_.save_made_of(TensorId::kMoeCombinedRows, maker, kSixteenBits, kept,
                        routed_width(context_.model), weighted_row_element(context_));
  }
  if (context_.software.permute_order != PermuteOrder::kBlocks &&
      build_.has_run(OpId::kMoePermute)) {
    // Where each row comes from and where it goes back to, of what is sent and of what is sorted.
    constexpr Bytes kIndex{8};
    const std::int64_t sorted = build_.has_run(OpId::kMoeSort) ? rows_ : 0;
    build_.save(TensorId::kMoeRowIndices, OpId::kMoePermute, sent_rows(spec(), shape_) + sorted, 2,
                kIndex);
  }
}

// Their gradients are cast back, where they have some.
void ExpertLayer::cast_weights(std::int64_t rows, std::int64_t cols) {
  if (build_.trains()) {
    return build_.cast(OpId::kExpertsCast, rows, cols);
  }
  build_.forward_memory_bound(OpId::kExpertsCast, MemoryBoundKind::kCast, rows, cols,
                              Implementation::kEager, kSixteenBits);
}

// The gradient of each slice is as large as all of them: zeros are written, and it is added to the
// sum of those before. transformers 5.17 on H200 with experts_implementation eager: 898 slices a
// step of Qwen3 30B-A3B of 5 layers, 0.27 ms for the zeros and 0.85 ms for the sum of each.
void ExpertLayer::add_up_slices(std::int64_t slices, std::int64_t weights) {
  if (!build_.trains()) {
    return;
  }
  constexpr Bytes kFp32{4};
  constexpr std::int64_t kOnlyWritten = 2;  // a copy reads as much
  build_.backward_memory_bound(OpId::kExpertsGradientSum, MemoryBoundKind::kCopy, slices,
                               weights / kOnlyWritten, Implementation::kEager, kFp32);
  build_.backward_memory_bound(OpId::kExpertsGradientSum, MemoryBoundKind::kAddPartial, slices,
                               weights, Implementation::kEager, kFp32);
}

// What a product has made of rows is cloned and masked, and so is its gradient, which of two inputs
// of an activation is first joined.
void ExpertLayer::mask_products(std::int64_t width) {
  if (!masks_rows()) {
    return;
  }
  build_.memory_bound(OpId::kExpertsMask, MemoryBoundKind::kMaskedRows, passed_rows_, width,
                      row_kernels(), context_.stream_element());
  build_.backward_memory_bound(OpId::kExpertsMask, MemoryBoundKind::kCopy, passed_rows_, width,
                               row_kernels(), context_.stream_element());
}

void ExpertLayer::experts() {
  const std::int64_t hidden = routed_width(context_.model);
  const std::int64_t width = moe().expert_ffn_hidden / plan().etp;
  const std::int64_t local = moe().experts / plan().ep + shape_.copies;
  const bool gated = context_.model.mlp.gated;
  const bool apart = gated && !context_.software.experts_fuse_gate_up();
  save_input();
  fetch_copies();
  if (context_.software.casts_expert_weights) {
    cast_weights(local * (gated ? 3 : 2) * width, hidden);
  }
  if (context_.software.slices_expert_weights) {
    add_up_slices(local, local * (gated ? 3 : 2) * width * hidden);
  }
  build_.gradient_sum(OpId::kExpertsGradientSum, passed_rows_, apart ? 2 : 1,
                      context_.software.permute);
  const EpilogueBytes epilogue = epilogue_of_activation(context_);
  first_products(local, width, epilogue.first);
  const DispatcherModel& model = model_of(dispatcher_in_use(plan()));
  const bool recomputed = model.gathers_in_product;
  build_.activation(OpId::kExpertsActivation, activated_rows(), width,
                    recomputed ? 0 : exchange_.rows,
                    model.own_kernels ? Implementation::kFused : context_.software.activation);
  build_.grouped(OpId::kExpertsDown, local, rows_, hidden, width, {.dgrad = epilogue.second});
  biases_after_products();
  if (const std::optional<Collective> weights = copied_weights(kSixteenBits)) {
    // The places serve every layer, so that backward fetches the weights again.
    build_.backward_collective(OpId::kExpertsFetchCopies, *weights);
  }
}

// Gate and up of `local` experts, with what the activation's backward reads of them; `passed` are
// the bytes that pass the epilogue of the last one.
void ExpertLayer::first_products(std::int64_t local, std::int64_t width, Bytes passed) {
  const std::int64_t hidden = routed_width(context_.model);
  const bool gated = context_.model.mlp.gated;
  const std::int64_t kept = exchange_.rows;
  const Bytes stored = context_.in_autocast() ? context_.stream_element()
                                              : context_.software.memory.activation_input;
  if (!gated) {
    build_.grouped(OpId::kExpertsUp, local, rows_, width, hidden, {.forward = passed});
    build_.save_result(TensorId::kMlpActivationInput, kept, width, stored);
  } else if (context_.software.experts_fuse_gate_up()) {
    build_.grouped(OpId::kExpertsGateUp, local, rows_, 2 * width, hidden, {.forward = passed});
    mask_products(2 * width);
    build_.save_result(TensorId::kMlpActivationInput, kept, 2 * width, stored);
  } else {
    build_.grouped(OpId::kExpertsGate, local, rows_, width, hidden);
    build_.save_result(TensorId::kMlpGate, kept, width, stored);
    build_.grouped(OpId::kExpertsUp, local, rows_, width, hidden, {.forward = passed});
    build_.save_result(TensorId::kMlpUp, kept, width, stored);
  }
}

// A rank receives what its copies need, all of it from others: W / (W - 1) of it is what an
// all-to-all of that size holds. Hot experts are passed on by the ranks that have them, so that
// nobody sends more than it receives (UltraEP's relays).
std::optional<Collective> ExpertLayer::copied_weights(Bytes element) const {
  if (shape_.copies == 0) {
    return std::nullopt;
  }
  const double ranks = real(plan().ep);
  const double values = real(shape_.copies) * expert_elements(context_);
  return Collective{CollectiveOp::kAllToAll, ranks / (ranks - 1.0) * values * element,
                    plan().ep_group(), Axis::kExpert};
}

// Weights come before the products and their gradients go home after them.
void ExpertLayer::fetch_copies() {
  if (const std::optional<Collective> weights = copied_weights(kSixteenBits)) {
    build_.forward_collective(OpId::kExpertsFetchCopies, *weights);
    build_.backward_collective(OpId::kExpertsReturnGradients,
                               *copied_weights(context_.software.gradient_reduce));
  }
}

// The bias of the second product is weighted like its row, so that a framework may add it apart: in
// the format of the weights, from which the sum goes back to 16 bits. That of the first one is part
// of its product.
void ExpertLayer::biases_after_products() {
  const Implementation implementation = context_.software.expert_bias;
  if (!moe().expert_bias || implementation == Implementation::kFused) {
    return;
  }
  const bool fp32 = model_of(dispatcher_in_use(context_.plan)).weights_in_fp32;
  build_.memory_bound(OpId::kExpertsBias,
                      fp32 ? MemoryBoundKind::kExpertBiasFp32 : MemoryBoundKind::kExpertBias, rows_,
                      routed_width(context_.model), implementation, fp32 ? Bytes(4) : kSixteenBits);
  if (fp32) {
    build_.cast(OpId::kExpertsBias, rows_, routed_width(context_.model));
  }
}

void expand_routed_experts(const ExpansionContext& context, BlockBuilder& build) {
  build.begin(Block::kRoutedExperts);
  ExpertLayer layer(context, build);
  model_of(dispatcher_in_use(context.plan)).operators(layer);
  layer.save_results();
}

}  // namespace stepcast
