// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/piece_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"

namespace stepcast::piece_claim_test {
namespace {

// Of another host than this.
PieceTask elsewhere(const std::string& submission, const std::string& task) {
  return {submission, task, "no host of this name", 1, 1};
}

TEST_CASE("a claim is a line of JSON that reads back to it", "[unit]") {
  const PieceTask task{"slurm_7", "3..0", "node \"5\"", 4711, 8842};
  CHECK(to_text(task) ==
        R"({"submission":"slurm_7","task":"3..0","host":"node \"5\"","process":4711,)"
        R"("started":8842})"
        "\n");
  CHECK(parse_piece_task(to_text(task)) == task);
  for (const char* text : {"", "{}", "[1]", R"({"submission":"a"})",
                           R"({"submission":"a","task":"b","host":"c","process":"x","started":1})",
                           R"({"submission":[],"task":"b","host":"c","process":1,"started":1})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_piece_task(text).has_value());
  }
}

TEST_CASE("without a submission a process stands for itself", "[unit]") {
  const PieceTask alone = this_task("", "3");
  CHECK(alone.submission == process_text(alone));
  CHECK(alone.task == process_text(alone));
  CHECK(alone.process == ::getpid());
  CHECK(runs_here(alone));
  const PieceTask named = this_task("night", "");
  CHECK(named.submission == "night");
  CHECK(named.task == process_text(named));
  CHECK(this_task("night", "3").task == "3");
}

TEST_CASE("a process that has ended, waited for or not, does not run", "[unit]") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  // Its start is not known from outside but by asking for every one that it may have.
  PieceTask task = this_task("", "");
  const std::int64_t own_start = task.started;
  task.process = child;
  bool ran = false;
  for (std::int64_t later = 0; later < 100'000 && !ran; ++later) {
    task.started = own_start + later;
    ran = runs_here(task);
  }
  CHECK(ran);
  PieceTask other = task;
  other.started += 1;
  CHECK_FALSE(runs_here(other));  // another process that has the number now
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  CHECK_FALSE(runs_here(task));
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(runs_here(task));
}

TEST_CASE("claims of other hosts are holes by their submission and their task", "[unit]") {
  const PieceTask self = this_task("second", "3");
  CHECK(is_hole(elsewhere("first", "3"), self, {}));
  CHECK_FALSE(is_hole(elsewhere("first", "3"), self, {"zeroth", "first"}));
  CHECK_FALSE(is_hole(elsewhere("second", "4"), self, {}));
  CHECK(is_hole(elsewhere("second", "3"), self, {}));  // this task before it was started again
}

TEST_CASE("claims of this host are holes once their process is gone", "[unit]") {
  const PieceTask self = this_task("second", "3");
  CHECK_FALSE(is_hole(self, self, {}));
  PieceTask other = self;
  other.submission = "first";
  CHECK_FALSE(is_hole(other, self, {}));
  other.started += 1;
  CHECK(is_hole(other, self, {}));
  CHECK_FALSE(is_hole(other, self, {"first"}));
  other.submission = "second";
  CHECK(is_hole(other, self, {}));
}

}  // namespace
}  // namespace stepcast::piece_claim_test
