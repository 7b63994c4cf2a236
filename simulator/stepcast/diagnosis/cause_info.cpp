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
constexpr auto kLinkBetweenNodes = std::to_array<std::string_view>({
    "NCCL_DEBUG=INFO: 'Using network Socket' or 'NET/Socket' is TCP, 'NET/IB' RDMA, 'NET/OFI' EFA; "
    "it lists the "
    "NICs that it uses",
    "NCCL_IB_DISABLE, NCCL_SOCKET_IFNAME, NCCL_IB_HCA: what switches RDMA off or leaves NICs out",
    "all_reduce_perf of nccl-tests or rccl-tests over the same nodes: its bus bandwidth",
});
constexpr auto kLinkWithinNode = std::to_array<std::string_view>({
    "nvidia-smi topo -m: NV# between two GPUs is NVLink, PIX, PHB and SYS are PCIe; rocm-smi "
    "--showtopo",
    "NCCL_DEBUG=INFO: 'via SHM' within a node goes through the host; NCCL_P2P_DISABLE must not be "
    "1",
});
constexpr auto kMessageLatency = std::to_array<std::string_view>({
    "all_reduce_perf of nccl-tests or rccl-tests with small sizes: its time, not its bandwidth",
    "a profiler's trace: many short collectives, each of which takes as long as the next",
});
constexpr auto kOverlapOff = std::to_array<std::string_view>({
    "a profiler's trace: kernels of NCCL or RCCL with nothing beside them on the compute stream",
    "--overlap-grad-reduce, --overlap-param-gather and --tp-comm-overlap in Megatron-LM's "
    "arguments",
});
constexpr auto kHostSlow = std::to_array<std::string_view>({
    "a profiler's trace: gaps between kernels of the compute stream",
    "nvidia-smi topo -m beside numactl --show: each process bound to the socket of its GPU",
    "the same step with random data in memory: no loader is waited for",
});
constexpr auto kLaunchesUnfused = std::to_array<std::string_view>({
    "TORCH_LOGS=graph_breaks,recompiles: regions that torch.compile left to eager calls",
    "a profiler's trace: kernels a layer, and whether CUDA graphs are replayed",
    "CUDA_LAUNCH_BLOCKING must not be 1",
});
constexpr auto kAttentionNotFlash = std::to_array<std::string_view>({
    "NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2: the backend that Transformer Engine chose, and why",
    "NVTE_FLASH_ATTN, NVTE_FUSED_ATTN, NVTE_UNFUSED_ATTN in the environment",
    "torch.nn.attention.WARN_FOR_UNFUSED_KERNELS = True, and names of kernels in a trace",
});
constexpr auto kPrecisionNotUsed = std::to_array<std::string_view>({
    "params_dtype in Megatron-LM's dump of its arguments: torch.float32 without --bf16",
    "names of products in a profiler's trace: sgemm and tf32 are no bf16",
});
constexpr auto kRecomputation = std::to_array<std::string_view>({
    "--recompute-granularity, activation_checkpoint.mode, gradient_checkpointing in the launch "
    "file",
    "a profiler's trace: forward kernels of a layer once more in its backward",
});
constexpr auto kExpertImbalance = std::to_array<std::string_view>({
    "tokens of each expert, as the router's log or its load-balancing loss has them",
    "the same step with an even routing (moe_router_force_load_balancing)",
});
constexpr auto kOffload = std::to_array<std::string_view>({
    "a profiler's trace: Memcpy DtoH and HtoD of the size of layers or states",
    "offload_optimizer, offload_param, cpu_offload, activation offload in the launch file",
});
constexpr auto kClockOrPower = std::to_array<std::string_view>({
    "nvidia-smi -q -d CLOCK,POWER,PERFORMANCE while it trains: the SM clock, the power limit, and "
    "which reason of clock events is active",
    "rocm-smi --showclocks --showpower --showmaxpower while it trains",
});
constexpr auto kSlowRank = std::to_array<std::string_view>({
    "time of collectives by rank: the rank that all others wait for waits least",
    "--log-straggler of Megatron-LM; the clock and the power of each GPU beside the others'",
});
constexpr auto kSoftwareVersion = std::to_array<std::string_view>({
    "the release or commit of the framework, of PyTorch and of the attention library",
});
constexpr auto kDocumentsOrPadding = std::to_array<std::string_view>({
    "lengths of the documents in a batch as the loader packs them, and tokens that are padding",
    "attn_mask among the inputs of scaled_dot_product_attention: FlashAttention takes none",
});
constexpr auto kFigureConvention = std::to_array<std::string_view>({
    "what the log divides by: all GPUs, a node, a replica; tokens or sequences",
    "how FLOPs are counted: 6 a parameter and token, or attention too; recomputation; which peak",
});

constexpr std::array kCauses = {
    CauseInfo{Cause::kLinkBetweenNodes, "link between nodes", 2.0, "pytorch/torchtitan#676",
              kLinkBetweenNodes},
    CauseInfo{Cause::kLinkWithinNode, "link within a node", 1.0, "", kLinkWithinNode},
    CauseInfo{Cause::kMessageLatency, "latency of messages", 1.0, "", kMessageLatency},
    CauseInfo{Cause::kOverlapOff, "overlap off", 1.0, "", kOverlapOff},
    CauseInfo{Cause::kHostSlow, "host slow", 2.0, "AMD-AGI/Primus at 9467e2f8, NUMA binding off",
              kHostSlow},
    CauseInfo{Cause::kLaunchesUnfused, "launches unfused", 2.0, "pytorch/torchtitan#778",
              kLaunchesUnfused},
    CauseInfo{Cause::kAttentionNotFlash, "attention not flash", 1.0, "", kAttentionNotFlash},
    CauseInfo{Cause::kPrecisionNotUsed, "precision not used", 2.0, "NVIDIA/Megatron-LM#1000",
              kPrecisionNotUsed},
    CauseInfo{Cause::kRecomputation, "recomputation", 1.0, "", kRecomputation},
    CauseInfo{Cause::kExpertImbalance, "imbalance of experts", 1.0, "", kExpertImbalance},
    CauseInfo{Cause::kOffload, "offload", 1.0, "", kOffload},
    CauseInfo{Cause::kClockOrPower, "clock or power", 1.0, "", kClockOrPower},
    CauseInfo{Cause::kSlowRank, "slow rank", 1.0, "", kSlowRank},
    CauseInfo{Cause::kSoftwareVersion, "software version", 1.0, "", kSoftwareVersion},
    CauseInfo{Cause::kDocumentsOrPadding, "documents or padding", 1.0, "", kDocumentsOrPadding},
    CauseInfo{Cause::kFigureConvention, "convention of the figure", 1.0, "", kFigureConvention},
};
static_assert(names_every_value<Cause, kCauses.size()>(), "each cause needs a row");

}  // namespace

const CauseInfo& info(Cause cause) { return kCauses[static_cast<std::size_t>(cause)]; }

}  // namespace stepcast
