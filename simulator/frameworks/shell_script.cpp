// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_script.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "frameworks/job_directives.hpp"
#include "frameworks/shell_runner.hpp"
#include "frameworks/shell_syntax.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

bool is_place(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), ascii::is_digit);
}

ShellText folder_text(ShellRun& run, const std::string& file, const std::string& what) {
  ShellUnknown folder{
      ShellUnknownKind::kFolder, what, {file, 0, 0}, {ShellText(".")}, {}, {}, {}, {}};
  return ShellText::of(run.unknowns.add(std::move(folder)));
}

ShellState start_state(const std::map<std::string, std::string>& given,
                       const std::map<std::string, std::string>& of_the_job, ShellRun& run,
                       const std::string& file) {
  std::map<std::string, std::string> variables;
  ShellState state;
  for (const auto& [name, value] : given) {
    if (!is_place(name)) {
      variables[name] = value;
      continue;
    }
    constexpr std::size_t kMostArguments = 99;
    const std::size_t place = name.size() > 2 ? 0 : std::stoul(name);
    for (std::size_t i = state.positions.size(); i < place && i < kMostArguments; ++i) {
      const std::string what = "$" + std::to_string(i + 1);
      ShellUnknown missing{
          ShellUnknownKind::kPosition, what, {file, 0, 0}, {ShellText()}, {}, {}, {}, {}};
      state.positions.push_back(ShellText::of(run.absent_one(std::move(missing))));
    }
    if (place > 0) {
      state.positions[place - 1] = ShellText(value);
    }
  }
  state.variables = ShellVariables(variables);
  for (const auto& [name, value] : of_the_job) {
    state.variables.set(name, ShellValue::scalar(ShellText(value)));
    state.variables.export_name(name);
  }
  return state;
}

// Names for messages: what is absent, and what commands print.
std::set<std::string> names_of_unknown(const ShellUnknowns& unknowns) {
  std::set<std::string> names;
  for (ShellUnknownId id = 0; id < unknowns.size(); ++id) {
    const ShellUnknown& unknown = unknowns[id];
    const bool told = is_absent(unknown.kind) || unknown.kind == ShellUnknownKind::kOutput ||
                      unknown.kind == ShellUnknownKind::kForm;
    if (told) {
      names.insert(unknown.what);
    }
  }
  return names;
}

}  // namespace

ShellScript run_script(std::string_view text, const std::string& file,
                       const std::map<std::string, std::string>& given,
                       const ShellSources& sources) {
  ShellScript script;
  script.directives = batch_directives(text, file);
  ShellRun run;
  ShellText path = folder_text(run, file, "the folder of the script");
  path.add("/" + file.substr(file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1),
           ShellQuoting::kQuoted);
  std::map<std::string, std::string> of_the_job = batch_variables(script.directives);
  of_the_job.merge(job_identifiers(text));
  ShellState state = start_state(given, of_the_job, run, file);
  state.folder = folder_text(run, file, "the folder that it is started in");
  ShellRunner runner(std::move(state), {path, path, file}, sources, script, run);
  runner.run(text, 1);
  for (const std::string& name : runner.state().variables.names()) {
    const ShellValue* const value = runner.state().variables.find(name);
    for (const ShellText& item : value == nullptr ? ShellFields{} : value->fields()) {
      script.variables[name].push_back(run.unknowns.text_of(item));
    }
  }
  script.unknowns = std::move(run.unknowns);
  script.unknown = names_of_unknown(script.unknowns);
  return script;
}

std::map<std::string, std::string> shell_assignments(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> assignments;
  for (const std::string& text : texts) {
    const std::size_t length = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, length);
    const bool variable = length < text.size() && !name.empty() &&
                          (is_place(name) || shell_name_length(name) == name.size()) &&
                          std::none_of(name.begin(), name.end(), ascii::is_lower);
    if (variable) {
      assignments[name] = text.substr(length + 1);
    }
  }
  return assignments;
}

}  // namespace stepcast
