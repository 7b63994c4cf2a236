// SPDX-License-Identifier: Apache-2.0
#include "frameworks/trainer_unpriced.hpp"

#include <array>

#include "frameworks/words.hpp"

namespace stepcast {
namespace {

struct FeatureMeaning {
  UnpricedFeature feature;
  std::string_view text;
};
constexpr auto kFeatureMeanings = std::to_array<FeatureMeaning>({
    {UnpricedFeature::kOnDisk, "lies on a disk; here in the host's memory"},
    {UnpricedFeature::kLogitsNeverKept, "no logits are kept in memory; here they are"},
    {UnpricedFeature::kFp8Products, "products in 8 bits by a library of its own; here in 16"},
    {UnpricedFeature::kCompiled, "generated kernels; here eager ones"},
});

}  // namespace

std::string_view meaning_of(UnpricedFeature feature) {
  const FeatureMeaning* const row = row_with(kFeatureMeanings, &FeatureMeaning::feature, feature);
  return row == nullptr ? std::string_view{} : row->text;
}

void leave_out(FrameworkReader& settings, std::string_view name, std::string_view value,
               UnpricedFeature feature) {
  settings.leave_out(name, std::string(value.substr(0, 60)), std::string(meaning_of(feature)));
}

}  // namespace stepcast
