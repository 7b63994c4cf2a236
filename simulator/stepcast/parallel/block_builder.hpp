// SPDX-License-Identifier: Apache-2.0
// Adds an operator's forward and backward together, so that neither is forgotten.
//
// Backward operators are kept in the order of the forward ones and reversed by finish().
#pragma once

#include <vector>

#include "stepcast/parallel/layer_expansion.hpp"

namespace stepcast {

class BlockBuilder {
 public:
  explicit BlockBuilder(const ExpansionContext& context) : context_(context) {}

  // A projection y = x W^T with its dgrad and wgrad. `dtype` is that of the training recipe unless
  // the projection stays in 16 bits.
  void projection(std::string_view name, std::int64_t rows, std::int64_t outputs,
                  std::int64_t inputs);
  void projection_16bit(std::string_view name, std::int64_t rows, std::int64_t outputs,
                        std::int64_t inputs);
  void grouped(std::string_view name, std::int64_t groups, std::int64_t rows, std::int64_t outputs,
               std::int64_t inputs);
  void attention(std::string_view name, Attention op);
  void memory_bound(std::string_view name, MemoryBoundKind kind, std::int64_t rows,
                    std::int64_t cols, Implementation implementation, Bytes element = Bytes(2));
  // The same without a backward pass: what is known from forward, or has no gradient.
  void forward_memory_bound(std::string_view name, MemoryBoundKind kind, std::int64_t rows,
                            std::int64_t cols, Implementation implementation, Bytes element);
  // fp32 values to 16 bits forward, their gradients back.
  void cast(std::string_view name, std::int64_t rows, std::int64_t cols);
  // The model's activation between two products, run again before backward if it is recomputed.
  void activation(std::string_view name, std::int64_t rows, std::int64_t width);
  // The model's norm over rows of the hidden size.
  void norm(std::string_view name, std::int64_t rows);
  // `terms` gradients of one rows x hidden tensor are summed in backward, after those of everything
  // added later.
  void gradient_sum(std::string_view name, std::int64_t rows, std::int64_t terms,
                    Implementation implementation);
  // Collectives of the forward and of the backward pass; nothing for a group of one.
  void forward_collective(std::string_view name, const Collective& collective);
  void backward_collective(std::string_view name, const Collective& collective);
  void forward_exchange(std::string_view name, const ExpertExchange& exchange);
  void backward_exchange(std::string_view name, const ExpertExchange& exchange);

  // Around tensor-parallel projections over `rows` x hidden values. Entering: all-gather forward;
  // reduce-scatter backward and the input gathered again for wgrad. Leaving: the converse. Without
  // sequence parallelism an all-reduce backward, respectively forward.
  void enter_tensor_parallel(std::string_view name);
  void leave_tensor_parallel(std::string_view name);

  // Everything added to forward since `mark` is run again before backward.
  [[nodiscard]] std::size_t mark() const { return ops_.forward.size(); }
  void recompute_since(std::size_t mark);

  BlockOps finish();

 private:
  void projection_in(std::string_view name, std::int64_t rows, std::int64_t outputs,
                     std::int64_t inputs, Dtype dtype);
  [[nodiscard]] bool sums_gradients() const;
  [[nodiscard]] Bytes gradient_element() const;
  void relayout(OpList& ops, Direction direction);
  void quantize(std::int64_t rows, std::int64_t outputs, std::int64_t inputs, Dtype dtype);

  const ExpansionContext& context_;
  BlockOps ops_;
  std::vector<bool> again_;  // of the forward operators: run again, once however often asked for
};

}  // namespace stepcast
