// SPDX-License-Identifier: Apache-2.0
// Adds an operator with everything that is true of it: its forward and its backward, the block and
// the recomputed modules that it belongs to, and what of its result backward needs.
//
// Backward operators are kept in the order of the forward ones and reversed by finish().
#pragma once

#include <initializer_list>
#include <optional>

#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

class BlockBuilder {
 public:
  explicit BlockBuilder(const ExpansionContext& context) : context_(context) {}

  // What is added from now on is of `block`.
  void begin(Block block) { block_ = block; }
  // Nothing that is trained lies before what is added: backward does not go on to its input. From
  // the first matrix that is trained on, or that has an adapter, it runs.
  void input_needs_no_gradient() { needs_gradient_ = false; }

  // A projection y = x W^T with its dgrad and wgrad; without the latter where the block's matrices
  // are frozen. `dtype` is that of the training recipe unless the projection stays in 16 bits.
  void projection(OpId id, std::int64_t rows, std::int64_t outputs, std::int64_t inputs);
  void projection_16bit(OpId id, std::int64_t rows, std::int64_t outputs, std::int64_t inputs);
  void projection_in(OpId id, std::int64_t rows, std::int64_t outputs, std::int64_t inputs,
                     Dtype dtype);
  // LoRA's products beside the projection that was added last, and what it makes added to its
  // result. Tensor parallelism divides them as ParameterList says: beside a column-parallel matrix
  // (before leaving tensor parallelism) the result of A is gathered; beside a row-parallel one
  // (after leaving it) that of A is summed and that of B goes to the ranks whose rows it is.
  enum class Beside { kColumnParallel, kRowParallel };
  struct Adapter {
    Beside beside = Beside::kColumnParallel;
    std::int64_t inputs = 0;            // on this rank
    std::int64_t outputs = 0;           // likewise, of the matrix
    OpId reads = OpId::kAttentionNorm;  // what makes its input
  };
  void adapter(const Adapter& adapter);
  // The same where the recipe adapts `target`: beside a column-parallel matrix, or a part of it
  // `outputs` wide, and beside a row-parallel one with `inputs`. `reads` makes what they read.
  void adapt_column(LoraTarget target, std::int64_t outputs, OpId reads);
  void adapt_row(LoraTarget target, std::int64_t inputs, OpId reads);
  // How many of `targets` the recipe adapts.
  [[nodiscard]] std::int64_t adapters(std::initializer_list<LoraTarget> targets) const;
  // While it lives, what is added reads one tensor, beside each other.
  class SharedInput {
   public:
    explicit SharedInput(BlockBuilder& build) : build_(build) {
      build_.shared_input_ = build_.needs_gradient_;
      build_.keeps_adapter_input_ = false;
    }
    ~SharedInput() { build_.shared_input_.reset(); }
    SharedInput(const SharedInput&) = delete;
    SharedInput& operator=(const SharedInput&) = delete;

   private:
    BlockBuilder& build_;
  };
  // While it lives, what is added reads tensors that the model's loss does not reach through it,
  // and has gradients only where a loss of its own trains it.
  enum class OwnLoss { kNone, kTrains };
  class Detached {
   public:
    Detached(BlockBuilder& build, OwnLoss loss)
        : build_(build), needed_(build.needs_gradient_), shared_(build.shared_input_) {
      const bool trained = loss == OwnLoss::kTrains;
      build_.needs_gradient_ = trained;
      build_.shared_input_ = false;
      build_.detached_untrained_ = !trained;
    }
    ~Detached() {
      build_.needs_gradient_ = needed_;
      build_.shared_input_ = shared_;
      build_.detached_untrained_ = false;
    }
    Detached(const Detached&) = delete;
    Detached& operator=(const Detached&) = delete;

