// SPDX-License-Identifier: Apache-2.0
// The parts of a sweep's shards as one: the chunks that a run of the whole would have kept.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "stepcast/sweep/sweep_part.hpp"

namespace stepcast {

class MergedParts : public ChunkReader {
 public:
  // Throws ConfigError with everything that keeps the parts from being the whole of one sweep:
  // files that are no parts, other sweeps, shards given twice or not at all, chunks that are
  // missing.
  explicit MergedParts(const std::vector<std::filesystem::path>& files);

  [[nodiscard]] const PartHeader& header() const { return parts_.front()->header(); }
  [[nodiscard]] const std::vector<std::unique_ptr<SweepPart>>& parts() const { return parts_; }

  [[nodiscard]] bool has(std::int64_t chunk) const override;
  [[nodiscard]] ChunkResult read(std::int64_t chunk) const override;

 private:
  [[nodiscard]] const SweepPart& part_of(std::int64_t chunk) const;

  std::vector<std::unique_ptr<SweepPart>> parts_;  // by the number of their shard
};

}  // namespace stepcast
