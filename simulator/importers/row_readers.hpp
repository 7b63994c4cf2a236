// SPDX-License-Identifier: Apache-2.0
// The readers of each format of measurements (measurement_formats.cpp): functions that add the
// records of a row, and tables of kernels (measurement_formats.hpp).
#pragma once

#include "importers/measurement_formats.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// --- training runs and steps --------------------------------------------------------------------

// Published training runs (JSON lines) as records.
//
// A line has `model`, `hardware`, `parallel`, `train`, `measured`, `completeness` (A: everything
// that a simulation needs is stated, B: some of it guessed, C: partial), `family` and `task`; null
// is "not stated". What is not stated gets the framework's default, which the record names; what
// cannot be guessed, and what is stated and not known, is a reason to skip. `outcome` oom: the run
// ran out of memory.
void read_training_run(const nlohmann::json& json, ProfileCache& profiles,
                       std::vector<Record>& records);

// Training steps measured by programs/cluster.py and programs/steps.py (JSON lines) as records.
//
// A line has `case`, `gpu` (H200 without it), `arch`, `layers`, `seq`, `mbs`, `mode`, `ac`, `world`
// and the degrees of the mode:
//   fsdp   parameters sharded over all ranks (`hsdp`: over groups of that many), experts over `ep`;
//          `no_reshard`: they stay gathered after forward
//   tp     tensor and sequence parallel over `tp` ranks, FSDP over the rest
//   pp     `micro` micro-batches, `v` stages a rank, `schedule` of torch.distributed, in 16 bits
//   ddp    replicas, in 16 bits
//   cp     context_parallel of torch.distributed over all ranks, with FSDP
//   local  every rank alone, in 16 bits
// `fp8`: linear layers in 8 bits; `eager`: nothing is compiled; `dyn`: tokens are routed as
// torchtitan does, with splits that the host reads.
void read_measured_step(const nlohmann::json& json, ProfileCache& profiles,
                        std::vector<Record>& records);

// Steps of torchtitan's own trainer, timed by programs/torchtitan_steps.py (JSON lines), as
// records.
//
// A line has `case`, `framework` ("torchtitan 2026-03-20 34f705ba4", on whose day the software set
// holds), `gpu`, `world` ranks of one host, `model` and `flavor` as torchtitan calls them,
// `step_s`, `peak_alloc_bytes` (null where it is not known) and `changes`: `layers`, `dense` ones
// among them and `experts` that the model keeps, `seq`, `lbs` (sequences of a rank), `ac`,
// `compile`, `compile_loss`, `ep`, `tp`, `pp` with `schedule` and `stage_layers`. FSDP is over the
// rest of the ranks. Without it torchtitan trains in fp32, and such rows are refused with this
// reason. Rows of one case, which were measured on several hosts, are judged on their mean.
void read_torchtitan_step(const nlohmann::json& line, ProfileCache& profiles,
                          std::vector<Record>& records);

// Steps of Hugging Face's Trainer, timed by programs/huggingface_steps.py (JSON lines), as records.
//
// A line has `case`, which names the model, `framework`, `gpu`, `world`, `layers`, `seq`, `batch`,
// `step_s`, `peak_alloc_bytes` and `settings`: `gc` (every layer recomputed), `fsdp`, `accum`,
// `pure` (weights in 16 bits). The software set is huggingface, unless they name one as `software`.
void read_hugging_face_step(const nlohmann::json& line, ProfileCache& profiles,
                            std::vector<Record>& records);

// What users reported in public threads (user_reports.jsonl), as records.
//
// A line has `id`, `source` (a repository's thread), `experiment` (its text as a file would have
// it; empty: made by `options` alone, which are those of the program), `measured` (`tps` a GPU,
// `step_s`, `tflops`, `mfu_pct`, `alloc_gib`, `reserved_gib`, `fits`), perhaps `framework` and
// `date`; what somebody once predicted and thought of it (`predicted`, `verdict`, `note`, ...) is
// passed over. The software set is that of the stack and its day (report_stack.hpp), whatever the
// line names.
void read_user_report(const nlohmann::json& json, ProfileCache& profiles,
                      std::vector<Record>& records);

// Runs of Megatron-DeepSpeed on A100 that vTrain published (vtrain_a100_multi_node.csv,
// vtrain_a100_single_node.csv) as records.
//
// GPT: multi-head attention, a feed-forward block of two matrices and width 4 H, layer norms,
// learned positions, a vocabulary of 51,200, fp16. Runs on several nodes recompute every layer;
// gradients are reduced after the last backward, not in buckets beside it. Nodes of 8 GPUs share
// 800 Gb/s. Metric: `step_time_s`.
void read_vtrain_run(ForeignRow& row, std::vector<Record>& records);

// Runs of nanotron's grid on H100 (nanotron_h100_grid.csv) as records.
//
// A row is a Llama-shaped model with the figures of its own columns, on nodes of 8 H100 SXM 80 GB.
// Every run measured its own network, over all of its ranks and inside a node; the cluster is one
// on which collectives take as long (nanotron_grid.cpp).
// Where a run ended without a measurement its network is not known, and only its memory is judged.
//
// Metrics: `tokens_per_second_per_gpu` of runs that ended well, and `fits` (1 or 0) of those and of
// the ones that ran out of memory. Rates of pipelines from before a fault of the framework was
// mended (`after_pp_fix`) are not trusted, and skipped in a group of their own. Pipelines on nodes
// whose GPUs did not reach each other over NVLink took up to half a second a message, a fault of
// that cluster: they have a group of their own too.
void read_nanotron_run(ForeignRow& row, std::vector<Record>& records);

