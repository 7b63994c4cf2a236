// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operator_lines/work_line.hpp"

#include <fstream>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/operator_lines/operator_line.hpp"
#include "text_file.hpp"

namespace stepcast::exchange_line_test {
namespace {

using test::contains_text;

// A dispatch of 8 of 16 experts with more keys.
std::string line(const std::string& more) {
  return R"({"kind": "dispatch", "dispatcher": "deepep", "tokens": 4, "hidden": 8, "experts": 16,)"
         R"( "topk": 2, "ep": 8)" +
         more + "}";
}

ExpertExchange read(const std::string& text, std::string* faults = nullptr) {
  Diagnostics diagnostics;
  ExpertExchange op;
  if (const auto object = parse_json_object(text, json_line("a.jsonl", 3), diagnostics)) {
    MappingReader fields(*object, RecordWording{"line"}, diagnostics);
    const OperatorLine read = read_operator(fields, test::shipped_gpu("h200_sxm"));
    refuse_keys_of_other_kinds(fields);
    fields.report_missing();
    if (const auto* found = std::get_if<ExpertExchange>(&read.op.work)) {
      op = *found;
    }
  }
  const std::string problems = test::config_error([&] { diagnostics.throw_if_any(); });
  if (faults != nullptr) {
    *faults = problems;
  } else {
    CHECK(problems == "no error");
  }
  return op;
}

void check_fault(const std::string& more, const std::string& message) {
  std::string faults;
  read(line(more), &faults);
  CHECK_THAT(faults, contains_text(message));
}

TEST_CASE("an exchange has the defaults of its documentation", "[unit]") {
  const ExpertExchange op = read(line(""));
  CHECK(op.phase == ExchangePhase::kDispatch);
  CHECK(op.dispatcher == Dispatcher::kDeepEp);
  CHECK(op.primitive == ExchangePrimitive::kAuto);
  CHECK(op.group == ProcessGroup{8, 1});
  CHECK(op.dtype == Dtype::kBf16);
  CHECK(op.compute_units == 0);
  CHECK(op.routing == Routing{});
}

TEST_CASE("a version or low latency names another dispatcher", "[unit]") {
  CHECK(read(line(R"(, "version": 2)")).dispatcher == Dispatcher::kDeepEpV2);
  CHECK(read(line(R"(, "low_latency": true)")).dispatcher == Dispatcher::kDeepEpLowLatency);
  check_fault(R"(, "version": 2, "low_latency": true)", "one of the two at a time");
  check_fault(R"(, "version": 3)", "'version' must be a whole number from 1 to 2");
}

TEST_CASE("a routing is a name or an object", "[unit]") {
  CHECK(read(line(R"(, "routing": "round_robin_forced")")).routing.kind ==
        RoutingKind::kRoundRobinForced);
  const Routing zipf = read(line(R"(, "routing": {"kind": "zipf", "alpha": 1})")).routing;
  CHECK(zipf.kind == RoutingKind::kZipf);
  CHECK(zipf.zipf_exponent == 1.0);
  const Routing groups =
      read(line(R"(, "routing": {"kind": "group_limited", "groups": 4, "groups_per_token": 2})"))
          .routing;
  CHECK(groups.groups == 4);
  CHECK(groups.groups_per_token == 2);
  const Routing counts =
      read(line(R"(, "routing": {"counts": [1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8]})")).routing;
  CHECK(counts.kind == RoutingKind::kCounts);
  CHECK(counts.counts.size() == 16);
  CHECK(counts.counts[2] == 3);
}

TEST_CASE("counts may stand in a file", "[unit]") {
  const auto file = test::scratch_path("counts.txt");
  std::ofstream(file) << "1, 2, 3, 4,\n5 6 7 8\n1,1,1,1 1 1 1 1\n";
  const std::string more = R"(, "routing": {"counts_file": ")" + file.string() + R"("})";
  CHECK(read(line(more)).routing.counts[7] == 8);
  std::ofstream(file) << "1, two";
  check_fault(more, "holds more than whole numbers");
  std::filesystem::remove(file);
  check_fault(more, "which cannot be read");
}

TEST_CASE("a wrong exchange is refused with its remedy", "[unit]") {
  check_fault(R"(, "primitive": "rs")", "deepep has no dispatch for; leave it out for auto");
  check_fault(R"(, "routing": "unifrom")", "did you mean 'uniform'?");
  check_fault(R"(, "routing": "zipf")", "give an object");
  check_fault(R"(, "routing": {"kind": "zipf", "alpha": -1})", "needs an 'alpha' from 0 to 8");
  check_fault(R"(, "routing": {"kind": "zipf", "alpha": 1, "beta": 2})", "unknown key 'beta'");
  check_fault(R"(, "routing": {"kind": "zpif"})", "did you mean 'zipf'?");
  check_fault(R"(, "routing": {"kind": "counts"})", "needs 'counts'");
  check_fault(R"(, "routing": {"counts": [1, 2]})", "has 2 counts for 16 'experts'");
  check_fault(R"(, "routing": {"counts": [1, -2]})", "give whole numbers of tokens");
  check_fault(R"(, "routing": {"counts": [[1]]})", "give whole numbers of tokens");
  check_fault(R"(, "routing": {"kind": "group_limited", "groups": 3, "groups_per_token": 1})",
              "do not divide 'experts' (16)");
  check_fault(R"(, "routing": {"kind": "group_limited", "groups": 16, "groups_per_token": 1})",
              "fewer experts than 'topk'");
  check_fault(R"(, "routing": {"kind": "group_limited", "groups": 4, "groups_per_token": 5})",
              "more groups a token than there are");
}

TEST_CASE("all that an exchange lacks is reported at once", "[unit]") {
  std::string faults;
  read(R"({"kind": "combine", "dispatcher": "deeepp", "tokens": 0, "topk": 9, "experts": 8})",
       &faults);
  CHECK_THAT(faults, contains_text("did you mean 'deepep'?") && contains_text("'tokens' must be") &&
                         contains_text("needs the key 'hidden'") &&
                         contains_text("needs the key 'ep'") &&
                         contains_text("'topk' is 9 of 8 'experts'"));
}

TEST_CASE("the backward of an exchange is the other one, in 16 bits", "[unit]") {
  const ExpertExchange forward = read(line(R"(, "dtype": "fp8", "num_sms": 20, "pass": "fwd")"));
  CHECK(forward == read(line(R"(, "dtype": "fp8", "num_sms": 20)")));
  const ExpertExchange backward = read(line(R"(, "dtype": "fp8", "num_sms": 20, "pass": "bwd")"));
  CHECK(backward.phase == ExchangePhase::kCombine);
  CHECK(backward.dtype == Dtype::kBf16);
  CHECK(backward.compute_units == 20);
  CHECK(backward.tokens == forward.tokens);
  CHECK(backward.group == forward.group);
}

TEST_CASE("an all-gather goes back as a reduce-scatter", "[unit]") {
  const std::string sonic = R"("dispatcher": "sonic", "tokens": 4, "hidden": 8, "experts": 16,)"
                            R"( "topk": 2, "ep": 8, "pass": "bwd", "primitive": )";
  const ExpertExchange combine = read(R"({"kind": "dispatch", )" + sonic + R"("ag"})");
  CHECK(combine.phase == ExchangePhase::kCombine);
  CHECK(combine.primitive == ExchangePrimitive::kReduceScatter);
  const ExpertExchange dispatch = read(R"({"kind": "combine", )" + sonic + R"("rs"})");
  CHECK(dispatch.phase == ExchangePhase::kDispatch);
  CHECK(dispatch.primitive == ExchangePrimitive::kAllGather);
}

TEST_CASE("a pass that an exchange has not is refused", "[unit]") {
  check_fault(R"(, "pass": "dgrad")", "'pass' must be one of fwd, bwd");
}

TEST_CASE("settings that an exchange would not heed are refused", "[unit]") {
  check_fault(R"(, "window": 128)", "'window' says nothing of this kind of operator");
  check_fault(R"(, "launch": "eager")", "'launch' is eager, which only a collective can be");
  check_fault(R"(, "launch": "none", "graph": true)", "'graph' contradicts 'launch'");
  std::string faults;
  read(R"({"kind": "combine", "dispatcher": "sonic", "tokens": 4, "hidden": 8, "experts": 16,)"
       R"( "topk": 2, "ep": 8, "num_sms": 8})",
       &faults);
  CHECK_THAT(faults, contains_text("'num_sms' must be left out: the dispatcher sonic"));
}

}  // namespace
}  // namespace stepcast::exchange_line_test
