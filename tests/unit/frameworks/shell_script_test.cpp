// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_script.hpp"

#include <algorithm>

#include "catch.hpp"
#include "frameworks/launch_command.hpp"
#include "frameworks/shell_arithmetic.hpp"
#include "frameworks/shell_pattern.hpp"

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

bool is_certain(const ShellCommand& command) {
  return std::all_of(command.fields.begin(), command.fields.end(),
                     [](const ShellField& field) { return field.text.known().has_value(); });
}

// Cause and remedy of every doubt of the training command, a line each, with the argument.
std::string doubts(const std::string& text, const std::map<std::string, std::string>& given = {}) {
  std::string all;
  for (const SettingDoubt& doubt : training_command(ran(text, given), "run.sh").doubts) {
    all += std::to_string(doubt.where.line) + " " + doubt.name + ": " + doubt.cause + "; " +
           doubt.remedy + "\n";
  }
  return all;
}

LaunchSize size_of(const std::string& text) {
  return launch_size(training_command(ran(text), "run.sh").launcher);
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
run $A $B $C
)";
  CHECK(last_command(ran(text)) == "run|sixteen|empty|half");
  CHECK(last_command(ran(text, {{"DTYPE", "fp8"}, {"B", "1"}})) == "run|eight|1|other");
}

TEST_CASE("what the caller gives wins over assignments of the script", "[unit]") {
  CHECK(last_command(ran("N=1\nrun $N", {{"N", "8"}})) == "run|8");
}

TEST_CASE("functions run with their arguments, and loops to their end", "[unit]") {
  const ShellScript script = ran("f() { run in $1; }\nfor i in 4 8; do N=$i; done\nf 16\nrun $N");
  REQUIRE(script.commands.size() == 2);
  CHECK(script.commands[0].words.back().text == "16");
  CHECK(last_command(script) == "run|8");
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
  const ShellScript script = ran("run ${A:-x} $B $(hostname)");
  CHECK(script.unknown.contains("$(hostname)"));
  CHECK(script.unknown.contains("B"));
  CHECK_FALSE(is_certain(script.commands.back()));
}

TEST_CASE("arithmetic has the precedence of shells", "[unit]") {
  std::map<std::string, std::int64_t> set;
  const ShellNumbers numbers{
      [](const std::string& name, const std::string&) {
        return name == "N" ? std::string("8") : std::string{};
      },
      [&](const std::string& name, const std::string&, std::int64_t value) { set[name] = value; }};
  CHECK(shell_arithmetic("2 + 3*N", numbers) == 26);
  CHECK(shell_arithmetic("(2+3)*$N/4", numbers) == 10);
  CHECK(shell_arithmetic("-N + 2**3", numbers) == 0);
  CHECK(shell_arithmetic("N >= 8 && 0", numbers) == 0);
  CHECK(shell_arithmetic("N > 1 ? 2 : 1 / 0", numbers) == 2);
  CHECK(shell_arithmetic("M = N << 1, M", numbers) == 0);
  CHECK(set["M"] == 16);
  CHECK_FALSE(shell_arithmetic("N / 0", numbers));
  CHECK_FALSE(shell_arithmetic("9223372036854775807 + 1", numbers));
  CHECK_FALSE(shell_arithmetic("2 +", numbers));
}

TEST_CASE("patterns match as bash's do", "[unit]") {
  CHECK(matches_pattern("abc", "a*"));
  CHECK(matches_pattern("b7", "[!a][[:digit:]]"));
  CHECK_FALSE(matches_pattern("a*c", "a\\*b"));
  CHECK(without_match("a/b/c", "*/", PatternEnd::kStart, PatternReach::kLongest) == "c");
  CHECK(with_replaced("x,y,z", ",", " ", PatternPlaces::kEach) == "x y z");
  REQUIRE(regex_match("llama-70b", "([0-9]+)b$"));
  CHECK(regex_match("llama-70b", "([0-9]+)b$")->at(1) == "70");
  CHECK_FALSE(regex_match("aaaa", "(a)\\1"));  // may take long, so nobody asks
}

