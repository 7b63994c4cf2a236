// SPDX-License-Identifier: Apache-2.0
#include "frameworks/launch_doubts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "frameworks/launch_command.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast {
namespace {

// What an unknown is put to that could be anything.
constexpr std::string_view kAnything = "\x7f";

std::string_view file_in(std::string_view path) {
  return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
}

// Scripts that set up an environment and no arguments.
bool is_environment(const std::string& path) {
  constexpr std::string_view kKnown =
      "activate conda.sh .bashrc .bash_profile .profile profile modules.sh bash init.sh setvars.sh "
      "lmod.sh module.sh";
  return is_among(kKnown, file_in(path));
}

std::string cause_of(const ShellUnknown& root) {
  const std::string what = "'" + root.what + "'";
  switch (root.kind) {
    case ShellUnknownKind::kUnset:
      return "nobody sets " + root.what;
    case ShellUnknownKind::kPosition:
      return "the script's argument " + root.what +
             (root.names.empty() ? std::string{} : " (" + *root.names.begin() + ")") +
             " is not given";
    case ShellUnknownKind::kOutput:
      return "what " + what + " prints is not known";
    case ShellUnknownKind::kStatus:
      return "whether " + what + " succeeds is not known";
    case ShellUnknownKind::kFile:
      return "whether there is such a file, " + what + ", is not known";
    case ShellUnknownKind::kSource:
      return "the script " + what + " is not there";
    default:
      return what + " is not followed";
  }
}

class Doubts {
 public:
  Doubts(const ShellScript& script, const ShellCommand& command, const std::string& program,
         ArgumentForm form)
      : script_(script), command_(command), program_(program), form_(form) {
    for (const ShellField& field : command.fields) {
      fields_.push_back(field.text);
    }
    base_ = settings(nullptr);
    const auto missing =
        std::find_if(script.missing.begin(), script.missing.end(),
                     [](const ShellWord& one) { return !is_environment(one.text); });
    missing_ = missing == script.missing.end() ? nullptr : &*missing;
  }

  std::vector<SettingDoubt> all() {
    for (const ShellUnknownId id : script_.unknowns.within(fields_)) {
      const ShellUnknown& unknown = script_.unknowns[id];
      if (unknown.kind == ShellUnknownKind::kFolder) {
        continue;
      }
      if (unknown.alternatives.empty()) {
        add(id, {ShellText(kAnything)});
      }
      for (const ShellFields& alternative : unknown.alternatives) {
        add(id, alternative);
      }
    }
    add_conditions();
    return std::move(doubts_);
  }

 private:
  using Settings = std::map<std::string, std::string>;

  // Arguments behind the program, with one unknown put to something.
  [[nodiscard]] Settings settings(const ShellUnknowns::Choice* choice) const {
    std::vector<ShellWord> words;
    bool behind = program_.empty();
    for (const ShellText& field : fields_) {
      for (std::string& word : script_.unknowns.words_of({field}, choice)) {
        if (behind) {
          words.push_back({std::move(word), {}});
        } else {
          behind = file_in(word) == file_in(program_);  // whatever folder it lies in
        }
      }
    }
    Settings made;
    for (const Setting& setting : settings_in(words, form_)) {
      made[setting.name] = setting.value.text;
    }
    return made;
  }

  void add(ShellUnknownId id, const ShellFields& instead) {
    const ShellUnknowns::Choice choice{id, instead};
    const Settings other = settings(&choice);
    for (const auto& [name, value] : other) {
      const auto usual = base_.find(name);
      if (usual == base_.end() || usual->second != value) {
        const bool joins = value.ends_with(" " + std::string(kAnything)) && usual != base_.end() &&
                           usual->second != "true";
        add(id, joins && is_bare(id) ? std::string{} : name,
            usual == base_.end() ? DoubtOf::kPresence : DoubtOf::kValue);
      }
    }
    for (const auto& [name, value] : base_) {
      if (!other.contains(name)) {
        add(id, name, DoubtOf::kPresence);
      }
    }
  }

  // Whether an unknown is a word of the command by itself, which quotes do not hold together.
  [[nodiscard]] bool is_bare(ShellUnknownId id) const {
    return std::any_of(fields_.begin(), fields_.end(),
                       [id](const ShellText& field) { return field.sole_unknown() == id; });
  }

  void add(ShellUnknownId id, const std::string& name, DoubtOf of) {
    for (const ShellUnknownId root : script_.unknowns.roots_of({id})) {
      const ShellUnknown& cause = script_.unknowns[root];
      SettingDoubt doubt;
      doubt.name = name;
      doubt.of = of;
      doubt.cause = cause_of(cause);
      doubt.remedy = remedy(id, root);
      doubt.usually_nothing = is_absent(cause.kind) && is_bare(id) && missing_ == nullptr;
      doubt.where = cause.where;
      doubts_.push_back(std::move(doubt));
    }
  }

  [[nodiscard]] std::string remedy(ShellUnknownId id, ShellUnknownId root) const {
    const ShellUnknown& cause = script_.unknowns[root];
    std::set<std::string> names = cause.names;
    if (names.empty() && cause.kind != ShellUnknownKind::kPosition) {
      names = script_.unknowns[id].names;
    }
    std::erase_if(names, [](const std::string& name) {
      return std::any_of(name.begin(), name.end(), ascii::is_lower);
    });
    const bool by_place = names.empty() && cause.kind == ShellUnknownKind::kPosition &&
                          ascii::is_digit(cause.what.back());
    std::string text = !names.empty() ? "give " + *names.begin() + "=VALUE"
                       : by_place     ? "give " + cause.what.substr(1) + "=VALUE"
                                      : "give these keys themselves, KEY=VALUE";
    if (!cause.compared.empty()) {
      text +=
          " (compared with " +
          text_list(std::vector<std::string>(cause.compared.begin(), cause.compared.end()), ", ") +
          ")";
    }
    if (cause.kind == ShellUnknownKind::kUnset && missing_ != nullptr) {
      text += "; or put '" + missing_->text.substr(0, 80) + "', which line " +
              std::to_string(missing_->where.line) + " sources, beside the script";
    }
    return text;
  }

  // Whether this command runs and not another one.
  void add_conditions() {
    const auto others = std::count_if(
        script_.commands.begin(), script_.commands.end(), [&](const ShellCommand& other) {
          return &other != &command_ && other.fields.size() * 2 > command_.fields.size();
        });
    if (others == 0) {
      return;
    }
    SettingDoubt doubt;
    const int line = command_.fields.empty() ? 0 : command_.fields.front().where.line;
    doubt.cause = "of " + std::to_string(others + 1) + " commands alike the one in line " +
                  std::to_string(line) + " is taken";
    for (const ShellUnknownId root : script_.unknowns.roots_of(command_.doubts)) {
      doubt.cause += "; " + cause_of(script_.unknowns[root]);
    }
    doubt.remedy = "give the script without the others where that is wrong";
    doubt.usually_nothing = true;
    doubt.where = command_.fields.empty() ? Location{} : command_.fields.front().where;
    doubts_.push_back(std::move(doubt));
  }

  const ShellScript& script_;
  const ShellCommand& command_;
  const std::string& program_;
  ArgumentForm form_;
  ShellFields fields_;
  Settings base_;
  const ShellWord* missing_ = nullptr;
  std::vector<SettingDoubt> doubts_;
};

}  // namespace

std::vector<SettingDoubt> doubts_of(const ShellScript& script, const ShellCommand& command,
                                    const std::string& program, ArgumentForm form) {
  return Doubts(script, command, program, form).all();
}

}  // namespace stepcast
