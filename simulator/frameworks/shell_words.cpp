// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_words.hpp"

#include <algorithm>
#include <utility>

#include "frameworks/shell_expression.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {
namespace {

std::size_t name_length(std::string_view text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), ascii::is_word);
  return static_cast<std::size_t>(end - text.begin());
}

// The length of "NAME=" or "NAME+=" at the start of a text, else 0.
std::size_t assignment_length(std::string_view text) {
  const std::size_t end = name_length(text);
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

constexpr int kDeepestWord = 16;  // words inside ${ } of words
constexpr std::string_view kWordEnds = " \t\r\n;&|()<>";

}  // namespace

// --- variables ----------------------------------------------------------------------------------

const std::vector<std::string>* ShellVariables::find(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::string ShellVariables::first(const std::string& name) const {
  const std::vector<std::string>* items = find(name);
  return items == nullptr || items->empty() ? std::string{} : items->front();
}

void ShellVariables::set(const std::string& name, std::vector<std::string> items) {
  if (!given.contains(name)) {
    values[name] = std::move(items);
  }
}

std::string ShellToken::joined() const { return text_list(fields, " "); }

// --- fields -------------------------------------------------------------------------------------

class ShellWordReader::Fields {
 public:
  void add(char c) {
    current_ += c;
    open_ = true;
  }
  void add(std::string_view text) {
    current_ += text;
    open_ = true;
  }
  // Text that no quotes hold together.
  void split(std::string_view text) {
    for (const char c : text) {
      if (ascii::is_space(c)) {
        end();
      } else {
        add(c);
      }
    }
  }
  void end() {
    if (std::exchange(open_, false)) {
      done_.push_back(std::exchange(current_, {}));
    }
  }
  std::vector<std::string> take() {
    end();
    return std::move(done_);
  }

 private:
  std::vector<std::string> done_;
  std::string current_;
  bool open_ = false;
};

// --- the reader ---------------------------------------------------------------------------------

ShellWordReader::ShellWordReader(std::string_view text, std::string file, int line,
                                 ShellVariables& variables, int depth)
    : text_(text), file_(std::move(file)), line_(line), variables_(&variables), depth_(depth) {
  if (depth_ > kDeepestWord) {
    fail("has words inside words more than " + std::to_string(kDeepestWord) + " deep");
  }
}

void ShellWordReader::fail(const std::string& message) const { throw ConfigError(here(), message); }

void ShellWordReader::skip(std::size_t count) {
  for (; count > 0 && !at_end(); --count) {
    line_ += text_[at_] == '\n' ? 1 : 0;
    ++at_;
  }
}

void ShellWordReader::skip_blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
      skip(1);
    } else if (starts_with("\\\n")) {
      skip(2);
    } else if (starts_with("\\\r\n")) {
      skip(3);
    } else if (peek() == '#') {
      skip(std::min(text_.find('\n', at_), text_.size()) - at_);
    } else {
      return;
    }
  }
}

bool ShellWordReader::at_word() const {
  return !at_end() &&
         (in_test_ ? !ascii::is_space(peek()) : kWordEnds.find(peek()) == std::string_view::npos);
}

void ShellWordReader::count(std::size_t characters) {
  variables_->expanded += characters + 1;
  if (variables_->expanded > kLargestConfig) {
    fail("expands to more than 4 MiB of words");
  }
}

void ShellWordReader::unknown(const std::string& what) {
  if (branch_ == ShellBranch::kTaken) {
    variables_->unknown.insert(what);
  }
}

