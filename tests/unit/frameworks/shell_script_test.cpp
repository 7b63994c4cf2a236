// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_script.hpp"

#include "catch.hpp"
#include "frameworks/launch_command.hpp"
#include "frameworks/shell_expression.hpp"

namespace stepcast::shell_script_test {
namespace {

using namespace stepcast::test;

ShellScript ran(const std::string& text, const std::map<std::string, std::string>& given = {}) {
  return run_script(text, "run.sh", given,
                    [](const std::string&) { return std::optional<std::string>{}; });
}

std::string last_command(const ShellScript& script) {
  std::string text;
  for (const ShellWord& word : script.commands.back().words) {
    text += (text.empty() ? "" : "|") + word.text;
  }
  return text;
}

TEST_CASE("arrays, defaults and continued lines become words", "[unit]") {
  const ShellScript script = ran(R"(
ARGS=( --num-layers 32   # layers
       "--fp8-format hybrid" )
ARGS+=( --x "${MISSING:-a b}" )
run ${ARGS[@]} \
    "${ARGS[@]}"
)");
  CHECK(last_command(script) ==
        "run|--num-layers|32|--fp8-format|hybrid|--x|a|b"
        "|--num-layers|32|--fp8-format hybrid|--x|a b");
}

TEST_CASE("a branch runs where its condition holds", "[unit]") {
  const std::string text = R"(
DTYPE=${DTYPE:-bf16}
if [[ "$DTYPE" == "fp8" ]]; then A=eight; elif [ $DTYPE = bf16 ]; then A=sixteen; else A=none; fi
[ -z "$B" ] && B=empty || B=full
case $DTYPE in bf*|fp16) C=half;; *) C=other;; esac
echo $A $B $C
)";
  CHECK(last_command(ran(text)) == "echo|sixteen|empty|half");
  CHECK(last_command(ran(text, {{"DTYPE", "fp8"}, {"B", "1"}})) == "echo|eight|1|other");
}

TEST_CASE("what the caller gives wins over assignments of the script", "[unit]") {
  CHECK(last_command(ran("N=1\necho $N", {{"N", "8"}})) == "echo|8");
}

TEST_CASE("functions run where they are called, and loops once", "[unit]") {
  const ShellScript script = ran("f() { echo in $1; }\nfor i in 4 8; do N=$i; done\nf\necho $N");
  REQUIRE(script.commands.size() == 2);
  CHECK(script.commands[0].words.back().text == "in");
  CHECK(last_command(script) == "echo|4");
}

TEST_CASE("a function that calls itself is refused, not run for ever", "[unit]") {
  CHECK_THROWS_AS(ran("f() { f; f; }\nf"), ConfigError);
}

TEST_CASE("text that doubles itself is refused before it fills the memory", "[unit]") {
  std::string text = "A=(xxxxxxxxxxxxxxxx)\n";
  for (int i = 0; i < 40; ++i) {
    text += "A=(${A[@]} ${A[@]})\n";
  }
  CHECK_THROWS_AS(ran(text), ConfigError);
}

TEST_CASE("variables that nobody sets are named", "[unit]") {
  const ShellScript script = ran("echo ${A:-x} $B $(hostname)");
  CHECK(script.unknown == std::set<std::string>{"$(hostname)", "B"});
}

TEST_CASE("arithmetic has the precedence of shells", "[unit]") {
  const ShellVariable variable = [](const std::string& name) {
    return name == "N" ? std::string("8") : std::string{};
  };
  CHECK(shell_arithmetic("2 + 3*N", variable) == 26);
  CHECK(shell_arithmetic("(2+3)*$N/4", variable) == 10);
  CHECK(shell_arithmetic("-N + 2**3", variable) == 0);
  CHECK(shell_arithmetic("N >= 8 && 0", variable) == 0);
  CHECK_FALSE(shell_arithmetic("N / 0", variable));
  CHECK_FALSE(shell_arithmetic("9223372036854775807 + 1", variable));
  CHECK_FALSE(shell_arithmetic("2 +", variable));
}

TEST_CASE("conditions compare texts as patterns and numbers as numbers", "[unit]") {
  CHECK(shell_test({"abc", "==", "a*"}));
  CHECK_FALSE(shell_test({"10", "-lt", "9"}));
  CHECK(shell_test({"!", "-z", "x", "&&", "1", "-eq", "1"}));
  CHECK_FALSE(shell_test({"-n", ""}));
}

TEST_CASE("the training command is found inside the text of another", "[unit]") {
  const ShellScript script =
      ran("#SBATCH --nodes=4\n"
          "CMD=\"cd /x; torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --bf16\"\n"
          "srun bash -c \"$CMD\"");
  const LaunchCommand command = training_command(script, "run.sh");
  CHECK(command.program == "pretrain_gpt.py");
  const LaunchSize size = launch_size(command);
  CHECK(size.nodes == 4);
  CHECK(size.gpus_per_node == 8);
  const std::vector<Setting> settings = argument_settings(command.arguments);
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].name == "num_layers");
  CHECK(settings[0].value.text == "32");
  CHECK(settings[1].value.text == "true");
}

}  // namespace
}  // namespace stepcast::shell_script_test
