// SPDX-License-Identifier: Apache-2.0
// The tile model of matrix products on a machine of round numbers: 16 units of 4096 FLOP a clock at
// 1 GHz, so that a cycle is a nanosecond and a K step of a 256 x 128 tile 1024 of them.
#include <cmath>
#include <string>

#include "backends/builtin_backends.hpp"
#include "backends/gemm/tile_time.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::gemm_tile_test {
namespace {

using test::nearly;

constexpr Hertz kClock{1e9};
constexpr double kNs = 1e-9;

// Loads keep up with the products of a 256 x 128 tile exactly, and not with those of smaller ones.
DeviceSpec round_device(const std::string& architecture = "sm80") {
  DeviceSpec device;
  device.architecture = test::shipped_architecture(architecture);
  device.compute_units = 16;
  device.clock.peak = Hertz(2e9);
  device.matrix_rate[slot(Dtype::kBf16)] = FlopsPerCycle(4096);
  device.matrix_rate[slot(Dtype::kFp16)] = FlopsPerCycle(4096);
  device.matrix_rate[slot(Dtype::kFp8)] = FlopsPerCycle(8192);
  device.local_memory.bandwidth = BytesPerCycle(1024);
  device.hbm.peak = BytesPerSecond(1e15);
  GemmConstants& gemm = device.kernels.gemm;
  gemm.matrix_efficiency[slot(Dtype::kBf16)] = 1.0;
  gemm.cache_rate = BytesPerCycle(1024);
  gemm.port_rate = BytesPerCycle(48);
  gemm.prologue_cycles = 1000;
  gemm.epilogue_rate = BytesPerCycle(64);
  gemm.start_up = Seconds(3e-6);
  gemm.split_latency = Seconds(2e-6);
  gemm.unaligned_share = 0.5;
  gemm.odd_share = 0.25;
  return device;
}

KernelContext context(const DeviceSpec& device) {
  return {device, kClock, device.compute_units, Seconds(5e-6), Detail::kTerms};
}

OpCost price(const Gemm& op, const DeviceSpec& device) {
  return make_tile_gemm()->gemm(op, context(device));
}
OpCost price(const GroupedGemm& op, const DeviceSpec& device) {
  return make_tile_gemm()->grouped_gemm(op, context(device));
}
double seconds(const Gemm& op) { return price(op, round_device()).duration.value(); }
double seconds(const GroupedGemm& op) { return price(op, round_device()).duration.value(); }

double term(const OpCost& cost, std::string_view name) {
  for (const CostTerm& part : cost.terms) {
    if (part.name == name) {
      return part.duration.value();
    }
  }
  return -1.0;
}

GemmProblem problem_of(double m, double n, double k) {
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

// With a choice of the test's own.
GemmTime time_of(const GemmProblem& problem, const GemmChoice& choice,
                 const DeviceSpec& device = round_device()) {
  const GemmMachine machine =
      gemm_machine(problem, kernel_library(device, problem.dtype), context(device));
  return gemm_time(problem, machine, TileCounts(problem, machine), choice);
}
constexpr GemmChoice kLargeTile{{256, 128}, 1, {}};
constexpr ClusterShape kRowPair{2, 1};

TEST_CASE("a product of one wave is launch, start, prologue, K steps and epilogue", "[unit]") {
  // 4 x 4 tiles; 4096 values of K are 64 steps of 128 bytes; 64 KiB of results a tile at 64 B.
  const OpCost cost = price(Gemm{1024, 512, 4096}, round_device());
  CHECK(term(cost, "launch") == nearly(5e-6));
  CHECK(term(cost, "start_up") == nearly(3e-6));
  CHECK(term(cost, "prologue") == nearly(1000 * kNs));
  CHECK(term(cost, "k_loop") == nearly(64 * 1024 * kNs));
  CHECK(term(cost, "epilogue") == nearly(1024 * kNs));
  CHECK(term(cost, "memory") == 0.0);
  CHECK(term(cost, "split_reduction") == 0.0);
  CHECK(cost.duration.value() == nearly(8e-6 + (1000 + 64 * 1024 + 1024) * kNs));
  CHECK(cost.bound == Bound::kCompute);
}

TEST_CASE("the tiling of a price is its tile, splits, cluster and waves", "[unit]") {
  const OpCost cost = price(Gemm{1024, 512, 4096}, round_device());
  CHECK(cost.tiling.rows * cost.tiling.cols == 256 * 128);
  CHECK(cost.tiling.splits == 1);
  CHECK(cost.tiling.cluster == 1);
  CHECK(cost.tiling.waves == 1.0);
}

TEST_CASE("one tile more than a wave costs a second wave", "[unit]") {
  const GemmTime one = time_of(problem_of(1024, 512, 4096), kLargeTile);
  const GemmTime two = time_of(problem_of(1025, 512, 4096), kLargeTile);
  CHECK(two.waves == 20.0 / 16.0);
  CHECK((two.total - one.total).value() == Approx((64 * 1024 + 1024) * kNs).epsilon(1e-9));
  const GemmTime full = time_of(problem_of(2048, 512, 4096), kLargeTile);
  CHECK(full.total == two.total);
}

TEST_CASE("the next tile's K loop hides a share of an epilogue", "[unit]") {
  DeviceSpec device = round_device();
  device.kernels.gemm.epilogue_overlap = 0.25;
  const GemmTime time = time_of(problem_of(2048, 512, 4096), kLargeTile, device);
  CHECK(time.epilogue.value() == nearly((2.0 - 0.25) * 1024 * kNs));
}

TEST_CASE("adding to fp32 results takes four times the epilogue of writing 16 bits", "[unit]") {
  Gemm op{1024, 512, 4096};
  op.accumulate = true;
  op.result = Bytes(4);
  // 128 KiB a tile, read and written, at 64 B.
  CHECK(term(price(op, round_device()), "epilogue") == nearly(4 * 1024 * kNs));
}

TEST_CASE("small tiles are bound by what a unit can load", "[unit]") {
  // 64 + 64 rows of 128 bytes at 48 B a clock, against 128 cycles of products.
  const GemmTime time = time_of(problem_of(64, 64, 4096), {{64, 64}, 1, {}});
  CHECK(time.k_loop.value() == nearly(64 * 128 * 128 / 48.0 * kNs));
  CHECK(time.load_bound);
}

TEST_CASE("a pair that multiplies with what either holds receives one operand halved", "[unit]") {
  const DeviceSpec device = round_device("sm100");
  // Pairs along the rows share the columns: 64 + 32 rows instead of 64 + 64.
  const GemmTime pair = time_of(problem_of(128, 64, 4096), {{64, 64}, 1, kRowPair}, device);
  CHECK(pair.k_loop.value() == nearly(64 * 96 * 128 / 48.0 * kNs));
  // An odd number of tiles is filled up to whole pairs.
  const GemmTime odd = time_of(problem_of(64, 64, 4096), {{64, 64}, 1, kRowPair}, device);
  CHECK(odd.waves == pair.waves);
  // The cheapest choice takes pairs where units wait for what they load.
  CHECK(price(Gemm{1024, 512, 4096}, device).tiling.cluster == 1);
  DeviceSpec narrow = device;
  narrow.kernels.gemm.port_rate = BytesPerCycle(32);
  CHECK(price(Gemm{1024, 512, 4096}, narrow).tiling.cluster == 2);
}

TEST_CASE("the cache sends an operand of a cluster once, and each unit receives it", "[unit]") {
  DeviceSpec device = round_device("sm90");
  const GemmProblem problem = problem_of(256, 64, 4096);
  const ClusterShape four{4, 1};
  const GemmTime wide = time_of(problem, {{64, 64}, 1, four}, device);
  CHECK(wide.k_loop == time_of(problem, {{64, 64}, 1, {}}, device).k_loop);
  CHECK(wide.k_loop.value() == nearly(64 * 128 * 128 / 48.0 * kNs));
  // 4 tiles load 64 rows each and a quarter of 64 columns, at 16 x 4 B a clock of the whole GPU.
  device.kernels.gemm.cache_rate = BytesPerCycle(4);
  const GemmTime narrow = time_of(problem, {{64, 64}, 1, four}, device);
  CHECK(narrow.k_loop.value() == nearly(4 * 64 * (64 + 16) * 128 / 64.0 * kNs));
  CHECK(price(Gemm{1024, 512, 4096}, device).tiling.cluster == 4);
}

TEST_CASE("a product with little arithmetic takes what HBM takes", "[unit]") {
  DeviceSpec device = round_device();
  device.hbm.peak = BytesPerSecond(1e11);
  device.kernels.gemm.hbm_share = 0.5;
  device.kernels.gemm.hbm_latency = Seconds(2e-6);
  const OpCost cost = price(Gemm{4096, 4096, 64}, device);
  const double bytes = 2.0 * (2 * 4096 * 64 + 4096.0 * 4096);
  CHECK(cost.duration.value() == nearly(8e-6 + bytes / 0.5e11 + 2e-6));
  CHECK(cost.bound == Bound::kMemory);
}

TEST_CASE("operands that the cache holds do not come from HBM", "[unit]") {
  // 256 x 128 results of 2 bytes over K of 4096: 2 MiB and 1 MiB of operands, 64 KiB out.
  DeviceSpec device = round_device();
  device.hbm.peak = BytesPerSecond(1e9);
  device.kernels.gemm.hbm_share = 1.0;
  device.kernels.gemm.hbm_latency = Seconds(1.0);
  KernelContext half = context(device);
  const Gemm op{256, 128, 4096};
  const double bytes = 2.0 * (256 * 4096 + 4096 * 128 + 256 * 128);
  const double around = 8e-6;  // launch and start
  CHECK(price(op, device).duration.value() == nearly(around + 1.0 + bytes * kNs));
  half.cached = Bytes(2.0 * 4096 * 128);
  CHECK(make_tile_gemm()->gemm(op, half).duration.value() ==
        nearly(around + 1.0 + (bytes - 2.0 * 4096 * 128) * kNs));
  half.cached = Bytes(1e9);  // all of them: nothing is waited for
  CHECK(make_tile_gemm()->gemm(op, half).duration.value() < 1e-3);
}

TEST_CASE("a tiny result over a long K is split and a full grid is not", "[unit]") {
  const OpCost tiny = price(Gemm{256, 256, 65536}, round_device());
  CHECK(tiny.tiling.splits > 1);
  CHECK(tiny.duration < time_of(problem_of(256, 256, 65536), kLargeTile).total);
  CHECK(price(Gemm{1024, 512, 65536}, round_device()).tiling.splits == 1);
}

TEST_CASE("a split K loop adds the reduction of its partial sums", "[unit]") {
  const GemmTime time = time_of(problem_of(256, 256, 65536), {{256, 128}, 8, {}});
  CHECK(time.waves == 1.0);
  CHECK(time.k_loop.value() == nearly(1024 / 8 * 1024 * kNs));
  CHECK(time.epilogue.value() == nearly(2 * 1024 * kNs));  // of 32 bits
  // Eight sums of 4 bytes read, one result of 2 written, at 16 x 1024 B a cycle.
  CHECK(time.reduction.value() == nearly(2e-6 + 256 * 256 * (8 * 4 + 2) / 16384.0 * kNs));
}

TEST_CASE("rows that are no multiple of 16 bytes slow the products down", "[unit]") {
  Gemm op{1024, 512, 10944, 1, Dtype::kFp16};
  const double aligned = term(price(op, round_device()), "k_loop");
  op.k = 10922;  // as many steps
  CHECK(term(price(op, round_device()), "k_loop") == nearly(aligned / 0.5));
  // In a weight gradient K is no contiguous side.
  op.pass = GemmPass::kWgrad;
  CHECK(term(price(op, round_device()), "k_loop") == nearly(aligned));
}

TEST_CASE("rows of an odd number of 16-bit values are slower still", "[unit]") {
  Gemm op{1024, 512, 10944, 1, Dtype::kFp16};
  const double aligned = term(price(op, round_device()), "k_loop");
  op.k = 10943;  // as many steps
  CHECK(term(price(op, round_device()), "k_loop") == nearly(aligned / 0.25));
  // A head of an odd number of words: its forward product writes such rows, a gradient reads them.
  Gemm head{1024, 1023, 4096, 1, Dtype::kFp16, GemmPass::kForward};
  Gemm padded = head;
  padded.n = 1024;  // as many tiles
  CHECK(term(price(head, round_device()), "k_loop") ==
        nearly(term(price(padded, round_device()), "k_loop")));
  head.pass = padded.pass = GemmPass::kWgrad;
  CHECK(term(price(head, round_device()), "k_loop") ==
        nearly(term(price(padded, round_device()), "k_loop") / 0.25));
}

TEST_CASE("fp8 halves the K loop", "[unit]") {
  Gemm op{1024, 512, 4096};
  const double bf16 = term(price(op, round_device()), "k_loop");
  op.dtype = Dtype::kFp8;
  CHECK(term(price(op, round_device()), "k_loop") == nearly(0.5 * bf16));
}

TEST_CASE("a format that the part lacks runs at the rate of bf16", "[unit]") {
  Gemm op{1024, 512, 4096};
  op.dtype = Dtype::kFp4;  // a quarter of the bytes and of the steps, each four times as long
  CHECK(term(price(op, round_device()), "k_loop") ==
        nearly(term(price(Gemm{1024, 512, 4096}, round_device()), "k_loop")));
}

TEST_CASE("the energy is that of the matrix cycles of whole tiles and of HBM's bytes", "[unit]") {
  DeviceSpec device = round_device();
  device.kernels.power.reference_clock = kClock;
  device.kernels.power.matrix_energy[slot(Dtype::kBf16)] = Joules(2e-9);
  device.kernels.power.hbm_energy = Joules(1e-10);
  const double bytes = 2.0 * (1024 * 4096 + 512 * 4096 + 1024 * 512);
  CHECK(price(Gemm{1024, 512, 4096}, device).energy.value() ==
        nearly(16 * 64 * 1024 * 2e-9 + bytes * 1e-10));
}

TEST_CASE("equal counts cost what counts left out cost", "[unit]") {
  for (const GemmPass pass : {GemmPass::kForward, GemmPass::kDgrad, GemmPass::kWgrad}) {
    for (const std::int64_t rows : {16, 256, 4096}) {
      GroupedGemm op{.groups = 4, .m_total = 4 * rows, .n = 512, .k = 4096, .pass = pass};
      const double left_out = seconds(op);
      op.counts = {rows, rows, rows, rows};
      CHECK(seconds(op) == nearly(left_out));
    }
  }
}

TEST_CASE("a grouped product is not split", "[unit]") {
  CHECK(price(Gemm{32, 64, 65536}, round_device()).tiling.splits > 1);
  const GroupedGemm one{.groups = 1, .m_total = 32, .n = 64, .k = 65536};
  CHECK(price(one, round_device()).tiling.splits == 1);
}

TEST_CASE("a grouped product on Hopper has one tile, whatever it fills of it", "[unit]") {
  const DeviceSpec device = round_device("sm90");
  for (const std::int64_t width : {320, 384, 512, 2880}) {
    const OpCost cost =
        price(GroupedGemm{.groups = 2, .m_total = 4096, .n = width, .k = 1024}, device);
    CHECK(cost.tiling.rows == 128);
    CHECK(cost.tiling.cols == 256);
  }
  // Its last columns of tiles take as long half empty as full.
  const GroupedGemm half{.groups = 2, .m_total = 4096, .n = 384, .k = 1024};
  const GroupedGemm full{.groups = 2, .m_total = 4096, .n = 512, .k = 1024};
  CHECK(term(price(half, device), "k_loop") == nearly(term(price(full, device), "k_loop")));
}

// Rows of 16 and of 100 fill parts of the one tile of 256 rows, and take as long as one that is
// full.
TEST_CASE("a grouped product on CDNA 3 takes its one tile for a few rows too", "[unit]") {
  const DeviceSpec device = test::shipped_gpu("mi300x");
  const auto time = [&](std::int64_t rows) {
    return price(GroupedGemm{.groups = 32, .m_total = 32 * rows, .n = 4096, .k = 7168}, device)
        .duration.value();
  };
  CHECK(time(16) > 0.0);
  CHECK(time(16) <= time(100));
  CHECK(time(100) == Approx(time(256)).epsilon(0.25));
}

TEST_CASE("a grouped product on Hopper reads rows again that the cache does not hold", "[unit]") {
  // 16 tiles of rows fill the 16 units; of two columns of tiles the second reads all rows again.
  DeviceSpec device = round_device("sm90");
  device.kernels.power.reference_clock = kClock;
  device.kernels.power.hbm_energy = Joules(1.0);
  const GroupedGemm op{.groups = 2, .m_total = 4096, .n = 512, .k = 1024};
  const double without_cache = price(op, device).energy.value();
  device.l2.capacity = Bytes(1e9);
  const double once = price(op, device).energy.value();
  CHECK(once == nearly(2.0 * (4096.0 * 1024 + 2 * 512 * 1024 + 4096.0 * 512)));
  CHECK(without_cache - once == nearly(2.0 * 4096 * 1024));
}

// 64 tiles of 128 x 256 on 16 units are four waves.
TEST_CASE(
    "a kernel of groups may keep a share of the rates, and start each tile of a gradient late",
    "[unit]") {
  DeviceSpec device = round_device("sm90");
  GroupedGemm op{.groups = 2, .m_total = 4096, .n = 1024, .k = 2048};
  const OpCost whole = price(op, device);
  device.architecture.gemm.grouped->loop_rate = 0.5;
  CHECK(term(price(op, device), "k_loop") == nearly(2.0 * term(whole, "k_loop")));
  op.pass = GemmPass::kWgrad;
  const OpCost gradient = price(op, device);
  device.architecture.gemm.grouped->gradient_cycles = 1e6;
  const double waves = std::ceil(gradient.tiling.waves);
  CHECK(term(price(op, device), "prologue") - term(gradient, "prologue") ==
        nearly(waves * 1e6 / kClock.value()));
  op.dtype = Dtype::kFp8;  // has no kernel of its own here
  CHECK(term(price(op, device), "prologue") == nearly(term(gradient, "prologue")));
}

TEST_CASE("of tiles that all wait for HBM the one with the least to do is taken", "[unit]") {
  DeviceSpec device = round_device();
  device.hbm.peak = BytesPerSecond(1e9);
  // One row of tiles in each case: wider ones compute on rows that are not there.
  const OpCost cost = price(Gemm{32, 512, 4096}, device);
  CHECK(cost.bound == Bound::kMemory);
  CHECK(cost.tiling.rows == 32);
}

TEST_CASE("pairs along columns are found where pairs along rows would stand half empty", "[unit]") {
  // A single row of tiles: pairs along rows would compute a second one.
  DeviceSpec device = round_device("sm100");
  device.kernels.gemm.port_rate = BytesPerCycle(24);
  const GemmProblem problem = problem_of(64, 4096, 8192);
  const Seconds alone = time_of(problem, {{64, 256}, 1, {}}, device).total;
  const Seconds columns = time_of(problem, {{64, 256}, 1, {1, 2}}, device).total;
  CHECK(columns < alone);
  CHECK(price(Gemm{64, 4096, 8192}, device).duration <= columns);
}

TEST_CASE("unequal counts cost more than equal ones and less than one kernel a group", "[unit]") {
  for (const GemmPass pass : {GemmPass::kForward, GemmPass::kWgrad}) {
    GroupedGemm op{.groups = 4, .m_total = 4096, .n = 512, .k = 2048, .pass = pass};
    const double equal = seconds(op);
    op.counts = {200, 2600, 900, 396};
    const double unequal = seconds(op);
    CHECK(unequal >= equal);
    op.sequential = true;
    CHECK(unequal < seconds(op));
  }
}

TEST_CASE("an expert without rows costs nothing forward", "[unit]") {
  const GroupedGemm two{.groups = 2, .m_total = 1024, .n = 512, .k = 4096, .counts = {512, 512}};
  const GroupedGemm four{
      .groups = 4, .m_total = 1024, .n = 512, .k = 4096, .counts = {512, 0, 512, 0}};
  CHECK(seconds(four) == nearly(seconds(two)));
}

TEST_CASE("one kernel an expert costs the sum of the single products", "[unit]") {
  GroupedGemm op{.groups = 3,
                 .m_total = 1300,
                 .n = 512,
                 .k = 2048,
                 .sequential = true,
                 .counts = {1000, 0, 300}};
  CHECK(seconds(op) == nearly(seconds(Gemm{1000, 512, 2048}) + seconds(Gemm{300, 512, 2048})));
  op.counts.clear();
  op.m_total = 1200;
  CHECK(seconds(op) == nearly(3.0 * seconds(Gemm{400, 512, 2048})));
  op.pass = GemmPass::kWgrad;
  const Gemm one{512, 2048, 400, 1, Dtype::kBf16, GemmPass::kWgrad};
  CHECK(seconds(op) == nearly(3.0 * seconds(one)));
}

struct LibraryLimit {
  std::string architecture;
  double accumulators;
  bool powers_of_two;
  std::size_t clusters;  // shapes of them, one workgroup alone among them
};

TEST_CASE("no tile of a library needs more accumulators than its part holds", "[unit]") {
  const auto limit = GENERATE(values<LibraryLimit>({{"gfx942", 65'536, false, 1},
                                                    {"gfx950", 65'536, false, 1},
                                                    {"sm80", 32'768, true, 1},
                                                    {"sm90", 40'960, false, 5},
                                                    {"sm100", 32'768, false, 3}}));
  CAPTURE(limit.architecture);
  const DeviceSpec device = round_device(limit.architecture);
  const KernelLibrary library = kernel_library(device, Dtype::kBf16);
  CHECK(library.clusters.size() == limit.clusters);
  REQUIRE(library.tiles.size() > 5);
  CHECK(library.tiles.size() <= kMostTiles);
  double area = limit.accumulators;  // largest first
  for (const MacroTile& tile : library.tiles) {
    CHECK(tile.rows * tile.cols <= area);
    area = tile.rows * tile.cols;
    const auto power = [](double side) {
      const auto whole = static_cast<std::int64_t>(side);
      return (whole & (whole - 1)) == 0;
    };
    for (const double side : {tile.rows, tile.cols}) {
      CHECK(static_cast<std::size_t>(side) % kSideStep == 0);
      CHECK(static_cast<std::size_t>(side) <= kLongestSide);
    }
    CHECK((!limit.powers_of_two || (power(tile.rows) && power(tile.cols))));
  }
}

// A step holds 768 of K, three times the bytes of the usual one; results hide behind nothing. The
// start of 5 us for the launch, 3 us for the device and 2 us for these kernels.
TEST_CASE("products in 4 bits of Blackwell Ultra run whole steps of 768", "[case]") {
  DeviceSpec ultra = round_device("sm100");
  ultra.architecture = test::shipped_gpu("b300").architecture;
  ultra.matrix_rate[slot(Dtype::kFp4)] = FlopsPerCycle(24576);
  ultra.kernels.gemm.epilogue_overlap = 0.5;
  const auto of = [&](std::int64_t k, bool picks) {
    KernelContext context{ultra, kClock, ultra.compute_units, Seconds(5e-6), Detail::kTerms};
    context.picks_kernel = picks;
    return make_tile_gemm()->gemm({8192, 8192, k, 1, Dtype::kFp4}, context);
  };
  CHECK(of(64, false).duration == of(768, false).duration);
  CHECK(of(800, false).duration > of(768, false).duration);
  CHECK(of(1536, false).duration == of(800, false).duration);
  CHECK(term(of(768, false), "prologue") == nearly(3000 * kNs));
  CHECK(term(of(768, false), "start_up") == nearly(5000 * kNs));
  // The dense kernels hold 256 of K in a step and hide a half of what they write.
  CHECK(of(256, true).duration < of(256, false).duration);
  CHECK(term(of(256, true), "start_up") == nearly(3000 * kNs));
  CHECK(of(32768, true).duration <= of(32768, false).duration);
  // Groups of products have the same choice.
  const auto groups = [&](bool picks) {
    KernelContext context{ultra, kClock, ultra.compute_units, Seconds(5e-6), Detail::kTerms};
    context.picks_kernel = picks;
    return make_tile_gemm()->grouped_gemm({8, 8192, 1024, 256, Dtype::kFp4}, context);
  };
  CHECK(groups(true).duration < groups(false).duration);
}

}  // namespace
}  // namespace stepcast::gemm_tile_test
