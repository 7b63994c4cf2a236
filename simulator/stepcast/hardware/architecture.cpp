// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/architecture.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {
namespace {

// The two sides of a tile as profiles write them: "128x64".
struct TileSides {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

// Nothing if it is not two whole numbers from 1 to 65,536 with an x between them.
std::optional<TileSides> parse_tile(std::string_view text) {
  constexpr std::int64_t kLongest = 65'536;
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) {
    return std::nullopt;
  }
  const auto first = parse_number<std::int64_t>(text.substr(0, cross));
  const auto second = parse_number<std::int64_t>(text.substr(cross + 1));
  const auto good = [](const std::optional<std::int64_t>& side) {
    return side && *side >= 1 && *side <= kLongest;
  };
  return good(first) && good(second) ? std::optional(TileSides{*first, *second}) : std::nullopt;
}

using Traits = DirectionTraits;

constexpr auto kDirection = std::to_array<Constant<Traits>>(
    {{"matrix_share", "", limits::kShare, Range<double>{0.02, 1.0},
      "share of the efficiency that the part's constants give; 1 if left out",
      &Traits::matrix_share, kIfGiven},
     {"unequal_share", "", limits::kShare, Range<double>{0.1, 1.0},
      "share of that in 16 bits where heads of queries and values differ; 1 if left out",
      &Traits::unequal_share, kIfGiven},
     {"eight_bit_share", "", limits::kShare, Range<double>{0.1, 1.0},
      "share of that again in 8 bits, of their own matrix rate; 1 if left out",
      &Traits::eight_bit_share, kIfGiven},
     {"eight_bit_operations", "", Range<double>{0.0, 64.0}, Range<double>{0.1, 32.0},
      "vector operations a score more in 8 bits; none if left out", &Traits::eight_bit_operations,
      kIfGiven},
     {"block_operations", "", Range<double>{0.0, 64.0}, Range<double>{0.1, 32.0},
      "the same with scales of blocks; none if left out", &Traits::block_operations, kIfGiven},
     {"softmax_share", "", limits::kShare, Range<double>{0.3, 1.0},
      "of exponentials and vector operations in turn, what is left where they overlap; 1 if "
      "left out",
      &Traits::softmax_share, kIfGiven},
     {"overlap", "", kFraction, kFraction,
      "share of the shorter of products and softmax that is hidden; 0 if left out",
      &Traits::overlap, kIfGiven},
     {"tile_cycles", "", Range<double>{0.0, 10'000.0}, Range<double>{0.0, 2'000.0},
      "clock cycles of a tile besides its products and softmax, where groups of "
      "threads wait for each other; 0 if left out",
      &Traits::tile_cycles, kIfGiven},
     {"start_share", "", Range<double>{0.0, 20.0}, Range<double>{0.05, 10.0},
      "start and end of a workgroup over those of the part's constants; 1 if left "
      "out",
      &Traits::start_share, kIfGiven},
     {"tail", "", Range<double>{0.0, 4.0}, Range<double>{0.0, 2.0},
      "idle time at the end where workgroups differ, in longest ones; 0 if left out", &Traits::tail,
      kIfGiven},
     {"single_pass_head", "", Range<double>{0.0, 1'024.0}, std::nullopt,
      "widest head of which a workgroup holds both gradients that it sums; of wider "
      "ones it makes one half at a time, with the scores and their gradients again; "
      "no limit if left out",
      &Traits::single_pass_head, kIfGiven}});

constexpr auto kKernel = std::to_array<Constant<FlashKernel>>(
    {{"reduction_element", "B", Range<double>{1.0, 64.0}, std::nullopt,
      "bytes of a gradient of queries that workgroups add up; 4 B if left out",
      &FlashKernel::reduction_element, kIfGiven},
     {"energy_share", "", limits::kShare, Range<double>{0.1, 1.0},
      "energy of a clock cycle of its products over one of a GEMM's; 1 if left out",
      &FlashKernel::energy_share, kIfGiven},
     {"context_passes", "", Range<double>{0.0, 20.0}, Range<double>{0.1, 5.0},
      "passes over queries, keys and values in a kernel before: rotary "
      "embedding and cache update; 0 if left out",
      &FlashKernel::context_passes, kIfGiven},
     {"roofline_share", "", limits::kShare, std::nullopt,
      "share of the part's achieved rate, for the backend attention=roofline; "
      "1 if left out",
      &FlashKernel::roofline_share, kIfGiven}});

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
  const std::vector<SourcedRow> rows = reader.rows(kKey);
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
  kernel.sums_shared_keys_in_8_bits =
      reader.optional_flag("sums_shared_keys_in_8_bits").value_or(false);
  kernel.whole_window_in_8_bits = reader.optional_flag("whole_window_in_8_bits").value_or(false);
  kernel.pads_unequal_heads = reader.optional_flag("pads_unequal_heads").value_or(false);
  read_constants(reader, flash_kernel_constants(), kernel);
  reader.finish();
  return kernel;
}

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
  const bool described = native && native->backward;
  if (reader.has("native") && library.native != AttentionKernel::kUnfused && !described) {
    reader.reader().error("native", "names a kernel that is not described here in both directions");
  }
  const bool any = std::ranges::any_of(
      library.kernels, [](const std::optional<FlashKernel>& kernel) { return kernel.has_value(); });
  if (library.native == AttentionKernel::kUnfused && any) {
    reader.reader().error("native",
                          "is unfused, which says that no kernel fuses attention, and one "
                          "is described here; name it");
  }
  reader.finish();
  return library;
}

