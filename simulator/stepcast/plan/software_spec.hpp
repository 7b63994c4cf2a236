// SPDX-License-Identifier: Apache-2.0
// What the software stack does: a named set of switches that change kernels, traffic and memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/attention_support.hpp"
#include "stepcast/model/op.hpp"
#include "stepcast/plan/exchange_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_span.hpp"

namespace stepcast {

// One grouped kernel; one kernel an expert, one after the other; or one an expert over several
// streams, which together run like a grouped one.
enum class GroupedGemmMode { kTurbo, kLegacy, kStreams };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<GroupedGemmMode> = {"turbo", "legacy",
                                                                              "streams"};

// Which product of latent attention makes the part of the keys that carries positions: that of the
// latent of keys and values, or one of its own.
enum class RopeKeyProduct { kKvDown, kOwn };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<RopeKeyProduct> = {"kv_down",
                                                                             "own_product"};

// How tokens become rows of experts with a capacity: by index, or by products of a sequence with
// one-hot masks of its tokens x (experts x capacity).
enum class RowGather { kIndex, kProduct };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<RowGather> = {"index", "product"};

// The rows that kernels other than products run over between dispatch and combine: those that
// arrived, or all of a buffer for the worst case, whose shape is known when the program is
// compiled.
enum class ExpertBuffer { kReceived, kWorstCase };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<ExpertBuffer> = {"received",
                                                                           "worst_case"};

// What a captured graph holds: everything, or what does not depend on how many rows the experts
// get, which leaves the exchange and the experts to the host.
// As whom a set is run: as the makers of its framework or of the GPU publish their own runs, whose
// every setting they know, or as it comes to those who use it. It moves no projection, only how far
// one may be off.
enum class Stack { kTuned, kAsItComes };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<Stack> = {"tuned", "as_it_comes"};

// Whose options a run has, as far as advice on how to look at one names them.
enum class FrameworkFamily {
  kOther,
  kMegatron,
  kNemo,
  kTorchtitan,
  kTransformers,
  kDeepSpeed,
  kMaxText
};
template <>
inline constexpr std::array<std::string_view, 7> kNamesOf<FrameworkFamily> = {
    "other", "megatron", "nemo", "torchtitan", "transformers", "deepspeed", "maxtext"};

// How many gradients are reduced, and parameters gathered, in one call once a step: those of a
// layer; as Megatron does it, max(40 million, 1 million for each rank of data and context
// parallelism) parameters (megatron/training/training.py); or 25 MiB of whole tensors as
// DistributedDataParallel does it (bucket_cap_mb of torch/nn/parallel/distributed.py).
enum class GradientBuckets { kLayers, kByRanks, kDdp };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<GradientBuckets> = {"layers", "by_ranks",
                                                                              "ddp"};

enum class CudaGraphScope { kWhole, kWithoutExperts };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<CudaGraphScope> = {"whole",
                                                                             "without_experts"};

// How rows are brought into the order of the experts: equal blocks of them moved as blocks; or
// every row gathered by its index, whose gradient is added back by index; or as torchtitan does it
// since 2026, with a zero row behind them, gathered by index and put back by index_put_, in kernels
// of PyTorch's whatever is compiled around them; or as transformers 5 does it, gathered by index in
// the format of the residual stream, what products read and make cloned and masked for experts of
// other ranks (integrations/moe.py, grouped_mm_experts_forward).
enum class PermuteOrder { kBlocks, kIndex, kIndexPut, kIndexMasked };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<PermuteOrder> = {
    "blocks", "index", "index_put", "index_masked"};

// Bytes a parameter of each kind of state (ZeRO, arXiv 1910.02054, section 3.1: 2, 2 and 12 for
// Adam in mixed precision; Megatron keeps gradients in 4).
struct StateBytes {
  Bytes parameter{2};  // the copy that kernels read
  Bytes gradient{4};
  Bytes optimizer{12};  // master copy and two moments
};

// How frozen matrices lie in memory where products are in 8 or 4 bits: as trained ones do,
// converted for every micro-batch; converted once, in the format of the products; the same in one
// layout only, so that each backward transposes them.
enum class FrozenWeights { kParameters, kProducts, kProductsOneLayout };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<FrozenWeights> = {
    "parameters", "products", "products_one_layout"};

// How FSDP's shards lie: as parts of one flat tensor a unit, which a gather reads and writes in
// place (FSDP1, XLA), or each parameter divided by itself (PyTorch's FSDP2), so that lists of
// tensors are copied into the buffer of a gather, out of it, and into that of a reduction.
enum class ShardLayout { kFlat, kPerParameter };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<ShardLayout> = {"flat", "per_parameter"};

// Which products of 8 bits add up fast (Accumulation): those of the forward pass, whose gradients
// need more (the defaults of Transformer Engine and torchao), all, or none.
enum class FastAccumulation { kForward, kAll, kNone };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<FastAccumulation> = {"forward", "all",
                                                                               "none"};

// Which collectives of FSDP run beside computation: gathers of both passes and reductions, gathers
// of the forward pass, or none, where a program waits for each at once.
enum class FsdpOverlap { kAll, kForward, kNone };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<FsdpOverlap> = {"all", "forward", "none"};

// How rotary positions are written: by sines and cosines of halves, as products of complex numbers
// in fp32 (torch.view_as_complex), as transformers writes it, x cos + rotate_half(x) sin, in the
// format of the residual stream, or the same in fp32 of what is cast to it first.
enum class RopeForm { kReal, kComplex, kRotateHalf, kCastRotateHalf };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<RopeForm> = {
    "real", "complex", "rotate_half", "cast_rotate_half"};

// Where forward runs under torch.autocast over weights in fp32: nowhere, or wherever FSDP does not
// shard them, whose policy casts instead. Under it the residual stream, norms and positions are in
// fp32, every product casts its input by itself, weights are cast in each forward and their
// gradients back, and 16-bit copies of the weights stay for backward (torch/amp/autocast_mode.py).
enum class Autocast { kNone, kUnsharded };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<Autocast> = {"none", "unsharded"};

// How the transfers between a pipeline's ranks follow each other where a rank runs several stages.
// Free: each as soon as its output is there. In order: those of a rank, sent and received, one
// behind the other in the order in which the runtime put them down, for one communicator of NCCL
// has one stream (PyTorch, _PipelineScheduleRuntime). Stepped: behind each task of a rank, at once,
// and the rank goes on when they have ended (PyTorch, PipelineScheduleMulti). Where a rank runs one
// stage, neighbours exchange in pairs, and nothing waits for more than its input.
enum class PipelineTransfers { kFree, kInOrder, kStepped };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<PipelineTransfers> = {"free", "in_order",
                                                                                "stepped"};

// Where products run in the format that a run asks for, and not in fp32. Sharded: where FSDP shards
// parameters, whose policy alone casts them. Sharded or whole: also under autocast, which needs all
// of the model on each rank. Sharded or replicated: replicas have a policy as well.
enum class MixedPrecision { kAlways, kSharded, kShardedOrWhole, kShardedOrReplicated };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<MixedPrecision> = {
    "always", "sharded", "sharded_or_whole", "sharded_or_replicated"};
// How the parameters of a run lie on its ranks.
struct ParameterSplit {
  bool sharded = false;     // by FSDP
  bool replicated = false;  // more than one rank holds the same
  bool whole = true;        // without tensor or pipeline parallelism
};
bool trains_in_fp32(MixedPrecision rule, const ParameterSplit& split);

// How the kernels of a part of the model reach the device.
enum class LaunchMode {
  kProgram,   // the step is one program: the host never holds the device up
  kEager,     // a call of the framework for each operator, its autograd in backward
  kCompiled,  // generated code launches the kernels of a region
};
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<LaunchMode> = {"program", "eager",
                                                                         "compiled"};

// What the framework lets a host do in a step. How long each takes is the host's own
// (hardware/cluster_spec.hpp), unless it is given here. A captured graph launches at once.
struct HostWork {
  LaunchMode layers = LaunchMode::kProgram;
  LaunchMode experts = LaunchMode::kProgram;  // and the routing of their tokens
  // Beside eager experts, their products, the router, the order of rows and the shared expert are
  // compiled each by itself.
  bool expert_regions = false;
  double calls = 1.0;  // eager calls for each that a plain module makes: what wraps it in Python
  bool functional_collectives = false;  // exchanges of tokens are operators of the framework
  bool unit_hooks = false;              // FSDP2 gathers and reduces in hooks around its units
  // CUDA_LAUNCH_BLOCKING=1: the host launches a kernel when the one before it has ended.
  bool launches_block = false;
  std::int64_t reads_per_exchange = 1;  // where the host has to know how many rows arrive
  // While the device waits: once a step, for loss scale, norms, logging; and once a micro-batch,
  // for data, and for reads that empty the queue of launches, behind which it fills again.
  Seconds step;
  Seconds micro_batch;
  // Instead of the host's own, for each: kernel that the operators of a layer list; product of one
  // expert, where experts are launched one by one, and again where it quantises its rows;
  // collective or exchange; wait, from the end of what the host waits for until it launches again.
  std::optional<Seconds> kernel;
  std::optional<Seconds> expert;
  std::optional<Seconds> communication;
  std::optional<Seconds> synchronise;

