// SPDX-License-Identifier: Apache-2.0
// Reads the functions of a Python file that build a configuration, without running Python:
// assignments, returns, nested calls with keyword arguments, literals, lists, products and sums of
// whole numbers.
//
//   def llama3_70b() -> Trainer.Config:
//       config = llama3_8b()
//       config.training.steps = 10
//       return config
//
// When it is wrong: conditions and loops are not followed, and what a call of an unknown function
// returns is its name with its arguments. A value that is none of the above keeps its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

struct PythonKeyword;

// A value of a Python expression that was read, not run.
struct PythonValue {
  enum class Kind { kLiteral, kList, kCall, kOpaque };
  Kind kind = Kind::kOpaque;
  std::string text;  // of a literal without quotes; of a call the dotted name; else as written
  std::vector<PythonValue> items;       // of a list; positional arguments
  std::vector<PythonKeyword> keywords;  // of a call
  Location where;
};

struct PythonKeyword {
  std::string name;
  PythonValue value;
};

// A keyword argument of a call, or null.
PythonValue* keyword_of(PythonValue& value, std::string_view name);

// The functions without required arguments, in the order of the file.
std::vector<std::string> recipe_functions(std::string_view text, const std::string& file);
// What `function` returns. Throws ConfigError if there is no such function, if it returns nothing
// that can be read, or if the text is no Python that is understood.
PythonValue python_result(std::string_view text, const std::string& file,
                          const std::string& function);

// The calls in a whole text of what ends in one of these names, which have blanks between them, in
// the order of the text: "from_pretrained" is AutoModelForCausalLM.from_pretrained as well.
// Variables stand for what was assigned to them before; one that is assigned in several places, or
// to what is not understood, keeps its name. Throws ConfigError for such a call that is not
// understood.
std::vector<PythonValue> python_calls(std::string_view text, const std::string& file,
                                      std::string_view names);

}  // namespace stepcast
