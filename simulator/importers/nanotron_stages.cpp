// SPDX-License-Identifier: Apache-2.0
#include "importers/nanotron_stages.hpp"

#include <vector>

#include "stepcast/base/real.hpp"

namespace stepcast {

std::string nanotron_stages(const ModelSpec& model, std::int64_t ranks) {
  const double hidden = real(model.hidden);
  const double layer = hidden * (4.0 * hidden + 3.0 * real(model.mlp.ffn_hidden));
  const double all = real(model.layers) * layer + hidden * real(model.vocabulary);
  std::vector<std::int64_t> layers(static_cast<std::size_t>(ranks));
  std::size_t rank = 0;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    ++layers[rank];
    const double until_here = real(i + 1) * layer;
    if (rank + 1 < layers.size() &&
        until_here > all * (static_cast<double>(rank + 1) / real(ranks))) {
      ++rank;
    }
  }
  std::string text = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    text += i > 0 ? "|" : "";
    text += layers[i] > 0 ? "t*" + std::to_string(layers[i]) : "";
  }
  return text + "L";
}

}  // namespace stepcast
