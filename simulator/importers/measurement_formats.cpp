// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_formats.hpp"

#include <algorithm>
#include <iterator>

#include "importers/row_readers.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast {
namespace {

// --- examples ---------------------------------------------------------------------------------
// A row of each format as its source has it but for notes and empty keys: what
// `stepcast describe format NAME` shows. Each is read by the format's own reader in a test.

constexpr std::string_view kTrainingRun =
    R"row({"id": "dgxc-v24.11.1-llama3_405b-h100x1152-bf16-gbs504", )row"
    R"row("source": {"key": "nvidia-dgxc-benchmarking", )row"
    R"row("title": "NVIDIA dgxc-benchmarking v24.11.1 llama3.1/README_405b.md", )row"
    R"row("ref": "NVIDIA/dgxc-benchmarking/llama3.1/README_405b.md@v24.11.1"}, )row"
    R"row("model": {"name": "Llama-3.1-405B", "num_layers": 126, "hidden": 16384, )row"
    R"row("ffn": 53248, "heads": 128, "kv_heads": 8, "head_dim": 128, "vocab": 128256, )row"
    R"row("gated_mlp": true, "tied_embeddings": false}, )row"
    R"row("hardware": {"gpu": "H100 SXM 80GB", "gpus_per_node": 8, "num_gpus": 1152, )row"
    R"row("interconnect": "DGX H100: NVLink + InfiniBand NDR"}, "parallel": {"tp": 8, )row"
    R"row("sp": true, "pp": 9, "vpp": 7, "cp": 2, "ep": 1, "dp": 8, "zero": 1}, )row"
    R"row("train": {"mbs": 1, "gbs": 504, "seq_len": 8192, "dtype": "bf16", )row"
    R"row("recompute": "none", "optimizer": "Adam distributed optimizer (ZeRO-1)", )row"
    R"row("framework": "NeMo/Megatron-Core", "overlap": {"tp_comm_overlap": true, )row"
    R"row("p2p_overlap": true, "grad_sync": true, "param_sync": true}}, )row"
    R"row("measured": {"tokens_per_s_per_gpu": 204.57, "mfu": 54.76, )row"
    R"row("step_time_s": 17.52}, "completeness": "A", "config_group": "c8b8301c1e", )row"
    R"row("task": "pretrain", "family": "dense"})row";

constexpr std::string_view kMeasuredStep =
    R"row({"case": "dense_fsdpN", "model": "llama3-8b", "arch": {"hidden": 4096, )row"
    R"row("heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 14336, "vocab": 128256, )row"
    R"row("layers": 32}, "layers": 32, "seq": 8192, "mbs": 1, "mode": "fsdp", )row"
    R"row("ac": "none", "world": 4, "step_s": 0.8297541737556458, )row"
    R"row("peak_alloc_bytes": [67212845056.0, 67212845056.0, 67212845056.0, )row"
    R"row(67212845056.0]})row";

constexpr std::string_view kUserReport =
    R"row({"id": "titan1690-fsdp8", "source": "pytorch/torchtitan#1690", )row"
    R"row("experiment": "model: qwen3_32b\ncluster: {gpu: h100_96gb_500w, nodes: 1}\n)row"
    R"row(training: {sequence_length: 4096, micro_batch_size: 2, global_batch_size: 16, )row"
    R"row(dtype: bf16, recompute: full, optimizer: adamw}\nplan: {tp: 1, pp: 1, fsdp: 8}\n)row"
    R"row(software: torchtitan\n", "options": [], )row"
    R"row("measured": {"tps": 1874, "reserved_gib": 81.85}, "verdict": "right", )row"
    R"row("kind_of_fault": "", "grade": "A", "note": ""})row";

constexpr std::string_view kHostTime =
    R"row({"op": "aten::add_", "s": 9.806450000002797e-06, )row"
    R"row("cpu": "Intel(R) Xeon(R) Processor", "gpu": "NVIDIA H200", )row"
    R"row("torch": "2.11.0+cu130", "world": 1})row";

