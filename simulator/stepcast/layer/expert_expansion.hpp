// SPDX-License-Identifier: Apache-2.0
// What a rank runs between the router and the sum of the experts' results. The order is the
// dispatcher's: each file of dispatchers/ adds what its kernels need around the experts.
//
// Backward mirrors it: the gradient of dispatch is shaped like combine and that of combine like
// dispatch, in bf16 both ways and over the rows known from forward (cached layout).
#pragma once

#include "stepcast/layer/block_builder.hpp"
#include "stepcast/layer/exchange_shape.hpp"

namespace stepcast {

// One direction of the exchange of a layer with experts, `dtype` the format of its rows.
ExpertExchange expert_exchange(const ExpansionContext& context, const ExchangeShape& shape,
                               ExchangePhase phase, Dtype dtype);

// The routed experts of one layer, as a dispatcher builds them.
class ExpertLayer {
 public:
  ExpertLayer(const ExpansionContext& context, BlockBuilder& builder);

  [[nodiscard]] const ParallelPlan& plan() const { return context_.plan; }
  [[nodiscard]] const ExchangeSpec& spec() const { return context_.plan.exchange; }
  [[nodiscard]] const MoeSpec& moe() const { return *context_.model.moe; }
  [[nodiscard]] const ExchangeShape& shape() const { return shape_; }
  // Rows of the experts of the most loaded rank.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  // Rows that kernels other than products run over between dispatch and combine.
  [[nodiscard]] std::int64_t passed_rows() const { return passed_rows_; }
  // Rows that the activation runs over, where it is a kernel of its own.
  [[nodiscard]] std::int64_t activated_rows() const;
  [[nodiscard]] BlockBuilder& build() const { return build_; }

  // A pass over rows of the hidden size, and its mirror in backward.
  void permute(OpId id, MemoryBoundKind kind, std::int64_t rows);
  // The bookkeeping of rows that are gathered by index; nothing where blocks are moved.
  void index_rows();
  // Tokens become `rows` of experts and the other way round: by index, or where the software has it
  // so and experts have a capacity, by products with masks.
  void spread(std::int64_t rows);
  void gather_back(std::int64_t rows);
  // Choices of experts are counted, summed up and inverted, a pass each, in forward only.
  void index(std::int64_t choices);
  // Gradients of the rows of a token, which come back one by one, are summed.
  void sum_gradients(std::int64_t choices);
  // The exchange by the dispatcher's own kernels, in fp8 with its quantisation before.
  void dispatch();
  void combine();
  // The products of the rank's experts and what is between them, with what backward needs of it.
  void experts();
  // What backward needs of the rows that have come back.
  void save_results();

  // A collective over the ranks of the experts, of `values` values of `element` bytes in all.
  [[nodiscard]] Collective over_ranks(CollectiveOp op, std::int64_t values, Bytes element) const;

 private:
  [[nodiscard]] bool puts_by_index() const;
  [[nodiscard]] bool masks_rows() const;
  void mask_products(std::int64_t width);
  void first_products(std::int64_t local, std::int64_t width, Bytes passed);
  [[nodiscard]] MemoryBoundKind kind_in_use(OpId id, MemoryBoundKind kind) const;
  [[nodiscard]] Implementation row_kernels() const;
  [[nodiscard]] OpId input_maker() const;
  void save_input();
  void cast_weights(std::int64_t rows, std::int64_t cols);
  void add_up_slices(std::int64_t slices, std::int64_t weights);
  [[nodiscard]] bool multiplies_masks() const;
  void biases_after_products();
  void fetch_copies();
  [[nodiscard]] std::optional<Collective> copied_weights(Bytes element) const;
  [[nodiscard]] ExpertExchange exchange(ExchangePhase phase, Dtype dtype) const {
    return expert_exchange(context_, shape_, phase, dtype);
  }

  const ExpansionContext& context_;
  BlockBuilder& build_;
  ExchangeShape shape_;
  std::int64_t rows_;
  std::int64_t passed_rows_;
  LayerExchange exchange_;
};

// Elements of one expert on a rank.
double expert_elements(const ExpansionContext& context);

// Rows that come back one by one and stay for the gradients of their weights.
std::int64_t kept_results(const ExpansionContext& context, const LayerExchange& exchange);
// A value of the rows that come back one by one, as they are kept to be weighted.
Bytes weighted_row_element(const ExpansionContext& context);

// Adds the routed experts of a layer. The model has experts.
void expand_routed_experts(const ExpansionContext& context, BlockBuilder& build);

}  // namespace stepcast
