// SPDX-License-Identifier: Apache-2.0
// What may be a slip in a model's file, though it can be read as it is written.
//
//   its keys make 13,988,116,480 parameters, 'published' says 1 B
//   ffn_hidden 13 is no multiple of 8, ...
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// A count of parameters as it is published, and how far what it stands for may be from it.
struct PublishedCount {
  double value = 0.0;
  double tolerance = 0.0;  // the larger of 0.1 % and half of the last digit
};

// Of "671 B", "1.5 T" or a whole number; nothing if the text is neither.
std::optional<PublishedCount> parse_published_count(std::string_view text);

std::vector<std::string> model_remarks(const ModelSpec& model);

}  // namespace stepcast