constexpr std::string_view kGroupedGemmOfModel =
    R"row({"model": "mixtral-8x7b", "op": "gate_up", "groups": 8, "m_total": 8192, )row"
    R"row("n": 28672, "k": 4096, "dtype": "bf16", "kind": "fwd", "s": 0.00245687468846639,)row"
    R"row( "state": "warm"})row";

constexpr std::string_view kGemmOfModel =
    R"row({"model": "random", "op": "random", "kind": "dgrad", "m": 11152, "n": 736, )row"
    R"row("k": 1664, "dtype": "bf16", "s": 4.6198518187911424e-05, "state": "cool"})row";

constexpr std::string_view kTimedOperator =
    R"row({"kind": "gemm", "gpu": "h200_sxm", "m": 8192, "n": 8192, "k": 8192, )row"
    R"row("dtype": "bf16", "s": 0.0014446661631266275})row";

constexpr std::string_view kTorchtitanStep =
    R"row({"case": "titan_8b_16l_sel_compile", "framework": "torchtitan 2026-03-20 34f705ba4", )row"
    R"row("torch": "2.11.0+cu130", "gpu": "NVIDIA H100 80GB HBM3", "world": 2, )row"
    R"row("step_s": 0.52553790807724, "steps": 19, "peak_alloc_bytes": [39979134976, 39979134976], )row"
    R"row("model": "llama3", "flavor": "8B", "changes": {"layers": 16, "seq": 8192, "lbs": 1, )row"
    R"row("ac": "selective", "compile": 1}})row";

constexpr std::string_view kHuggingFaceStep =
    R"row({"case": "hf_8b_6l", "framework": "transformers 5.17.0 Trainer, accelerate 1.15.0", )row"
    R"row("software": "torchtitan_eager", "torch": "2.11.0+cu130", )row"
    R"row("gpu": "NVIDIA H100 80GB HBM3", "world": 1, "layers": 6, "seq": 4096, )row"
    R"row("batch": 2, "settings": {"n": 1}, "step_s": 0.2562177073000001, )row"
    R"row("peak_alloc_bytes": 56880258048})row";

constexpr std::string_view kGroupedGemm =
    R"row({"op": "gate_up", "groups": 8, "m_total": 8192, "n": 28672, "k": 4096, )row"
    R"row("dtype": "bf16", "kind": "fwd", "s": 0.00245687468846639, "state": "warm"})row";

constexpr std::string_view kSustainedGemm =
    R"row({"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16", "s": 0.0015582965426974827, )row"
    R"row("tflops": 705.5856171462044, "smi": "1425, 2619, 696.38, 55, )row"
    R"row(0x0000000000000004"})row";

constexpr std::string_view kGemmInBursts =
    R"row({"m": 16384, "n": 3584, "k": 4096, "dtype": "bf16", "data": "random", )row"
    R"row("duty": 0.8, "s": 0.0006646902544590299, "tflops": 723.7, "clock_mhz": 1650, )row"
    R"row("watts": 667.44})row";

constexpr std::string_view kGemmBesideCollectives =
    R"row({"comm": "all_gather", "gemm": "8192x8192x8192", )row"
    R"row("gemm_s": 0.0017073003133138021, "comm_s": 0.00185625732421875, )row"
    R"row("comm_bytes": 536870912, "gemm_total_s": 0.10243801879882812})row";

constexpr std::string_view kAttentionInGraphs =
    R"row({"impl": "flash2", "batch": 1, "seq": 1024, "heads": 8, "kv_heads": 1, )row"
    R"row("d_qk": 128, "d_v": 128, "causal": true, "fwd_s": 2.646799929001752e-05, )row"
    R"row("bwd_s": 9.373746666253784e-05, "fwd_clock_mhz": 1980.0, )row"
    R"row("both_clock_mhz": 1980.0, "gpu": "NVIDIA H200", "R": 40})row";

