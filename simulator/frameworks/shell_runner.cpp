// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_runner.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace stepcast {
namespace {

constexpr int kDeepestRun = 100;  // blocks, functions and scripts inside each other
constexpr std::size_t kMostSteps = 100'000;
constexpr int kMostTurns = 4096;  // of one loop

}  // namespace

ShellRunner::ShellRunner(ShellState state, ShellExpansion::Places places,
                         const ShellSources& sources, ShellScript& script, ShellRun& run)
    : state_(std::move(state)),
      places_(std::move(places)),
      sources_(sources),
      script_(script),
      run_(run),
      expansion_(state_, run_, places_, [this](const std::string& command, int line) {
        return printed_by(command, line);
      }) {}

void ShellRunner::run(std::string_view text, int line) {
  run_.count(text.size(), here());
  run(parse_shell(text, places_.file, line));
}

void ShellRunner::count_step() {
  if (++run_.steps > kMostSteps) {
    fail("runs more than " + std::to_string(kMostSteps) + " commands");
  }
}

// --- lists --------------------------------------------------------------------------------------

void ShellRunner::run(const ShellList& list) {
  if (++depth_ > kDeepestRun) {
    fail("calls itself, or scripts in scripts, without end");
  }
  for (std::size_t i = 0; i < list.size() && flow_ == Flow::kNext; ++i) {
    const bool last = i + 1 == list.size() || list[i + 1].join == ShellJoin::kAlways;
    run(list[i]);
    const bool fails = last && !list[i].negated && state_.status.is_known() &&
                       !state_.status.holds && list[i].join != ShellJoin::kAfterSuccess;
    if (fails && state_.ends_on_failure && !asked_ && flow_ == Flow::kNext) {
      flow_ = Flow::kExit;
    }
  }
  --depth_;
}

void ShellRunner::run(const ShellStep& step) {
  count_step();
  const auto body = [&] {
    if (step.background) {
      in_subshell([&] { run_pipeline(step); });
      set_status({true});
    } else {
      run_pipeline(step);
    }
  };
  if (step.join == ShellJoin::kAlways) {
    body();
    return;
  }
  const ShellTruth before = state_.status;
  const bool after_success = step.join == ShellJoin::kAfterSuccess;
  const auto skip = [&] { set_status({!after_success}); };
  decide(after_success ? before : negated(before), body, skip);
}

void ShellRunner::run_pipeline(const ShellStep& step) {
  const bool outer = std::exchange(asked_, asked_ || step.negated);
  if (step.pipeline.size() == 1) {
    run(step.pipeline.front());
  } else {
    std::optional<ShellText> between = std::exchange(input_, std::nullopt);
    for (std::size_t i = 0; i < step.pipeline.size(); ++i) {
      const bool last = i + 1 == step.pipeline.size();
      const ShellText printed = std::exchange(state_.printed, ShellText());
      const bool captured = std::exchange(state_.is_captured, state_.is_captured || !last);
      input_ = std::exchange(between, std::nullopt);
      in_subshell([&] { run(step.pipeline[i]); });
      between = std::exchange(state_.printed, printed);
      state_.is_captured = captured;
    }
    print(*between);
    input_.reset();
  }
  asked_ = outer;
  if (step.negated) {
    state_.status = negated(state_.status);
  }
}

void ShellRunner::run(const ShellStatement& statement) {
  line_ = statement.line;
  if (std::holds_alternative<ShellSimple>(statement.command) || statement.redirections.empty()) {
    const auto* const simple = std::get_if<ShellSimple>(&statement.command);
    if (simple != nullptr && !statement.redirections.empty()) {
      with_redirections(statement.redirections, [&] { run(*simple); });
      return;
    }
    dispatch(statement);
    return;
  }
  with_redirections(statement.redirections, [&] { dispatch(statement); });
}

void ShellRunner::dispatch(const ShellStatement& statement) {
  std::visit(
      [&](const auto& command) {
        using Command = std::decay_t<decltype(command)>;
        if constexpr (std::is_same_v<Command, ShellIf>) {
          run(command, 0);
        } else if constexpr (std::is_same_v<Command, ShellCase>) {
          set_status({true});
          run(command, expansion_.text(command.subject), 0);
        } else if constexpr (std::is_same_v<Command, ShellTest>) {
          state_.status = conditions().of_test(command);
        } else if constexpr (std::is_same_v<Command, ShellComputed>) {
          set_from_number(expansion_.number(command.expression, line_));
        } else if constexpr (std::is_same_v<Command, ShellFunction>) {
          state_.functions[command.name] = {command.body, places_.file};
          set_status({true});
        } else {
          run(command);
        }
      },
      statement.command);
}

ShellConditions ShellRunner::conditions() {
  return {expansion_, run_, state_,
          [this](const std::string& path) { return text_of_script(path).has_value(); }, here()};
}

// --- conditions ---------------------------------------------------------------------------------

