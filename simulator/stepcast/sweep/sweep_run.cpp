// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_run.hpp"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/sweep/sweep_part.hpp"

namespace stepcast {
namespace {

class Runner {
 public:
  Runner(const SweepRun& run, ChunkStore& store, const std::stop_token& stop)
      : run_(run), store_(store), stop_(stop), evaluators_(run.evaluator) {
    for (const std::int64_t chunk : chunks_of(run.grid, run.shard)) {
      progress_.plans += run.grid.plans_of(chunk);
      if (store.has(chunk)) {
        progress_.before += run.grid.plans_of(chunk);
      } else {
        missing_.push_back(chunk);
      }
    }
    progress_.done = progress_.before;
  }

  bool run() {
    // Halved down to single chunks, and stolen from the far end: a thread works on neighbours,
    // which share prices.
    WorkerArena(run_.threads).run([this] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, missing_.size(), 1),
          [this](const tbb::blocked_range<std::size_t>& range) {
            for (std::size_t i = range.begin(); i < range.end() && !stop_.stop_requested(); ++i) {
              finish(missing_[i]);
            }
          },
          tbb::simple_partitioner());
    });
    return progress_.done == progress_.plans;
  }

 private:
  void finish(std::int64_t chunk) {
    const std::int64_t plans = run_.grid.plans_of(chunk);
    ChunkResult result = evaluated(evaluators_.local(), run_.grid, chunk);
    const auto priced = std::ssize(result.priced);
    store_.keep(chunk, std::move(result));
    const std::scoped_lock lock(mutex_);
    progress_.done += plans;
    progress_.priced += priced;
    run_.progress(progress_);
  }

  const SweepRun& run_;
  ChunkStore& store_;
  const std::stop_token& stop_;
  tbb::enumerable_thread_specific<EvaluateChunk> evaluators_;
  std::vector<std::int64_t> missing_;
  std::mutex mutex_;  // of the progress
  SweepProgress progress_;
};

class PieceRunner {
 public:
  PieceRunner(const PieceRun& run, PieceFolder& folder, const std::stop_token& stop)
      : run_(run), folder_(folder), stop_(stop) {}

  std::int64_t run() {
    std::vector<std::jthread> threads;
    for (int i = 1; i < run_.threads; ++i) {
      threads.emplace_back([this] { work(); });
    }
    work();
    threads.clear();
    if (fault_) {
      std::rethrow_exception(fault_);
    }
    folder_.remove_leftovers();
    return finished_;
  }

 private:
  // Nothing leaves a thread; the first fault ends all of them.
  void work() {
    try {
      std::optional<EvaluateChunk> evaluate;  // made for the first piece, if there is one
      while (const std::optional<PieceClaim> claim = next()) {
        if (!evaluate) {
          evaluate = run_.evaluator();
        }
        price(*claim, *evaluate);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      failed_ = true;
      fault_ = fault_ ? fault_ : std::current_exception();
    }
  }

  [[nodiscard]] bool stopped() const { return failed_ || stop_.stop_requested(); }

  std::optional<PieceClaim> next() {
    std::optional<PieceClaim> claim;
    if (!stopped()) {
      claim = folder_.claim();
    }
    if (claim) {
      show(*claim);
    }
    return claim;
  }

  void show(const PieceClaim& claim) {
    const std::scoped_lock lock(mutex_);
    progress_.plans = folder_.header(claim.piece).grid.plans;
    const auto share = static_cast<double>(claim.there) / static_cast<double>(folder_.pieces());
    const auto done = static_cast<std::int64_t>(share * static_cast<double>(progress_.plans));
    if (!seen_) {
      progress_.before = done;
      seen_ = true;
    }
    progress_.done = std::max(progress_.done, done);
    run_.progress(progress_);
  }

  void price(const PieceClaim& claim, const EvaluateChunk& evaluate) {
    try {
      if (write_part(claim, evaluate)) {
        folder_.finish(claim);
        ++finished_;
        return;
      }
    } catch (...) {
      folder_.give_back(claim);
      throw;
    }
    folder_.give_back(claim);
  }

  // Whether the part is whole: not if it was stopped.
  bool write_part(const PieceClaim& claim, const EvaluateChunk& evaluate) {
    const PartHeader header = folder_.header(claim.piece);
    SweepPart part(folder_.open_part(claim), header, SweepPart::Existing::kRefuse);
    std::int64_t priced = 0;
    for (const std::int64_t chunk : chunks_of(header.grid, header.shard)) {
      if (stopped()) {
        return false;
      }
      ChunkResult result = evaluated(evaluate, header.grid, chunk);
      priced += std::ssize(result.priced);
      part.keep(chunk, std::move(result));
    }
    part.sync();
    const std::scoped_lock lock(mutex_);
    progress_.priced += priced;
    return true;
  }

  const PieceRun& run_;
  PieceFolder& folder_;
  const std::stop_token& stop_;
  std::atomic<bool> failed_ = false;
  std::atomic<std::int64_t> finished_ = 0;
  std::mutex mutex_;  // of what follows
  std::exception_ptr fault_;
  bool seen_ = false;
  SweepProgress progress_;
};

}  // namespace

ChunkResult evaluated(const EvaluateChunk& evaluate, const ChunkGrid& grid, std::int64_t chunk) {
  ChunkResult result = evaluate(grid.begin(chunk), grid.end(chunk));
  const std::int64_t refused =
      sum_over(result.refused, [](const auto& entry) { return entry.second; });
  STEPCAST_CHECK(std::ssize(result.priced) + result.bounded + refused == grid.plans_of(chunk),
                 "chunk " + std::to_string(chunk) + " does not account for each of its plans");
  return result;
}

bool run_sweep(const SweepRun& run, ChunkStore& store, const std::stop_token& stop) {
  return Runner(run, store, stop).run();
}

int processors() { return tbb::info::default_concurrency(); }

std::int64_t run_pieces(const PieceRun& run, PieceFolder& folder, const std::stop_token& stop) {
  return PieceRunner(run, folder, stop).run();
}

}  // namespace stepcast