  // Of a step of so many micro-batches, while the device waits.
  [[nodiscard]] Seconds waits(std::int64_t micro_batches) const {
    return step + static_cast<double>(micro_batches) * micro_batch;
  }
  // Whether any time is given, which was fitted to whole steps.
  [[nodiscard]] bool has_numbers() const {
    return calls != 1.0 || kernel || expert || communication || synchronise;
  }
};

// The numbers that `work` gives, by their keys; a set's file says beside them what they are fitted
// to. `work` must outlive them and stay where it is.
struct HostWorkNumber {
  std::string_view key;
  std::variant<double*, Seconds*> number;
};
std::vector<HostWorkNumber> numbers_of(HostWork& work);

// What the recipes of a release set for some models, GPUs and number formats of training, where a
// run does not say otherwise; an empty list stands for any.
struct SoftwareRecipe {
  std::vector<std::string> models;
  bool latent = false;  // of models with latent attention alone
  std::vector<std::string> gpus;
  std::vector<Dtype> dtypes;
  ConfigNode changes;  // switches of a software set
};

// A switch that the command line or the recipe of a framework has, with the values that it takes
// there: what a search over its plans may try.
struct SoftwareOffer {
  std::string key;  // of a software set
  std::vector<std::string> values;
};

// What the software holds in memory beside parameters, gradients, optimizer states and saved
// tensors. Each is a property of a framework, read off its code or off measured allocator peaks;
// the software set names its source.
struct MemoryRules {
  // --- loss ---
  // Bytes that each logit takes while the loss runs (logits, fp32 copies, softmax, gradient), and
  // while the output matrix' backward runs afterwards. Unset, they follow from cross_entropy: 4 and
  // 2 where it is one kernel over 16-bit logits, the next and 2 where it is eager in fp32.
  std::optional<Bytes> logit_at_loss;
  // The former by the implementation of cross_entropy, if it is not set. A fused one reads 16-bit
  // logits and writes their gradient in their place (Transformer Engine, cross_entropy.py).
  Bytes logit_at_eager_loss{12};
  Bytes logit_at_compiled_loss{4};
  Bytes logit_at_fused_loss{2};
  std::optional<Bytes> logit_at_head;
  // At least so many, where tensor parallelism divides the vocabulary: the loss is then written out
  // over DTensor (loss_parallel), compiled or not.
  std::optional<Bytes> logit_at_parallel_loss;
  std::optional<Bytes> logit_at_eager_parallel_loss;  // the same of an eager one, if it is another
  std::int64_t loss_chunks = 1;  // the loss takes the tokens in this many parts
  bool keeps_logits = false;     // a pipeline's last stage keeps the logits of every micro-batch
                                 // and joins them at the end of the step
  // --- gradients ---
  bool gradients_stay = true;  // in buffers that live all the time; else freed every step
  Bytes gradient_copy;         // a parameter, of a second copy beside them (16-bit buckets)
  // A parameter, of the buckets that DistributedDataParallel reduces gradients in (ZeRO stage 0),
  // beside the gradients themselves where those are no views of them.
  Bytes replica_buckets;
  Bytes dummy_gradients;      // an element of each distinct weight of a layer, kept for good
  Bytes gathered_copy;        // a parameter, when ZeRO gathers them after the optimizer
  bool scans_layers = false;  // layers are one loop of a program: it gathers one at a time, and
                              // reduces gradients as they are, into buffers that the loop of
                              // backward passes makes
  // A parameter as it is sharded, of copies of such layers' weights beside them: of all but
  // experts, and of experts where a rank holds several.
  Bytes stacked_copies;
  Bytes stacked_expert_copies;
  // Master copy and moments are in the host's memory, if the recipe says nothing of its offload.
  bool optimizer_on_host = false;
  // --- experts ---
  // Where shapes are fixed when the step is compiled: the rows that experts' tensors have room for,
  // as a share of the worst case, W T min(k, experts of a rank); 0: as many as arrive.
  double static_rows = 0.0;
  // --- sharding ---
  bool root_holds_ends = false;     // FSDP: embedding, norm and head in one group for all the step
  bool keeps_expert_casts = false;  // 16-bit copies of fp32 expert weights stay for backward
  // --- pipeline ---
  bool receives_ahead = false;  // receive buffers for every micro-batch of the step
  // --- saved tensors ---
  bool keeps_norm_copies = false;    // written-out norms: their input in fp32, and normed values
  bool keeps_projected_qkv = false;  // q, k and v as projected, beside the copies attention reads
  bool values_keep_projection = false;  // MLA's values are a view of what the up projection made of
                                        // keys and values, which stays whole
  bool weighs_in_activation = false;    // experts multiply their scores into the activation: rows
                                        // that come back one by one need not stay for them
  // Bytes of a kept value, where they are stored in fewer bits than they are computed in.
  Bytes activation_input = kSixteenBits;  // that an activation reads
  Bytes attention_output = kSixteenBits;
  bool keeps_unread_outputs =
      false;  // eager checkpointing keeps a saved product nobody reads again
  // torch.utils.checkpoint's early_stop: recomputation ends with the last tensor that is needed.
  bool recompute_stops_early = false;
  bool selective_keeps_exchanges = true;  // all-to-alls are in the list of selective_op
  // --- the device ---
  double fragmentation = 0.05;  // of the allocated peak, reserved beside it
  // The same where every layer is recomputed, if it differs: inputs of layers lie in the blocks
  // that the loss and the layers of the step before left, which therefore serve no large tensor
  // again.
  std::optional<double> fragmentation_recomputed;
  // Outside the allocator: what the driver keeps of the nominal capacity (an H100 of 80 GiB offers
  // 79.1) with the context's kernels and libraries, and the buffers of one communicator.
  Bytes context{1.5e9};
  Bytes communicator{0.3e9};
  // Of the device's memory, that the framework takes as one pool when it starts; 1: it allocates
  // what it needs from all of it.
  double pool_share = 1.0;
  // PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: a stream has one segment, which grows page by
  // page, so that free blocks next to each other serve any request, and `fragmentation` is none
  // (pytorch c10/cuda/CUDACachingAllocator.cpp, "Expandable Segments"). Streams' segments stay
  // apart. By its code alone: no run was measured with it and without.
  bool expandable_segments = false;
};

struct SoftwareSpec {
  std::string name;
  std::string title;
  std::string source;
  // The day or month whose code of the framework the set describes; empty where none is stated.
  std::string date;
  SoftwareSpan span;
  std::vector<SwitchEvidence> evidence;

