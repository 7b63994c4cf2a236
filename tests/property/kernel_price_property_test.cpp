// SPDX-License-Identifier: Apache-2.0
// What must hold for the price of a kernel, for every backend of kernels on every shipped GPU, at a
// fixed clock. A new backend or profile is picked up here without a change.
#include <cmath>
#include <functional>
#include <sstream>
#include <string>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/draws.hpp"
#include "property/random_ops.hpp"
#include "sample_specs.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast::kernel_price_property_test {
namespace {

using test::RandomOps;

const int kShapes = test::draws(150);  // of each backend on each GPU

// A price to be: what changes between two prices of one operator.
struct Kernel {
  CostModel model;
  ClusterSpec cluster;
  Hertz clock;
  std::int64_t units = 0;
  Op op;

  [[nodiscard]] const DeviceSpec& device() const { return cluster.device; }
  [[nodiscard]] OpCost price(Detail detail = Detail::kDuration) const {
    return model.cost(op, {device(), clock, units, device().launch_latency, detail}, cluster);
  }
  [[nodiscard]] double seconds() const { return price().duration.value(); }
};

std::string text(const Gemm& op) {
  std::ostringstream out;
  out << "gemm m " << op.m << " n " << op.n << " k " << op.k << " batch " << op.batch << " "
      << name(op.dtype) << " pass " << static_cast<int>(op.pass);
  return out.str();
}
std::string text(const GroupedGemm& op) {
  std::ostringstream out;
  out << "grouped gemm groups " << op.groups << " rows " << op.m_total << " n " << op.n << " k "
      << op.k << " " << name(op.dtype) << " pass " << static_cast<int>(op.pass) << " sequential "
      << op.sequential << " counts";
  for (const std::int64_t count : op.counts) {
    out << " " << count;
  }
  return out.str();
}
std::string text(const Attention& op) {
  std::ostringstream out;
  out << "attention batch " << op.batch << " seq " << op.seq_q << "/" << op.seq_kv << " heads "
      << op.heads << "/" << op.kv_heads << " d " << op.d_qk << "/" << op.d_v << " causal "
      << op.causal << " window " << op.window << " " << name(op.dtype) << " " << name(op.kernel)
      << " direction " << static_cast<int>(op.direction);
  return out.str();
}
std::string text(const MemoryBound& op) {
  std::ostringstream out;
  out << name(op.kind) << " " << op.rows << " x " << op.cols << " element " << op.element.value()
      << " " << name(op.implementation) << " direction " << static_cast<int>(op.direction)
      << " resident " << op.resident;
  return out.str();
}
std::string text(const LinearAttention& op) {
  std::ostringstream out;
  out << name(op.rule) << " batch " << op.batch << " seq " << op.seq << " heads " << op.heads << "/"
      << op.qk_heads << " d " << op.d_k << "/" << op.d_v << " chunk " << op.chunk << " direction "
      << static_cast<int>(op.direction);
  return out.str();
}
std::string text(const SparseAttention& op) {
  std::ostringstream out;
  out << "sparse attention batch " << op.batch << " seq " << op.seq_q << "/" << op.seq_kv
      << " heads " << op.heads << " d " << op.d_qk << "/" << op.d_v << " chosen " << op.chosen
      << " of 1/" << op.ratio << " window " << op.window << " direction "
      << static_cast<int>(op.direction);
  return out.str();
}
std::string text(const IndexScores& op) {
  std::ostringstream out;
  out << "index scores batch " << op.batch << " seq " << op.seq_q << "/" << op.seq_kv << " heads "
      << op.heads << " d " << op.d << " chosen " << op.chosen << " of 1/" << op.ratio << " teacher "
      << op.teacher_heads << " direction " << static_cast<int>(op.direction);
  return out.str();
}
std::string text(const Collective& /*op*/) { return "collective"; }
std::string text(const ExpertExchange& /*op*/) { return "exchange"; }
std::string text(const Op& op) {
  return std::visit([](const auto& work) { return text(work); }, op.work);
}

bool prices_kernels(const BackendInfo& backend) { return backend.role != BackendRole::kCollective; }

// Calls `check` with random operators of each backend on each GPU, at random clocks.
void for_each_kernel(const std::function<void(const Kernel&, RandomOps&)>& check) {
  const std::vector<std::string> gpus = names_in(test::data_root().gpus());
  REQUIRE(gpus.size() >= 10);
  for (const std::string& gpu : gpus) {
    const ClusterSpec cluster = cluster_of(test::shipped_gpu(gpu), 1);
    unsigned seed = static_cast<unsigned>(gpu.size());
    for (const BackendInfo& backend : builtin_backends()) {
      if (!prices_kernels(backend)) {
        continue;
      }
      RandomOps random(++seed);
      Kernel kernel{default_cost_model(), cluster, {}, cluster.device.compute_units, {}};
      use_backend(kernel.model, backend);
      for (int i = 0; i < kShapes; ++i) {
        kernel.op = random.op(name(backend.role));
        kernel.clock = random.share(0.25, 1.0) * kernel.device().clock.peak;
        INFO(name(backend.role) << "/" << backend.name << " on " << gpu << " at "
                                << kernel.clock.value() / 1e6 << " MHz: " << text(kernel.op));
        check(kernel, random);
      }
    }
  }
}

TEST_CASE("the price of a kernel is finite and greater than nothing", "[property]") {
  for_each_kernel([](const Kernel& kernel, RandomOps&) {
    const OpCost cost = kernel.price();
    REQUIRE(std::isfinite(cost.duration.value()));
    REQUIRE(cost.duration > Seconds{});
    REQUIRE(std::isfinite(cost.energy.value()));
    REQUIRE(cost.energy >= Joules{});
  });
}

TEST_CASE("the parts of a kernel's price add up to it and none is negative", "[property]") {
  for_each_kernel([](const Kernel& kernel, RandomOps&) {
    const OpCost cost = kernel.price(Detail::kTerms);
    REQUIRE_FALSE(cost.terms.empty());
    Seconds sum;
    for (const CostTerm& term : cost.terms) {
      CAPTURE(term.name);
      REQUIRE(term.duration >= Seconds{});
      sum += term.duration;
    }
    REQUIRE(sum.value() == Approx(cost.duration.value()).epsilon(1e-9).margin(0.0));
  });
}

// Memory-bound kernels may find their operands in a cache.
TEST_CASE("no kernel beats the matrix units and HBM at their peaks", "[property]") {
  for_each_kernel([](const Kernel& kernel, RandomOps&) {
    const auto* memory = std::get_if<MemoryBound>(&kernel.op.work);
    if (memory == nullptr || !memory->resident) {
      REQUIRE(kernel.price().duration >= roofline_bound(kernel.op, kernel.device(), kernel.clock));
    }
  });
}

// `improve` makes the machine better; no price may rise.
void check_never_slower(const std::function<void(Kernel&, double)>& improve) {
  for_each_kernel([&](const Kernel& kernel, RandomOps& random) {
    Kernel better = kernel;
    const double factor = random.one_of({1.01, 1.1, 1.5, 3.0});
    CAPTURE(factor);
    improve(better, factor);
    REQUIRE(better.seconds() <= kernel.seconds() * (1.0 + 1e-12));
  });
}

template <typename Q>
void grow(Q& quantity, double factor) {
  quantity = factor * quantity;
}

TEST_CASE("more compute units at a fixed clock never make a kernel slower", "[property]") {
  check_never_slower([](Kernel& better, double factor) {
    better.units +=
        std::max<std::int64_t>(1, std::llround((factor - 1.0) * static_cast<double>(better.units)));
  });
}

TEST_CASE("more HBM bandwidth at a fixed clock never makes a kernel slower", "[property]") {
  check_never_slower([](Kernel& better, double factor) {
    grow(better.cluster.device.hbm.peak, factor);
    grow(better.cluster.device.hbm.achieved, factor);
    grow(better.cluster.device.kernels.memory.unit_bandwidth, factor);
  });
}

TEST_CASE("more cache bandwidth at a fixed clock never makes a kernel slower", "[property]") {
  check_never_slower([](Kernel& better, double factor) {
    DeviceSpec& device = better.cluster.device;
    grow(device.kernels.gemm.cache_rate, factor);
    grow(device.kernels.gemm.port_rate, factor);
    grow(device.local_memory.bandwidth, factor);
    if (device.l2.bandwidth) {
      grow(*device.l2.bandwidth, factor);
    }
    if (device.mall && device.mall->bandwidth) {
      grow(*device.mall->bandwidth, factor);
    }
  });
}

TEST_CASE("a higher clock never makes a kernel slower", "[property]") {
  check_never_slower([](Kernel& better, double factor) { grow(better.clock, factor); });
}

// One dimension larger; alignment, ratios and rows of a group stay as they are.
Gemm larger(const Gemm& op, RandomOps& random) {
  Gemm grown = op;
  std::int64_t& side = *random.one_of({&grown.m, &grown.n, &grown.k, &grown.batch});
  side = random.larger(side);
  return grown;
}
GroupedGemm larger(const GroupedGemm& op, RandomOps& random) {
  GroupedGemm grown = op;
  const std::int64_t times = random.one_of<std::int64_t>({2, 3, 5});
  if (random.one_of({true, false})) {  // more groups of as many rows
    grown.groups *= times;
    grown.m_total = op.m_total * times;
    for (std::int64_t i = 1; i < times; ++i) {
      grown.counts.insert(grown.counts.end(), op.counts.begin(), op.counts.end());
    }
    return grown;
  }
  const std::int64_t odd = random.one_of<std::int64_t>({3, 5});
  grown.m_total *= odd;
  for (std::int64_t& count : grown.counts) {
    count *= odd;
  }
  return grown;
}
Attention larger(const Attention& op, RandomOps& random) {
  Attention grown = op;
  const std::int64_t odd = random.one_of<std::int64_t>({3, 5});
  switch (random.one_of({0, 1, 2})) {
    case 0:
      grown.seq_q *= odd;
      grown.seq_kv *= odd;
      break;
    case 1:
      grown.heads *= odd;
      grown.kv_heads *= odd;
      break;
    default:
      grown.batch = random.larger(op.batch);
  }
  return grown;
}
MemoryBound larger(const MemoryBound& op, RandomOps& random) {
  MemoryBound grown = op;
  std::int64_t& side = *random.one_of({&grown.rows, &grown.cols});
  side = random.larger(side);
  return grown;
}
LinearAttention larger(const LinearAttention& op, RandomOps& random) {
  LinearAttention grown = op;
  const std::int64_t odd = random.one_of<std::int64_t>({3, 5});
  if (random.one_of({true, false})) {
    grown.heads *= odd;
    grown.qk_heads *= odd;
  } else {
    grown.batch *= odd;
  }
  return grown;
}
SparseAttention larger(const SparseAttention& op, RandomOps& random) {
  SparseAttention grown = op;
  (random.one_of({true, false}) ? grown.heads : grown.batch) *= 3;
  return grown;
}
IndexScores larger(const IndexScores& op, RandomOps& random) {
  IndexScores grown = op;
  (random.one_of({true, false}) ? grown.heads : grown.batch) *= 3;
  return grown;
}
Collective larger(const Collective& op, RandomOps& /*random*/) { return op; }
ExpertExchange larger(const ExpertExchange& op, RandomOps& /*random*/) { return op; }

// Waves are whole and libraries switch kernels, so a little more work may take a little less.
TEST_CASE("a larger shape of equal alignment takes at least 0.9 of the time", "[property]") {
  for_each_kernel([](const Kernel& kernel, RandomOps& random) {
    Kernel grown = kernel;
    grown.op.work =
        std::visit([&](const auto& work) { return OpWork{larger(work, random)}; }, kernel.op.work);
    INFO("larger: " << text(grown.op));
    REQUIRE(grown.seconds() >= 0.9 * kernel.seconds());
  });
}

}  // namespace
}  // namespace stepcast::kernel_price_property_test
