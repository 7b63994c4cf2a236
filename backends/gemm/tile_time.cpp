// SPDX-License-Identifier: Apache-2.0
#include "backends/gemm/tile_time.hpp"

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// Every tile and split has a bound that costs a few products to find; few of them need a price.

constexpr std::array kSplits = {1, 2, 3, 4, 6, 8};
constexpr double kLeastSplitElements = 256.0;  // of K in each part
constexpr std::size_t kMostCandidates = kMostTiles * kSplits.size();
// Below 1 by more than rounding, and by less than anybody would notice.
constexpr double kJustBelow = 1.0 - 1e-9;

// What no cluster of a tile and split can go below.
struct Bounds {
  Seconds total;
  Seconds core;
  Seconds reduction;
};

// The equation of gemm_time with the fewest loads that a pair can have, and with products in place
// of quotients. A little low, so that rounding never makes it too high.
class LeastTime {
 public:
  LeastTime(const GemmProblem& problem, const GemmMachine& machine, const TileCounts& counts,
            std::span<const ClusterShape> clusters)
      : shared_(1.0 - 1.0 / longest(clusters)),
        received_share_(machine.receives_whole ? 0.0 : shared_),
        matrix_per_result_(Flops(2.0 * machine.step / machine.element) / machine.rate),
        local_per_row_(machine.step / machine.local_rate),
        port_per_row_(machine.step / machine.port_rate),
        cache_per_row_(machine.step / machine.cache_rate),
        waves_per_group_(kJustBelow / machine.units),
        cycle_(kJustBelow / machine.clock),
        fixed_(kJustBelow * (machine.launch + machine.start_up)),
        memory_(kJustBelow * memory_time(problem, machine)),
        products_(counts.products()),
        prologue_(machine.prologue_each_wave ? 0.0 : machine.prologue_cycles),
        prologue_per_wave_((machine.prologue_each_wave ? machine.prologue_cycles : 0.0) +
                           machine.tile_cycles),
        overlap_(machine.epilogue_overlap) {}

  // Of `tiles` tiles of a product, by the constants of a split.
  struct Split {
    int splits = 1;
    TileCounts::Steps steps;
    Seconds reduction;
    double epilogue_per_result = 0.0;  // cycles
  };
  [[nodiscard]] Bounds of(const MacroTile& tile, double tiles, const Split& split) const {
    const double area = tile.rows * tile.cols;
    const double sides = tile.rows + tile.cols;
    const double longer = std::max(tile.rows, tile.cols);
    const double loaded = sides - shared_ * longer;
    const double received = sides - received_share_ * longer;
    const double step = std::max(std::max(area * matrix_per_result_, sides * local_per_row_),
                                 received * port_per_row_);
    const double split_tiles = tiles * split.splits;
    const double waves = whole(products_ * split_tiles * waves_per_group_);
    const double group_steps = split_tiles * split.steps.sum;
    const double by_units =
        busiest_steps(split.steps, waves, group_steps * waves_per_group_) * step;
    const double by_cache = group_steps * loaded * cache_per_row_;
    const double epilogues = waves - (waves - 1.0) * overlap_;
    const Seconds core = (prologue_ + waves * prologue_per_wave_ + std::max(by_units, by_cache) +
                          epilogues * area * split.epilogue_per_result) *
                         cycle_;
    return {fixed_ + max(core, memory_) + split.reduction, core, split.reduction};
  }

 private:
  // Workgroups of the largest cluster. All share one operand and not the other.
  static double longest(std::span<const ClusterShape> clusters) {
    int most = 1;
    for (const ClusterShape& shape : clusters) {
      most = std::max({most, shape.rows, shape.cols});
    }
    return most;
  }

  double shared_;             // of the longer side, that others of the largest cluster load
  double received_share_;     // the same, of what a unit need not receive
  double matrix_per_result_;  // cycles of a K step
  double local_per_row_;
  double port_per_row_;
  double cache_per_row_;  // on the whole GPU
  double waves_per_group_;
  Seconds cycle_;
  Seconds fixed_;
  Seconds memory_;
  double products_;
  double prologue_;
  double prologue_per_wave_;
  double overlap_;
};

