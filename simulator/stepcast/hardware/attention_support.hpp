// SPDX-License-Identifier: Apache-2.0
// Which attention kernels a library can run, by release and architecture, and for which models: the
// rows of hardware_profiles/attention_libraries.yaml.
//
// A row says that a kernel of a library fuses one feature, from a release of the library and of
// cuDNN on, on some architectures. A kernel runs a model if it has a row for each of the model's
// features. Where the kernel that a software set asks for does not, the first kernel of the library
// that does runs instead, in the order of the rows, and products around a softmax if none does.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/architecture.hpp"
#include "stepcast/hardware/attention_kernel.hpp"

namespace stepcast {

// What a framework calls for attention. Direct: the kernel that the software set names runs,
// whatever the model.
enum class AttentionLibraryName {
  kDirect,
  kTransformerEngine,
  kTransformerEngineJax,
  kTransformerEngineRocm,
  kPyTorch,
  kFlashAttention,
};
template <>
inline constexpr std::array<std::string_view, 6> kNamesOf<AttentionLibraryName> = {
    "direct",  "transformer_engine", "transformer_engine_jax", "transformer_engine_rocm",
    "pytorch", "flash_attention"};
std::string_view title(AttentionLibraryName library);

// "9.13.1"; what is not written counts as 0.
struct Release {
  std::array<std::int64_t, 4> parts{};
  auto operator<=>(const Release&) const = default;
};
std::optional<Release> parse_release(std::string_view text);
// The release under `key`; nothing where it is left out, or is none, which is reported.
std::optional<Release> read_release(MappingReader& reader, std::string_view key);
std::string text_of(const Release& release);

// The library of a software set. A release that is not stated is the newest in the table.
struct AttentionSoftware {
  AttentionLibraryName library = AttentionLibraryName::kDirect;
  std::optional<Release> version;
  std::optional<Release> cudnn;
  bool operator==(const AttentionSoftware&) const = default;
};

// What a kernel may or may not fuse. Heads: queries, keys and values of one dimension, up to a
// limit. Unequal heads: of two, as in latent attention. Documents are the one feature that a kernel
// may lack and still run: tokens of different documents then see each other.
enum class AttentionFeature { kHeads, kUnequalHeads, kSinks, kSlidingWindow, kDocuments };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<AttentionFeature> = {
    "heads", "unequal_heads", "sinks", "sliding_window", "documents"};

struct AttentionRow {
  AttentionLibraryName library = AttentionLibraryName::kDirect;
  AttentionKernel kernel = AttentionKernel::kUnfused;
  AttentionFeature fuses = AttentionFeature::kHeads;
  std::vector<std::string> architectures;  // none: all
  Release version;
  Release cudnn;
  std::int64_t d_qk = 0;  // heads and unequal heads: up to these
  std::int64_t d_v = 0;
  std::string source;  // its key
  std::string cited;   // what that is and where
  std::string note;
};
using AttentionSupport = std::vector<AttentionRow>;

// Reads the table. Throws ConfigError with all of its problems.
AttentionSupport load_attention_support(const std::filesystem::path& file);

// What of a model decides which kernels can run it.
struct AttentionTraits {
  std::int64_t d_qk = 0;
  std::int64_t d_v = 0;
  bool sinks = false;
  bool window = false;
};

struct AttentionChoice {
  AttentionKernel kernel = AttentionKernel::kUnfused;
  bool documents = false;  // keeps the documents of a sequence apart
  std::string reason;      // why another kernel than the one asked for runs; empty if it does not
};

// The kernel that runs where a software set asks for `wanted`.
AttentionChoice choose_attention(const AttentionSupport& support, const AttentionSoftware& software,
                                 AttentionKernel wanted, const AttentionTraits& traits,
                                 const Architecture& architecture);

// "Transformer Engine 2.7 with cuDNN 9.11"; a release that is not stated is left out.
std::string text_of(const AttentionSoftware& software);

}  // namespace stepcast