constexpr auto kStep = static_cast<std::int64_t>(kSideStep);
constexpr Range<std::int64_t> kSides{kStep, static_cast<std::int64_t>(kLongestSide)};
constexpr Range<std::int64_t> kAreas{1, std::int64_t{1} << 20};
constexpr Range<std::int64_t> kInnerSteps{16, 4096};

enum class Sides { kAny, kPowersOfTwo };
constexpr std::array<NamedValue<Sides>, 2> kSideRules = {
    {{"any", Sides::kAny}, {"powers_of_two", Sides::kPowersOfTwo}}};
constexpr std::array<NamedValue<Clusters>, 4> kClusters = {
    {{"none", Clusters::kNone},
     {"pairs", Clusters::kPairs},
     {"multicast_pairs", Clusters::kMulticastPairs},
     {"multicast_fours", Clusters::kMulticastFours}}};

struct TileRule {
  std::int64_t step = kStep;
  std::int64_t longest_side = kStep;
  std::int64_t least_area = 1;
  std::int64_t accumulators = 1;  // of a tile at most
  Sides sides = Sides::kAny;
};

bool power_of_two(std::int64_t value) { return (value & (value - 1)) == 0; }

bool has_tile(const TileRule& rule, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kInstructionRows = 64;
  if (rows * cols > rule.accumulators || rows * cols < rule.least_area) {
    return false;
  }
  if (rule.sides == Sides::kPowersOfTwo) {
    return power_of_two(rows) && power_of_two(cols);
  }
  // One side is a whole number of matrix instructions.
  return rows % kInstructionRows == 0 || cols % kInstructionRows == 0;
}

std::vector<MacroTile> tiles_of(const TileRule& rule) {
  std::vector<MacroTile> tiles;
  tiles.reserve(kMostTiles);
  for (std::int64_t rows = rule.step; rows <= rule.longest_side; rows += rule.step) {
    for (std::int64_t cols = rule.step; cols <= rule.longest_side; cols += rule.step) {
      if (has_tile(rule, rows, cols)) {
        tiles.push_back({static_cast<double>(rows), static_cast<double>(cols)});
      }
    }
  }
  std::ranges::sort(tiles, [](const MacroTile& a, const MacroTile& b) {
    const double first = a.rows * a.cols;
    const double second = b.rows * b.cols;
    return first != second ? first > second : a.rows < b.rows;
  });
  return tiles;
}

std::int64_t read_side(SourcedReader& reader, std::string_view key) {
  const std::int64_t side = reader.count(key, kSides);
  if (side % kStep != 0) {
    reader.reader().error(key, "must be a multiple of " + std::to_string(kStep));
    return kStep;
  }
  return side;
}

GemmKernels read_kernels(SourcedReader reader) {
  TileRule rule;
  rule.step = read_side(reader, "tile_step");
  rule.longest_side = read_side(reader, "longest_side");
  rule.least_area = reader.count("least_area", kAreas);
  rule.accumulators = reader.count("accumulators", kAreas);
  rule.sides = reader.choice<Sides>("sides", kSideRules);
  GemmKernels kernels;
  kernels.tiles = tiles_of(rule);
  kernels.clusters = reader.choice<Clusters>("clusters", kClusters);
  kernels.splits_inner = reader.flag("splits_inner");
  kernels.overlaps_tiles = reader.flag("overlaps_tiles");
  kernels.hides_results = reader.optional_flag("hides_results").value_or(true);
  kernels.inner_step = reader.optional_count("inner_step", kInnerSteps).value_or(0);
  kernels.start_up =
      reader.optional_quantity<Seconds>("start_up", limits::kLatency).value_or(Seconds{});
  if (reader.has("accumulators") && kernels.tiles.empty()) {
    reader.reader().error("accumulators", "leaves no tile; a tile needs one for each result");
  }
  reader.finish();
  return kernels;
}

GroupedKernel read_grouped(SourcedReader reader) {
  constexpr Range<double> kRows{0.0, 1e6};
  GroupedKernel kernel;
  kernel.tile.rows = static_cast<double>(read_side(reader, "rows"));
  kernel.tile.cols = static_cast<double>(read_side(reader, "cols"));
  kernel.above = reader.number("above", kRows);
  kernel.cache_share = reader.number("cache_share", kFraction);
  kernel.loop_rate = reader.optional_number("loop_rate", limits::kShare).value_or(1.0);
  kernel.gradient_loop_rate = kernel.loop_rate;
  if (std::optional<SourcedReader> gradient = reader.optional_mapping("weight_gradient")) {
    kernel.gradient_loop_rate = gradient->number("loop_rate", limits::kShare);
    kernel.gradient_cycles = gradient->number("tile_cycles", Range<double>{0.0, 1e6});
    gradient->finish();
  }
  reader.finish();
  return kernel;
}