TEST_CASE("an argument that hangs on what nobody says is in doubt, with what settles it",
          "[unit]") {
  const std::string script =
      "TP=$1\n"
      "if [ $MODE = moe ]; then E='--num-experts 8'; fi\n"
      "[ -f x ] || P=4\n"
      "for i in $(nproc); do N=$i; done\n"
      "torchrun a.py --tp $TP --bf16 $E --pp $P --lr $N --save $OUT\n";
  const std::string told = doubts(script);
  CHECK(told.find("1 tp: the script's argument $1 (TP) is not given; give TP=VALUE\n") !=
        std::string::npos);
  CHECK(told.find("2 num_experts: nobody sets MODE; give MODE=VALUE (compared with moe)\n") !=
        std::string::npos);
  CHECK(told.find("3 pp: whether there is such a file, '-f x', is not known; give P=VALUE\n") !=
        std::string::npos);
  CHECK(told.find("4 lr: what '$(nproc)' prints is not known") != std::string::npos);
  CHECK(
      doubts(script, {{"1", "8"}, {"MODE", "moe"}, {"P", "2"}, {"N", "1"}, {"OUT", "o"}}).empty());
}

TEST_CASE("what a condition that nobody can answer leaves alone is in no doubt", "[unit]") {
  CHECK(doubts("if nvidia-smi; then LOG=a; mkdir x; else exit 1; fi\n"
               "torchrun a.py --tp 8")
            .empty());
}

TEST_CASE("defaults of variables and arguments that nobody gives count", "[unit]") {
  const std::string script =
      "TP=${1:-2}\nif [ -z \"$PP\" ]; then PP=4; fi\n"
      "if [ $# -gt 3 ]; then TP=9; fi\ntorchrun a.py --tp $TP --pp $PP";
  CHECK(doubts(script).empty());
  CHECK(last_command(ran(script)) == "torchrun|a.py|--tp|2|--pp|4");
}

TEST_CASE("a job is as large as its launcher and its batch lines say", "[unit]") {
  const std::string train = " a.py --x\n";
  LaunchSize size = size_of(
      "#SBATCH --nodes=16  # sixteen\n#SBATCH --gres=gpu:a100:4\n"
      "#SBATCH --ntasks-per-node=1\n"
      "srun torchrun --nproc_per_node=gpu" +
      train);
  CHECK(size.nodes == 16);
  CHECK(size.gpus_per_node == 4);
  size = size_of("#$ -l node_f=16\nmpirun -np $((NHOSTS * 4)) --npernode 4 python" + train);
  CHECK(size.nodes == 16);
  CHECK(size.gpus_per_node == 4);
  size = size_of("#PBS -l select=2:ncpus=8:ngpus=8\nmpirun -n 16 python" + train);
  CHECK(size.nodes == 2);
  CHECK(size.gpus_per_node == 8);
  size = size_of("#PJM -L \"node=3,gpu=4\"\npython" + train);
  CHECK(size.nodes == 3);
  CHECK(size.gpus_per_node == 4);
  size = size_of("#BSUB -nnodes 5\n#BSUB -gpu num=6:mode=shared\njsrun python" + train);
  CHECK(size.nodes == 5);
  CHECK(size.gpus_per_node == 6);
  size = size_of("# flux: -N 7\n# flux: --gpus-per-node=4\nflux run python" + train);
  CHECK(size.nodes == 7);
  CHECK(size.gpus_per_node == 4);
  size = size_of("mpirun -np 32 --map-by ppr:8:node python" + train);
  CHECK(size.nodes == 4);
  size = size_of("deepspeed --num_nodes 2 --num_gpus 4" + train);
  CHECK(size.nodes == 2);
  CHECK(size.gpus_per_node == 4);
}

