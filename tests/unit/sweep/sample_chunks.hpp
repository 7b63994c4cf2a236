// SPDX-License-Identifier: Apache-2.0
// Sweeps without a simulator: every third plan is refused, and the numbers follow from the index.
#pragma once

#include <filesystem>
#include <string>

#include "stepcast/sweep/sweep_part.hpp"
#include "stepcast/sweep/sweep_run.hpp"
#include "text_file.hpp"

namespace stepcast::test {

// 10 chunks, the last with 1 plan.
inline constexpr ChunkGrid kSmallGrid{901, 100};

inline PlanNumbers numbers_of(std::int64_t plan) {
  const auto x = static_cast<double>(plan);
  PlanNumbers numbers;
  numbers.plan = plan;
  numbers.tokens_per_second_per_gpu = 1000.0 - static_cast<double>(plan % 7);
  numbers.step = Seconds(x + 0.1);
  numbers.model_rate_per_gpu = FlopsPerSecond(x + 0.2);
  numbers.mfu = x / 3.0;
  numbers.peak_memory = Bytes(x * 1e9);
  numbers.clock = Hertz(x + 0.4);
  numbers.power = Watts(x + 0.5);
  numbers.time.compute = Seconds(x + 0.6);
  numbers.time.contention = Seconds(-0.0);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    numbers.time.exposed.at(axis) = Seconds(x + static_cast<double>(axis));
  }
  numbers.time.bubble = Seconds(1e-300);
  numbers.time.optimizer = Seconds(x + 0.8);
  numbers.time.host = Seconds(x + 0.9);
  return numbers;
}

inline ChunkResult result_of(std::int64_t begin, std::int64_t end) {
  ChunkResult result;
  for (std::int64_t plan = begin; plan < end; ++plan) {
    if (plan % 3 == 0) {
      ++result.refused[plan % 2 == 0 ? "does not fit in memory" : "pp does not divide the layers"];
    } else {
      result.priced.push_back(numbers_of(plan));
    }
  }
  return result;
}
inline ChunkResult result_of(const ChunkGrid& grid, std::int64_t chunk) {
  return result_of(grid.begin(chunk), grid.end(chunk));
}

// Bytes are the same where and only where results are, bit for bit.
inline std::string bytes_of(const ChunkReader& chunks, std::int64_t chunk) {
  return encode_frame(chunk, chunks.read(chunk));
}
inline std::string bytes_of(const ChunkGrid& grid, std::int64_t chunk) {
  return encode_frame(chunk, result_of(grid, chunk));
}

inline PartHeader header_of(const ChunkGrid& grid, const Shard& shard = {}) {
  return {"digest", grid, shard, {"sweep.yaml", "folder", "plan: all\n", {"plan.tp=2"}, "0.1"}};
}

inline SweepRun run_of(const ChunkGrid& grid, const Shard& shard = {}, int threads = 1) {
  SweepRun run;
  run.grid = grid;
  run.shard = shard;
  run.threads = threads;
  run.evaluator = [] {
    return [](std::int64_t begin, std::int64_t end) { return result_of(begin, end); };
  };
  return run;
}

// A folder that is gone with the test that made it.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(scratch_path(name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::filesystem::path operator/(const std::string& file) const {
    return path_ / file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace stepcast::test
