// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/trace_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "stepcast/config/json_dump.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostListed = 30;  // entries of a list, as PyTorch shortens it

// "[0, 1, 2]", or the first entries and "...": as PyTorch writes lists of a collective.
std::string list_text(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  const std::size_t listed = std::min(values.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  }
  return text + (listed < values.size() ? ", ...]" : "]");
}

// The members of `object` without its braces, after a comma.
std::string members(const Json& object) {
  const std::string text = json_dump(object);
  return object.empty() ? "" : "," + text.substr(1, text.size() - 2);
}

Json of_collective(const TraceCollective& collective, ProcessGroups& groups) {
  const NamedGroup& group = groups.group(collective.group, collective.axis);
  return {{"Collective name", collective.name},
          {"In msg nelems", collective.in_elements},
          {"Out msg nelems", collective.out_elements},
          {"Group size", collective.group.size},
          {"dtype", collective.element},
          {"In split size", list_text(collective.in_split)},
          {"Out split size", list_text(collective.out_split)},
          {"Process Group Name", group.name},
          {"Process Group Description", group.description},
          {"Process Group Ranks", list_text(group.ranks)}};
}

Json of_arguments(const std::vector<TraceArgument>& arguments) {
  Json values = Json::array();
  Json types = Json::array();
  Json strides = Json::array();
  Json sizes = Json::array();
  for (const TraceArgument& argument : arguments) {
    values.push_back(argument.value);
    types.push_back(argument.type);
    strides.push_back(argument.strides);
    sizes.push_back(argument.sizes);
  }
  return {{"Concrete Inputs", values},
          {"Input type", types},
          {"Input Strides", strides},
          {"Input Dims", sizes}};
}

}  // namespace

void append_duration(std::string& text, std::int64_t begin, std::int64_t end) {
  const double from = read_microseconds(begin);
  const double to = read_microseconds(end);
  if (from + read_microseconds(end - begin) == to) {
    append_microseconds(text, end - begin);
    return;
  }
  double duration = to - from;
  while (from + duration < to) {
    duration = std::nextafter(duration, std::numeric_limits<double>::infinity());
  }
  while (from + duration > to) {
    duration = std::nextafter(duration, 0.0);
  }
  append_number(text, duration);
}

std::string json_string(std::string_view text) { return json_dump(Json(text)); }

std::string event_head(std::string_view category, std::string_view name, std::int64_t process) {
  return R"({"ph":"X","cat":)" + json_string(category) + ",\"name\":" + json_string(name) +
         ",\"pid\":" + std::to_string(process) + ",\"tid\":";
}

OperatorText operator_text(const TraceOperator& event, const OperatorCalls& calls,
                           const TraceProcesses& processes, ProcessGroups& groups) {
  OperatorText text;
  Json of_op = of_arguments(event.arguments);
  Json of_kernel = {{"device", processes.device}, {"context", 1}};
  of_op["Operator"] = calls.operator_name;
  of_kernel["Operator"] = calls.operator_name;
  if (calls.recomputed) {
    of_op["Recomputed"] = true;
    of_kernel["Recomputed"] = true;
  }
  if (event.collective) {
    const Json collective = of_collective(*event.collective, groups);
    of_op.update(collective);
    of_kernel.update(collective);
    text.group = groups.group(event.collective->group, event.collective->axis).index;
  }
  text.op = {event_head("cpu_op", event.name, processes.host), members(of_op)};
  text.launch = {event_head("cuda_runtime", calls.launch, processes.host), ""};
  text.kernel = {event_head(calls.kernel_category, event.kernel, processes.device),
                 members(of_kernel)};
  text.node = event.node;
  return text;
}

}  // namespace stepcast
