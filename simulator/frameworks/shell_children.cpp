// SPDX-License-Identifier: Apache-2.0
// Programs that a script starts, and scripts that these run in turn: bash -c TEXT, sbatch FILE,
// bash <<EOF, srun bash -c TEXT, docker run IMAGE sh -c TEXT.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "frameworks/job_directives.hpp"
#include "frameworks/shell_output.hpp"
#include "frameworks/shell_runner.hpp"

namespace stepcast {
namespace {

std::string name_of_program(const std::string& word) {
  return word.substr(word.rfind('/') == std::string::npos ? 0 : word.rfind('/') + 1);
}

bool is_shell(const std::string& word) {
  constexpr std::array<std::string_view, 4> kShells = {"bash", "sh", "zsh", "dash"};
  const std::string name = name_of_program(word);
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

bool is_batch(const std::string& word) {
  constexpr std::array<std::string_view, 5> kBatch = {"sbatch", "qsub", "bsub", "pjsub", "salloc"};
  return std::find(kBatch.begin(), kBatch.end(), word) != kBatch.end();
}

bool is_script(const std::string& word) {
  return word.ends_with(".sh") || word.ends_with(".slurm") || word.ends_with(".sbatch") ||
         word.ends_with(".bash");
}

// A text that another program is handed, which is a command line: "cd /x; python train.py --bf16".
bool is_command_line(const std::string& text) {
  return text.find_first_of(" \n") != std::string::npos && text.find("--") != std::string::npos &&
         text.find(".py") != std::string::npos;
}

}  // namespace

void ShellRunner::start(const ShellFields& words, const std::vector<Location>& places,
                        const ShellSimple& simple) {
  if (const auto printed = shell_output(words, input_, expansion_, line_)) {
    print(*printed);
    set_status({true});
    return;
  }
  const int line = line_;
  record(words, places, simple);
  const std::vector<ShellWord> within = within_;
  if (!script_.commands.empty()) {
    const std::vector<ShellWord>& own = script_.commands.back().words;
    within_.insert(within_.begin(), own.begin(), own.end());
  }
  with_assignments(simple.assignments, [&] { start_scripts(words); });
  within_ = within;
  line_ = line;
  std::string whole;
  for (const std::string& word : run_.unknowns.words_of(words)) {
    whole += (whole.empty() ? "" : " ") + word;
  }
  if (state_.is_captured) {
    print(unknown(ShellUnknownKind::kOutput, "$(" + whole + ")"));
  }
  flow_ = Flow::kNext;
  state_.status = {true, unknown(ShellUnknownKind::kStatus, whole).unknowns(), {}};
}

void ShellRunner::record(const ShellFields& words, const std::vector<Location>& places,
                         const ShellSimple& simple) {
  ShellCommand command;
  for (std::size_t i = 0; i < words.size(); ++i) {
    command.fields.push_back({words[i], places[i]});
    for (std::string& word : run_.unknowns.words_of({words[i]})) {
      command.words.push_back({std::move(word), places[i], words[i].known().has_value()});
    }
  }
  command.doubts = doubts_;
  command.within = within_;
  for (const ShellAssignment& assignment : simple.assignments) {
    if (!assignment.array) {
      command.environment[assignment.name] =
          expansion_.guess_of(expansion_.text(assignment.words.front()));
    }
  }
  if (!command.words.empty()) {
    script_.commands.push_back(std::move(command));
  }
}

std::optional<std::string> ShellRunner::text_of_script(const std::string& path) {
  for (const auto& [name, text] : state_.written) {
    const bool same = name == path || name_of_program(name) == name_of_program(path);
    if (same) {
      return ShellExpansion::script_of(text);
    }
  }
  std::string wanted = path;
  if (!path.starts_with('/') && !state_.folder.empty()) {
    wanted = expansion_.guess_of(state_.folder) + "/" + path;
  }
  const auto normal = [](const std::string& name) {
    return std::filesystem::path(name).lexically_normal().generic_string();
  };
  std::optional<std::string> text = sources_(normal(wanted));
  return text ? text : sources_(normal(path));
}

// Whether a word starts a shell, or hands a text to one.
// A word of `words` that looks like a command line and is one.
void ShellRunner::start_texts_among(const ShellFields& words) {
  for (const ShellText& word : words) {
    if (word.sole_unknown()) {
      continue;  // of a choice between commands the words are recorded as they are
    }
    if (is_command_line(expansion_.guess_of(word))) {
      try {
        (void)parse_shell(ShellExpansion::script_of(word), places_.file, line_);
      } catch (const ConfigError&) {
        continue;  // a text of another language
      }
      start_text(word, {});
    }
  }
}

bool ShellRunner::start_scripts(const ShellFields& words) {
  const std::string program = expansion_.guess_of(words.front());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = expansion_.guess_of(words[i]);
    const bool shell = is_shell(word);
    std::size_t next = i + 1;
    bool has_text = false;
    while (shell && next < words.size()) {
      const std::string option = expansion_.guess_of(words[next]);
      if (!option.starts_with('-') || option == "-") {
        break;
      }
      has_text = has_text || (!option.starts_with("--") && option.ends_with('c'));
      ++next;
    }
    if (shell && has_text && next < words.size()) {
      start_text(words[next],
                 ShellFields(words.begin() + static_cast<std::ptrdiff_t>(next) + 1, words.end()));
      return true;
    }
    const bool starts =
        shell || (i == 0 && (is_script(word) || is_batch(word))) || (i > 0 && is_script(word));
    const std::size_t file = shell ? next : i == 0 && is_batch(word) ? words.size() : i;
    if (starts && file < words.size() && is_script(expansion_.guess_of(words[file]))) {
      start_file(expansion_.guess_of(words[file]),
                 ShellFields(words.begin() + static_cast<std::ptrdiff_t>(file) + 1, words.end()));
      return true;
    }
    if (shell && next >= words.size() && input_) {
      start_text(*input_, {});
      return true;
    }
  }
  if ((is_batch(program) || program == "srun") && input_) {
    start_text(*input_, {});
    return true;
  }
  start_texts_among(words);
  return false;
}

void ShellRunner::start_text(const ShellText& text, ShellFields arguments) {
  // Of "bash -c TEXT a b" the first argument is $0.
  const ShellText script = places_.script;
  places_.script = arguments.empty() ? ShellText("bash") : arguments.front();
  if (!arguments.empty()) {
    arguments.erase(arguments.begin());
  }
  run_child(ShellExpansion::script_of(text), places_.file, line_, arguments);
  places_.script = script;
}

bool ShellRunner::start_file(const std::string& name, const ShellFields& arguments) {
  const bool is_itself = name_of_program(name) == name_of_program(places_.file);
  const std::optional<std::string> text = is_itself ? std::nullopt : text_of_script(name);
  if (!text) {
    script_.missing.push_back({name, here()});
    return false;
  }
  run_child(*text, name, 1, arguments);
  return true;
}

void ShellRunner::run_child(const std::string& text, const std::string& file, int line,
                            const ShellFields& arguments) {
  ShellState child;
  child.variables = state_.variables.exported();
  child.positions = expansion_.arguments(arguments, child.position_causes, line_);
  child.knows_positions = true;
  child.folder = state_.folder;
  child.written = state_.written;
  const ShellState before = std::exchange(state_, std::move(child));
  const ShellExpansion::Places places = places_;
  if (file != places_.file) {
    for (ShellWord& option : batch_directives(text, file)) {
      script_.directives.push_back(std::move(option));
    }
    places_.script = ShellText(file);
    places_.source = ShellText(file);
    places_.file = file;
  }
  const std::optional<ShellText> input = std::exchange(input_, std::nullopt);
  in_frame([&] { run(text, line); });
  flow_ = Flow::kNext;
  input_ = input;
  places_ = places;
  state_ = before;
}

}  // namespace stepcast
