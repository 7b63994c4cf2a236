// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/architecture.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "stepcast/base/nearest_name.hpp"

namespace stepcast {
namespace {

// Transformer Engine, which Megatron, NeMo and their kin run on, prefers cuDNN's attention on
// Hopper and later; FlashAttention 3 and 4 are packages of their own that software sets name.
constexpr std::array kArchitectures = {
    Architecture{"sm80", KernelFamily::kAmpere, AttentionKernel::kFlash2},
    Architecture{"sm90", KernelFamily::kHopper, AttentionKernel::kCudnn},
    Architecture{"sm100", KernelFamily::kBlackwell, AttentionKernel::kCudnn},
    Architecture{"sm103", KernelFamily::kBlackwell, AttentionKernel::kCudnn},
    Architecture{"gfx942", KernelFamily::kCdna3, AttentionKernel::kAiter},
    Architecture{"gfx950", KernelFamily::kCdna4, AttentionKernel::kAiter},
};

std::string digits(std::string_view text) {
  std::string found;
  std::copy_if(text.begin(), text.end(), std::back_inserter(found),
               [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return found;
}

// A name with another number is another architecture, not a misspelt one.
std::string remedy_for(std::string_view written) {
  std::vector<std::string> known;
  std::string all;
  known.reserve(kArchitectures.size());
  for (const Architecture& architecture : kArchitectures) {
    known.emplace_back(architecture.name);
    all += (all.empty() ? "" : ", ") + known.back();
  }
  const std::string nearest = nearest_name(written, known);
  return !nearest.empty() && digits(nearest) == digits(written)
             ? "; did you mean '" + nearest + "'?"
             : "; kernels are known for " + all;
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

Architecture read_architecture(MappingReader& reader, std::string_view key) {
  const std::string written = reader.required_text(key);
  const auto* const found =
      std::find_if(kArchitectures.begin(), kArchitectures.end(),
                   [&](const Architecture& known) { return known.name == written; });
  if (found != kArchitectures.end()) {
    return *found;
  }
  if (reader.has(key)) {
    reader.error(key, "is '" + written + "', an unknown architecture" + remedy_for(written));
  }
  return {};
}

}  // namespace stepcast
