// SPDX-License-Identifier: Apache-2.0
// Follows the steps of a script, in the order in which bash would run them. Used by run_script
// alone.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/shell_condition.hpp"
#include "frameworks/shell_expansion.hpp"
#include "frameworks/shell_merge.hpp"
#include "frameworks/shell_script.hpp"
#include "frameworks/shell_state.hpp"
#include "frameworks/shell_syntax.hpp"

namespace stepcast {

class ShellRunner {
 public:
  ShellRunner(ShellState state, ShellExpansion::Places places, const ShellSources& sources,
              ShellScript& script, ShellRun& run);

  void run(std::string_view text, int line);
  [[nodiscard]] const ShellState& state() const { return state_; }

 private:
  // Where the run goes on: at the next command, or behind a loop, a function, the whole script.
  enum class Flow { kNext, kBreak, kContinue, kReturn, kExit };
  using Branch = std::function<void()>;
  struct Outcome {
    ShellState state;
    Flow flow = Flow::kNext;
    std::size_t first = 0;  // of the commands that it ran
    std::size_t last = 0;
    // An end of the script that has started nothing is no way to the training.
    [[nodiscard]] bool is_dead() const { return flow == Flow::kExit && first == last; }
  };
  // A way out of a loop or function that may have been taken.
  struct Pending {
    ShellState state;
    std::vector<ShellUnknownId> causes;
  };

  // --- shell_runner.cpp: lists, conditions, loops
  void run(const ShellList& list);
  void run(const ShellStep& step);
  void run_pipeline(const ShellStep& step);
  void run(const ShellStatement& statement);
  void dispatch(const ShellStatement& statement);
  void run(const ShellIf& clauses, std::size_t clause);
  void run(const ShellCase& branches, const ShellText& subject, std::size_t branch);
  void run(const ShellFor& loop);
  void run(const ShellCountedFor& loop);
  void run(const ShellWhile& loop);
  void run(const ShellGroup& group);
  // One turn after the other while `holds` says so.
  void repeat(const std::function<ShellTruth()>& holds, const Branch& turn);
  // False where the loop ends here.
  bool turn_goes_on();
  void decide(const ShellTruth& truth, const Branch& yes, const Branch& no,
              ShellTurns turns = ShellTurns::kOnce);
  void fork(const std::vector<ShellUnknownId>& causes, const std::vector<Branch>& branches,
            std::size_t guess, ShellTurns turns);
  void go_on_from(Outcome& only, const std::vector<ShellUnknownId>& settled);
  void join(std::vector<Outcome> outcomes, const std::vector<ShellUnknownId>& causes,
            std::size_t guess, ShellTurns turns);
  // Runs what a loop or function holds, and takes back the ways out of it.
  void in_frame(const Branch& body);
  void in_subshell(const Branch& body);
  void count_step();

  // --- shell_commands.cpp: simple commands, redirections
  void run(const ShellSimple& simple);
  void assign(const ShellAssignment& assignment);
  void assign_list(const ShellAssignment& assignment);
  void execute(ShellFields words, std::vector<Location> places, const ShellSimple& simple);
  void with_assignments(const std::vector<ShellAssignment>& assignments, const Branch& body);
  void declare(const ShellFields& words, const ShellSimple& simple);
  void declare_one(const std::string& name, std::string_view keyword, std::string_view options,
                   const ShellAssignment* assignment);
  void with_redirections(const std::vector<ShellRedirection>& redirections, const Branch& body);
  void read_input(const ShellRedirection& redirection);
  void call(const ShellCallable& function, ShellFields arguments);
  void print(const ShellText& text);
  ShellText printed_by(const std::string& command, int line);
  ShellText unknown(ShellUnknownKind kind, const std::string& what);
  // Of a command whose end is known.
  struct Ended {
    bool well;
  };
  void set_status(Ended ended) { state_.status = {ended.well, {}, {}}; }

  // --- shell_builtins.cpp
  using Builtin = void (ShellRunner::*)(const ShellFields& words);
  static Builtin builtin_of(const std::string& name);
  void do_nothing(const ShellFields& words);
  void fail_only(const ShellFields& words);
  void change_folder(const ShellFields& words);
  void print_folder(const ShellFields& words);
  void resolve_path(const ShellFields& words);
  void show_file(const ShellFields& words);
  void evaluate(const ShellFields& words);
  void source(const ShellFields& words);
  void end_script(const ShellFields& words);
  void leave_function(const ShellFields& words);
  void leave_loop(const ShellFields& words);
  void set_options(const ShellFields& words);
  void shift(const ShellFields& words);
  void unset(const ShellFields& words);
  void test(const ShellFields& words);
  void let(const ShellFields& words);
  void print_formatted(const ShellFields& words);
  void read(const ShellFields& words);
  void read_lines(const ShellFields& words);
  void next_option(const ShellFields& words);
  void set_from_number(const ShellNumber& number);
  void set_unknown(const std::string& name, const std::string& what);

  // --- shell_children.cpp: programs, and scripts that they start
  void start(const ShellFields& words, const std::vector<Location>& places,
             const ShellSimple& simple);
  void record(const ShellFields& words, const std::vector<Location>& places,
              const ShellSimple& simple);
  bool start_scripts(const ShellFields& words);
  void start_texts_among(const ShellFields& words);
  void start_text(const ShellText& text, ShellFields arguments);
  bool start_file(const std::string& name, const ShellFields& arguments);
  void run_child(const std::string& text, const std::string& file, int line,
                 const ShellFields& arguments);
  // The text of a script by its path, as it was written or lies beside.
  std::optional<std::string> text_of_script(const std::string& path);

  [[nodiscard]] Location here() const { return {places_.file, line_, 0}; }
  [[nodiscard]] ShellConditions conditions();
  [[noreturn]] void fail(const std::string& message) const { throw ConfigError(here(), message); }

  ShellState state_;
  ShellExpansion::Places places_;
  const ShellSources& sources_;
  ShellScript& script_;
  ShellRun& run_;
  ShellExpansion expansion_;
  std::optional<ShellText> input_;  // what commands read
  std::vector<ShellUnknownId> doubts_;
  std::vector<ShellWord> within_;  // of commands that start what runs
  std::vector<std::vector<Pending>> frames_;
  Flow flow_ = Flow::kNext;
  int levels_ = 1;  // of loops that break leaves
  int line_ = 0;
  int depth_ = 0;
  bool asked_ = false;  // a condition decides by the status, so that no failure ends the script
};

}  // namespace stepcast
