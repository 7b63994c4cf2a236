// SPDX-License-Identifier: Apache-2.0
// What the sizes of a model may be: far beyond any that exists, and safe to multiply.
#pragma once

#include <array>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

inline constexpr Range<std::int64_t> kWidth{1, 1 << 24};
inline constexpr Range<std::int64_t> kWidthOrNone{0, 1 << 24};
inline constexpr Range<std::int64_t> kLayers{1, 10'000};
inline constexpr Range<std::int64_t> kLayerOrNone{0, 10'000};
// Each kind of layer is priced by itself: 256 take half a second, and no model has as many layers.
inline constexpr std::size_t kMostLayerKinds = 256;
inline constexpr Range<std::int64_t> kVocabularySize{1, 1 << 26};

// What model files call the choices of a model, for reading and for writing them.
inline constexpr std::array<NamedValue<AttentionKind>, 5> kAttentionKinds = {
    {{"gqa", AttentionKind::kGqa},
     {"mla", AttentionKind::kMla},
     {"shared_kv", AttentionKind::kSharedKv},
     {"mha", AttentionKind::kGqa},
     {"mqa", AttentionKind::kGqa}}};
inline constexpr std::array<NamedValue<QkNorm>, 3> kQkNorms = {
    {{"none", QkNorm::kNone}, {"head", QkNorm::kHead}, {"full", QkNorm::kFull}}};
inline constexpr std::array<NamedValue<NormKind>, 2> kNorms = {
    {{"rmsnorm", NormKind::kRmsNorm}, {"layernorm", NormKind::kLayerNorm}}};
inline constexpr std::array<NamedValue<Positions>, 4> kPositions = {
    {{"rope", Positions::kRope},
     {"learned", Positions::kLearned},
     {"alibi", Positions::kAlibi},
     {"none", Positions::kNone}}};
inline constexpr std::array<NamedValue<RouterScore>, 3> kScores = {
    {{"softmax", RouterScore::kSoftmax},
     {"sigmoid", RouterScore::kSigmoid},
     {"sqrt_softplus", RouterScore::kSqrtSoftplus}}};

}  // namespace stepcast