struct TileCandidate {
  const MacroTile* tile;
  int splits;
  Bounds least;
};

// Equal times: where memory takes longer than the rest, the kernel with less of the rest.
bool less(Seconds total, Seconds core, Seconds other_total, Seconds other_core) {
  return total != other_total ? total < other_total : core < other_core;
}
bool faster(const GemmTime& a, const GemmTime& b) { return less(a.total, a.core, b.total, b.core); }

// Whether a candidate can be neither faster nor as fast, however its pairs load.
bool hopeless(const Bounds& least, const GemmTime& best) {
  return least.total > best.total || (least.core > best.core && least.reduction >= best.reduction);
}

// A tile of twice the rows that the product has is as good as the next smaller one, or worse.
bool oversized(double side, double length) { return side >= 2.0 * length && side > 64.0; }

class Search {
 public:
  Search(const GemmProblem& problem, const GemmMachine& machine, const KernelLibrary& library)
      : problem_(problem),
        machine_(machine),
        library_(library),
        counts_(problem, machine),
        least_(problem, machine, counts_, library.clusters) {
    list_splits();
    list_candidates();
  }

  // The candidate that looks best by its bound is priced first: few others are left to price then.
  [[nodiscard]] GemmPick cheapest() const {
    std::size_t chosen = likely_;
    GemmPick best = best_cluster(candidates_[chosen]);
    for (std::size_t i = 0; i < count_; ++i) {
      if (i == likely_ || hopeless(candidates_[i].least, best.time)) {
        continue;
      }
      const GemmPick other = best_cluster(candidates_[i]);
      if (faster(other.time, best.time) || (i < chosen && !faster(best.time, other.time))) {
        best = other;
        chosen = i;
      }
    }
    return best;
  }

 private:
  void list_splits() {
    const bool may_split = library_.splits && problem_.may_split;
    for (const int splits : kSplits) {
      if (splits > 1 && (!may_split || problem_.k < kLeastSplitElements * splits)) {
        break;
      }
      splits_[split_count_++] = {
          splits, counts_.steps(splits),
          splits > 1 ? kJustBelow * reduction_time(problem_, machine_, splits) : Seconds{},
          result_bytes(problem_, splits) / machine_.epilogue_rate};
    }
  }

  // In the order of the library: its tiles, each with its splits. A kernel that has one tile takes
  // it for whatever there is.
  void list_candidates() {
    const double most_groups = 2.0 * machine_.units;
    const bool has_smaller = library_.tiles.size() > 1;
    for (const MacroTile& tile : library_.tiles) {
      if (has_smaller && (oversized(tile.rows, problem_.m) || oversized(tile.cols, problem_.n))) {
        continue;
      }
      const double tiles =
          TileCounts::tiles(counts_.rows(tile), 1) * TileCounts::tiles(counts_.cols(tile), 1);
      const double groups = counts_.products() * tiles;
      for (std::size_t i = 0; i < split_count_; ++i) {
        const int splits = splits_[i].splits;
        if (splits > 1 && groups * (splits - 1) >= most_groups) {
          break;
        }
        candidates_[count_] = {&tile, splits, least_.of(tile, tiles, splits_[i])};
        const Bounds& own = candidates_[count_].least;
        const Bounds& likely = candidates_[likely_].least;
        likely_ = less(own.total, own.core, likely.total, likely.core) ? count_ : likely_;
        ++count_;
      }
    }
  }

  // The cheapest cluster. It saves loads and nothing else, so it is only tried where loads set the
  // pace.
  [[nodiscard]] GemmPick best_cluster(const TileCandidate& candidate) const {
    GemmPick best;
    best.choice = {*candidate.tile, candidate.splits, {}};
    best.time = gemm_time(problem_, machine_, counts_, best.choice);
    const std::size_t shapes = best.time.load_bound ? library_.clusters.size() : 1;
    for (const ClusterShape& cluster : library_.clusters.first(shapes).subspan(1)) {
      const GemmChoice choice{*candidate.tile, candidate.splits, cluster};
      const GemmTime time = gemm_time(problem_, machine_, counts_, choice);
      if (faster(time, best.time)) {
        best = {choice, time};
      }
    }
    return best;
  }

