// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_state.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {
namespace {

void join_ids(std::vector<ShellUnknownId>& all, const std::vector<ShellUnknownId>& more) {
  for (const ShellUnknownId id : more) {
    if (std::find(all.begin(), all.end(), id) == all.end()) {
      all.push_back(id);
    }
  }
}

// Of "a and b" for `decides` false, of "a or b" for true: what one of them says alone is enough.
ShellTruth combined_truth(const ShellTruth& a, const ShellTruth& b, bool decides) {
  for (const ShellTruth* one : {&a, &b}) {
    if (one->is_known() && one->holds == decides) {
      return *one;
    }
  }
  for (const ShellTruth* one : {&a, &b}) {
    if (one->causes.empty() && one->holds == decides) {
      return *one;
    }
  }
  ShellTruth made = a;
  made.holds = decides ? a.holds || b.holds : a.holds && b.holds;
  join_ids(made.causes, b.causes);
  join_ids(made.absent, b.absent);
  return made;
}

}  // namespace

ShellTruth negated(ShellTruth truth) {
  truth.holds = !truth.holds;
  return truth;
}

ShellTruth both(const ShellTruth& a, const ShellTruth& b) { return combined_truth(a, b, false); }
ShellTruth either(const ShellTruth& a, const ShellTruth& b) { return combined_truth(a, b, true); }

ShellValue ShellValue::scalar(ShellText text) {
  ShellValue value;
  value.items[0] = std::move(text);
  return value;
}

ShellValue ShellValue::array(const ShellFields& fields) {
  ShellValue value;
  value.shape = ShellShape::kArray;
  std::int64_t place = 0;
  for (const ShellText& field : fields) {
    value.items[place++] = field;
  }
  return value;
}

ShellFields ShellValue::fields() const {
  ShellFields all;
  for (const auto& [place, text] : items) {
    all.push_back(text);
  }
  for (const auto& [name, text] : named) {
    all.push_back(text);
  }
  return all;
}

ShellVariables::ShellVariables(const std::map<std::string, std::string>& given) : scopes_(1) {
  for (const auto& [name, value] : given) {
    scopes_.front()[name] = {ShellValue::scalar(ShellText(value)), true, true};
    given_.insert(name);
  }
}

const ShellVariable* ShellVariables::variable(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) {
      return &found->second;
    }
  }
  return nullptr;
}

ShellVariable& ShellVariables::place_of(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) {
      return found->second;
    }
  }
  return scopes_.front().emplace(name, ShellVariable{{}, false, false}).first->second;
}

const ShellValue* ShellVariables::find(const std::string& name) const {
  const ShellVariable* const found = variable(name);
  return found == nullptr || !found->is_set ? nullptr : &found->value;
}

void ShellVariables::set(const std::string& name, ShellValue value) {
  if (!given_.contains(name)) {
    ShellVariable& place = place_of(name);
    place.value = std::move(value);
    place.is_set = true;
  }
}

void ShellVariables::erase(const std::string& name) {
  if (!given_.contains(name)) {
    place_of(name).is_set = false;
  }
}

void ShellVariables::export_name(const std::string& name) { place_of(name).exported = true; }

void ShellVariables::make_local(const std::string& name) {
  if (in_function() && !given_.contains(name)) {
    scopes_.back().emplace(name, ShellVariable{{}, false, false});
  }
}

std::set<std::string> ShellVariables::names() const {
  std::set<std::string> names;
  for (const Scope& scope : scopes_) {
    for (const auto& [name, variable] : scope) {
      names.insert(name);
    }
  }
  return names;
}

ShellVariables ShellVariables::exported() const {
  ShellVariables child;
  child.given_ = given_;
  for (const std::string& name : names()) {
    const ShellVariable& held = *variable(name);
    if (held.is_set && held.exported && held.value.shape == ShellShape::kScalar) {
      child.scopes_.front()[name] = held;
    }
  }
  return child;
}

}  // namespace stepcast
