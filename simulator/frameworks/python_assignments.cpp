// SPDX-License-Identifier: Apache-2.0
#include "frameworks/python_assignments.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/ascii.hpp"
#include "stepcast/config/config_writer.hpp"

namespace stepcast {
namespace {

struct Statement {
  std::string text;  // without comments, on one line
  int line = 0;
  std::size_t indent = 0;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && ascii::is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && ascii::is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_dotted_name(std::string_view text) {
  return !text.empty() && !ascii::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return ascii::is_alphanumeric(c) || c == '_' || c == '.'; });
}

// Lines joined while brackets are open, without comments and documentation.
class StatementReader {
 public:
  StatementReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Statement> statements() {
    while (at_ < text_.size()) {
      read_statement();
    }
    return std::move(statements_);
  }

 private:
  void read_statement() {
    Statement statement{{}, line_, 0};
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++statement.indent;
      ++at_;
    }
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        if (open == 0) {
          break;
        }
        statement.text += ' ';
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '"' || c == '\'') {
        quoted(statement.text);
        continue;
      }
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      open = std::max(open, 0);
      statement.text += c;
      ++at_;
    }
    if (open > 0) {
      throw ConfigError({file_, statement.line, 0}, "has a bracket that nothing closes");
    }
    if (!trimmed(statement.text).empty()) {
      statements_.push_back(std::move(statement));
    }
  }

  void quoted(std::string& text) {
    const std::string three(3, text_[at_]);
    const std::string mark = text_.substr(at_).starts_with(three) ? three : three.substr(0, 1);
    const std::size_t end = text_.find(mark, at_ + mark.size());
    if (end == std::string_view::npos) {
      throw ConfigError({file_, line_, 0}, "has a quote that nothing closes");
    }
    const std::string_view inside = text_.substr(at_ + mark.size(), end - at_ - mark.size());
    line_ += static_cast<int>(std::count(inside.begin(), inside.end(), '\n'));
    if (mark.size() == 1) {
      text += '"' + std::string(inside) + '"';
    }
    at_ = end + mark.size();
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Statement> statements_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// Parts between commas that no bracket or quote holds.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int open = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    quoted = quoted != (c == '"');
    if (!quoted && i < text.size()) {
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
    if (c == ',' && ((open <= 0 && !quoted) || i == text.size())) {
      if (const std::string_view part = trimmed(text.substr(begin, i - begin)); !part.empty()) {
        parts.push_back(part);
      }
      begin = i + 1;
    }
  }
  return parts;
}

bool is_number(std::string_view text) {
  const bool signed_one = text.starts_with('-');
  text.remove_prefix(signed_one ? 1 : 0);
  return !text.empty() && ascii::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return ascii::is_alphanumeric(c) || c == '.' || c == '_' || c == '-' || c == '+';
         });
}

ConfigNode plain_node(std::string text) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = std::move(text);
  return node;
}

PythonAssignment read_value(std::string target, std::string_view written) {
  PythonAssignment assignment{std::move(target), plain_node(std::string(written)), true};
  if (written.size() >= 2 && written.front() == '"' && written.find('"', 1) == written.size() - 1) {
    assignment.value.text = written.substr(1, written.size() - 2);
  } else if (written.size() >= 2 && written.front() == '[' && written.back() == ']') {
    std::vector<std::string> items;
    for (const std::string_view part : parts_of(written.substr(1, written.size() - 2))) {
      const PythonAssignment item = read_value({}, part);
      assignment.literal =
          assignment.literal && item.literal && item.value.kind == ConfigNode::Kind::kScalar;
      items.push_back(item.value.text);
    }
    if (assignment.literal) {
      assignment.value = list_node(items);
    }
  } else if (is_number(written)) {
    std::erase(assignment.value.text, '_');
  } else if (written.starts_with("torch.") && is_dotted_name(written)) {
    const std::string_view type = written.substr(6);
    assignment.value.text = type == "bfloat16"  ? "bf16"
                            : type == "float16" ? "fp16"
                            : type == "float32" ? "fp32"
                                                : std::string(type);
  } else {
    assignment.literal = written == "True" || written == "False" || written == "None";
  }
  return assignment;
}

// "Name(a=1, b=2)" as assignments of a and b; nothing where the text is no call.
bool read_call(const std::string& prefix, std::string_view written,
               std::vector<PythonAssignment>& assignments) {
  const std::size_t open = written.find('(');
  if (open == std::string_view::npos || !written.ends_with(')') ||
      !is_dotted_name(trimmed(written.substr(0, open)))) {
    return false;
  }
  for (const std::string_view part :
       parts_of(written.substr(open + 1, written.size() - open - 2))) {
    const std::size_t equals = part.find('=');
    const std::string_view key = trimmed(part.substr(0, std::min(equals, part.size())));
    if (equals != std::string_view::npos && is_dotted_name(key)) {
      assignments.push_back(
          read_value(prefix + std::string(key), trimmed(part.substr(equals + 1))));
    }
  }
  return true;
}

void read_line(const Statement& statement, const std::string& file, PythonFunction& function) {
  const std::string_view text = trimmed(statement.text);
  const std::size_t equals = text.find('=');
  const std::string_view target = trimmed(text.substr(0, std::min(equals, text.size())));
  const std::size_t before = function.assignments.size();
  if (equals != std::string_view::npos && text.substr(equals + 1).starts_with('=')) {
    return;  // a comparison
  }
  if (equals == std::string_view::npos || !is_dotted_name(target)) {
    function.calls.emplace_back(text);
  } else {
    const std::string_view value = trimmed(text.substr(equals + 1));
    const std::string name(target);
    PythonAssignment whole = read_value(name, value);
    const bool call = !whole.literal && read_call(name + ".", value, function.assignments);
    if (!call || function.assignments.size() == before) {
      function.assignments.push_back(std::move(whole));
    }
  }
  for (std::size_t i = before; i < function.assignments.size(); ++i) {
    function.assignments[i].value.file = std::make_shared<const std::string>(file);
    function.assignments[i].value.line = statement.line;
    function.assignments[i].value.column = 1;
  }
}

}  // namespace

std::vector<PythonFunction> python_functions(std::string_view text, const std::string& file) {
  std::vector<PythonFunction> functions;
  bool inside = false;
  for (const Statement& statement : StatementReader(text, file).statements()) {
    const std::string_view line = trimmed(statement.text);
    if (line.starts_with("def ")) {
      functions.push_back({std::string(trimmed(line.substr(4, line.find('(') - 4))), {}, {}});
      inside = true;
      continue;
    }
    if (statement.indent > 0 && inside) {
      read_line(statement, file, functions.back());
      continue;
    }
    inside = false;
    PythonFunction own;
    read_line(statement, file, own);
    if (!own.assignments.empty()) {
      const std::string& target = own.assignments.front().target;
      const std::size_t dot = target.find('.');
      own.name =
          own.assignments.size() > 1 || line.ends_with(')') ? target.substr(0, dot) : std::string{};
      if (own.name.empty() && !functions.empty() && functions.back().name.empty()) {
        functions.back().assignments.push_back(std::move(own.assignments.front()));
      } else {
        functions.push_back(std::move(own));
      }
    }
  }
  return functions;
}

}  // namespace stepcast