constexpr std::string_view kAttention =
    R"row({"impl": "flash2", "batch": 1, "seq": 1024, "heads": 32, "kv_heads": 8, )row"
    R"row("d_qk": 128, "d_v": 128, "causal": false, "fwd_s": 6.79360032081604e-05, )row"
    R"row("bwd_s": 0.00028774398565292356})row";

constexpr std::string_view kMemoryBound =
    R"row({"op": "copy", "rows": 1024, "cols": 2048, "bytes": 8388608, )row"
    R"row("s": 3.755276259921846e-06})row";

constexpr std::string_view kCollective =
    R"row({"op": "all_reduce", "ranks": 4, "bytes": 1048576, "dtype": "bf16", )row"
    R"row("s": 5.0895202159881595e-05})row";

constexpr std::string_view kLaunch = R"row({"op": "eager_add", "s": 1.5154266357421875e-05})row";

constexpr std::string_view kNanotronRun =
    R"row(name,nodes,seq_len,mbs,batch_accum,gbs,tok/s/gpu,hTFLOPs,AllReduce (GB/s),)row"
    R"row(AllGather (GB/s),ReduceScatter (GB/s),AR Intra-node (GB/s),AG Intra-node (GB/s),)row"
    R"row(RS Intra-node (GB/s),Mem Alloc (GB),Mem Res (GB),dp,tp,pp,tp_mode,tp_async_comm,)row"
    R"row(hidden_size,interm_dim,num_layers,num_heads,num_kv_heads,vocab_size,)row"
    R"row(tie_word_embeddings,dtype,zero_stage,accumulate_grad_in_fp32,Total Params,)row"
    R"row(status,after_pp_fix)row"
    "\n"
    R"row(1.34G_dp8_tp1_pp1_acc16_mbs2_seq4096_zero0_tpmodeRED_vocab131k,1.0,4096,2,16.0,)row"
    R"row(256.0,40149.94,388.0,425.34,241.26,241.67,423.7,241.59,240.63,25.07,50.18,8,1,1,)row"
    R"row(REDUCE_SCATTER,True,2048,8192,16,32,32.0,131072,True,torch.bfloat16,0,True,)row"
    R"row(1.34G,Success,True)row";

constexpr std::string_view kVTrainRun =
    R"row(# GPUs,global batch,micro batch,hidden size,attention heads,# layers,)row"
    R"row(sequence length,tensor parallelism,data parallelism,pipeline parallelism,)row"
    R"row(iteration time (ms))row"
    "\n"
    R"row(2,16,8,1024,16,24,1024,1,1,2,372.160408)row";

constexpr std::string_view kGemmPoint = R"row(sku,dtype,m,n,k,latency_us,tflops)row"
                                        "\n"
                                        R"row(a100,bfloat16,1024,1024,1024,17.887,120.1)row";

constexpr std::string_view kAttentionPoint =
    R"row(sku,batch,seqlen,heads,kv_heads,head_dim,latency_us,tflops_causal)row"
    "\n"
    R"row(a100,1,1024,12,1,128,60.25,53.5)row";

constexpr std::string_view kNcclPoint = R"row(sku,op,num_gpus,bytes,latency_us,busbw_GBps)row"
                                        "\n"
                                        R"row(a100,all_gather,2,1024,9.08,0.06)row";

constexpr std::string_view kDeepEpPoint =
    R"row(sku,hidden,tokens,topk,experts,sms,dispatch_us,combine_us)row"
    "\n"
    R"row(b200_sxm,2048,1024,8,128,8,186.2,201.2)row";

constexpr std::string_view kAiterAttention =
    R"row(batch,q_heads,kv_heads,seqlen_q,seqlen_kv,hdim,causal,fwd_mi300x,fwd_mi355x,)row"
    R"row(bwd_a16_mi300x,bwd_a16_mi355x,bwd_a32_mi300x,bwd_a32_mi355x)row"
    "\n"
    R"row(1,32,8,1024,1024,128,0,338.07,613.48,344.03,535.63,313.67,519.42)row";

