// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/generic_part.hpp"

#include <cmath>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/error_model.hpp"
#include "stepcast/experiment/project.hpp"
#include "text_file.hpp"

namespace stepcast::generic_part_test {
namespace {

using test::config_error;
using test::contains_text;

// As a user writes it, with room for other lines.
std::string profile(const std::string& peaks, const std::string& domain = "64") {
  return "name: accelerator\ntitle: An accelerator\nvendor: somebody\n"
         "sources: {SHEET: its data sheet}\n"
         "generic:\n"
         "  like: h100_sxm\n"
         "  peak: " +
         peaks +
         "\n"
         "  memory: {capacity: {value: 192 GB, source: SHEET}, rate: {value: 7.4 TB/s, source: "
         "SHEET}}\n"
         "  scale_up: {rate: {value: 600 GB/s, source: SHEET}, domain_size: {value: " +
         domain +
         ", source: SHEET}}\n"
         "  scale_out: {rate: {value: 100 Gb/s, source: SHEET}}\n"
         "  power_limit: {value: 900 W, assumed: reports}\n"
         "  gpus_per_node: {value: 4, source: SHEET}\n"
         "  efficiency: {matrix: {value: 0.7, assumed: a}, memory: {value: 0.8, assumed: a}, "
         "network: {value: 0.75, assumed: a}}\n";
}

DeviceSpec loaded(const std::string& text) {
  const test::TextFile file("generic_part.yaml", text);
  return load_gpu(file.path().string(), test::data_root(), {"test", 1, 1});
}

DeviceSpec accelerator() {
  return loaded(
      profile("{bf16: {value: 2307 TFLOP/s, source: SHEET}, fp8: {value: 4614 TFLOP/s, source: "
              "SHEET}}"));
}

TEST_CASE("A generic part has the numbers of its data sheet", "[unit]") {
  const DeviceSpec part = accelerator();
  CHECK(part.name == "accelerator");
  // 2307 TFLOP/s over 4096 FLOP/clk x 1830 MHz are 307.8 units of an H100.
  CHECK(part.compute_units == 308);
  CHECK(part.matrix_peak(Dtype::kBf16, part.clock.rated)->value() == Approx(2307e12));
  CHECK(part.matrix_peak(Dtype::kFp8, part.clock.rated)->value() == Approx(4614e12));
  CHECK_FALSE(part.matrix_rate[slot(Dtype::kFp4)]);
  CHECK(part.hbm.capacity.value() == Approx(192e9));
  CHECK(part.hbm.peak.value() == Approx(7.4e12));
  CHECK(part.hbm.achieved.value() == Approx(0.8 * 7.4e12));
  CHECK(part.scale_up.domain_size == 64);
  CHECK(part.scale_up.link_rate.value() == Approx(600e9));
  CHECK(part.scale_up.efficiency == Approx(0.75));
  CHECK(part.scale_out.nic_rate.value() == Approx(12.5e9));
  CHECK(part.power.limit.value() == Approx(900.0));
  CHECK(part.gpus_per_node == 4);
  CHECK(part.distance == PartDistance::kVendor);
  CHECK(part.stand_in == "h100_sxm");
}

TEST_CASE("What a generic part does not state is its model's, scaled and assumed", "[unit]") {
  const DeviceSpec part = accelerator();
  const DeviceSpec h100 = test::shipped_gpu("h100_sxm");
  CHECK(part.vector_rate == h100.vector_rate);
  CHECK(part.l2.capacity.value() == Approx(h100.l2.capacity.value() * 308.0 / 132.0));
  // Rates of collectives by the links, 600 over 450 GB/s, if they follow them at all.
  CHECK(part.collectives.ll.base == h100.collectives.ll.base);
  for (const Provenance& number : part.provenance) {
    const bool stated = number.stated_in.find("generic_part") != std::string::npos;
    CAPTURE(number.key);
    CHECK((stated || number.kind == SourceKind::kAssumed));
  }
}

TEST_CASE("Products at their peak and memory at its rate draw what the limit leaves", "[unit]") {
  const DeviceSpec part = accelerator();
  const PowerConstants& power = part.kernels.power;
  const double products = static_cast<double>(part.compute_units) * part.clock.rated.value() *
                          power.matrix_energy[slot(Dtype::kBf16)]->value();
  const double memory = part.hbm.achieved.value() * power.hbm_energy.value();
  const double left = part.power.limit.value() - part.power.idle.value();
  CHECK(products == Approx(kProductShare * left));
  CHECK(products + memory == Approx(left));
}

TEST_CASE("A large product of a generic part reaches what its profile says", "[unit]") {
  const ClusterSpec cluster = cluster_of(accelerator(), 1);
  Op op;
  op.work = Gemm{16'384, 16'384, 16'384};
  const KernelContext kernel{cluster.device, cluster.device.clock.rated,
                             cluster.device.compute_units, Seconds{}, Detail::kDuration};
  const Seconds time = default_cost_model().cost(op, kernel, cluster).duration;
  const double rate = 2.0 * std::pow(16'384.0, 3) / time.value();
  CHECK(rate == Approx(0.7 * 2307e12).epsilon(0.06));
}

TEST_CASE("A generic part that lacks a number, or is like nothing, is refused at its place",
          "[unit]") {
  const auto problem = [](const std::string& text) { return config_error([&] { loaded(text); }); };
  CHECK_THAT(problem(profile("{fp8: {value: 100 TFLOP/s, source: SHEET}}")),
             contains_text("generic_part.yaml:7:9: error: 'generic.peak' needs bf16"));
  CHECK_THAT(problem(profile("{bf16: 2307 TFLOP/s}")),
             contains_text("has no source; write {value: 2307 TFLOP/s, source: KEY}"));
  CHECK_THAT(problem(profile("{bf16: {value: 1 PFLOP/s, source: SHEET}}", "6")),
             contains_text("'generic.scale_up' has a domain_size of 6, and a node has 4 GPUs"));
  std::string text = profile("{bf16: {value: 1 PFLOP/s, source: SHEET}}");
  text.replace(text.find("h100_sxm"), 8, "h100_sxn");
  CHECK_THAT(problem(text), contains_text("'generic.like' is 'h100_sxn', which is no part; did "
                                          "you mean 'h100_sxm'?"));
}

// `part` as its own numbers and efficiencies make a generic one.
GenericPart generic_of(const DeviceSpec& part) {
  GenericPart generic;
  generic.like = "h100_sxm";
  for (const DtypeInfo& dtype : kDtypes) {
    if (dtype.dtype != Dtype::kFp32) {
      generic.peak[slot(dtype.dtype)] = part.matrix_peak(dtype.dtype, part.clock.rated);
    }
  }
  generic.capacity = part.hbm.capacity;
  generic.memory = part.hbm.peak;
  generic.scale_up = static_cast<double>(part.scale_up.links) * part.scale_up.link_rate;
  generic.domain_size = part.scale_up.domain_size;
  generic.scale_out = part.scale_out.nics_per_gpu * part.scale_out.nic_rate;
  generic.power_limit = part.power.limit;
  generic.gpus_per_node = part.gpus_per_node;
  generic.matrix_efficiency = (part.sustained_clock(Dtype::kBf16) / part.clock.rated) *
                              *part.achieved.gemm[slot(Dtype::kBf16)];
  generic.memory_efficiency = part.hbm.achieved / part.hbm.peak;
  generic.network_efficiency = part.scale_up.efficiency;
  return generic;
}

// ln of the tokens/s of three models on 16, 64 and 256 GPUs over those of the part's own profile.
std::vector<double> carried_errors(const std::vector<std::string>& parts) {
  struct Step {
    std::string model;
    std::int64_t gpus;
    std::vector<Override> overrides;
  };
  const std::vector<Step> steps = {
      {"llama3.1_8b", 16, {"training.global_batch_size=128"}},
      {"llama3.1_70b", 64, {"training.global_batch_size=256", "plan.tp=4"}},
      {"deepseek_v3", 256, {"training.global_batch_size=2048", "plan.ep=8", "plan.pp=8"}}};
  std::vector<double> errors;
  for (const std::string& name : parts) {
    const DeviceSpec part = test::shipped_gpu(name);
    for (const Step& step : steps) {
      std::vector<Override> overrides = step.overrides;
      overrides.insert(overrides.end(), {"model=" + step.model, "cluster.gpu=" + name,
                                         "cluster.gpus=" + std::to_string(step.gpus),
                                         "software=megatron", "training.micro_batch_size=1"});
      const test::TextFile file("generic_step.yaml", "training: {sequence_length: 4096}\n");
      Experiment experiment = load_experiment(file.path(), overrides, test::data_root());
      const CostModel cost = default_cost_model();
      const double own = project(experiment, cost).tokens_per_second_per_gpu;
      experiment.cluster.device = device_of(generic_of(part), test::shipped_gpu("h100_sxm"), {});
      const double generic = project(experiment, cost).tokens_per_second_per_gpu;
      errors.push_back(std::log(generic / own));
    }
  }
  return errors;
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value * value;
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST_CASE("What constants of another part add to an error is what parts that ship show", "[unit]") {
  const ErrorPriors priors;
  const double same = root_mean_square(carried_errors({"h100_sxm", "h200_sxm", "h800"}));
  const double other =
      root_mean_square(carried_errors({"a100_80gb", "b200", "gb300", "mi300x", "mi355x"}));
  CAPTURE(same, other);
  CHECK(same == Approx(priors.same_die).epsilon(0.2));
  CHECK(other == Approx(priors.other_die).epsilon(0.1));
}

}  // namespace
}  // namespace stepcast::generic_part_test
