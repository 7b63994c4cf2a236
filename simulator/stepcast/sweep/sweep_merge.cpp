// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_merge.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <system_error>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/sweep/piece_folder.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

using Parts = std::vector<std::unique_ptr<SweepPart>>;

Location place(const SweepPart& part) { return {part.file().string(), 0, 0}; }

Parts open_parts(const std::vector<fs::path>& files, Diagnostics& diagnostics) {
  Parts parts;
  for (const fs::path& file : files) {
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

// "12.5 % of the plans"
std::string share_text(const MissingParts& missing, std::int64_t plans) {
  const double percent = 100.0 * static_cast<double>(missing.plans) / static_cast<double>(plans);
  return fixed_decimal(percent, percent < 1.0 ? 4 : 1) + " % of the plans";
}

void check_no_piece_missing(const MissingParts& missing, const PartFiles& given, std::int64_t plans,
                            Diagnostics& diagnostics) {
  diagnostics.error({given.pieces.string(), 0, 0},
                    "pieces " + ranges_text(missing.numbers) + " of " + std::to_string(missing.of) +
                        " are missing, " + share_text(missing, plans) + "; this prices them: " +
                        fill_command(given.pieces) + "; --partial merges what is there");
}

void check_complete(const Parts& parts, const PartFiles& given, Diagnostics& diagnostics) {
  for (const auto& part : parts) {
    if (const std::int64_t missing = part->missing_chunks(); missing > 0) {
      const std::string refill =
          given.pieces.empty()
              ? "run its sweep again with --shard " + to_text(part->header().shard) + " --resume"
              : "remove it and run: " + fill_command(given.pieces);
      diagnostics.error(place(*part), std::to_string(missing) + " of " +
                                          std::to_string(missing + part->table().chunks()) +
                                          " chunks are missing; " + refill);
    }
  }
}

// In the order of their names, so that messages are the same whatever the folder's is.
PartFiles parts_in(const fs::path& folder) {
  PartFiles parts;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".part") {
      parts.files.push_back(entry->path());
    }
  }
  const bool has_pieces = sweep_in(folder).has_value();
  parts.pieces = has_pieces ? folder : "";
  if (error || parts.files.empty()) {
    throw ConfigError({folder.string(), 0, 0},
                      error ? "cannot read the folder: " + error.message()
                      : has_pieces
                          ? "no piece is finished yet; this prices them: " + fill_command(folder)
                          : "there is no part in the folder");
  }
  std::ranges::sort(parts.files);
  return parts;
}

}  // namespace

std::string fill_command(const fs::path& pieces) {
  return "stepcast sweep --pieces " + pieces.string();
}

PartFiles part_files(const std::vector<fs::path>& named) {
  std::error_code error;
  const auto folder = std::ranges::find_if(
      named, [&error](const fs::path& path) { return fs::is_directory(path, error); });
  if (folder == named.end()) {
    return {named, {}};
  }
  if (named.size() > 1) {
    throw ConfigError({folder->string(), 0, 0}, "give one folder of parts alone, or files");
  }
  return parts_in(*folder);
}

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  constexpr int kMostRanges = 20;
  std::string text;
  int ranges = 0;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) {
      ++last;
    }
    if (++ranges > kMostRanges) {
      return text + " and " + std::to_string(numbers.end() - first) + " more";
    }
    text += (text.empty() ? "" : ", ") + std::to_string(*first) +
            (first == last ? "" : "-" + std::to_string(*last));
    first = std::next(last);
  }
  return text;
}

std::string missing_text(const MissingParts& missing, std::int64_t plans) {
  return share_text(missing, plans) + ", in " + (missing.numbers.size() == 1 ? "part " : "parts ") +
         ranges_text(missing.numbers) + " of " + std::to_string(missing.of);
}

MergedParts::MergedParts(const PartFiles& parts, Missing missing) {
  Diagnostics diagnostics;
  if (parts.files.empty()) {
    diagnostics.error({"merge", 0, 0}, "give the part files of the shards, or their folder");
  }
  parts_ = open_parts(parts.files, diagnostics);
  diagnostics.throw_if_any();
  check_same_sweep(parts_, diagnostics);
  diagnostics.throw_if_any();
  std::ranges::stable_sort(parts_, [](const auto& a, const auto& b) {
    return a->header().shard.number < b->header().shard.number;
  });
  check_not_twice(parts_, diagnostics);
  by_number_.resize(static_cast<std::size_t>(header().shard.of));
  for (const auto& part : parts_) {
    by_number_[static_cast<std::size_t>(part->header().shard.number - 1)] = part.get();
  }
  missing_ = find_missing();
  if (missing == Missing::kRefuse) {
    if (parts.pieces.empty()) {
      check_none_missing(parts_, diagnostics);
    } else if (missing_) {
      check_no_piece_missing(*missing_, parts, header().grid.plans, diagnostics);
    }
    check_complete(parts_, parts, diagnostics);
  }
  diagnostics.throw_if_any();
}

std::optional<MissingParts> MergedParts::find_missing() const {
  const ChunkGrid& grid = header().grid;
  const std::int64_t shards = header().shard.of;
  MissingParts missing{0, {}, shards};
  std::set<std::int64_t> numbers;
  for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
    if (!has(chunk)) {
      missing.plans += grid.plans_of(chunk);
      numbers.insert(shard_of(chunk, shards));
    }
  }
  missing.numbers.assign(numbers.begin(), numbers.end());
  return missing.plans > 0 ? std::optional(std::move(missing)) : std::nullopt;
}

const SweepPart* MergedParts::part_of(std::int64_t chunk) const {
  return by_number_[static_cast<std::size_t>(shard_of(chunk, header().shard.of) - 1)];
}

bool MergedParts::has(std::int64_t chunk) const {
  const SweepPart* part = part_of(chunk);
  return part != nullptr && part->has(chunk);
}

ChunkResult MergedParts::read(std::int64_t chunk) const {
  const SweepPart* part = part_of(chunk);
  STEPCAST_CHECK(part != nullptr, "a chunk of a part that is not there");
  return part->read(chunk);
}

}  // namespace stepcast