constexpr std::string_view kLibraryKernel =
    R"row(sku,library,version,op,dtype,case,batch,seq,heads_q,heads_kv,head_dim_qk,head_dim_v,)row"
    R"row(causal,groups,M,N,K,latency_us,tflops,note,source)row"
    "\n"
    R"row(MI300X,Primus-Turbo gemm bf16 (hipBLASLt),"2026-04, before tuning",gemm_fwd,bf16,)row"
    R"row(Llama-2-7B,,,,,,,,,4096,12288,4096,670.1,615.33,,)row"
    R"row(AMD-AGI/Primus-Turbo/output/baseline_gemm.csv@221d75f1)row";

constexpr std::string_view kTraceOperator =
    R"row(gpu,source,category,op,B,M,N,K,trans,dtype,input_dims,kernel_us_median,)row"
    R"row(kernel_us_min,count,tflops_per_s,extra)row"
    "\n"
    R"row(AMD Instinct MI300X,)row"
    R"row(tests/traces/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz,GEMM,aten::mm,1,)row"
    R"row(1,1280,1280,NT,bf16,"[[1, 1280], [1280, 1280]]",8.2114,8.1318,2,0.399,)row";

// --- the formats ------------------------------------------------------------------------------

constexpr Syntax kJson = Syntax::kJsonLines;
constexpr Syntax kCsv = Syntax::kCsv;

// Rows of GEMM need their model; one without it is told so by its format.
constexpr auto kFormats = std::to_array<MeasurementFormat>({
    {"training runs", kJson, {"parallel", "measured"}, kTrainingRun, &read_training_run},
    {"measured steps", kJson, {"case", "arch"}, kMeasuredStep, &read_measured_step},
    {"torchtitan steps",
     kJson,
     {"case", "framework", "flavor", "changes", "step_s"},
     kTorchtitanStep,
     &read_torchtitan_step,
     Repeats::kAveraged},
    {"Hugging Face steps",
     kJson,
     {"case", "framework", "settings", "step_s"},
     kHuggingFaceStep,
     &read_hugging_face_step,
     Repeats::kAveraged},
    {"users' reports",
     kJson,
     {"id", "source", "experiment", "options", "measured"},
     kUserReport,
     &read_user_report},
    {"host times", kJson, {"op", "s", "cpu", "torch"}, kHostTime, &read_host_time},
    {"grouped GEMM",
     kJson,
     {"groups", "m_total", "kind", "s", "model"},
     kGroupedGemmOfModel,
     &read_measured_grouped_gemm},
    {"GEMM", kJson, {"m", "n", "k", "kind", "model"}, kGemmOfModel, &read_measured_gemm},
    {"operators with a time", kJson, {"kind", "gpu", "s"}, kTimedOperator, &read_timed_operator},
    {"grouped GEMM",
     kJson,
     {"groups", "m_total", "kind", "s"},
     kGroupedGemm,
     &read_measured_grouped_gemm},
    {"GEMM", kJson, {"m", "n", "k", "kind", "s"}, "", &read_measured_gemm},
    {"sustained GEMM", kJson, {"m", "n", "k", "smi"}, kSustainedGemm, &kSustainedGemmRows},
    {"GEMM in bursts", kJson, {"m", "n", "k", "duty", "data"}, kGemmInBursts, &kGemmInBurstsRows},
    {"GEMM beside collectives",
     kJson,
     {"comm", "gemm", "gemm_s", "comm_s", "comm_bytes"},
     kGemmBesideCollectives,
     &read_gemm_beside_collectives},
    {"attention in graphs",
     kJson,
     {"impl", "fwd_s", "bwd_s", "R"},
     kAttentionInGraphs,
     &kAttentionInGraphsRows},
    {"attention", kJson, {"impl", "fwd_s", "bwd_s"}, kAttention, &kAttentionRows},
    {"memory-bound kernels", kJson, {"op", "rows", "cols", "s"}, kMemoryBound, &kMemoryBoundRows},
    {"collectives", kJson, {"op", "ranks", "bytes", "s"}, kCollective, &kCollectiveRows},
    {"launches", kJson, {"op", "s"}, kLaunch, &read_launch},
    {"nanotron grid",
     kCsv,
     {"tok/s/gpu", "batch_accum", "AllReduce (GB/s)", "after_pp_fix"},
     kNanotronRun,
     &read_nanotron_run},
    {"vTrain runs",
     kCsv,
     {"# GPUs", "global batch", "iteration time (ms)"},
     kVTrainRun,
     &read_vtrain_run},
    {"GEMM points", kCsv, {"sku", "m", "n", "k", "latency_us"}, kGemmPoint, &kGemmPoints},
    {"attention points",
     kCsv,
     {"sku", "seqlen", "heads", "head_dim", "latency_us"},
     kAttentionPoint,
     &kAttentionPoints},
    {"NCCL points",
     kCsv,
     {"sku", "op", "num_gpus", "bytes", "latency_us"},
     kNcclPoint,
     &kNcclPoints},
    {"DeepEP points",
     kCsv,
     {"sku", "sms", "experts", "dispatch_us", "combine_us"},
     kDeepEpPoint,
     &kDeepEpPoints},
    {"aiter attention",
     kCsv,
     {"seqlen_q", "hdim", "fwd_mi300x"},
     kAiterAttention,
     &read_aiter_attention},
    {"kernels of libraries",
     kCsv,
     {"sku", "library", "version", "op", "latency_us"},
     kLibraryKernel,
     &read_library_kernel},
    {"operators of traces",
     kCsv,
     {"gpu", "category", "trans", "input_dims", "kernel_us_median"},
     kTraceOperator,
     &read_trace_operator,
     Repeats::kMerged},
});