TEST_CASE("numbers of a job that are no more than allowed or assumed are told", "[unit]") {
  LaunchSize size = size_of("torchrun --nnodes 2:4 --nproc_per_node 8 a.py --x");
  CHECK(size.nodes == 4);
  REQUIRE(size.assumptions.size() == 1);
  CHECK(size.assumptions[0].note == "--nnodes in line 1 allows 2:4, and the most is taken");
  size = size_of("#SBATCH --ntasks-per-node=1\nsrun python a.py --x");
  CHECK(size.gpus_per_node == 1);
  CHECK(size.assumptions.size() == 1);
  size = size_of("torchrun --nproc_per_node gpu a.py --x");
  CHECK_FALSE(size.gpus_per_node);
}

TEST_CASE("a launcher's job is found through the texts that shells hand on", "[unit]") {
  const LaunchSize size = size_of(
      "export L='torchrun --nproc_per_node 4'\n"
      "srun -N 3 bash -c '$L a.py --x'");
  CHECK(size.nodes == 3);
  CHECK(size.gpus_per_node == 4);
}

TEST_CASE("the training command is found inside the text of another", "[unit]") {
  const ShellScript script =
      ran("#SBATCH --nodes=4\n"
          "CMD=\"cd /x; torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --bf16\"\n"
          "srun bash -c \"$CMD\"");
  const LaunchCommand command = training_command(script, "run.sh");
  CHECK(command.program == "pretrain_gpt.py");
  const LaunchSize size = launch_size(command.launcher);
  CHECK(size.nodes == 4);
  CHECK(size.gpus_per_node == 8);
  const std::vector<Setting> settings = argument_settings(command.arguments);
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].name == "num_layers");
  CHECK(settings[0].value.text == "32");
  CHECK(settings[1].value.text == "true");
}

TEST_CASE("a script with lines for a batch system is read as the job that it becomes", "[unit]") {
  const std::string rest =
      "if [ -z $SLURM_JOB_ID ]; then\n  sbatch \"$0\"\n  exit\nfi\n"
      "srun python pretrain_gpt.py --num-layers 32 --bf16\n";
  const ShellScript job = ran("#SBATCH --nodes=4 --gres=gpu:8\n" + rest);
  CHECK(training_command(job, "run.sh").program == "pretrain_gpt.py");
  CHECK(job.missing.empty());
  CHECK(ran("#PBS -l select=4\n: $PBS_JOBID\n").unknown.empty());
  CHECK_THROWS_AS(training_command(ran(rest), "run.sh"), ConfigError);
}

TEST_CASE("eval of a choice between commands runs what runs where nobody says anything", "[unit]") {
  const std::string script =
      "if [ \"$1\" = convert ]; then\n  run='deepspeed convert.py --load x'\n"
      "else\n  run='deepspeed tune.py --load y'\nfi\n"
      "eval \"$run --num-layers 32 --bf16\"\n";
  CHECK(training_command(ran(script), "run.sh").program == "tune.py");
  CHECK(training_command(ran(script, {{"1", "convert"}}), "run.sh").program == "convert.py");
}

TEST_CASE("the folder of a program decides none of its arguments", "[unit]") {
  CHECK(doubts("torchrun $SCRATCH/Megatron-LM/pretrain_gpt.py --num-layers 32 --bf16").empty());
  CHECK(doubts("cd $WORK\ntorchrun `pwd`/pretrain_gpt.py --num-layers 32 --bf16").empty());
}

TEST_CASE("python or torchrun by itself starts one process, and MindSpore's launcher says how many",
          "[unit]") {
  const std::string train = " a.py --num-layers 32 --bf16";
  CHECK(size_of("CUDA_DEVICE_MAX_CONNECTIONS=1 python -u" + train).starts_one_process);
  CHECK_FALSE(size_of("srun python" + train).starts_one_process);
  CHECK(
      size_of("python -m torch.distributed.launch --master_port 6000" + train).starts_one_process);
  CHECK_FALSE(size_of("torchrun --nproc_per_node gpu" + train).starts_one_process);
  const LaunchSize size = size_of("msrun --worker_num 128 --local_worker_num 16" + train);
  CHECK(size.nodes == 8);
  CHECK(size.gpus_per_node == 16);
}

}  // namespace
}  // namespace stepcast::shell_script_test