  const GemmProblem& problem_;
  const GemmMachine& machine_;
  const KernelLibrary& library_;
  TileCounts counts_;
  LeastTime least_;
  std::array<LeastTime::Split, kSplits.size()> splits_;
  std::size_t split_count_ = 0;
  std::array<TileCandidate, kMostCandidates> candidates_;  // the first `count_` of them
  std::size_t count_ = 0;
  std::size_t likely_ = 0;  // with the lowest bound
};

// Small clusters first: among equal times, the library takes those.
constexpr std::array<ClusterShape, 5> kClusters = {{{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}}};

std::span<const ClusterShape> shapes_of(Clusters clusters) {
  switch (clusters) {
    case Clusters::kNone:
      return std::span(kClusters).first(1);
    case Clusters::kPairs:
    case Clusters::kMulticastPairs:
      return std::span(kClusters).first(3);
    case Clusters::kMulticastFours:
      return kClusters;
  }
  return std::span(kClusters).first(1);
}

constexpr Bytes kPartial{4.0};

// Groups of the grid, and K steps over all of them.
struct Grid {
  double groups = 0.0;
  double group_steps = 0.0;  // summed over groups
  TileCounts::Steps steps;
};

TileCounts::Side side_of(double length, double side) {
  const double tiles = whole(length / side);
  return {tiles, 2.0 * whole(0.5 * tiles), 4.0 * whole(0.25 * tiles)};
}

Grid grid_of(const TileCounts& counts, const GemmChoice& choice) {
  const TileCounts::Side& rows = counts.rows(choice.tile);
  const TileCounts::Side& cols = counts.cols(choice.tile);
  const TileCounts::Steps steps = counts.steps(choice.splits);
  const double tiles = TileCounts::tiles(rows, choice.cluster.rows) *
                       TileCounts::tiles(cols, choice.cluster.cols) * choice.splits;
  return {counts.products() * tiles, tiles * steps.sum, steps};
}

struct KLoop {
  double cycles = 0.0;
  Bound bound = Bound::kCompute;
};

KLoop k_loop(const Grid& grid, double waves, const GemmMachine& machine, const GemmChoice& choice) {
  const MacroTile& tile = choice.tile;
  const double step_elements = machine.step / machine.element;
  const double matrix = Flops(2.0 * tile.rows * tile.cols * step_elements) / machine.rate;
  const double local = (tile.rows + tile.cols) * machine.step / machine.local_rate;
  const double loaded_rows = tile.rows / choice.cluster.cols + tile.cols / choice.cluster.rows;
  const Bytes loaded = loaded_rows * machine.step;
  const double received = machine.receives_whole ? tile.rows + tile.cols : loaded_rows;
  const double port = received * machine.step / machine.port_rate;
  const double step = std::max({matrix, local, port});
  const double by_units = busiest_steps(grid.steps, waves, grid.group_steps / machine.units) * step;
  const double by_cache = grid.group_steps * loaded / machine.cache_rate;
  if (by_cache > by_units) {
    return {by_cache, Bound::kCache};
  }
  const Bound bound = step == matrix ? Bound::kCompute
                      : step == port ? Bound::kCache
                                     : Bound::kLocalMemory;
  return {by_units, bound};
}

KernelLibrary library_of(const GemmKernels& kernels) {
  KernelLibrary library;
  library.tiles = kernels.tiles;
  library.clusters = shapes_of(kernels.clusters);
  library.receives_whole = kernels.clusters != Clusters::kPairs;
  library.splits = kernels.splits_inner;
  library.overlaps = kernels.overlaps_tiles;
  library.hides_results = kernels.hides_results;
  library.inner_step = kernels.inner_step;
  library.start_up = kernels.start_up;
  return library;
}

}  // namespace

KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype) {
  const GemmLibrary& library = device.architecture.gemm;
  const bool blocks = dtype == Dtype::kFp8Block && library.block_scaled.has_value();
  const bool four_bits = dtype == Dtype::kFp4 && library.four_bits.has_value();
  return library_of(blocks      ? *library.block_scaled
                    : four_bits ? *library.four_bits
                                : library.dense);
}

