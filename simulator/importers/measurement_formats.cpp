// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_formats.hpp"

#include <algorithm>
#include <iterator>

#include "importers/format_examples.hpp"
#include "importers/nanotron_grid.hpp"
#include "importers/row_readers.hpp"

namespace stepcast {
namespace {

constexpr Syntax kJson = Syntax::kJsonLines;
constexpr Syntax kCsv = Syntax::kCsv;

// Rows of GEMM need their model; one without it is told so by its format.
constexpr std::array kFormats = {
    MeasurementFormat{"training runs",
                      kJson,
                      {"parallel", "measured"},
                      format_examples::kTrainingRun,
                      &read_training_run},
    MeasurementFormat{"measured steps",
                      kJson,
                      {"case", "arch"},
                      format_examples::kMeasuredStep,
                      &read_measured_step},
    MeasurementFormat{"host times",
                      kJson,
                      {"op", "s", "cpu", "torch"},
                      format_examples::kHostTime,
                      &read_host_time},
    MeasurementFormat{"grouped GEMM",
                      kJson,
                      {"groups", "m_total", "kind", "s", "model"},
                      format_examples::kGroupedGemmOfModel,
                      &read_measured_grouped_gemm},
    MeasurementFormat{"GEMM",
                      kJson,
                      {"m", "n", "k", "kind", "model"},
                      format_examples::kGemmOfModel,
                      &read_measured_gemm},
    MeasurementFormat{"operators with a time",
                      kJson,
                      {"kind", "gpu", "s"},
                      format_examples::kTimedOperator,
                      &read_timed_operator},
    MeasurementFormat{"grouped GEMM",
                      kJson,
                      {"groups", "m_total", "kind", "s"},
                      format_examples::kGroupedGemm,
                      &read_measured_grouped_gemm},
    MeasurementFormat{"GEMM", kJson, {"m", "n", "k", "kind", "s"}, "", &read_measured_gemm},
    MeasurementFormat{"sustained GEMM",
                      kJson,
                      {"m", "n", "k", "smi"},
                      format_examples::kSustainedGemm,
                      &kSustainedGemmRows},
    MeasurementFormat{"GEMM in bursts",
                      kJson,
                      {"m", "n", "k", "duty", "data"},
                      format_examples::kGemmInBursts,
                      &kGemmInBurstsRows},
    MeasurementFormat{"GEMM beside collectives",
                      kJson,
                      {"comm", "gemm", "gemm_s", "comm_s", "comm_bytes"},
                      format_examples::kGemmBesideCollectives,
                      &read_gemm_beside_collectives},
    MeasurementFormat{"attention in graphs",
                      kJson,
                      {"impl", "fwd_s", "bwd_s", "R"},
                      format_examples::kAttentionInGraphs,
                      &kAttentionInGraphsRows},
    MeasurementFormat{"attention",
                      kJson,
                      {"impl", "fwd_s", "bwd_s"},
                      format_examples::kAttention,
                      &kAttentionRows},
    MeasurementFormat{"memory-bound kernels",
                      kJson,
                      {"op", "rows", "cols", "s"},
                      format_examples::kMemoryBound,
                      &kMemoryBoundRows},
    MeasurementFormat{"collectives",
                      kJson,
                      {"op", "ranks", "bytes", "s"},
                      format_examples::kCollective,
                      &kCollectiveRows},
    MeasurementFormat{"launches", kJson, {"op", "s"}, format_examples::kLaunch, &read_launch},
    MeasurementFormat{"nanotron grid",
                      kCsv,
                      {"tok/s/gpu", "batch_accum", "AllReduce (GB/s)", "after_pp_fix"},
                      format_examples::kNanotronRun,
                      &read_nanotron_run},
    MeasurementFormat{"vTrain runs",
                      kCsv,
                      {"# GPUs", "global batch", "iteration time (ms)"},
                      format_examples::kVTrainRun,
                      &read_vtrain_run},
    MeasurementFormat{"GEMM points",
                      kCsv,
                      {"sku", "m", "n", "k", "latency_us"},
                      format_examples::kGemmPoint,
                      &kGemmPoints},
    MeasurementFormat{"attention points",
                      kCsv,
                      {"sku", "seqlen", "heads", "head_dim", "latency_us"},
                      format_examples::kAttentionPoint,
                      &kAttentionPoints},
    MeasurementFormat{"NCCL points",
                      kCsv,
                      {"sku", "op", "num_gpus", "bytes", "latency_us"},
                      format_examples::kNcclPoint,
                      &kNcclPoints},
    MeasurementFormat{"DeepEP points",
                      kCsv,
                      {"sku", "sms", "experts", "dispatch_us", "combine_us"},
                      format_examples::kDeepEpPoint,
                      &kDeepEpPoints},
    MeasurementFormat{"aiter attention",
                      kCsv,
                      {"seqlen_q", "hdim", "fwd_mi300x"},
                      format_examples::kAiterAttention,
                      &read_aiter_attention},
    MeasurementFormat{"operators of traces",
                      kCsv,
                      {"gpu", "category", "trans", "input_dims", "kernel_us_median"},
                      format_examples::kTraceOperator,
                      &read_trace_operator,
                      Repeats::kMerged},
};

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

// What is missing to the format of which most is there, and the names that it would be read from:
// "; nearest is GEMM points, which also needs sku: is it 'gpu'?"
std::string nearest_format(Syntax syntax, const std::vector<std::string>& names) {
  const auto is_there = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const MeasurementFormat* nearest = nullptr;
  std::ptrdiff_t most = 1;  // one name alone, as "op" or "gpu", says nothing
  for (const MeasurementFormat& format : kFormats) {
    const auto there = std::count_if(format.names.begin(), format.names.end(), is_there);
    if (format.syntax == syntax && there > most) {
      nearest = &format;
      most = there;
    }
  }
  if (nearest == nullptr) {
    return "";
  }
  std::vector<std::string_view> missing;
  std::copy_if(nearest->names.begin(), nearest->names.end(), std::back_inserter(missing),
               [&](std::string_view name) { return !name.empty() && !is_there(name); });
  std::vector<std::string_view> others;
  for (const std::string& name : names) {
    if (std::find(nearest->names.begin(), nearest->names.end(), name) == nearest->names.end()) {
      others.push_back(name);
    }
  }
  return "; nearest is " + std::string(nearest->name) + ", which also needs " + listed(missing) +
         (others.empty() ? "" : " beside " + listed(others));
}

}  // namespace

std::span<const MeasurementFormat> measurement_formats() { return kFormats; }

const MeasurementFormat& format_of(Syntax syntax, const std::vector<std::string>& names,
                                   const std::string& file) {
  const auto present = [&names](std::string_view name) {
    return name.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string_view> known;  // some have two sets of keys
  for (const MeasurementFormat& format : kFormats) {
    if (format.syntax == syntax && std::all_of(format.names.begin(), format.names.end(), present)) {
      return format;
    }
    if (std::find(known.begin(), known.end(), format.name) == known.end()) {
      known.push_back(format.name);
    }
  }
  throw ConfigError({file, 1, 1},
                    "unknown format: the " + std::string(syntax == kJson ? "keys" : "columns") +
                        " of the first line are those of none of " + listed(known) +
                        nearest_format(syntax, names) + "; 'stepcast list formats' shows them");
}

}  // namespace stepcast
