// SPDX-License-Identifier: Apache-2.0
// What a Python file assigns in so many words: cfg.model.x = 8, Config(x=8, y="a"). Nothing is run:
// a value that is no literal is left out, and named.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

struct PythonAssignment {
  std::string target;  // "cfg.model.tensor_model_parallel_size"; of a call, its keyword
  ConfigNode value;    // a scalar or a list; of anything else its text, with `literal` false
  bool literal = true;
};

struct PythonFunction {
  std::string name;  // of the function, or of what a call is assigned to; empty outside of both
  std::vector<PythonAssignment> assignments;
  std::vector<std::string> calls;  // statements that are a call, as written
};

// The functions of a file in its order, and each "NAME = Call(key=value)" outside of them as one of
// that name. Throws ConfigError where brackets or quotes stay open.
std::vector<PythonFunction> python_functions(std::string_view text, const std::string& file);

}  // namespace stepcast