  bool fused_qkv = true;                     // one GEMM for q, k and v
  bool fused_gate_up = true;                 // one GEMM for both gated inputs
  std::optional<bool> fused_expert_gate_up;  // of routed experts; where it is not said, likewise
  RopeKeyProduct mla_k_rope = RopeKeyProduct::kKvDown;
  GroupedGemmMode grouped_gemm = GroupedGemmMode::kTurbo;
  AttentionKernel attention = AttentionKernel::kFlash2;
  AttentionSoftware attention_library;
  // Of unfused attention (Attention::scores): Megatron's scaled masked softmax is one kernel,
  // transformers' eager_attention_forward has one for each of its calls.
  Implementation attention_scores = Implementation::kFused;
  // The one kernel takes rows of fewer keys than 16,384.
  [[nodiscard]] Implementation scores_over(std::int64_t keys) const {
    return keys < 16'384 ? attention_scores : Implementation::kEager;
  }
  bool attention_8bit = false;          // where products are in 8 or 4 bits, attention's are in 8
  bool attention_block_scaled = false;  // those with a scale for each block, as MXFP8 has them
  bool head_8bit = false;  // where products are in 8 bits, those of the output matrix are as well
  [[nodiscard]] bool attends_in_8_bits(Dtype dtype) const {
    return attention_8bit && is_quantized(dtype);
  }
  [[nodiscard]] bool ends_in_8_bits(Dtype dtype) const {
    return head_8bit && is_quantized(dtype) && dtype != Dtype::kFp4;
  }
  SparseKernel sparse_attention = SparseKernel::kLibrary;
  // What that library runs for a model on a GPU; nothing where neither is known.
  std::optional<AttentionChoice> attention_choice;
  Implementation norm = Implementation::kFused;
  // Passes around linear attention and over residual streams and kept residuals: unit length of
  // queries and keys, decays, gated norms, weighted sums. Where it is not said: as norms, but for
  // the unit length, which fla's kernels make.
  std::optional<Implementation> mixer_passes;
  Implementation rope = Implementation::kFused;
  RopeForm rope_form = RopeForm::kReal;
  // One kernel takes heads out of the merged projection, normalises queries and keys and turns
  // them, for models that do both, over one pass of what a norm reads and writes.
  bool rope_in_qk_norm = false;
  // Of attention over parts of the keys, divided among ranks by a ring or a gather. Fused: kernels
  // merge what they find with what is there, and gradients of keys and values are reduced in 16
  // bits (Transformer Engine). Compiled and eager: PyTorch's context_parallel, which merges and
  // sums in passes of their own and sends those gradients on in fp32. Ranks trace different
  // programs then; compiled, they order weight gradients differently, and wait for each other where
  // they meet.
  Implementation ring_attention = Implementation::kFused;
  // Of operands of 8-bit products with a scale a tensor: fused takes the scale of the steps before
  // (delayed) and writes both layouts at once; compiled finds the maximum first, in a pass of its
  // own, and makes the second layout by another.
  Implementation quantize = Implementation::kFused;
  FastAccumulation fast_accumulation = FastAccumulation::kForward;
  // Inductor since PyTorch 2.10 makes the backward of a norm one kernel with its sum over rows
  // (MixOrderReductionGrid), which also writes the transposed 8-bit inputs of the products behind
  // attention's norm, a byte at a time.
  bool transposes_in_norm = false;
  Implementation activation = Implementation::kFused;
  // SwiGLU and its backward run in the epilogues of the experts' products: what those read and
  // write besides takes its time there, and no kernel is its own.
  bool activation_in_product = false;
  // Of models that have them; fused: inside the experts' products and their activation.
  Implementation expert_bias = Implementation::kFused;
  Implementation activation_clamp = Implementation::kFused;
  RowGather row_gather = RowGather::kIndex;
  ExpertBuffer expert_buffer = ExpertBuffer::kReceived;
  Implementation permute = Implementation::kFused;
  PermuteOrder permute_order = PermuteOrder::kBlocks;
  Bytes weighted_sum{2};     // bytes of a value while a token's rows are weighted and summed
  bool router_fp32 = false;  // the router's product, on the vector lanes and between casts
  bool compiles_shared_expert = true;  // else it runs eagerly where other blocks are compiled
  Implementation cross_entropy = Implementation::kFused;
  Implementation optimizer = Implementation::kFused;
  Implementation adapter = Implementation::kEager;  // dropout, scale and sum around LoRA's products
  // LoRA's matrices are in fp32 beside a model in 16 bits, and so is the dropout of what A reads
  // (PEFT, autocast_adapter_dtype): its input is cast up, and back for the product.
  bool adapter_fp32 = false;
  bool residual_in_norm = false;  // the residual addition runs inside the norm kernel
  // How often queries, keys and values are copied around attention, in both directions: into
  // another layout, out of a merged projection, without padding. Values addressed one by one.
  std::int64_t attention_copies = 0;
  // Windows, documents and padding reach attention as a tensor of pairs beside repeated heads of
  // keys and values; a kernel that keeps documents apart needs none.
  bool masks_by_tensor = false;
  bool repeats_kv_heads = false;  // before attention, one for each query head that shares them
  Stack stack = Stack::kAsItComes;
  FrameworkFamily framework = FrameworkFamily::kOther;
  GradientBuckets gradient_buckets = GradientBuckets::kLayers;
  bool cuda_graph = false;
  CudaGraphScope cuda_graph_scope = CudaGraphScope::kWhole;
  bool tp_relayout = false;           // tensors of more than one sequence are copied around
                                      // tensor-parallel collectives, their sequence outermost
  bool casts_expert_weights = false;  // fp32 expert weights become 16 bits in every forward
  // A loop over experts takes each one's weights out of one parameter: autograd makes the gradient
  // of every slice as large as that, zeros but for the slice, and adds it to those before.
  bool slices_expert_weights = false;
  bool accumulates_in_gemm = true;  // gradients of micro-batches are summed by the product
  bool clips_gradients = false;     // by their norm, in passes of their own before the update;
                                    // gradient buffers are zeroed and parameters copied after it
  bool scales_gradients = false;    // by their norm, in place, whether or not it is too large:
                                    // torch.nn.utils.clip_grad_norm_, 12 bytes a parameter
  bool norms_on_host = false;       // of gradients that an offload took there: clip_grad_norm_;
                                    // an engine takes them as gradients pass on the device
  bool checks_gradients = false;    // before they are reduced: buffers are divided by the number
                                    // of replicas and searched for what is not a number
  bool async_tp = false;            // tensor-parallel collectives hidden behind their GEMM
  bool scatters_pipeline_sends = false;  // each tensor-parallel rank sends its part of what they
                                         // all hold, which the next stage's ranks gather