// How nanotron divides a Llama among pipeline ranks, as a text of plan.stage_layout.
//
//   cost(layer) = 4 h^2 + 3 h f,  cost(head) = h V,  others 0
//
// Blocks go to a rank until their cumulative cost is above the rank's part of the whole; the block
// that crosses it stays (src/nanotron/models/base.py, llama.py). 16 layers with a head that costs
// as much as four of them, on four ranks: Et*6|t*5|t*5|L.
//
// The loss is taken to lie with the head on the last rank. Where the head is so large that nothing
// is left for the ranks after it, nanotron leaves those empty and these have the head.
std::string nanotron_stages(const ModelSpec& model, std::int64_t ranks);

// --- kernels measured on hosts of H100 and H200 -------------------------------------------------
// The programs (programs/kernels.py and its relatives) replay captured graphs of calls, except
// where a comment says so.

// An operator line (operator_lines/operator_line.hpp) with `gpu` and `s`, the seconds that it took;
// `group`, `source`, `clock_mhz` and `watts` if given. Other keys are remarks.
void read_timed_operator(ForeignRow& row, std::vector<Record>& records);

// m, n, k, dtype, model, state, s; `kind` is the pass.
void read_measured_gemm(ForeignRow& row, std::vector<Record>& records);
// groups, m_total, counts, n, k, dtype, state, s; `kind` is the pass.
void read_measured_grouped_gemm(ForeignRow& row, std::vector<Record>& records);
// impl, batch, seq, heads, kv_heads, d_qk, d_v, causal, fwd_s, bwd_s: single calls.
extern const KernelTable kAttentionRows;
// The same from captured graphs at the power limit, with R calls a graph.
extern const KernelTable kAttentionInGraphsRows;
// op, rows, cols, s and sometimes bwd_s.
extern const KernelTable kMemoryBoundRows;
// The same GEMM for 2.5 s: m, n, k, dtype, s; smi begins with the clock in MHz.
extern const KernelTable kSustainedGemmRows;
// A GEMM in bursts that fill `duty` of the time: m, n, k, dtype, data, s, clock_mhz, watts.
extern const KernelTable kGemmInBurstsRows;
// One tiny kernel: op eager_add or graph_add, s.
void read_launch(ForeignRow& row, std::vector<Record>& records);
// op, ranks, bytes, s: launched by the host one after the other.
extern const KernelTable kCollectiveRows;
// comm (none or a collective), gemm "8192x8192x8192", gemm_s (the mean over all calls, part of them
// after the collectives), gemm_total_s, comm_s, comm_bytes: products while 25 collectives of four
// GPUs run on another stream.
void read_gemm_beside_collectives(ForeignRow& row, std::vector<Record>& records);
// What the host spends on a call (programs/host.py): skipped by name, since a software set states
// the host's time of a kernel of a layer and not of a call by itself.
void read_host_time(ForeignRow& row, std::vector<Record>& records);

// --- tables of kernels that others published (measured/published/*.csv) -------------------------

// sku, dtype, m, n, k, latency_us: short runs, so that only the burst limit acts. Rows below 20 us
// have a group of their own: they are mostly start-up. Points of formats below 16 bits were taken
// of TensorRT-LLM's linear layer: their times grow with m k as those of a quantisation of its input
// do, which the record names as the operator `before` the product.
extern const KernelTable kGemmPoints;
// sku, batch, seqlen, heads, kv_heads, head_dim, latency_us: causal forward of TensorRT-LLM,
// likewise; rows below 50 us have a group of their own.
extern const KernelTable kAttentionPoints;
// Shapes, and TFLOP/s of aiter's forward and of its backward with 16- and 32-bit atomics on MI300X
// and MI355X; a causal mask halves the FLOPs.
void read_aiter_attention(ForeignRow& row, std::vector<Record>& records);
// Kernels by library and version (measured/published/amd_kernels.csv): sku, library, version, op, a
// dtype, the shape and latency_us, of calls one after the other for long enough that the GPU is
// hot. A product has M tokens (of each of `groups` experts), K inputs and N outputs; its backward
// is both gradients, one after the other. What else a timed call of a known benchmark holds
// (conversions to 8 bits, gradients added up) is read off its program. Other operations and formats
// are skipped by name.
void read_library_kernel(ForeignRow& row, std::vector<Record>& records);
// sku, op, num_gpus, bytes, latency_us: in one node.
extern const KernelTable kNcclPoints;
// sku, hidden, tokens, topk, experts, sms, dispatch_us, combine_us: DeepEP's normal kernels on the
// 8 GPUs of a node, 4 of GB200; dispatched in fp8, combined in bf16, experts at random. Rows below
// 1024 tokens have a group of their own.
extern const KernelTable kDeepEpPoints;

// Operators of public profiler traces (measured/published/trace_operators.csv).
//
// A row has gpu, category, op, B, M, N, K, trans, dtype, input_dims (a list of shapes),
// kernel_us_median or kernel_us_min, tflops_per_s and extra. Times are those of the kernel alone.
//   GEMM        trans says how the operands lie: NT is a forward, NN a dgrad, TN a wgrad
//   SDPA_fwd    shapes of q, k, v from input_dims; causal if the row's own FLOP count is half
//   NORM        layer and RMS norms over the dimensions of their weight
//   collective  the size of the group and the elements from extra; the shortest time, since others
//               contain waiting
// Rows that cannot be priced are skipped with the reason. One shape on one GPU is one kernel.
void read_trace_operator(ForeignRow& row, std::vector<Record>& records);

}  // namespace stepcast