void ShellRunner::run(const ShellIf& clauses, std::size_t clause) {
  for (; clause < clauses.clauses.size(); ++clause) {
    const bool outer = std::exchange(asked_, true);
    run(clauses.clauses[clause].first);
    asked_ = outer;
    if (flow_ != Flow::kNext) {
      return;
    }
    const ShellTruth truth = state_.status;
    if (!truth.is_known() || truth.holds) {
      decide(
          truth, [&] { run(clauses.clauses[clause].second); }, [&] { run(clauses, clause + 1); });
      return;
    }
  }
  set_status({true});
  run(clauses.otherwise);
}

void ShellRunner::run(const ShellCase& branches, const ShellText& subject, std::size_t branch) {
  for (; branch < branches.branches.size(); ++branch) {
    const ShellCaseBranch& one = branches.branches[branch];
    ShellTruth truth{false, {}, {}};
    for (const ShellRawWord& pattern : one.patterns) {
      truth = either(truth, conditions().matches(subject, expansion_.text(pattern)));
    }
    if (truth.is_known() && !truth.holds) {
      continue;
    }
    const auto body = [&] {
      run(one.body);
      if (one.falls_through && flow_ == Flow::kNext) {
        fail("has a branch of a case that falls through to the next, which is not followed");
      }
    };
    decide(truth, body, [&] {
      set_status({true});
      run(branches, subject, branch + 1);
    });
    return;
  }
}

void ShellRunner::decide(const ShellTruth& truth, const Branch& yes, const Branch& no,
                         ShellTurns turns) {
  if (!truth.causes.empty()) {
    fork(truth.causes, {yes, no}, truth.holds ? 0 : 1, turns);
    return;
  }
  if (truth.absent.empty()) {
    set_status({truth.holds});
    (truth.holds ? yes : no)();
    return;
  }
  // What nobody gives: the default counts, unless the script ends for want of it.
  const ShellState before = state_;
  const std::size_t commands = script_.commands.size();
  set_status({truth.holds});
  (truth.holds ? yes : no)();
  if (flow_ == Flow::kExit && script_.commands.size() == commands) {
    state_ = before;
    flow_ = Flow::kNext;
    set_status({!truth.holds});
    (truth.holds ? no : yes)();
  }
}

void ShellRunner::fork(const std::vector<ShellUnknownId>& causes,
                       const std::vector<Branch>& branches, std::size_t guess, ShellTurns turns) {
  if (++depth_ > kDeepestRun) {
    fail("has more than " + std::to_string(kDeepestRun) + " conditions in each other");
  }
  const ShellState before = state_;
  run_.count(16 * state_.variables.names().size(), here());
  const std::size_t doubts = doubts_.size();
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    state_ = before;
    set_status({i == 0});
    flow_ = Flow::kNext;
    doubts_.insert(doubts_.end(), causes.begin(), causes.end());
    const std::size_t first = script_.commands.size();
    branches[i]();
    doubts_.resize(doubts);
    outcomes.push_back({state_, flow_, first, script_.commands.size()});
  }
  --depth_;
  join(std::move(outcomes), causes, guess, turns);
}

// The only way that goes on: what it ran is in no doubt of `settled`.
void ShellRunner::go_on_from(Outcome& only, const std::vector<ShellUnknownId>& settled) {
  for (std::size_t i = only.first; i < only.last; ++i) {
    for (const ShellUnknownId cause : settled) {
      std::erase(script_.commands[i].doubts, cause);
    }
  }
  state_ = std::move(only.state);
  flow_ = only.flow;
}

void ShellRunner::join(std::vector<Outcome> outcomes, const std::vector<ShellUnknownId>& causes,
                       std::size_t guess, ShellTurns turns) {
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].is_dead()) {
      alive.push_back(i);
    }
  }
  const bool guess_lives = std::find(alive.begin(), alive.end(), guess) != alive.end();
  const std::size_t chosen = guess_lives || alive.empty() ? guess : alive.front();
  if (alive.size() < 2) {
    return go_on_from(outcomes[chosen], alive.empty() ? std::vector<ShellUnknownId>{} : causes);
  }
  std::vector<ShellState> going_on;
  std::vector<Pending> ways_out;
  std::size_t place = 0;
  for (const std::size_t i : alive) {
    if (outcomes[i].flow == Flow::kNext) {
      place = i == chosen ? going_on.size() : place;
      going_on.push_back(outcomes[i].state);
    } else if (outcomes[i].flow != Flow::kExit) {
      ways_out.push_back({outcomes[i].state, causes});
    }
  }
  if (!frames_.empty()) {
    std::vector<Pending>& pending = frames_.back();
    pending.insert(pending.end(), ways_out.begin(), ways_out.end());
  }
  if (going_on.empty()) {
    state_ = std::move(outcomes[chosen].state);
    flow_ = outcomes[chosen].flow;
    return;
  }
  if (going_on.size() < alive.size()) {
    doubts_.insert(doubts_.end(), causes.begin(), causes.end());
  }
  flow_ = Flow::kNext;
  state_ = merged(going_on, place, causes, turns, here(), run_);
}

