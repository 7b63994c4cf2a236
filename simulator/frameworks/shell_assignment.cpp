// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_assignment.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// The length of "NAME=" or "NAME+=" at the start of a text, else 0.
std::size_t assignment_length(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (ascii::is_alphanumeric(text[end]) || text[end] == '_')) {
    ++end;
  }
  const bool named = end > 0 && !ascii::is_digit(text[0]);
  const std::size_t sign = end + (text.substr(end).starts_with('+') ? 1 : 0);
  return named && text.substr(sign).starts_with('=') ? sign + 1 : 0;
}

std::vector<std::string> array_items(ShellWordReader& reader) {
  std::vector<std::string> items;
  reader.skip(1);
  reader.skip_blanks();
  while (reader.peek() != ')') {
    if (reader.at_end()) {
      reader.fail("has an array that nothing closes");
    }
    if (reader.at_word()) {
      for (std::string& field : reader.word().fields) {
        items.push_back(std::move(field));
      }
    } else {
      reader.skip(1);
    }
    reader.skip_blanks();
  }
  reader.skip(1);
  return items;
}

}  // namespace

bool at_assignment(const ShellWordReader& reader) {
  return assignment_length(reader.text().substr(std::min(reader.at(), reader.text().size()))) > 0;
}

std::optional<ShellAssignment> read_assignment(ShellWordReader& reader) {
  const std::size_t length = assignment_length(reader.text().substr(reader.at()));
  if (length == 0) {
    return std::nullopt;
  }
  ShellAssignment assignment;
  const std::string sign(reader.text().substr(reader.at(), length));
  assignment.appends = sign.ends_with("+=");
  assignment.name = sign.substr(0, sign.size() - (assignment.appends ? 2 : 1));
  reader.skip(length);
  assignment.array = reader.peek() == '(';
  if (assignment.array) {
    assignment.items = array_items(reader);
  } else {
    assignment.items = {reader.at_word() ? reader.word().joined() : std::string{}};
  }
  return assignment;
}

void apply(const ShellAssignment& assignment, ShellVariables& variables) {
  std::vector<std::string> items = assignment.items;
  const std::vector<std::string>* held = variables.find(assignment.name);
  if (assignment.appends && held != nullptr) {
    std::vector<std::string> both = *held;
    if (assignment.array || both.empty()) {
      both.insert(both.end(), items.begin(), items.end());
    } else {
      both.front() += items.front();
    }
    items = std::move(both);
  }
  variables.set(assignment.name, std::move(items));
}

std::map<std::string, std::string> shell_assignments(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> assignments;
  for (const std::string& text : texts) {
    const std::size_t length = assignment_length(text);
    const bool variable =
        length > 1 && std::none_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length),
                                   ascii::is_lower);
    if (variable) {
      assignments[text.substr(0, length - 1)] = text.substr(length);
    }
  }
  return assignments;
}

}  // namespace stepcast