  PipelineTransfers pipeline_transfers = PipelineTransfers::kFree;

  bool overlap_grad_reduce = true;  // gradients are reduced while backward goes on
  bool zero_broadcasts = false;     // ZeRO 1 and 2: updated parameters are not gathered but
                                    // broadcast by one rank after the other
  // ZeRO 1: gradients are all-reduced whole, in one call after backward, before each rank updates
  // its own part; the host copies each rank's part of each tensor out of the gathered buffer.
  bool zero_all_reduces = false;
  bool overlap_param_gather = true;  // updated parameters are gathered while forward goes on
  FsdpOverlap fsdp_overlap = FsdpOverlap::kAll;
  bool shared_expert_overlap = false;  // the shared expert runs beside the exchange
  bool ep_overlap = false;  // exchanges of a forward run beside a backward, and the other way round
  // With ep_overlap: gradients of the experts' weights run while those of their tokens travel, and
  // those of attention's weights at the end of a layer (Megatron-LM, delay_wgrad_compute).
  bool delays_weight_gradients = false;
  MixedPrecision mixed_precision = MixedPrecision::kAlways;
  Autocast autocast = Autocast::kNone;
  bool returns_fp32_logits = false;  // the model's result is converted for its caller (accelerate)
  bool fsdp_root_holds_ends = true;  // embedding and head are one FSDP unit, gathered first
  bool fsdp_wraps_lone_experts = false;  // experts are a unit also where one rank holds them alone

