// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/explain.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/experiment/step_keys.hpp"
#include "stepcast/operator_lines/op_text.hpp"

namespace stepcast {
namespace {

// Microseconds of a GPU for a token, by name in a settled order.
struct TokenTimes {
  std::vector<std::pair<std::string, double>> terms;
  std::map<std::string, double> operators;
  double total = 0.0;
};

// What a key of the step takes of a token.
class TokenScale {
 public:
  explicit TokenScale(const Projection& p)
      : of_second_(1e6 / p.tokens_per_second_per_gpu / p.time.step.value()) {}
  [[nodiscard]] double operator()(Seconds time) const { return time.value() * of_second_; }

 private:
  double of_second_;
};

Seconds time_of_kind(const Explanation& e, std::string_view kind) {
  return sum_over(e.operators, [kind](const ExplainedOp& entry) {
    return entry.computes() && kind_name(entry.counted.op) == kind ? entry.total() : Seconds{};
  });
}

TokenTimes token_times(const Explanation& e) {
  const Projection& p = e.projection;
  const TimeBreakdown& time = p.time.breakdown;
  const TokenScale scale(p);
  TokenTimes times;
  times.total = 1e6 / p.tokens_per_second_per_gpu;
  const auto add = [&](const std::string& name, Seconds value) {
    times.terms.emplace_back(name, scale(value));
  };
  Seconds left = time.compute;
  for (const char* kind : {"gemm", "grouped_gemm", "attention", "memory_bound"}) {
    const Seconds of_kind = time_of_kind(e, kind);
    left = left - of_kind;
    add(kind, of_kind);
  }
  add("other computation", left);
  for (const auto& [key, spent] : keys_beside_computation(time)) {
    add(key, spent);
  }
  for (const ExplainedOp& entry : e.operators) {
    times.operators[std::string(name(entry.counted.op.id))] += scale(entry.total());
  }
  return times;
}

std::vector<DifferenceTerm> operator_terms(const TokenTimes& first, const TokenTimes& second) {
  std::map<std::string, DifferenceTerm> by_name;
  for (const auto& [name, time] : first.operators) {
    by_name[name] = {name, time, 0.0};
  }
  for (const auto& [name, time] : second.operators) {
    DifferenceTerm& term = by_name[name];
    term.name = name;
    term.second = time;
  }
  std::vector<DifferenceTerm> terms =
      each_of(by_name, [](const auto& entry) { return entry.second; });
  std::ranges::stable_sort(terms, [](const DifferenceTerm& a, const DifferenceTerm& b) {
    return std::abs(a.difference()) > std::abs(b.difference());
  });
  return terms;
}

}  // namespace

Difference difference_of(const Explanation& first, const Explanation& second) {
  const TokenTimes a = token_times(first);
  const TokenTimes b = token_times(second);
  Difference result;
  result.total = {"total", a.total, b.total};
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    DifferenceTerm term{a.terms[i].first, a.terms[i].second, b.terms[i].second};
    if (term.first != 0.0 || term.second != 0.0) {
      result.terms.push_back(std::move(term));
    }
  }
  result.operators = operator_terms(a, b);
  return result;
}

}  // namespace stepcast
