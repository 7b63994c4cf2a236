// SPDX-License-Identifier: Apache-2.0
// What the sizes of a model may be: far beyond any that exists, and safe to multiply.
#pragma once

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

inline constexpr Range<std::int64_t> kWidth{1, 1 << 24};
inline constexpr Range<std::int64_t> kWidthOrNone{0, 1 << 24};
inline constexpr Range<std::int64_t> kLayers{1, 10'000};
inline constexpr Range<std::int64_t> kLayerOrNone{0, 10'000};
// Each kind of layer is priced by itself: 256 take half a second, and no model has as many layers.
inline constexpr std::size_t kMostLayerKinds = 256;
inline constexpr Range<std::int64_t> kVocabularySize{1, 1 << 26};

}  // namespace stepcast