// --- blocks and loops ---------------------------------------------------------------------------

void ShellRunner::in_frame(const Branch& body) {
  const std::size_t doubts = doubts_.size();
  frames_.emplace_back();
  body();
  const std::vector<Pending> pending = std::move(frames_.back());
  frames_.pop_back();
  doubts_.resize(doubts);
  for (const Pending& way : pending) {
    state_ = merged({state_, way.state}, 0, way.causes, ShellTurns::kOnce, here(), run_);
  }
}

void ShellRunner::in_subshell(const Branch& body) {
  const ShellState before = state_;
  in_frame(body);
  const ShellState after = std::exchange(state_, before);
  state_.printed = after.printed;
  state_.status = after.status;
  state_.written = after.written;
  flow_ = Flow::kNext;
}

void ShellRunner::run(const ShellGroup& group) {
  if (group.subshell) {
    in_subshell([&] { run(group.body); });
  } else {
    run(group.body);
  }
}

bool ShellRunner::turn_goes_on() {
  if (flow_ == Flow::kContinue || flow_ == Flow::kBreak) {
    const bool leaves = flow_ == Flow::kBreak || levels_ > 1;
    const bool outer = --levels_ > 0;
    flow_ = outer ? flow_ : Flow::kNext;
    levels_ = std::max(1, levels_);
    return !leaves;
  }
  return flow_ == Flow::kNext;
}

void ShellRunner::repeat(const std::function<ShellTruth()>& holds, const Branch& turn) {
  in_frame([&] {
    for (int turns = 0;; ++turns) {
      count_step();
      const bool outer = std::exchange(asked_, true);
      const ShellTruth truth = holds();
      asked_ = outer;
      if (flow_ != Flow::kNext || (truth.causes.empty() && !truth.holds)) {
        break;
      }
      const bool endless = turns == kMostTurns;
      if (endless || !truth.causes.empty()) {
        const ShellText cause = expansion_.form("a loop without end", line_);
        const auto once = [&] {
          turn();
          turn_goes_on();
        };
        decide(
            {truth.holds, endless ? cause.unknowns() : truth.causes, {}}, once, [] {},
            ShellTurns::kAnyNumber);
        break;
      }
      turn();
      if (!turn_goes_on()) {
        break;
      }
    }
  });
  if (flow_ == Flow::kNext) {
    set_status({true});
  }
}

void ShellRunner::run(const ShellFor& loop) {
  ShellFields items = loop.positions ? expansion_.fields(ShellRawWord{"\"$@\"", line_})
                                     : expansion_.fields(loop.words);
  // Where an item may be several, or none, nobody knows how many turns there are.
  std::vector<ShellUnknownId> open;
  std::erase_if(items, [&](const ShellText& item) {
    const auto sole = item.sole_unknown();
    if (!sole) {
      return false;
    }
    const ShellUnknown& unknown = run_.unknowns[*sole];
    const bool absent = is_absent(unknown.kind);
    const bool many =
        item.pieces().front().quoting == ShellQuoting::kNone || absent || unknown.guess.size() != 1;
    if (many && !absent) {
      open.push_back(*sole);
    }
    return many && absent;
  });
  std::size_t next = 0;
  const auto take = [&] {
    state_.variables.set(loop.name, ShellValue::scalar(items[next++]));
    run(loop.body);
  };
  if (!open.empty()) {
    next = 0;
    decide(
        {true, open, {}},
        [&] {
          in_frame(take);
          turn_goes_on();
        },
        [] {}, ShellTurns::kAnyNumber);
    return;
  }
  repeat([&] { return ShellTruth{next < items.size(), {}, {}}; }, take);
}

void ShellRunner::run(const ShellCountedFor& loop) {
  const int line = line_;
  (void)expansion_.number(loop.start, line);
  bool started = false;
  const auto holds = [&] {
    if (std::exchange(started, true)) {
      (void)expansion_.number(loop.step, line);
    }
    const bool always = loop.condition.find_first_not_of(" \t\n") == std::string::npos;
    set_from_number(always ? ShellNumber{1, {}} : expansion_.number(loop.condition, line));
    return state_.status;
  };
  repeat(holds, [&] { run(loop.body); });
}

void ShellRunner::run(const ShellWhile& loop) {
  const auto holds = [&] {
    run(loop.condition);
    return loop.until ? negated(state_.status) : state_.status;
  };
  repeat(holds, [&] { run(loop.body); });
}

void ShellRunner::set_from_number(const ShellNumber& number) {
  state_.status = {number.value.value_or(0) != 0, number.causes, {}};
  if (!number.value && number.causes.empty()) {
    state_.status.causes = expansion_.form("(( ))", line_).unknowns();
  }
}

}  // namespace stepcast
