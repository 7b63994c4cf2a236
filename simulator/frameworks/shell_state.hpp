// SPDX-License-Identifier: Apache-2.0
// What a script has done so far: its variables, arguments, functions, and the files that it wrote.
// A value, so that what two branches of an unknown condition do can be compared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frameworks/shell_syntax.hpp"
#include "frameworks/shell_text.hpp"

namespace stepcast {

// Whether a command succeeds, or a condition holds. Unknown if it has causes: then `holds` is the
// guess. With `absent` alone it holds if nobody gives these.
struct ShellTruth {
  bool holds = true;
  std::vector<ShellUnknownId> causes;
  std::vector<ShellUnknownId> absent;

  [[nodiscard]] bool is_known() const { return causes.empty() && absent.empty(); }
  bool operator==(const ShellTruth&) const = default;
};
ShellTruth negated(ShellTruth truth);
ShellTruth both(const ShellTruth& a, const ShellTruth& b);
ShellTruth either(const ShellTruth& a, const ShellTruth& b);

enum class ShellShape { kScalar, kArray, kMap };

struct ShellValue {
  ShellShape shape = ShellShape::kScalar;
  std::map<std::int64_t, ShellText> items;  // a scalar is item 0
  std::map<std::string, ShellText> named;   // of a map

  static ShellValue scalar(ShellText text);
  static ShellValue array(const ShellFields& fields);
  [[nodiscard]] ShellFields fields() const;
  bool operator==(const ShellValue&) const = default;
};

struct ShellVariable {
  ShellValue value;
  bool exported = false;
  bool is_set = true;  // false: declared or unset in a function

  bool operator==(const ShellVariable&) const = default;
};

class ShellVariables {
 public:
  // Variables that the script cannot change.
  explicit ShellVariables(const std::map<std::string, std::string>& given = {});

  // Null where it is not set.
  [[nodiscard]] const ShellValue* find(const std::string& name) const;
  [[nodiscard]] bool is_given(const std::string& name) const { return given_.contains(name); }
  void set(const std::string& name, ShellValue value);
  void erase(const std::string& name);
  void export_name(const std::string& name);
  void make_local(const std::string& name);
  void enter_function() { scopes_.emplace_back(); }
  void leave_function() { scopes_.pop_back(); }
  [[nodiscard]] bool in_function() const { return scopes_.size() > 1; }
  [[nodiscard]] std::set<std::string> names() const;
  // What a program that is started sees.
  [[nodiscard]] ShellVariables exported() const;

 private:
  using Scope = std::map<std::string, ShellVariable>;
  [[nodiscard]] const ShellVariable* variable(const std::string& name) const;
  ShellVariable& place_of(const std::string& name);

  std::vector<Scope> scopes_;  // of the script, and of each function that runs
  std::set<std::string> given_;
};

struct ShellCallable {
  std::shared_ptr<const ShellList> body;
  std::string file;
};

struct ShellState {
  ShellVariables variables;
  ShellFields positions;
  bool knows_positions = false;                 // else nobody gave the script any
  std::size_t shifted = 0;                      // how many are gone
  std::vector<ShellUnknownId> position_causes;  // what decides how many there are
  ShellText folder;                             // in which commands run
  std::map<std::string, ShellText> written;     // files that the script wrote
  std::map<std::string, ShellCallable> functions;
  ShellTruth status;  // of the last command
  ShellText printed;  // by commands whose output somebody asks for
  bool is_captured = false;
  bool exports_all = false;
  bool ends_on_failure = false;
};

}  // namespace stepcast
