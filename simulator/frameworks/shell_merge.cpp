// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_merge.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace stepcast {
namespace {

class Merge {
 public:
  Merge(const std::vector<ShellState>& states, std::size_t guess,
        const std::vector<ShellUnknownId>& causes, ShellTurns turns, Location where, ShellRun& run)
      : states_(states),
        guess_(guess),
        causes_(causes),
        turns_(turns),
        where_(std::move(where)),
        run_(run) {}

  ShellState state() {
    ShellState made = states_[guess_];
    std::set<std::string> names;
    for (const ShellState& state : states_) {
      names.merge(state.variables.names());
    }
    for (const std::string& name : names) {
      if (!agree([&](const ShellState& state) { return value_of(state, name); })) {
        made.variables.set(name, value(name));
      }
    }
    if (!agree([](const ShellState& state) { return state.printed; })) {
      made.printed = ShellText::of(
          choice({}, [](const ShellState& state) { return ShellFields{state.printed}; }));
    }
    if (!agree([](const ShellState& state) { return state.status; })) {
      made.status.causes.insert(made.status.causes.end(), causes_.begin(), causes_.end());
    }
    if (!agree([](const ShellState& state) { return state.positions; })) {
      made.positions.clear();
      made.knows_positions = false;
    }
    return made;
  }

 private:
  static ShellValue value_of(const ShellState& state, const std::string& name) {
    const ShellValue* const held = state.variables.find(name);
    return held == nullptr ? ShellValue{} : *held;
  }

  template <typename Part>
  bool agree(Part part) const {
    const auto first = part(states_.front());
    return std::all_of(states_.begin() + 1, states_.end(),
                       [&](const ShellState& state) { return part(state) == first; });
  }

  // The unknown of what `part` makes of each state.
  template <typename Part>
  ShellUnknownId choice(const std::string& name, Part part) {
    ShellUnknown made{
        ShellUnknownKind::kChoice, name, where_, part(states_[guess_]), {}, causes_, {}, {}};
    for (const ShellState& state : states_) {
      ShellFields fields = part(state);
      run_.count(fields.size(), where_);
      const bool is_new = std::find(made.alternatives.begin(), made.alternatives.end(), fields) ==
                          made.alternatives.end();
      if (is_new) {
        made.alternatives.push_back(std::move(fields));
      }
    }
    if (turns_ == ShellTurns::kAnyNumber) {
      made.kind = ShellUnknownKind::kComputed;
      made.alternatives.clear();
    }
    if (!name.empty()) {
      made.names.insert(name);
    }
    return run_.unknowns.add(std::move(made));
  }

  ShellValue value(const std::string& name) {
    const auto shaped = [&](ShellShape shape) {
      return std::all_of(states_.begin(), states_.end(), [&](const ShellState& state) {
        const ShellValue held = value_of(state, name);
        return held.shape == shape || (held.items.empty() && held.named.empty());
      });
    };
    if (shaped(ShellShape::kScalar)) {
      return ShellValue::scalar(ShellText::of(choice(name, [&](const ShellState& state) {
        const ShellFields fields = value_of(state, name).fields();
        return fields.empty() ? ShellFields{ShellText()} : fields;
      })));
    }
    if (shaped(ShellShape::kMap)) {
      return map(name);
    }
    return ShellValue::array(list(name));
  }

  ShellValue map(const std::string& name) {
    std::set<std::string> keys;
    for (const ShellState& state : states_) {
      for (const auto& [key, text] : value_of(state, name).named) {
        keys.insert(key);
      }
    }
    ShellValue made;
    made.shape = ShellShape::kMap;
    for (const std::string& key : keys) {
      const auto item = [&, key](const ShellState& state) {
        const ShellValue held = value_of(state, name);
        const auto found = held.named.find(key);
        return ShellFields{found == held.named.end() ? ShellText() : found->second};
      };
      made.named[key] =
          agree(item) ? item(states_.front()).front() : ShellText::of(choice({}, item));
    }
    return made;
  }

  // Items that all states begin and end with stay; what is between is one choice.
  ShellFields list(const std::string& name) {
    const auto fields = [&](const ShellState& state) { return value_of(state, name).fields(); };
    const ShellFields guess = fields(states_[guess_]);
    std::size_t front = guess.size();
    std::size_t shortest = guess.size();
    for (const ShellState& state : states_) {
      const ShellFields other = fields(state);
      const auto differ = std::mismatch(guess.begin(), guess.end(), other.begin(), other.end());
      front = std::min(front, static_cast<std::size_t>(differ.first - guess.begin()));
      shortest = std::min(shortest, other.size());
    }
    std::size_t back = shortest - front;
    for (const ShellState& state : states_) {
      const ShellFields other = fields(state);
      const auto differ = std::mismatch(guess.rbegin(), guess.rend(), other.rbegin(), other.rend());
      back = std::min(back, static_cast<std::size_t>(differ.first - guess.rbegin()));
    }
    ShellFields made(guess.begin(), guess.begin() + static_cast<std::ptrdiff_t>(front));
    made.push_back(ShellText::of(choice(name, [&](const ShellState& state) {
      const ShellFields all = fields(state);
      return ShellFields(all.begin() + static_cast<std::ptrdiff_t>(front),
                         all.end() - static_cast<std::ptrdiff_t>(back));
    })));
    made.insert(made.end(), guess.end() - static_cast<std::ptrdiff_t>(back), guess.end());
    return made;
  }

  const std::vector<ShellState>& states_;
  std::size_t guess_;
  const std::vector<ShellUnknownId>& causes_;
  ShellTurns turns_;
  Location where_;
  ShellRun& run_;
};

}  // namespace

ShellState merged(const std::vector<ShellState>& states, std::size_t guess,
                  const std::vector<ShellUnknownId>& causes, ShellTurns turns,
                  const Location& where, ShellRun& run) {
  return Merge(states, guess, causes, turns, where, run).state();
}

}  // namespace stepcast
