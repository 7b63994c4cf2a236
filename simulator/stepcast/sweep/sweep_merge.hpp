// SPDX-License-Identifier: Apache-2.0
// The parts of a sweep's shards as one: the chunks that a run of the whole would have kept, or
// those of them that there are.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sweep/sweep_part.hpp"

namespace stepcast {

// What is to be merged.
struct PartFiles {
  std::vector<std::filesystem::path> files;
  // The folder that tasks fill with them by pieces; empty: none.
  std::filesystem::path pieces;
};

// A folder alone stands for the parts in it. Throws ConfigError if it has none, or is beside
// others.
PartFiles part_files(const std::vector<std::filesystem::path>& named);

// What prices the pieces that are missing in a folder.
std::string fill_command(const std::filesystem::path& pieces);

// "1-3, 7" of rising numbers; of many ranges the first, and how many numbers there are more.
std::string ranges_text(const std::vector<std::int64_t>& numbers);
// Of a sweep of so many plans: "12.5 % of the plans, in parts 1-3, 7 of 40"
std::string missing_text(const MissingParts& missing, std::int64_t plans);

class MergedParts : public ChunkReader {
 public:
  enum class Missing { kRefuse, kAccept };
  // Throws ConfigError with everything that keeps the parts from being the whole of one sweep:
  // files that are no parts, other sweeps, shards given twice and, unless they are accepted, shards
  // not at all and chunks that are missing.
  explicit MergedParts(const PartFiles& parts, Missing missing = Missing::kRefuse);

  [[nodiscard]] const PartHeader& header() const { return parts_.front()->header(); }
  [[nodiscard]] const std::vector<std::unique_ptr<SweepPart>>& parts() const { return parts_; }

  [[nodiscard]] bool has(std::int64_t chunk) const override;
  [[nodiscard]] ChunkResult read(std::int64_t chunk) const override;
  [[nodiscard]] std::optional<MissingParts> missing() const override { return missing_; }

 private:
  // Null if the part of its shard is not there.
  [[nodiscard]] const SweepPart* part_of(std::int64_t chunk) const;
  [[nodiscard]] std::optional<MissingParts> find_missing() const;

  std::vector<std::unique_ptr<SweepPart>> parts_;  // by the number of their shard
  std::vector<const SweepPart*> by_number_;        // null where there is none
  std::optional<MissingParts> missing_;
};

}  // namespace stepcast
