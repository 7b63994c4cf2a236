// SPDX-License-Identifier: Apache-2.0
#include "frameworks/batch_directives.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kBatchLine = "#SBATCH";

}  // namespace

std::vector<ShellWord> batch_directives(std::string_view text, const std::string& file) {
  std::vector<ShellWord> words;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view directive = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!directive.starts_with(kBatchLine)) {
      continue;
    }
    directive.remove_prefix(kBatchLine.size());
    std::string word;
    for (const char c : std::string(directive) + ' ') {
      if (!ascii::is_space(c)) {
        word += c;
      } else if (!word.empty()) {
        words.push_back({std::exchange(word, {}), {file, line, 1}});
      }
    }
  }
  return words;
}

}  // namespace stepcast
