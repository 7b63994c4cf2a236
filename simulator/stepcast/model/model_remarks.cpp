// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/model_remarks.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kAlignedElements = 8;  // 16 bytes of bf16, which kernels of products load
constexpr std::int64_t kValuesOfAByte = 256;  // the least that a vocabulary of texts has

void compare_count(std::string_view what, const std::string& published, std::int64_t count,
                   std::vector<std::string>& remarks) {
  const std::optional<PublishedCount> said = parse_published_count(published);
  if (said && std::abs(static_cast<double>(count) - said->value) > said->tolerance) {
    remarks.push_back("the model's keys make " + with_separators(count) + " " + std::string(what) +
                      ", 'published' says " + published);
  }
}

void check_width(std::string_view key, std::int64_t width, std::vector<std::string>& remarks) {
  if (width % kAlignedElements != 0) {
    remarks.push_back(std::string(key) + " " + std::to_string(width) + " is no multiple of " +
                      std::to_string(kAlignedElements) +
                      ", so that rows of its matrices are not aligned: real kernels take longer "
                      "than they are priced here");
  }
}

std::set<std::int64_t> distinct(const std::vector<std::int64_t>& counts) {
  return {counts.begin(), counts.end()};
}

}  // namespace

std::optional<PublishedCount> parse_published_count(std::string_view text) {
  constexpr double kShare = 1e-3;
  const double unit = text.ends_with(" T") ? 1e12 : text.ends_with(" B") ? 1e9 : 1.0;
  const bool whole = unit == 1.0;
  const std::string_view digits = text.substr(0, text.size() - (whole ? 0 : 2));
  double value = 0.0;
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result read =
      std::from_chars(digits.data(), end, value, std::chars_format::fixed);
  const std::size_t point = digits.find('.');
  if (read.ec != std::errc{} || read.ptr != end || !(value > 0.0) ||
      (whole && point != std::string_view::npos)) {
    return std::nullopt;
  }
  const double decimals =
      point == std::string_view::npos ? 0.0 : static_cast<double>(digits.size() - point - 1);
  return PublishedCount{value * unit,
                        std::max(kShare * value * unit, 0.5 * unit * std::pow(10.0, -decimals))};
}

std::vector<std::string> model_remarks(const ModelSpec& model) {
  std::vector<std::string> remarks;
  const ParameterCounts counts = count_parameters(model);
  compare_count("parameters", model.published.total, counts.total, remarks);
  compare_count("active parameters", model.published.active, counts.active, remarks);
  check_width("hidden_size", model.hidden, remarks);
  for (const std::int64_t width : distinct(model.mlp.ffn_hidden.pattern())) {
    check_width("ffn_hidden", width, remarks);
  }
  if (model.moe) {
    check_width("expert_ffn_hidden", model.moe->expert_ffn_hidden, remarks);
  }
  if (model.vocabulary < kValuesOfAByte) {
    remarks.push_back("a vocabulary of " + std::to_string(model.vocabulary) +
                      " is less than the values of a byte");
  }
  return remarks;
}

}  // namespace stepcast