   private:
    BlockBuilder& build_;
    bool needed_;
    std::optional<bool> shared_;
  };
  // Bytes that pass the epilogue for an element of the result: more than its own where another
  // operator runs inside the product.
  struct ResultBytes {
    Bytes forward{2};
    Bytes dgrad{2};
  };
  void grouped(OpId id, std::int64_t groups, std::int64_t rows, std::int64_t outputs,
               std::int64_t inputs, const ResultBytes& result);
  // The weight gradient of the block's matrix that was added last joins that of a part of the rows
  // before, where the product itself does not add.
  void add_to_gradient(std::int64_t outputs, std::int64_t inputs);
  void grouped(OpId id, std::int64_t groups, std::int64_t rows, std::int64_t outputs,
               std::int64_t inputs) {
    grouped(id, groups, rows, outputs, inputs, ResultBytes{});
  }
  // `batch` products beside each other, of a matrix of their own each: heads, or groups of them.
  void batched_projection(OpId id, std::int64_t batch, std::int64_t rows, std::int64_t outputs,
                          std::int64_t inputs);
  // What mixes positions, of any kind: the same operator in both directions.
  template <typename Mixing>
  void mixing(OpId id, Mixing op) {
    op.direction = Direction::kForward;
    forward(id, op);
    op.direction = Direction::kBackward;
    backward(id, op);
  }
  // y = M x with a matrix of routing weights M for each of `batch` sequences, in 16 bits: rows x
  // inputs, and x inputs x hidden. Backward: the gradient of x and, where the weights have one, of
  // M.
  enum class MaskGradient { kNone, kNeeded };
  void masked_product(OpId id, std::int64_t batch, std::int64_t rows, std::int64_t inputs,
                      MaskGradient mask);
  void memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
                    Implementation implementation, Bytes element = Bytes(2));
  // Each of `cols` channels over `taps` rows, in 16 bits, by a kernel of its own.
  void filter(OpId id, MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
              std::int64_t taps);
  // The same without a backward pass: what is known from forward, or has no gradient.
  void forward_memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
                            Implementation implementation, Bytes element);
  // A kernel of the backward pass alone, after those of everything added later.
  void backward_memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
                             Implementation implementation, Bytes element);
  // fp32 values to 16 bits forward, their gradients back.
  void cast(OpId id, std::int64_t rows, std::int64_t cols);
  // 16-bit values to fp32 forward, their gradients back.
  void cast_up(OpId id, std::int64_t rows, std::int64_t cols, Implementation implementation);
  // The model's activation between two products. `kept_rows` of its product stay for backward
  // where the software keeps it; 0: the product is recomputed.
  void activation(OpId id, std::int64_t rows, std::int64_t width, std::int64_t kept_rows,
                  Implementation implementation);
  // The model's norm over rows of the hidden size.
  void norm(OpId id, std::int64_t rows);
  // `terms` gradients of one rows x hidden tensor are summed in backward, after those of everything
  // added later.
  void gradient_sum(OpId id, std::int64_t rows, std::int64_t terms, Implementation implementation);
  // Collectives, or exchanges of tokens, of the forward and of the backward pass; nothing for a
  // group of one.
  template <typename Moved = Collective>
  void forward_collective(OpId id, const Moved& moved) {
    if (moved.group.size > 1) {
      forward(id, moved);
    }
  }
  template <typename Moved = Collective>
  void backward_collective(OpId id, const Moved& moved) {
    if (moved.group.size > 1) {
      backward(id, moved);
    }
  }

  // Around tensor-parallel projections over `rows` x hidden values. Entering: all-gather forward;
  // reduce-scatter backward and the input gathered again for wgrad. Leaving: the converse. Without
  // sequence parallelism an all-reduce backward, respectively forward.
  void enter_tensor_parallel(OpId id);
  void leave_tensor_parallel(OpId id);

  // While it lives, what is added belongs to these modules as well.
  class ModuleScope {
   public:
    ModuleScope(BlockBuilder& build, ModuleSet modules) : build_(build), outer_(build.modules_) {
      build_.modules_ = outer_.with(modules);
    }
    ~ModuleScope() { build_.modules_ = outer_; }
    ModuleScope(const ModuleScope&) = delete;
    ModuleScope& operator=(const ModuleScope&) = delete;

   private:
    BlockBuilder& build_;
    ModuleSet outer_;
  };

  [[nodiscard]] bool has_run(OpId id) const;
  // Whether the block's matrices are trained, so that backward needs what they read.
  [[nodiscard]] Accumulation accumulation(GemmPass pass) const;
  [[nodiscard]] bool trains() const;
  // Backward needs rows x cols values of what `producer`, which has been added, made. Nothing where
  // there is no backward.
  void save(TensorId id, OpId producer, std::int64_t rows, std::int64_t cols, Bytes element);
  // As save(), of values that the producer makes with `produced` bytes each.
  void save_made_of(TensorId id, OpId producer, Bytes produced, std::int64_t rows,
                    std::int64_t cols, Bytes element);
  // As save(), with the operator that was added to forward last for the producer.
  void save_result(TensorId id, std::int64_t rows, std::int64_t cols, Bytes element);
  // A tensor that no operator of this forward makes: the input, or copies of weights.
  void save_given(TensorId id, Bytes bytes);
  // A result that no backward reads, which a policy may keep all the same.
  void save_unread(TensorId id, OpId producer, std::int64_t rows, std::int64_t cols, Bytes element);
  // An element of what a product reads: in 8 bits where the product does.
  [[nodiscard]] Bytes operand() const;
  // Whether what a norm or an activation hands to a product is kept for the gradient of its weight.
  [[nodiscard]] bool keeps_operand() const;

  BlockOps finish();

 private:
  void forward(OpId id, OpWork work);
  void backward(OpId id, OpWork work);
  void add(Direction direction, OpId id, OpWork work);
  [[nodiscard]] bool sums_gradients() const;
  [[nodiscard]] Bytes gradient_element() const;
  [[nodiscard]] Collective over_tensor_ranks(CollectiveOp op) const;
  void relayout(Direction direction);
  // Which products of backward a matrix has.
  struct Gradients {
    bool input = true;
    bool weight = true;
  };
  Gradients gradients_of_product();
  void cast_operands(OpId id, std::int64_t rows, std::int64_t outputs, std::int64_t inputs,
                     const Gradients& gradients);
  void transpose_input(OpId id, std::int64_t rows, std::int64_t inputs, Dtype dtype);
  void quantize(OpId id, std::int64_t rows, std::int64_t outputs, std::int64_t inputs, Dtype dtype,
                const Gradients& gradients);
  void unpack(Direction direction, std::int64_t rows, std::int64_t outputs, std::int64_t inputs);
  void thin_product(OpId id, std::int64_t outputs, std::int64_t inputs, const Gradients& gradients);
  void read_adapter_input(const Adapter& adapter);
  void around_rank(std::int64_t rank, Beside beside);
  void add_to_result(const Adapter& adapter);

  const ExpansionContext& context_;
  Block block_ = Block::kNone;
  ModuleSet modules_;
  bool needs_gradient_ = true;        // what was added last makes what has one
  std::optional<bool> shared_input_;  // what is added reads what has one, whatever came last
  bool product_input_ = true;         // the last product reads what has one
  bool detached_untrained_ = false;   // nothing that is added is trained
  bool keeps_adapter_input_ = false;  // of adapters that read one tensor
  BlockOps ops_;
};

}  // namespace stepcast
