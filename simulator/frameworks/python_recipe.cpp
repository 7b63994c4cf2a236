// SPDX-License-Identifier: Apache-2.0
#include "frameworks/python_recipe.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "frameworks/python_tokens.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

using ValueKind = PythonValue::Kind;
using TokenKind = PythonToken::Kind;

constexpr int kDeepest = 64;                 // nested expressions, functions that call each other
constexpr std::size_t kMostValues = 20'000;  // of all expressions together

struct RecipeFunction {
  std::string name;
  bool needs_arguments = false;
  int line = 0;
  std::vector<const PythonStatement*> body;
};

std::vector<RecipeFunction> functions_of(const std::vector<PythonStatement>& statements) {
  std::vector<RecipeFunction> functions;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const std::vector<PythonToken>& head = statements[i].tokens;
    if (statements[i].indent != 0 || head.size() < 5 || head.front().text != "def") {
      continue;
    }
    RecipeFunction function{head[1].text, head[3].text != ")", head[1].line, {}};
    const int inner = i + 1 < statements.size() ? statements[i + 1].indent : 0;
    for (std::size_t j = i + 1; j < statements.size() && statements[j].indent > 0; ++j) {
      if (statements[j].indent == inner) {
        function.body.push_back(&statements[j]);
      }
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

// The number that a literal is, if it is a whole one.
std::optional<std::int64_t> whole(const PythonValue& value) {
  std::string digits = value.text;
  std::erase(digits, '_');
  return value.kind == ValueKind::kLiteral ? whole_number_in(digits) : std::nullopt;
}

// How many values a value consists of.
std::size_t size_of(const PythonValue& value) {
  std::size_t size = 1;
  for (const PythonValue& item : value.items) {
    size += size_of(item);
  }
  for (const auto& [name, item] : value.keywords) {
    size += size_of(item);
  }
  return size;
}

// a + b, a - b, a * b or a // b of whole numbers; of anything else its text.
PythonValue combined(const PythonValue& a, const std::string& sign, const PythonValue& b) {
  const std::optional<std::int64_t> left = whole(a);
  const std::optional<std::int64_t> right = whole(b);
  std::int64_t result = 0;
  bool good = left && right;
  if (good && sign == "*") {
    good = !__builtin_mul_overflow(*left, *right, &result);
  } else if (good && sign == "+") {
    good = !__builtin_add_overflow(*left, *right, &result);
  } else if (good && sign == "-") {
    good = !__builtin_sub_overflow(*left, *right, &result);
  } else if (good) {
    good = *right > 0 && *left >= 0;
    result = good ? *left / *right : 0;
  }
  PythonValue value;
  value.kind = good ? ValueKind::kLiteral : ValueKind::kOpaque;
  value.text = good ? std::to_string(result) : (a.text + " " + sign + " " + b.text).substr(0, 200);
  value.where = a.where;
  return value;
}

using Scope = std::map<std::string, PythonValue, std::less<>>;

class Evaluation {
 public:
  Evaluation(std::string_view text, const std::string& file)
      : text_(text),
        file_(file),
        statements_(python_statements(text, file)),
        functions_(functions_of(statements_)) {}

  std::vector<PythonValue> calls(std::string_view names) {
    std::vector<PythonValue> found;
    std::map<std::string, int, std::less<>> assigned;
    for (const PythonStatement& statement : statements_) {
      ++assigned[assigned_name(statement)];
    }
    Scope scope;
    for (const PythonStatement& statement : statements_) {
      spent_ = 0;
      for (std::size_t at = 0; at < statement.tokens.size(); ++at) {
        if (is_call(statement.tokens, at, names)) {
          Cursor cursor{statement.tokens, at, scope, 0};
          found.push_back(named(cursor));
        }
      }
      const std::string name = assigned_name(statement);
      try {
        (void)run(statement, scope, 0);
      } catch (const ConfigError&) {
        scope.erase(name);
      }
      if (!name.empty() && assigned[name] > 1) {
        scope.erase(name);
      }
    }
    return found;
  }

  PythonValue result(const std::string& name, int depth) {
    const auto found = std::find_if(functions_.begin(), functions_.end(),
                                    [&](const auto& function) { return function.name == name; });
    if (found == functions_.end()) {
      std::vector<std::string> names;
      for (const RecipeFunction& function : functions_) {
        names.push_back(function.name);
      }
      throw ConfigError({file_, 0, 0},
                        "has no function '" + name.substr(0, 60) + "'" + did_you_mean(name, names));
    }
    Scope scope;
    for (const PythonStatement* statement : found->body) {
      if (std::optional<PythonValue> returned = run(*statement, scope, depth)) {
        return *std::move(returned);
      }
    }
    fail(found->line, 1, "function '" + name + "' returns nothing that can be read");
  }

 private:
  [[noreturn]] void fail(int line, int column, const std::string& message) const {
    throw ConfigError({file_, line, column}, message);
  }

  // The variable that a statement assigns to; empty if it does not.
  static std::string assigned_name(const PythonStatement& statement) {
    const std::vector<PythonToken>& tokens = statement.tokens;
    const bool assigns = tokens.size() > 2 && tokens[0].kind == TokenKind::kName &&
                         tokens[1].kind == TokenKind::kSign &&
                         (tokens[1].text == "=" || tokens[1].text == ":");
    return assigns ? tokens[0].text : std::string{};
  }
  // Whether a dotted name begins here that ends in one of `names` and is called.
  static bool is_call(const std::vector<PythonToken>& tokens, std::size_t at,
                      std::string_view names) {
    const bool inside =
        at > 0 && tokens[at - 1].text == "." && tokens[at - 1].kind == TokenKind::kSign;
    const bool defined = at > 0 && (tokens[at - 1].text == "def" || tokens[at - 1].text == "class");
    if (inside || defined || tokens[at].kind != TokenKind::kName) {
      return false;
    }
    while (at + 2 < tokens.size() && tokens[at + 1].text == "." &&
           tokens[at + 1].kind == TokenKind::kSign) {
      at += 2;
    }
    return at + 1 < tokens.size() && tokens[at + 1].text == "(" &&
           tokens[at + 1].kind == TokenKind::kSign && is_among(names, tokens[at].text);
  }

  // What is returned, if the statement returns.
  std::optional<PythonValue> run(const PythonStatement& statement, Scope& scope, int depth);
  void assign(const std::vector<PythonToken>& tokens, std::size_t sign, Scope& scope,
              PythonValue value) const;

  // A cursor over the tokens of one statement.
  struct Cursor {
    const std::vector<PythonToken>& tokens;
    std::size_t at = 0;
    Scope& scope;
    int depth = 0;

    [[nodiscard]] bool ended() const { return at >= tokens.size(); }
    [[nodiscard]] bool is(std::string_view sign) const {
      return !ended() && tokens[at].kind != TokenKind::kString && tokens[at].text == sign;
    }
    [[nodiscard]] bool closes() const { return ended() || is(",") || brackets() < 0; }
    // 1 where a bracket opens, -1 where one closes.
    [[nodiscard]] int brackets() const {
      return is("(") || is("[") || is("{") ? 1 : is(")") || is("]") || is("}") ? -1 : 0;
    }
  };

  PythonValue expression(Cursor& cursor);
  PythonValue sum(Cursor& cursor);
  PythonValue product(Cursor& cursor);
  PythonValue factor(Cursor& cursor);
  PythonValue named(Cursor& cursor);
  PythonValue call(Cursor& cursor, PythonValue callee);
  PythonValue bracketed(Cursor& cursor);
  PythonValue braced(Cursor& cursor);
  PythonValue value_named(Cursor& cursor, const PythonValue& name);
  PythonValue opaque(const Cursor& cursor, std::size_t begin) const;
  void spend(std::size_t values) {
    spent_ += values;
    if (spent_ > kMostValues) {
      throw ConfigError({file_, 0, 0}, "has more values than a configuration");
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<PythonStatement> statements_;
  std::vector<RecipeFunction> functions_;
  std::size_t spent_ = 0;
};

std::optional<PythonValue> Evaluation::run(const PythonStatement& statement, Scope& scope,
                                           int depth) {
  const std::vector<PythonToken>& tokens = statement.tokens;
  Cursor cursor{tokens, 0, scope, depth};
  if (cursor.is("return")) {
    ++cursor.at;
    return cursor.ended() ? std::optional<PythonValue>{} : expression(cursor);
  }
  // name = ..., name.part = ..., name: type = ...
  std::size_t sign = 1;
  while (sign < tokens.size() && tokens[sign].text != "=" && tokens[sign].text != "(") {
    ++sign;
  }
  if (tokens.front().kind == TokenKind::kName && sign + 1 < tokens.size() &&
      tokens[sign].text == "=" && tokens[sign].kind == TokenKind::kSign) {
    cursor.at = sign + 1;
    assign(tokens, sign, scope, expression(cursor));
  }
  return std::nullopt;
}

void Evaluation::assign(const std::vector<PythonToken>& tokens, std::size_t sign, Scope& scope,
                        PythonValue value) const {
  PythonValue* target = &scope[tokens.front().text];
  for (std::size_t i = 1; i + 1 < sign && tokens[i].text == "."; i += 2) {
    const std::string& part = tokens[i + 1].text;
    PythonValue* inner = keyword_of(*target, part);
    if (inner == nullptr) {
      target->keywords.push_back({part, PythonValue{ValueKind::kCall, {}, {}, {}, value.where}});
      inner = &target->keywords.back().value;
    }
    target = inner;
  }
  *target = std::move(value);
}

PythonValue Evaluation::opaque(const Cursor& cursor, std::size_t begin) const {
  const PythonToken& first = cursor.tokens[begin];
  const PythonToken& last = cursor.tokens[std::max(begin + 1, cursor.at) - 1];
  PythonValue value;
  value.text = std::string(text_.substr(first.begin, last.end - first.begin));
  value.where = {file_, first.line, first.column};
  return value;
}

// What goes on after a sum is a comparison, a condition or the like: its text is kept.
PythonValue Evaluation::expression(Cursor& cursor) {
  if (cursor.ended()) {
    const PythonToken& last = cursor.tokens.back();
    fail(last.line, last.column, "ends where a value was expected");
  }
  if (++cursor.depth > kDeepest) {
    fail(cursor.tokens[cursor.at].line, cursor.tokens[cursor.at].column, "is nested too deep");
  }
  spend(1);
  const std::size_t begin = cursor.at;
  PythonValue value = sum(cursor);
  if (!cursor.closes()) {
    for (int open = 0; !cursor.ended() && (open > 0 || !cursor.closes()); ++cursor.at) {
      open += cursor.brackets();
    }
    value = opaque(cursor, begin);
  }
  --cursor.depth;
  return value;
}

PythonValue Evaluation::sum(Cursor& cursor) {
  PythonValue value = product(cursor);
  while (cursor.is("+") || cursor.is("-")) {
    const std::string sign = cursor.tokens[cursor.at++].text;
    value = combined(value, sign, product(cursor));
  }
  return value;
}

PythonValue Evaluation::product(Cursor& cursor) {
  PythonValue value = factor(cursor);
  while (cursor.is("*") || cursor.is("//")) {
    const std::string sign = cursor.tokens[cursor.at++].text;
    value = combined(value, sign, factor(cursor));
  }
  return value;
}

PythonValue Evaluation::factor(Cursor& cursor) {
  const std::size_t begin = cursor.at;
  if (cursor.closes()) {
    const PythonToken& near = cursor.tokens[std::min(begin, cursor.tokens.size() - 1)];
    fail(near.line, near.column, "lacks a value before '" + near.text.substr(0, 20) + "'");
  }
  const PythonToken& token = cursor.tokens[cursor.at];
  PythonValue value{ValueKind::kLiteral, token.text, {}, {}, {file_, token.line, token.column}};
  if (token.kind == TokenKind::kString) {
    for (++cursor.at; !cursor.ended() && cursor.tokens[cursor.at].kind == TokenKind::kString;) {
      value.text += cursor.tokens[cursor.at++].text;
    }
    return value;
  }
  if (token.kind == TokenKind::kNumber) {
    ++cursor.at;
    return value;
  }
  if (cursor.is("-") && cursor.at + 1 < cursor.tokens.size() &&
      cursor.tokens[cursor.at + 1].kind == TokenKind::kNumber) {
    value.text += cursor.tokens[cursor.at + 1].text;
    cursor.at += 2;
    return value;
  }
  if (cursor.is("(") || cursor.is("[")) {
    return bracketed(cursor);
  }
  if (cursor.is("{")) {
    return braced(cursor);
  }
  if (token.kind == TokenKind::kName && !cursor.is("lambda") && !cursor.is("not")) {
    return named(cursor);
  }
  return opaque(cursor, cursor.at++);
}

// A list, a tuple, or one value in brackets.
PythonValue Evaluation::bracketed(Cursor& cursor) {
  const PythonToken& open = cursor.tokens[cursor.at];
  const std::string_view close = open.text == "(" ? ")" : "]";
  PythonValue list{ValueKind::kList, {}, {}, {}, {file_, open.line, open.column}};
  bool comma = false;
  for (++cursor.at; !cursor.ended() && !cursor.is(close);) {
    list.items.push_back(expression(cursor));
    comma = cursor.is(",");
    if (!comma && !cursor.is(close)) {
      break;
    }
    cursor.at += comma ? 1 : 0;
  }
  if (!cursor.is(close)) {
    fail(open.line, open.column, "has a list that is not understood");
  }
  ++cursor.at;
  const bool one = open.text == "(" && list.items.size() == 1 && !comma;
  return one ? PythonValue(list.items.front()) : list;
}

// A dictionary or a set: its text is kept.
PythonValue Evaluation::braced(Cursor& cursor) {
  const std::size_t begin = cursor.at;
  int open = 0;
  do {
    open += cursor.brackets();
    ++cursor.at;
  } while (!cursor.ended() && open > 0);
  return opaque(cursor, begin);
}

PythonValue Evaluation::named(Cursor& cursor) {
  const PythonToken& first = cursor.tokens[cursor.at++];
  PythonValue value{ValueKind::kOpaque, first.text, {}, {}, {file_, first.line, first.column}};
  while (cursor.is(".") && cursor.at + 1 < cursor.tokens.size()) {
    value.text += "." + cursor.tokens[cursor.at + 1].text;
    cursor.at += 2;
  }
  if (cursor.is("(")) {
    return call(cursor, std::move(value));
  }
  if (value.text == "True" || value.text == "False" || value.text == "None") {
    value.kind = ValueKind::kLiteral;
    return value;
  }
  return value_named(cursor, value);
}

// What a variable, or a part of one, holds.
PythonValue Evaluation::value_named(Cursor& cursor, const PythonValue& name) {
  std::string_view path = name.text;
  const auto found = cursor.scope.find(path.substr(0, path.find('.')));
  PythonValue* value = found == cursor.scope.end() ? nullptr : &found->second;
  while (value != nullptr && path.find('.') != std::string_view::npos) {
    path.remove_prefix(path.find('.') + 1);
    value = keyword_of(*value, path.substr(0, path.find('.')));
  }
  if (value == nullptr) {
    return name;
  }
  spend(size_of(*value));
  return *value;
}

PythonValue Evaluation::call(Cursor& cursor, PythonValue callee) {
  callee.kind = ValueKind::kCall;
  const std::vector<PythonToken>& tokens = cursor.tokens;
  for (++cursor.at; !cursor.ended() && !cursor.is(")");) {
    const bool has_key = cursor.at + 1 < tokens.size() && tokens[cursor.at + 1].text == "=" &&
                         tokens[cursor.at + 1].kind == TokenKind::kSign;
    const std::string key = has_key ? tokens[cursor.at].text : std::string{};
    cursor.at += has_key ? 2 : 0;
    while (cursor.is("*") || cursor.is("**")) {
      ++cursor.at;
    }
    PythonValue value = expression(cursor);
    spend(size_of(value));
    if (has_key) {
      callee.keywords.push_back({key, std::move(value)});
    } else {
      callee.items.push_back(std::move(value));
    }
    if (!cursor.is(",")) {
      break;
    }
    ++cursor.at;
  }
  if (!cursor.is(")")) {
    fail(callee.where.line, callee.where.column,
         "has a call of '" + callee.text.substr(0, 60) + "' that is not understood");
  }
  ++cursor.at;
  const bool ours = std::any_of(functions_.begin(), functions_.end(), [&](const auto& function) {
    return function.name == callee.text && !function.needs_arguments;
  });
  if (ours && callee.keywords.empty() && callee.items.empty()) {
    PythonValue value = result(callee.text, cursor.depth + 1);
    spend(size_of(value));
    return value;
  }
  return callee;
}

}  // namespace

PythonValue* keyword_of(PythonValue& value, std::string_view name) {
  const auto found = std::find_if(value.keywords.begin(), value.keywords.end(),
                                  [name](const auto& entry) { return entry.name == name; });
  return found == value.keywords.end() ? nullptr : &found->value;
}

std::vector<std::string> recipe_functions(std::string_view text, const std::string& file) {
  const std::vector<PythonStatement> statements = python_statements(text, file);
  std::vector<std::string> names;
  for (const RecipeFunction& function : functions_of(statements)) {
    if (!function.needs_arguments) {
      names.push_back(function.name);
    }
  }
  return names;
}

std::vector<PythonValue> python_calls(std::string_view text, const std::string& file,
                                      std::string_view names) {
  return Evaluation(text, file).calls(names);
}

PythonValue python_result(std::string_view text, const std::string& file,
                          const std::string& function) {
  return Evaluation(text, file).result(function, 0);
}

}  // namespace stepcast
