// SPDX-License-Identifier: Apache-2.0
// What model files call the choices of a model, for reading and for writing them.
#pragma once

#include <array>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

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