// What is missing to the format of which most is there, and the names that it would be read from:
// "; nearest is GEMM points, which also needs sku: is it 'gpu'?"
std::string nearest_format(Syntax syntax, const std::vector<std::string>& names) {
  const auto is_there = [&names](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const MeasurementFormat* nearest = nullptr;
  std::ptrdiff_t most = 1;  // one name alone, as "op" or "gpu", says nothing
  for (const MeasurementFormat& format : kFormats) {
    const auto there = std::ranges::count_if(format.names, is_there);
    if (format.syntax == syntax && there > most) {
      nearest = &format;
      most = there;
    }
  }
  if (nearest == nullptr) {
    return "";
  }
  std::vector<std::string_view> missing;
  std::ranges::copy_if(nearest->names, std::back_inserter(missing),
                       [&](std::string_view name) { return !name.empty() && !is_there(name); });
  std::vector<std::string_view> others;
  std::ranges::copy_if(names, std::back_inserter(others), [nearest](std::string_view name) {
    return std::ranges::find(nearest->names, name) == nearest->names.end();
  });
  return "; nearest is " + std::string(nearest->name) + ", which also needs " + text_list(missing) +
         (others.empty() ? "" : " beside " + text_list(others));
}

}  // namespace

std::span<const MeasurementFormat> measurement_formats() { return kFormats; }

const MeasurementFormat& format_of(Syntax syntax, const std::vector<std::string>& names,
                                   const std::string& file) {
  const auto present = [&names](std::string_view name) {
    return name.empty() || std::ranges::find(names, name) != names.end();
  };
  std::vector<std::string_view> known;  // some have two sets of keys
  for (const MeasurementFormat& format : kFormats) {
    if (format.syntax == syntax && std::ranges::all_of(format.names, present)) {
      return format;
    }
    if (std::ranges::find(known, format.name) == known.end()) {
      known.push_back(format.name);
    }
  }
  throw ConfigError({file, 1, 1},
                    "unknown format: the " + std::string(syntax == kJson ? "keys" : "columns") +
                        " of the first line are those of none of " + text_list(known) +
                        nearest_format(syntax, names) + "; 'stepcast list formats' shows them");
}

}  // namespace stepcast