  HostWork host;
  ExchangeSpec exchange;  // its dispatcher unless the plan names one

  // What stays for backward.
  bool keeps_norm_output = true;
  bool keeps_gathered_norm_output = false;  // under sequence parallelism: the gathered one
  bool keeps_activation_product = true;     // what the down projection reads
  // In 8 or 4 bits: those that a norm or an activation makes. Otherwise they are made again from
  // what those read, which is kept in 16 bits (Inductor).
  bool keeps_quantized_inputs = true;
  bool fsdp_parameters_fp32 = true;  // FSDP shards fp32 parameters and gathers in 16 bits
  ShardLayout fsdp_layout = ShardLayout::kFlat;
  bool fsdp_gathers_for_recompute = false;  // recomputation gathers once more
  std::int64_t vocabulary_multiple = 1;     // the vocabulary is padded to this times tp
  FrozenWeights frozen_weights = FrozenWeights::kParameters;
  StateBytes states;
  Bytes gradient_reduce{4};  // bytes an element of reduced gradients
  MemoryRules memory;
  std::vector<SoftwareRecipe> recipes{};
  std::vector<SoftwareOffer> offers{};
  std::vector<Schedule> offered_schedules{};  // of pipelines; none where the set does not say

  // Bytes of a frozen parameter as full sharding gathers it.
  [[nodiscard]] Bytes gathered_frozen(Dtype dtype) const {
    return converts_frozen(dtype) ? size_of(dtype) : kSixteenBits;
  }
  // Whether frozen matrices lie in the format of the products.
  [[nodiscard]] bool converts_frozen(Dtype dtype) const {
    return frozen_weights != FrozenWeights::kParameters && is_quantized(dtype);
  }
  [[nodiscard]] bool experts_fuse_gate_up() const {
    return fused_expert_gate_up.value_or(fused_gate_up);
  }
  [[nodiscard]] Implementation mixer() const { return mixer_passes.value_or(norm); }
  [[nodiscard]] AttentionKernel attention_kernel() const {
    return attention_choice ? attention_choice->kernel : attention;
  }
  [[nodiscard]] bool keeps_documents_apart() const {
    return attention_choice ? attention_choice->documents : attention == AttentionKernel::kFlex;
  }
};

// Reads a software set file. `base: NAME` takes what it does not say from another set, of `folder`.
// Throws ConfigError with all of its problems.
SoftwareSpec load_software(const std::filesystem::path& file, const std::filesystem::path& folder);

// The sets that a set of `folder` says itself to be on top of, the nearest first; none of a name
// that the folder does not have.
std::vector<std::string> bases_of(const std::string& name, const std::filesystem::path& folder);

// The run that recipes are asked for.
struct RecipeSubject {
  std::string_view model;
  std::string_view gpu;
  Dtype dtype = Dtype::kBf16;
  bool latent = false;  // the model has latent attention
};
// Changes the switches of the recipes that hold for it, in their order, and forgets all recipes.
void follow_recipes(const RecipeSubject& subject, SoftwareSpec& software);
// Weights, gradients and both moments in 16 bits, without autocast: training.weights bf16.
void train_in_16_bits(SoftwareSpec& software);
// Changes the switches that `reader` names; leaves the rest.
void read_software_switches(MappingReader& reader, SoftwareSpec& software);

}  // namespace stepcast