ShellToken ShellWordReader::word() {
  ShellToken token{{}, {}, here()};
  const std::size_t begin = at_;
  Fields fields;
  while (at_word()) {
    const char c = peek();
    if (c == '\\') {
      if (!starts_with("\\\n") && at_ + 1 < text_.size()) {
        fields.add(peek(1));
      }
      skip(2);
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) {
        fail("has a single quote that nothing closes");
      }
      fields.add(text_.substr(at_ + 1, end - at_ - 1));
      skip(end + 1 - at_);
    } else if (c == '"') {
      quoted(fields);
    } else if (c == '`') {
      const std::size_t end = std::min(text_.find('`', at_ + 1), text_.size() - 1);
      unknown(std::string(text_.substr(at_, end + 1 - at_)));
      skip(end + 1 - at_);
    } else if (c == '$') {
      dollar(Quoting::kNone, fields);
    } else {
      fields.add(c);
      skip(1);
    }
  }
  token.raw = text_.substr(begin, at_ - begin);
  token.fields = fields.take();
  count(token.joined().size());
  return token;
}

ShellToken ShellWordReader::whole_word() {
  ShellToken token = word();
  token.fields = {token.joined()};
  return token;
}

void ShellWordReader::quoted(Fields& fields) {
  const Location where = here();
  skip(1);
  fields.add("");
  while (peek() != '"' || at_end()) {
    if (at_end()) {
      throw ConfigError(where, "has a double quote that nothing closes");
    }
    if (starts_with("\\\n")) {
      skip(2);
    } else if (peek() == '\\' &&
               std::string_view("\"$\\`").find(peek(1)) != std::string_view::npos) {
      fields.add(peek(1));
      skip(2);
    } else if (peek() == '$') {
      dollar(Quoting::kDouble, fields);
    } else {
      fields.add(peek());
      skip(1);
    }
  }
  skip(1);
}

std::string_view ShellWordReader::enclosed(char open, char close) {
  const Location where = here();
  skip(1);
  const std::size_t begin = at_;
  for (int depth = 1; !at_end(); skip(1)) {
    depth += peek() == open ? 1 : 0;
    depth -= peek() == close ? 1 : 0;
    if (depth == 0) {
      const std::string_view between = text_.substr(begin, at_ - begin);
      skip(1);
      return between;
    }
  }
  throw ConfigError(where, std::string("has a '") + open + "' that nothing closes");
}

void ShellWordReader::dollar(Quoting quoting, Fields& fields) {
  skip(1);
  if (peek() == '(') {
    const std::string_view between = enclosed('(', ')');
    if (between.starts_with('(') && between.ends_with(')') && between.size() > 1) {
      arithmetic(between.substr(1, between.size() - 2), fields);
    } else {
      unknown("$(" + std::string(between.substr(0, 40)) + ")");
    }
    return;
  }
  if (peek() == '{') {
    braced(enclosed('{', '}'), quoting, fields);
    return;
  }
  if (const std::size_t length = name_length(text_.substr(at_)); length > 0) {
    const bool positional = ascii::is_digit(peek());
    const std::string name(text_.substr(at_, positional ? 1 : length));
    skip(name.size());
    substitute(name, variables_->find(name), {}, quoting, fields);
    return;
  }
  if (std::string_view("@*#?$!-").find(peek()) != std::string_view::npos && !at_end()) {
    fields.split(peek() == '#' || peek() == '?' ? "0" : "");
    skip(1);
    return;
  }
  fields.add('$');
}

void ShellWordReader::arithmetic(std::string_view content, Fields& fields) {
  if (branch_ == ShellBranch::kNotTaken) {
    return;
  }
  const bool nested = content.find('$') != std::string_view::npos;
  const std::string text = nested ? expanded(content) : std::string(content);
  const auto value =
      shell_arithmetic(text, [this](const std::string& name) { return variables_->first(name); });
  if (value) {
    fields.split(std::to_string(*value));
  } else {
    unknown("$((" + std::string(content.substr(0, 40)) + "))");
  }
}

