// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_merge.hpp"

#include <algorithm>
#include <string>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

using Parts = std::vector<std::unique_ptr<SweepPart>>;

Location place(const SweepPart& part) { return {part.file().string(), 0, 0}; }

Parts open_parts(const std::vector<std::filesystem::path>& files, Diagnostics& diagnostics) {
  Parts parts;
  for (const std::filesystem::path& file : files) {
    try {
      parts.push_back(std::make_unique<SweepPart>(file));
    } catch (const ConfigError& error) {
      for (const Diagnostic& problem : error.diagnostics()) {
        diagnostics.error(problem.where, problem.message);
      }
    }
  }
  return parts;
}

void check_same_sweep(const Parts& parts, Diagnostics& diagnostics) {
  const SweepPart& first = *parts.front();
  for (const auto& part : parts) {
    const PartHeader& header = part->header();
    if (header.digest != first.header().digest || header.grid != first.header().grid) {
      diagnostics.error(place(*part),
                        "a part of another sweep than " + first.file().string() +
                            ", or of other profiles or another version of the program");
    } else if (header.top != first.header().top) {
      diagnostics.error(place(*part), "made with another --top than " + first.file().string() +
                                          "; merge shards that were asked for the same");
    } else if (header.shard.of != first.header().shard.of) {
      diagnostics.error(place(*part), "shard " + to_text(header.shard) + ", but " +
                                          first.file().string() + " is shard " +
                                          to_text(first.header().shard) +
                                          "; merge shards of one division");
    }
  }
}

void check_not_twice(const Parts& sorted, Diagnostics& diagnostics) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->header().shard == sorted[i - 1]->header().shard) {
      diagnostics.error(place(*sorted[i]), "shard " + to_text(sorted[i]->header().shard) + ", as " +
                                               sorted[i - 1]->file().string() +
                                               " is; give each shard once");
    }
  }
}

// At most the first few of many.
void check_none_missing(const Parts& sorted, Diagnostics& diagnostics) {
  constexpr int kNamed = 10;
  const std::int64_t shards = sorted.front()->header().shard.of;
  std::string names;
  std::int64_t missing = 0;
  auto next = sorted.begin();
  for (std::int64_t number = 1; number <= shards; ++number) {
    while (next != sorted.end() && (*next)->header().shard.number < number) {
      ++next;
    }
    if (next != sorted.end() && (*next)->header().shard.number == number) {
      continue;
    }
    if (++missing <= kNamed) {
      names += (missing > 1 ? ", " : "") + to_text(Shard{number, shards});
    }
  }
  if (missing > 0) {
    const std::string more =
        missing > kNamed ? " and " + std::to_string(missing - kNamed) + " more" : "";
    diagnostics.error({"merge", 0, 0},
                      (missing == 1 ? "no part of the shard " : "no parts of the shards ") + names +
                          more + "; give these as well");
  }
}

void check_complete(const Parts& parts, Diagnostics& diagnostics) {
  for (const auto& part : parts) {
    if (const std::int64_t missing = part->missing_chunks(); missing > 0) {
      diagnostics.error(place(*part), std::to_string(missing) + " of " +
                                          std::to_string(missing + part->table().chunks()) +
                                          " chunks are missing; run its sweep again with --shard " +
                                          to_text(part->header().shard) + " --resume");
    }
  }
}

}  // namespace

MergedParts::MergedParts(const std::vector<std::filesystem::path>& files) {
  Diagnostics diagnostics;
  if (files.empty()) {
    diagnostics.error({"merge", 0, 0}, "give the part files of the shards");
  }
  parts_ = open_parts(files, diagnostics);
  diagnostics.throw_if_any();
  check_same_sweep(parts_, diagnostics);
  diagnostics.throw_if_any();
  std::stable_sort(parts_.begin(), parts_.end(), [](const auto& a, const auto& b) {
    return a->header().shard.number < b->header().shard.number;
  });
  check_not_twice(parts_, diagnostics);
  check_none_missing(parts_, diagnostics);
  check_complete(parts_, diagnostics);
  diagnostics.throw_if_any();
}

const SweepPart& MergedParts::part_of(std::int64_t chunk) const {
  const auto shards = static_cast<std::int64_t>(parts_.size());
  return *parts_[static_cast<std::size_t>(shard_of(chunk, shards) - 1)];
}

bool MergedParts::has(std::int64_t chunk) const { return part_of(chunk).has(chunk); }

ChunkResult MergedParts::read(std::int64_t chunk) const { return part_of(chunk).read(chunk); }

}  // namespace stepcast