std::optional<KernelLibrary> dense_library(const DeviceSpec& device, Dtype dtype) {
  const GemmLibrary& library = device.architecture.gemm;
  const bool others = dtype == Dtype::kFp4 && library.four_bits.has_value();
  return others ? std::optional(library_of(library.dense)) : std::nullopt;
}

namespace {

// The kernel for groups of products in a format; none where they run as other products do.
const GroupedKernel* grouped_kernel(const GemmLibrary& library, Dtype dtype) {
  const bool sixteen_bits = dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
  const bool eight_bits = dtype == Dtype::kFp8;
  const auto of = [](const std::optional<GroupedKernel>& kernel) {
    return kernel ? &*kernel : nullptr;
  };
  return sixteen_bits ? of(library.grouped) : eight_bits ? of(library.grouped_8bit) : nullptr;
}

}  // namespace

KernelLibrary grouped_library(const DeviceSpec& device, const GroupedGemm& op, double rows,
                              double cols) {
  KernelLibrary library = kernel_library(device, op.dtype);
  const GroupedKernel* const grouped = grouped_kernel(device.architecture.gemm, op.dtype);
  if (grouped != nullptr && std::min(rows, cols) > grouped->above) {
    library.tiles = std::span(&grouped->tile, 1);
    library.clusters = library.clusters.first(std::min<std::size_t>(3, library.clusters.size()));
    library.cache_share = grouped->cache_share;
    library.loop_rate = grouped->loop_rate;
    if (op.pass == GemmPass::kWgrad) {
      library.loop_rate = grouped->gradient_loop_rate;
      library.tile_cycles = grouped->gradient_cycles;
    }
  }
  return library;
}

// Partial sums are written and read again through the cache.
Seconds reduction_time(const GemmProblem& problem, const GemmMachine& machine, int splits) {
  if (splits == 1) {
    return {};
  }
  const Bytes bytes = problem.m * problem.n * problem.batch * (kPartial * splits + problem.result);
  return machine.split_latency + bytes / (machine.cache_rate * machine.clock);
}

Seconds memory_time(const GemmProblem& problem, const GemmMachine& machine) {
  const Seconds moved = problem.compulsory / machine.hbm_rate;
  return problem.cold ? moved + machine.hbm_latency : moved;
}

double share_of(RowAlignment alignment, const GemmConstants& gemm) {
  switch (alignment) {
    case RowAlignment::kWhole:
      return 1.0;
    case RowAlignment::kPartial:
      return gemm.unaligned_share;
    case RowAlignment::kOdd:
      return gemm.odd_share;
  }
  return 1.0;
}

Bytes result_bytes(const GemmProblem& problem, int splits) {
  return splits > 1 ? kPartial : problem.result;
}

GemmMachine gemm_machine(const GemmProblem& problem, const KernelLibrary& library,
                         const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const GemmConstants& gemm = device.kernels.gemm;
  const FlopsPerCycle peak = device.matrix_rate_of(problem.dtype);
  const std::size_t own = slot(device.multiplied_as(problem.dtype));
  const double efficiency =
      gemm.matrix_efficiency[own].value_or(*gemm.matrix_efficiency[slot(Dtype::kBf16)]);
  GemmMachine machine;
  machine.units = real(context.compute_units);
  machine.clock = context.clock;
  machine.peak_rate = peak;
  machine.rate = library.loop_rate * (peak * efficiency * share_of(problem.alignment, gemm));
  machine.cache_rate = library.loop_rate * (gemm.cache_rate * real(device.compute_units));
  machine.port_rate = library.loop_rate * gemm.port_rate;
  machine.local_rate = library.loop_rate * device.local_memory.bandwidth;
  machine.epilogue_rate = gemm.epilogue_rate;
  const bool hides = library.overlaps && library.hides_results;
  machine.epilogue_overlap = hides ? gemm.epilogue_overlap : 0.0;
  machine.prologue_each_wave = !library.overlaps;
  machine.receives_whole = library.receives_whole;
  machine.element = size_of(problem.dtype);
  // The first products wait for the first step's bytes.
  const Bytes usual = machine.step;
  machine.step = library.inner_step > 0 ? real(library.inner_step) * machine.element : usual;
  machine.prologue_cycles = machine.step / usual * gemm.prologue_cycles;
  machine.tile_cycles = library.tile_cycles;
  machine.hbm_rate = gemm.hbm_share * device.hbm.peak;
  machine.hbm_latency = gemm.hbm_latency;
  machine.split_latency = gemm.split_latency;
  machine.start_up = gemm.start_up + library.start_up;
  machine.launch = context.launch;
  return machine;
}

