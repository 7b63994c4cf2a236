// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/attention_library.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/hardware/number_ranges.hpp"
#include "stepcast/hardware/sourced_table.hpp"
#include "stepcast/hardware/tile_text.hpp"

namespace stepcast {
namespace {

constexpr auto kIfGiven = Presence::kOptional;
using Traits = DirectionTraits;

constexpr std::array kDirection = {
    Constant<Traits>{"matrix_share", "", limits::kShare, Range<double>{0.02, 1.0},
                     "share of the efficiency that the part's constants give; 1 if left out",
                     &Traits::matrix_share, kIfGiven},
    Constant<Traits>{"unequal_share", "", limits::kShare, Range<double>{0.1, 1.0},
                     "share of that again where heads of queries and values differ; 1 if left out",
                     &Traits::unequal_share, kIfGiven},
    Constant<Traits>{"overlap", "", kFraction, kFraction,
                     "share of the shorter of products and softmax that is hidden; 0 if left out",
                     &Traits::overlap, kIfGiven},
    Constant<Traits>{"tile_cycles", "", Range<double>{0.0, 10'000.0}, Range<double>{0.0, 2'000.0},
                     "clock cycles of a tile besides its products and softmax, where groups of "
                     "threads wait for each other; 0 if left out",
                     &Traits::tile_cycles, kIfGiven},
    Constant<Traits>{"start_share", "", Range<double>{0.0, 20.0}, Range<double>{0.05, 10.0},
                     "start and end of a workgroup over those of the part's constants; 1 if left "
                     "out",
                     &Traits::start_share, kIfGiven},
    Constant<Traits>{"tail", "", Range<double>{0.0, 4.0}, Range<double>{0.0, 2.0},
                     "idle time at the end where workgroups differ, in longest ones; 0 if left out",
                     &Traits::tail, kIfGiven},
    Constant<Traits>{"single_pass_head", "", Range<double>{0.0, 1'024.0}, std::nullopt,
                     "widest head of which a workgroup holds both gradients that it sums; of wider "
                     "ones it makes one half at a time, with the scores and their gradients again; "
                     "no limit if left out",
                     &Traits::single_pass_head, kIfGiven},
};

constexpr std::array kKernel = {
    Constant<FlashKernel>{"reduction_element", "B", Range<double>{1.0, 64.0}, std::nullopt,
                          "bytes of a gradient of queries that workgroups add up; 4 B if left out",
                          &FlashKernel::reduction_element, kIfGiven},
    Constant<FlashKernel>{"context_passes", "", Range<double>{0.0, 20.0}, Range<double>{0.1, 5.0},
                          "passes over queries, keys and values in a kernel before: rotary "
                          "embedding and cache update; 0 if left out",
                          &FlashKernel::context_passes, kIfGiven},
    Constant<FlashKernel>{"roofline_share", "", limits::kShare, std::nullopt,
                          "share of the part's achieved rate, for the backend attention=roofline; "
                          "1 if left out",
                          &FlashKernel::roofline_share, kIfGiven},
};

ScoreTile score_tile(std::string_view text, const MappingReader& where, std::string_view key) {
  const std::optional<TileSides> sides = parse_tile(text);
  if (!sides) {
    where.error(
        key, "has '" + std::string(text) + "' for a tile; write its queries and keys, e.g. 128x64");
    return {1, 1};
  }
  return {sides->first, sides->second};
}

std::int64_t head_dimension(std::string_view written, std::int64_t smaller,
                            const MappingReader& where, std::string_view key) {
  std::int64_t dimension = 0;
  const char* const end = written.data() + written.size();
  const auto [stop, fault] = std::from_chars(written.data(), end, dimension);
  if (fault != std::errc{} || stop != end || dimension <= smaller) {
    where.error(key, "has '" + std::string(written) +
                         "' for a dimension of heads; write rising whole numbers");
  }
  return dimension;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) {
      words.push_back(text.substr(at, end - at));
    }
    at = end + 1;
  }
  return words;
}

// Rows of a head dimension and its tiles: causal, full and, if the kernel runs backward, backward.
std::vector<HeadTiles> read_tiles(SourcedReader& reader, std::size_t kinds) {
  constexpr std::string_view kKey = "tiles";
  std::vector<HeadTiles> tiles;
  const std::vector<SourcedRow> rows = sourced_rows(reader, kKey);
  tiles.reserve(rows.size());
  const MappingReader& where = reader.reader();
  for (const SourcedRow& row : rows) {
    const std::vector<std::string_view> words = words_of(row.text);
    if (words.size() != kinds) {
      where.error(kKey, "has '" + row.text + "' for heads of " + row.key + "; write " +
                            std::to_string(kinds) + " tiles: causal, full and, where the kernel " +
                            "has 'backward', backward");
      continue;
    }
    HeadTiles heads;
    heads.head_dim =
        head_dimension(row.key, tiles.empty() ? 0 : tiles.back().head_dim, where, kKey);
    heads.causal = score_tile(words[0], where, kKey);
    heads.full = score_tile(words[1], where, kKey);
    heads.backward = kinds > 2 ? score_tile(words[2], where, kKey) : ScoreTile{};
    tiles.push_back(heads);
  }
  return tiles;
}

DirectionTraits read_direction(SourcedReader reader) {
  DirectionTraits traits;
  read_all(std::move(reader), direction_constants(), traits);
  return traits;
}

FlashKernel read_flash_kernel(SourcedReader reader) {
  constexpr Range<std::int64_t> kInstructionRows{1, 4096};
  FlashKernel kernel;
  kernel.forward = read_direction(reader.mapping("forward"));
  if (std::optional<SourcedReader> backward = reader.optional_mapping("backward")) {
    kernel.backward = read_direction(std::move(*backward));
  }
  kernel.tiles = read_tiles(reader, kernel.backward ? 3 : 2);
  if (reader.has("tiles") && kernel.tiles.empty()) {
    reader.reader().error("tiles", "needs tiles for a dimension of heads or more");
  }
  kernel.instruction_rows = reader.optional_count("instruction_rows", kInstructionRows).value_or(0);
  kernel.sums_shared_keys = reader.optional_flag("sums_shared_keys").value_or(false);
  kernel.pads_unequal_heads = reader.optional_flag("pads_unequal_heads").value_or(false);
  read_constants(reader, flash_kernel_constants(), kernel);
  reader.finish();
  return kernel;
}

}  // namespace

std::span<const Constant<DirectionTraits>> direction_constants() { return kDirection; }
std::span<const Constant<FlashKernel>> flash_kernel_constants() { return kKernel; }

AttentionLibrary read_attention_library(SourcedReader reader) {
  AttentionLibrary library;
  library.native = reader.choice<AttentionKernel>("native", enum_names<AttentionKernel>());
  for (const NamedValue<AttentionKernel>& known : enum_names<AttentionKernel>()) {
    if (known.value == AttentionKernel::kUnfused) {
      continue;  // products and softmax apart, which every architecture has
    }
    if (std::optional<SourcedReader> kernel = reader.optional_mapping(known.name)) {
      library.kernels[static_cast<std::size_t>(known.value)] =
          read_flash_kernel(std::move(*kernel));
    }
  }
  const std::optional<FlashKernel>& native = library.kernel(library.native);
  if (reader.has("native") && (!native || !native->backward)) {
    reader.reader().error("native", "names a kernel that is not described here in both directions");
  }
  reader.finish();
  return library;
}

}  // namespace stepcast