void ShellWordReader::braced(std::string_view content, Quoting quoting, Fields& fields) {
  const bool counted = content.starts_with('#') && content.size() > 1;
  content.remove_prefix(counted ? 1 : 0);
  const std::string name(content.substr(0, name_length(content)));
  std::string_view rest = content.substr(name.size());
  if (name.empty()) {
    unknown("${" + std::string(content.substr(0, 40)) + "}");
    return;
  }
  const std::vector<std::string>* values = variables_->find(name);
  std::vector<std::string> items;
  if (rest.starts_with('[') && rest.find(']') != std::string_view::npos) {
    const std::string subscript(rest.substr(1, rest.find(']') - 1));
    rest.remove_prefix(rest.find(']') + 1);
    if (values != nullptr && subscript != "@" && subscript != "*") {
      const auto index = shell_arithmetic(
          subscript, [this](const std::string& held) { return variables_->first(held); });
      const auto size = static_cast<std::int64_t>(values->size());
      const std::int64_t place = index.value_or(size);
      items = place >= 0 && place < size ? std::vector{(*values)[static_cast<std::size_t>(place)]}
                                         : std::vector<std::string>{};
      values = &items;
    }
  } else if (values != nullptr && values->size() > 1) {
    items = {values->front()};
    values = &items;
  }
  if (counted) {
    fields.split(std::to_string(values == nullptr ? 0 : values->size()));
    return;
  }
  substitute(name, values, rest, quoting, fields);
}

std::string ShellWordReader::expanded(std::string_view word) const {
  ShellWordReader inner(word, file_, line_, *variables_, depth_ + 1);
  inner.follow(branch_);
  std::string text;
  while (!inner.at_end()) {
    const char c = inner.peek();
    if (inner.at_word()) {
      text += inner.word().joined();
    } else {
      text += c;
      inner.skip(1);
    }
  }
  return text;
}

// What stands behind the name says what counts if the variable is unset or, after a colon, empty.
void ShellWordReader::substitute(const std::string& name, const std::vector<std::string>* values,
                                 std::string_view rest, Quoting quoting, Fields& fields) {
  const bool colon = rest.starts_with(':') && rest.size() > 1 &&
                     std::string_view("-=+?").find(rest[1]) != std::string_view::npos;
  const std::string_view sign = colon ? rest.substr(1) : rest;
  const bool absent =
      values == nullptr || (colon && (values->empty() || *values == std::vector<std::string>{""}));
  const bool falls_back = sign.starts_with('-') || sign.starts_with('=');
  if (sign.starts_with('+')) {
    insert(absent ? std::vector<std::string>{} : std::vector{expanded(sign.substr(1))}, quoting,
           fields);
  } else if (!absent) {
    insert(*values, quoting, fields);
    if (!sign.empty() && !falls_back && !sign.starts_with('?')) {
      unknown("${" + name + std::string(rest.substr(0, 40)) + "}");  // cut in a way not followed
    }
  } else if (falls_back) {
    const std::string fallback = expanded(sign.substr(1));
    if (sign.starts_with('=') && branch_ == ShellBranch::kTaken) {
      variables_->set(name, {fallback});
    }
    insert({fallback}, quoting, fields);
  } else {
    unknown(name);
  }
}

void ShellWordReader::insert(const std::vector<std::string>& values, Quoting quoting,
                             Fields& fields) {
  if (branch_ == ShellBranch::kNotTaken) {
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) {
      fields.end();
    }
    count(values[i].size());
    if (quoting == Quoting::kDouble) {
      fields.add(values[i]);
    } else {
      fields.split(values[i]);
    }
  }
}

std::string_view ShellWordReader::here_document(const std::string& end) {
  skip(std::min(text_.find('\n', at_), text_.size() - 1) + 1 - at_);
  const std::size_t begin = at_;
  while (!at_end()) {
    const std::size_t line_end = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(at_, line_end - at_);
    const std::size_t line_begin = at_;
    skip(line_end + 1 - at_);
    line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    if (line == end) {
      return text_.substr(begin, line_begin - begin);
    }
  }
  return text_.substr(std::min(begin, text_.size()));
}

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