std::vector<RooflineTile> read_roofline_tiles(SourcedReader& reader) {
  constexpr std::string_view kKey = "roofline_tiles";
  std::vector<RooflineTile> tiles;
  const std::vector<SourcedRow> rows = reader.rows(kKey);
  tiles.reserve(rows.size());
  for (const SourcedRow& row : rows) {
    const std::optional<TileSides> sides = parse_tile(row.key);
    const double share = leading_decimal(row.text);
    if (!sides || !(share >= limits::kShare.lowest && share <= limits::kShare.highest)) {
      reader.reader().error(kKey, "has '" + row.key + ": " + row.text +
                                      "'; write the rows and columns of a tile and its share, "
                                      "e.g. 128x64: 0.72");
      continue;
    }
    tiles.push_back({sides->first, sides->second, share});
  }
  return tiles;
}

GemmLibrary read_gemm_library(SourcedReader reader) {
  GemmLibrary library;
  library.dense = read_kernels(reader.mapping("dense"));
  if (std::optional<SourcedReader> blocks = reader.optional_mapping("block_scaled")) {
    library.block_scaled = read_kernels(std::move(*blocks));
  }
  if (std::optional<SourcedReader> four = reader.optional_mapping("four_bits")) {
    library.four_bits = read_kernels(std::move(*four));
  }
  if (std::optional<SourcedReader> grouped = reader.optional_mapping("grouped")) {
    library.grouped = read_grouped(std::move(*grouped));
  }
  if (std::optional<SourcedReader> grouped = reader.optional_mapping("grouped_8bit")) {
    library.grouped_8bit = read_grouped(std::move(*grouped));
  }
  library.roofline_tiles = read_roofline_tiles(reader);
  if (reader.has("roofline_tiles") && library.roofline_tiles.empty()) {
    reader.reader().error("roofline_tiles", "needs a tile or more, e.g. 128x128");
  }
  reader.finish();
  return library;
}

std::string digits(std::string_view text) {
  std::string found;
  std::copy_if(text.begin(), text.end(), std::back_inserter(found), ascii::is_digit);
  return found;
}

// A name with another number is another architecture, not a misspelt one.
std::string remedy_for(std::string_view written, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(written, known);
  if (!nearest.empty() && digits(nearest) == digits(written)) {
    return "; did you mean '" + nearest + "'?";
  }
  return "; kernels are known for " + text_list(known);
}

// The tree of the file; an error, and nothing, if there is no such file.
std::optional<ConfigNode> load_named(const std::string& name, MappingReader& where,
                                     std::string_view key, const std::filesystem::path& folder) {
  const std::optional<std::filesystem::path> file = file_named(folder, name);
  if (!file) {
    where.error(key,
                "is '" + name + "', an unknown architecture" + remedy_for(name, names_in(folder)));
    return std::nullopt;
  }
  return load_config(*file);
}

}  // namespace

std::span<const Constant<DirectionTraits>> direction_constants() { return kDirection; }
std::span<const Constant<FlashKernel>> flash_kernel_constants() { return kKernel; }

Architecture read_architecture(const ConfigNode& root, SourceTable& sources,
                               std::vector<Provenance>& provenance, Diagnostics& diagnostics) {
  SourcedReader reader = reader_of_file(root, sources, provenance, diagnostics);
  Architecture architecture;
  architecture.runtime = reader.choice<DeviceRuntime>("runtime", enum_names<DeviceRuntime>());
  architecture.usual_software = reader.text("usual_software");
  architecture.other_software = reader.text("other_software");
  architecture.gemm = read_gemm_library(reader.mapping("gemm_library"));
  architecture.attention = read_attention_library(reader.mapping("attention_kernels"));
  reader.finish();
  return architecture;
}

Architecture find_architecture(MappingReader& profile, std::string_view key,
                               const std::filesystem::path& folder, SourceTable& sources,
                               std::vector<Provenance>& provenance) {
  const std::string name = profile.required_text(key);
  std::string kernels = name;
  std::optional<GemmKernels> own;  // instead of those of the other architecture
  std::optional<ConfigNode> file =
      profile.has(key) ? load_named(name, profile, key, folder) : std::nullopt;
  if (file && file->find("kernels_of") != nullptr) {
    SourcedReader reader({*file, "", profile.diagnostics()}, sources, provenance);
    kernels = reader.text("kernels_of");
    if (std::optional<SourcedReader> library = reader.optional_mapping("gemm_library")) {
      own = read_kernels(library->mapping("four_bits"));
      library->finish();
    }
    reader.finish();
    file = load_named(kernels, reader.reader(), "kernels_of", folder);
  }
  Architecture architecture;
  if (file) {
    architecture = read_architecture(*file, sources, provenance, profile.diagnostics());
  }
  if (own) {
    architecture.gemm.four_bits = std::move(own);
  }
  architecture.name = name;
  architecture.kernels = kernels;
  return architecture;
}

}  // namespace stepcast
