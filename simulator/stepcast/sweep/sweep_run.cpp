// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_run.hpp"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/base/worker_arena.hpp"

namespace stepcast {
namespace {

std::int64_t sum_of(const std::map<std::string, std::int64_t>& refused) {
  std::int64_t sum = 0;
  for (const auto& [reason, plans] : refused) {
    sum += plans;
  }
  return sum;
}

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

}  // namespace

ChunkResult evaluated(const EvaluateChunk& evaluate, const ChunkGrid& grid, std::int64_t chunk) {
  ChunkResult result = evaluate(grid.begin(chunk), grid.end(chunk));
  STEPCAST_CHECK(
      std::ssize(result.priced) + result.bounded + sum_of(result.refused) == grid.plans_of(chunk),
      "chunk " + std::to_string(chunk) + " does not account for each of its plans");
  return result;
}

bool run_sweep(const SweepRun& run, ChunkStore& store, const std::stop_token& stop) {
  return Runner(run, store, stop).run();
}

int processors() { return tbb::info::default_concurrency(); }

}  // namespace stepcast
