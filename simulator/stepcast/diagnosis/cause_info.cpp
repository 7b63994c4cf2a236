// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/cause_info.hpp"

#include <array>

namespace stepcast {
namespace {

// What to run or to read, and what it says where the cause is there.
// Sources: NCCL's user guide (logging, environment variables) and pytorch/nccl#766 for its lines;
// nvidia-smi and NVML's reasons of clock events; rocm-smi's own help; Transformer Engine's list of
// environment variables; PyTorch's torch.nn.attention, its notes on torch.compile and on CUDA's
// environment variables; Megatron-LM's arguments.
constexpr DeviceRuntime kCuda = DeviceRuntime::kCuda;
constexpr DeviceRuntime kHip = DeviceRuntime::kHip;

constexpr auto kLinkBetweenNodes = std::to_array<Check>({
    {"NCCL_DEBUG=INFO: 'Using network Socket' or 'NET/Socket' is TCP, 'NET/IB' RDMA, 'NET/OFI' "
     "EFA; it lists the NICs that it uses"},
    {"NCCL_IB_DISABLE, NCCL_SOCKET_IFNAME, NCCL_IB_HCA: what switches RDMA off or leaves NICs "
     "out"},
    {"all_reduce_perf of nccl-tests over the same nodes: its bus bandwidth", kCuda},
    {"all_reduce_perf of rccl-tests over the same nodes: its bus bandwidth", kHip},
});
constexpr auto kLinkWithinNode = std::to_array<Check>({
    {"nvidia-smi topo -m: NV# between two GPUs is NVLink, PIX, PHB and SYS are PCIe", kCuda},
    {"rocm-smi --showtopo: XGMI between two GPUs, or PCIE", kHip},
    {"NCCL_DEBUG=INFO: 'via SHM' within a node goes through the host; NCCL_P2P_DISABLE must not "
     "be 1"},
});
constexpr auto kMessageLatency = std::to_array<Check>({
    {"all_reduce_perf of nccl-tests with small sizes: its time, not its bandwidth", kCuda},
    {"all_reduce_perf of rccl-tests with small sizes: its time, not its bandwidth", kHip},
    {"a profiler's trace: many short collectives, each of which takes as long as the next"},
});
constexpr auto kOverlapOff = std::to_array<Check>({
    {"a profiler's trace: kernels of NCCL or RCCL with nothing beside them on the compute stream"},
    {"--overlap-grad-reduce, --overlap-param-gather and --tp-comm-overlap among its arguments",
     std::nullopt, FrameworkFamily::kMegatron},
    {"comm_overlap and ddp of the recipe: overlap_grad_reduce, overlap_param_gather, "
     "tp_comm_overlap",
     std::nullopt, FrameworkFamily::kNemo},
    {"overlap_comm of zero_optimization in its configuration", std::nullopt,
     FrameworkFamily::kDeepSpeed},
});
constexpr auto kHostSlow = std::to_array<Check>({
    {"a profiler's trace: gaps between kernels of the compute stream"},
    {"nvidia-smi topo -m beside numactl --show: each process bound to the socket of its GPU",
     kCuda},
    {"rocm-smi --showtoponuma beside numactl --show: each process bound to the socket of its GPU",
     kHip},
    {"the same step with random data in memory: no loader is waited for"},
    {"gc.freeze() after the first step, or gc.disable(): pauses of Python's collector are gone"},
    {"dataloader_num_workers: 0 loads each batch between two steps", std::nullopt,
     FrameworkFamily::kTransformers},
});
constexpr auto kLaunchesUnfused = std::to_array<Check>({
    {"CUDA_LAUNCH_BLOCKING must not be 1"},
    {"a profiler's trace: kernels a layer, and whether CUDA graphs are replayed"},
    {"TORCH_LOGS=graph_breaks,recompiles: regions that torch.compile left to eager calls",
     std::nullopt, FrameworkFamily::kTorchtitan},
    {"--cuda-graph-impl, --moe-permute-fusion, --cross-entropy-loss-fusion and the lines of fused "
     "kernels that it builds when it starts",
     std::nullopt, FrameworkFamily::kMegatron},
    {"experts_implementation: eager launches the products of every expert by themselves",
     std::nullopt, FrameworkFamily::kTransformers},
});
constexpr auto kAttentionNotFlash = std::to_array<Check>({
    {"NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2: the backend that Transformer Engine chose, and why",
     std::nullopt, FrameworkFamily::kMegatron},
    {"NVTE_FLASH_ATTN, NVTE_FUSED_ATTN, NVTE_UNFUSED_ATTN in the environment", std::nullopt,
     FrameworkFamily::kMegatron},
    {"NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2: the backend that Transformer Engine chose, and why",
     std::nullopt, FrameworkFamily::kNemo},
    {"attn_implementation: eager writes the scores out", std::nullopt,
     FrameworkFamily::kTransformers},
    {"torch.nn.attention.WARN_FOR_UNFUSED_KERNELS = True, and names of kernels in a trace"},
});
constexpr auto kPrecisionNotUsed = std::to_array<Check>({
    {"params_dtype in its dump of arguments: torch.float32 without --bf16", std::nullopt,
     FrameworkFamily::kMegatron},
    {"bf16 or fp16 of its arguments; without either it trains in fp32", std::nullopt,
     FrameworkFamily::kTransformers},
    {"names of products in a profiler's trace: sgemm, f32f32_f32f32 and tf32 are no bf16"},
});
constexpr auto kRecomputation = std::to_array<Check>({
    {"--recompute-granularity among its arguments", std::nullopt, FrameworkFamily::kMegatron},
    {"recompute_granularity of the recipe", std::nullopt, FrameworkFamily::kNemo},
    {"activation_checkpoint.mode in the launch file", std::nullopt, FrameworkFamily::kTorchtitan},
    {"gradient_checkpointing of its arguments", std::nullopt, FrameworkFamily::kTransformers},
    {"remat_policy in its configuration", std::nullopt, FrameworkFamily::kMaxText},
    {"a profiler's trace: forward kernels of a layer once more in its backward"},
});
constexpr auto kExpertImbalance = std::to_array<Check>({
    {"tokens of each expert, as the router's log or its load-balancing loss has them"},
    {"the same step with an even routing (--moe-router-force-load-balancing)", std::nullopt,
     FrameworkFamily::kMegatron},
    {"the same step with an even routing (debug.moe_force_load_balance)", std::nullopt,
     FrameworkFamily::kTorchtitan},
});
constexpr auto kOffload = std::to_array<Check>({
    {"a profiler's trace: Memcpy DtoH and HtoD of the size of layers or states"},
    {"offload_optimizer, offload_param, cpu_offload, activation offload in the launch file"},
});
constexpr auto kClockOrPower = std::to_array<Check>({
    {"nvidia-smi -q -d CLOCK,POWER,PERFORMANCE while it trains: the SM clock, the power limit, and "
     "which reason of clock events is active",
     kCuda},
    {"rocm-smi --showclocks --showpower --showmaxpower while it trains", kHip},
});
constexpr auto kSlowRank = std::to_array<Check>({
    {"time of collectives by rank: the rank that all others wait for waits least"},
    {"the clock and the power of each GPU beside the others'"},
    {"whether it is the same rank in every step: a slow GPU is, one with longer sequences or more "
     "images is not"},
    {"--log-straggler among its arguments", std::nullopt, FrameworkFamily::kMegatron},
});
constexpr auto kSoftwareVersion = std::to_array<Check>({
    {"the release or commit of the framework, of PyTorch and of the attention library"},
});
constexpr auto kDocumentsOrPadding = std::to_array<Check>({
    {"lengths of the documents in a batch as the loader packs them, and tokens that are padding"},
    {"attn_mask among the inputs of scaled_dot_product_attention: FlashAttention takes none"},
});
constexpr auto kFigureConvention = std::to_array<Check>({
    {"what the log divides by: all GPUs, a node, a replica; tokens or sequences"},
    {"how FLOPs are counted: 6 a parameter and token, or attention too; recomputation; which "
     "peak"},
});

// Sources of shipped runs, or threads; stated_causes.jsonl of the tests names them likewise.
constexpr auto kSeenLinkBetweenNodes =
    std::to_array<std::string_view>({"pytorch/torchtitan#676", "Nebius, Qwen3"});
constexpr auto kSeenMessageLatency =
    std::to_array<std::string_view>({"pytorch/torchtitan, distributed MoE"});
constexpr auto kSeenHostSlow =
    std::to_array<std::string_view>({"AMD-AGI/Primus at 9467e2f8, NUMA binding off"});
constexpr auto kSeenLaunchesUnfused =
    std::to_array<std::string_view>({"pytorch/torchtitan#778", "TRL, fine-tuning", "Nebius, Qwen3",
                                     "autoresearch, Qwen3 14B", "AMD-AGI/Primus"});
constexpr auto kSeenAttentionNotFlash =
    std::to_array<std::string_view>({"TRL, fine-tuning", "AMD-AGI/Primus"});
constexpr auto kSeenPrecisionNotUsed =
    std::to_array<std::string_view>({"NVIDIA/Megatron-LM#1000", "pytorch/torchtitan#778",
                                     "Nebius, Qwen3", "autoresearch, Qwen3 14B", "AMD-AGI/Primus"});
constexpr auto kSeenRecomputation = std::to_array<std::string_view>(
    {"a matrix of two racks", "autoresearch, Qwen3 14B", "AMD-AGI/Primus"});
constexpr auto kSeenExpertImbalance = std::to_array<std::string_view>({"AMD-AGI/Primus"});
constexpr auto kSeenOffload = std::to_array<std::string_view>({"Nebius, Qwen3"});
constexpr auto kSeenSoftwareVersion =
    std::to_array<std::string_view>({"NVIDIA NeMo, two releases", "a matrix of two racks"});
constexpr std::span<const std::string_view> kNotSeen;

constexpr std::array kCauses = {
    CauseInfo{Cause::kLinkBetweenNodes, "link between nodes", kSeenLinkBetweenNodes,
              kLinkBetweenNodes},
    CauseInfo{Cause::kLinkWithinNode, "link within a node", kNotSeen, kLinkWithinNode},
    CauseInfo{Cause::kMessageLatency, "latency of messages", kSeenMessageLatency, kMessageLatency},
    CauseInfo{Cause::kOverlapOff, "overlap off", kNotSeen, kOverlapOff},
    CauseInfo{Cause::kHostSlow, "host slow", kSeenHostSlow, kHostSlow},
    CauseInfo{Cause::kLaunchesUnfused, "launches unfused", kSeenLaunchesUnfused, kLaunchesUnfused},
    CauseInfo{Cause::kAttentionNotFlash, "attention not flash", kSeenAttentionNotFlash,
              kAttentionNotFlash},
    CauseInfo{Cause::kPrecisionNotUsed, "precision not used", kSeenPrecisionNotUsed,
              kPrecisionNotUsed},
    CauseInfo{Cause::kRecomputation, "recomputation", kSeenRecomputation, kRecomputation},
    CauseInfo{Cause::kExpertImbalance, "imbalance of experts", kSeenExpertImbalance,
              kExpertImbalance},
    CauseInfo{Cause::kOffload, "offload", kSeenOffload, kOffload},
    CauseInfo{Cause::kClockOrPower, "clock or power", kNotSeen, kClockOrPower},
    CauseInfo{Cause::kSlowRank, "slow rank", kNotSeen, kSlowRank},
    CauseInfo{Cause::kSoftwareVersion, "software version", kSeenSoftwareVersion, kSoftwareVersion},
    CauseInfo{Cause::kDocumentsOrPadding, "documents or padding", kNotSeen, kDocumentsOrPadding},
    CauseInfo{Cause::kFigureConvention, "convention of the figure", kNotSeen, kFigureConvention},
};
static_assert(names_every_value<Cause, kCauses.size()>(), "each cause needs a row");

}  // namespace

bool Check::applies_to(const Experiment& experiment) const {
  return (!runtime || *runtime == experiment.cluster.device.architecture.runtime) &&
         (!framework || *framework == experiment.software.framework);
}

const CauseInfo& info(Cause cause) { return kCauses[static_cast<std::size_t>(cause)]; }

}  // namespace stepcast
