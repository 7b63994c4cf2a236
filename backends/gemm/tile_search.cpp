// SPDX-License-Identifier: Apache-2.0
// Every tile and split has a bound that costs a few products to find; few of them need a price.
#include "backends/gemm/tile_search.hpp"

namespace stepcast {
namespace {

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
        prologue_per_wave_(machine.prologue_each_wave ? machine.prologue_cycles : 0.0),
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

  // In the order of the library: its tiles, each with its splits.
  void list_candidates() {
    const double most_groups = 2.0 * machine_.units;
    for (const MacroTile& tile : library_.tiles) {
      if (oversized(tile.rows, problem_.m) || oversized(tile.cols, problem_.n)) {
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

}  // namespace

GemmPick cheapest(const GemmProblem& problem, const GemmMachine& machine,
                  const KernelLibrary& library) {
  return Search(problem, machine, library).cheapest();
}

}  // namespace stepcast