TileCounts::TileCounts(const GemmProblem& problem, const GemmMachine& machine)
    : inner_bytes_(problem.k * machine.element), step_(machine.step) {
  const bool share_rows = !problem.counts.empty() && !problem.counts_are_inner;
  for (std::size_t i = 0; i < kSides; ++i) {
    const auto side = static_cast<double>(kSideStep * (i + 1));
    cols_[i] = side_of(problem.n, side);
    rows_[i] = share_rows ? Side{} : side_of(problem.m, side);
    for (const std::int64_t count : share_rows ? problem.counts : std::span<const std::int64_t>{}) {
      const Side own = side_of(static_cast<double>(count), side);
      for (std::size_t j = 0; j < own.size(); ++j) {
        rows_[i][j] += own[j];
      }
    }
  }
  if (problem.counts.empty()) {
    products_ = problem.batch;
  } else if (problem.counts_are_inner) {
    unequal_ = true;
    products_ = static_cast<double>(problem.counts.size());
    for (const std::int64_t count : problem.counts) {
      const double steps = whole(static_cast<double>(count) * machine.element / step_);
      inner_.sum += steps;
      inner_.longest = std::max(inner_.longest, steps);
    }
    inner_.mean = inner_.sum / products_;
  }
}

TileCounts::Steps TileCounts::steps(int splits) const {
  if (unequal_) {
    return inner_;
  }
  const double steps = whole(inner_bytes_ / (splits * step_));
  return {products_ * steps, steps, steps};
}

GemmTime gemm_time(const GemmProblem& problem, const GemmMachine& machine, const TileCounts& counts,
                   const GemmChoice& choice) {
  const Grid grid = grid_of(counts, choice);
  GemmTime time;
  if (grid.groups <= 0.0) {
    time.total = machine.launch + machine.start_up;
    time.bound = Bound::kLatency;
    return time;
  }
  const double step_elements = machine.step / machine.element;
  const double waves = whole(grid.groups / machine.units);
  const KLoop loop = k_loop(grid, waves, machine, choice);
  const double area = choice.tile.rows * choice.tile.cols;
  const double epilogue = area * result_bytes(problem, choice.splits) / machine.epilogue_rate;
  const double hidden = (waves - 1.0) * machine.epilogue_overlap *
                        std::min(epilogue, loop.cycles / std::max(1.0, waves));
  time.waves = grid.groups / machine.units;
  time.matrix_cycles = Flops(grid.group_steps * 2.0 * area * step_elements) / machine.peak_rate;
  const double prologues = machine.prologue_each_wave ? waves : 1.0;
  time.prologue =
      (prologues * machine.prologue_cycles + waves * machine.tile_cycles) / machine.clock;
  time.load_bound = loop.bound == Bound::kCache;
  time.k_loop = loop.cycles / machine.clock;
  time.epilogue = (waves * epilogue - hidden) / machine.clock;
  time.core = time.prologue + time.k_loop + time.epilogue;
  const Seconds memory = memory_time(problem, machine);
  time.memory = max(Seconds{}, memory - time.core);
  time.reduction = reduction_time(problem, machine, choice.splits);
  time.total = machine.launch + machine.start_up + max(time.core, memory) + time.reduction;
  const Seconds latency = machine.launch + machine.start_up + time.prologue + time.reduction;
  time.bound = memory > time.core                          ? Bound::kMemory
               : latency > max(time.k_loop, time.epilogue) ? Bound::kLatency
               : time.epilogue > time.k_loop               ? Bound::kCache
                                                           : loop.bound;
  return time;
}

GemmPick cheapest(const GemmProblem& problem, const GemmMachine& machine,
                  const KernelLibrary& library) {
  return Search(problem, machine, library).cheapest();
}

}  // namespace stepcast
