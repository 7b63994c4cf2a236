// SPDX-License-Identifier: Apache-2.0
// What is fixed of the events of one operator: the operator itself, its launch and its kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepcast/trace/operator_event.hpp"
#include "stepcast/trace/process_groups.hpp"

namespace stepcast {

// The members of an event between its numbers: `head` ends before the thread, `arguments` begins
// after the first ones of "args", which differ from call to call.
struct EventText {
  std::string head;
  std::string arguments;
};

struct OperatorText {
  EventText op;
  EventText launch;
  EventText kernel;
  std::string node;  // of autograd, quoted for JSON; empty: it runs nothing in backward
  std::optional<std::size_t> group;  // of a collective, in whose order its kernel has a number
};

struct TraceProcesses {
  std::int64_t host = 0;
  std::int64_t device = 0;
};

// `operator_name` is what the simulator calls it. `launch` is the call that starts its kernel, of
// the category `kernel_category`.
struct OperatorCalls {
  std::string_view operator_name;
  std::string_view launch;
  std::string_view kernel_category = "kernel";
  bool recomputed = false;  // forward once more, which both say
};

OperatorText operator_text(const TraceOperator& event, const OperatorCalls& calls,
                           const TraceProcesses& processes, ProcessGroups& groups);

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

}  // namespace stepcast
