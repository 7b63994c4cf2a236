// SPDX-License-Identifier: Apache-2.0
// How many prices and projections a second, with the default backends and on one core:
//
//   gemm_at_clock     products at a given clock
//   gemm_warm         the same at the clock that the power limit leaves, solved for each
//   attention_at_clock
//   projection        of an experiment that is loaded; load_and_project reads its files too
//
// items_per_second counts prices. Every iteration takes the next of a list of hundreds of different
// shapes, so that nothing but the backend's own reuse is measured. The bar is 100,000 GEMMs a
// second, also warm.
#include <benchmark/benchmark.h>

#include "backends/builtin_backends.hpp"
#include "property/random_ops.hpp"
#include "sample_specs.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/experiment/project.hpp"

namespace {

using namespace stepcast;

struct Weight {
  std::int64_t outputs;
  std::int64_t inputs;
};

// Projections of Llama 8B, 70B and 405B, DeepSeek-V3 and Qwen, whole and divided by tp, and odd
// ones.
constexpr std::array kWeights = {
    Weight{6144, 4096},   Weight{28672, 4096}, Weight{4096, 14336}, Weight{10240, 8192},
    Weight{57344, 8192},  Weight{8192, 28672}, Weight{7168, 8192},  Weight{18432, 16384},
    Weight{13312, 16384}, Weight{1536, 7168},  Weight{24576, 1536}, Weight{576, 7168},
    Weight{32768, 512},   Weight{7168, 2048},  Weight{4608, 3584},  Weight{18944, 3584},
    Weight{128256, 4096}, Weight{256, 7168},   Weight{1000, 3000},  Weight{5120, 5120}};

std::vector<Op> products() {
  std::vector<Op> ops;
  for (const std::int64_t tokens : {1000, 2048, 4096, 8192, 32768}) {
    for (const Weight& w : kWeights) {
      for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp8}) {
        ops.push_back({.work = Gemm{tokens, w.outputs, w.inputs, 1, dtype, GemmPass::kForward}});
        ops.push_back({.work = Gemm{tokens, w.inputs, w.outputs, 1, dtype, GemmPass::kDgrad}});
        ops.push_back({.work = Gemm{w.outputs, w.inputs, tokens, 1, dtype, GemmPass::kWgrad}});
      }
    }
  }
  test::RandomOps random(1);
  constexpr int kRandom = 200;
  for (int i = 0; i < kRandom; ++i) {
    ops.push_back({.work = random.gemm()});
  }
  return ops;
}

std::vector<Op> attentions() {
  std::vector<Op> ops;
  for (const std::int64_t sequence : {1024, 2048, 4096, 8192, 32768}) {
    for (const std::int64_t heads : {4, 8, 32, 64, 128}) {
      for (const std::int64_t head_size : {64, 128, 192}) {
        for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
          ops.push_back({.work = Attention{.batch = 1,
                                           .seq_q = sequence,
                                           .seq_kv = sequence,
                                           .heads = heads,
                                           .kv_heads = heads / 4,
                                           .d_qk = head_size,
                                           .d_v = std::min<std::int64_t>(head_size, 128),
                                           .direction = direction}});
        }
      }
    }
  }
  return ops;
}

// Prices one operator after the other with `price`.
template <typename Price>
void price_all(benchmark::State& state, const std::vector<Op>& ops, const Price& price) {
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(price(ops[next]));
    next = next + 1 == ops.size() ? 0 : next + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

// One GPU with what prices need.
struct Machine {
  explicit Machine(const char* gpu) : cluster(cluster_of(test::shipped_gpu(gpu), 1)) {}

  [[nodiscard]] KernelContext kernel() const {
    const DeviceSpec& device = cluster.device;
    return {device, device.sustained_clock(Dtype::kBf16), device.compute_units,
            device.launch_latency, Detail::kDuration};
  }

  ClusterSpec cluster;
  CostModel cost = default_cost_model();
};

void price_at_clock(benchmark::State& state, const Machine& machine, const std::vector<Op>& ops) {
  const KernelContext kernel = machine.kernel();
  price_all(state, ops,
            [&](const Op& op) { return machine.cost.cost(op, kernel, machine.cluster).duration; });
}

void gemm_at_clock(benchmark::State& state, const char* gpu) {
  price_at_clock(state, Machine(gpu), products());
}

void gemm_warm(benchmark::State& state, const char* gpu) {
  const Machine machine(gpu);
  price_all(state, products(), [&](const Op& op) {
    return price_at({PowerState::kWarm, {}}, op, machine.cost, machine.kernel(), machine.cluster)
        .clock;
  });
}

void attention_at_clock(benchmark::State& state, const char* gpu) {
  price_at_clock(state, Machine(gpu), attentions());
}

std::filesystem::path example(const char* name) {
  return test::data_root().folder / "examples" / name / "experiment.yaml";
}

void projection(benchmark::State& state, const char* name) {
  const Experiment experiment = load_experiment(example(name), {}, test::data_root());
  const CostModel cost = default_cost_model();
  for (auto _ : state) {
    benchmark::DoNotOptimize(project(experiment, cost).time.step);
  }
}

void load_and_project(benchmark::State& state, const char* name) {
  for (auto _ : state) {
    const Experiment experiment = load_experiment(example(name), {}, test::data_root());
    benchmark::DoNotOptimize(project(experiment, default_cost_model()).time.step);
  }
}

BENCHMARK_CAPTURE(gemm_at_clock, mi300x, "mi300x");
BENCHMARK_CAPTURE(gemm_at_clock, h800, "h800");
BENCHMARK_CAPTURE(gemm_warm, mi300x, "mi300x");
BENCHMARK_CAPTURE(gemm_warm, h800, "h800");
BENCHMARK_CAPTURE(attention_at_clock, mi300x, "mi300x");
BENCHMARK_CAPTURE(attention_at_clock, h800, "h800");
BENCHMARK_CAPTURE(projection, llama_70b_64_mi300x, "01_llama3.1_70b_mi300x")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(projection, deepseek_v3_2048_h800, "14_deepseek_v3_h800")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load_and_project, llama_70b_64_mi300x, "01_llama3.1_70b_mi300x")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load_and_project, deepseek_v3_2048_h800, "14_deepseek_v3_h800")
    ->Unit(benchmark::kMicrosecond);

}  // namespace
