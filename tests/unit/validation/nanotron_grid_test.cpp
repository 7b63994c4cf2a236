// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/nanotron_grid.hpp"

#include "catch.hpp"
#include "unit/validation/table_runs.hpp"

using namespace stepcast;
using stepcast::test::problems_in;
using stepcast::test::runs_in;

namespace {

const std::string kColumns =
    "name,nodes,seq_len,mbs,batch_accum,gbs,tok/s/gpu,AllReduce (GB/s),AllGather (GB/s),"
    "ReduceScatter (GB/s),AR Intra-node (GB/s),dp,tp,pp,tp_mode,tp_async_comm,hidden_size,"
    "interm_dim,num_layers,num_heads,num_kv_heads,vocab_size,tie_word_embeddings,zero_stage,status,"
    "after_pp_fix\n";
// 1.34G: tied embeddings; 8.86G: a matrix of its own for the head.
const std::string kModel = "2048,8192,16,32,32.0,131072,True,1,Success,";
const std::string kMeasured = "8.0,4096,2,4.0,256.0,5000,80,20,20,450,";

std::string row(const std::string& degrees, const std::string& fixed,
                const std::string& measured = kMeasured) {
  return "1.34G_x," + measured + degrees + ",REDUCE_SCATTER,True," + kModel + fixed + "\n";
}

}  // namespace

TEST_CASE("A row of nanotron's grid is a Llama with the figures of its columns", "[unit]") {
  const std::vector<MeasuredRun> runs =
      runs_in(&read_nanotron_run, kColumns + row("32,2,1", "False"));
  REQUIRE(runs.size() == 1);
  REQUIRE(runs[0].experiment);
  const Experiment& experiment = *runs[0].experiment;
  CHECK(runs[0].id == "1.34G_x");
  CHECK(experiment.model.mlp.gated);
  CHECK(experiment.model.tied_embeddings);
  CHECK(experiment.model.attention.qk_head_dim == 64);
  CHECK(experiment.cluster.gpus() == 64);
  CHECK(experiment.plan.sequence_parallel == true);
  CHECK(experiment.training.global_batch_size == 2 * 4 * 32);
  CHECK_FALSE(experiment.software.overlap_grad_reduce);  // ZeRO 1
  CHECK(runs[0].quantities[0].metric == "tokens_per_second_per_gpu");
  CHECK(runs[0].quantities[0].group == "h100_sxm nanotron pp1 tp<=8");
  CHECK(runs[0].quantities[1].metric == "fits");
  CHECK(runs[0].quantities[1].value == 1.0);
}

TEST_CASE("A grid run's hop is what its rings took beyond the NICs' rate", "[unit]") {
  // 1 GiB over 64 ranks at 20 GB/s takes 52.8 ms; at 8 x 45 GB/s 2.9 ms; the rest over 64 hops.
  const double sent = 63.0 / 64.0 * 1024 * 1024 * 1024;
  const double hop = (sent / 20e9 - sent / (8 * 0.9 * 50e9)) / 64;
  const auto device_of = [](const std::string& inside) {
    std::string measured = kMeasured;
    measured.replace(measured.find("450"), 3, inside);
    return runs_in(&read_nanotron_run, kColumns + row("32,2,1", "False", measured))[0]
        .experiment->cluster.device;
  };
  // Slower inside a node, too: at each rank.
  const DeviceSpec disturbed = device_of("420");
  CHECK(disturbed.collectives.simple.hop.value() == Approx(hop));
  CHECK(disturbed.collectives.simple.network_hop.value() == Approx(hop));
  // Else between nodes only, 8 ranks' at once.
  const DeviceSpec sound = device_of("455");
  CHECK(sound.collectives.simple.hop < disturbed.collectives.simple.hop);
  CHECK(sound.collectives.simple.network_hop.value() == Approx(8.0 * hop));
  // ZeRO 1 reduces in rings: the NICs keep their rate.
  CHECK(sound.scale_out.nic_rate.value() == Approx(50e9));
}

TEST_CASE("A grid run without a width has that of the size in its name", "[unit]") {
  const std::string failed = ",8.0,4096,2,4.0,1048576.0,,,,,,32,2,1,REDUCE_SCATTER,,";
  const std::vector<MeasuredRun> runs =
      runs_in(&read_nanotron_run, kColumns + "80G_x_vocab49k_gqa8" + failed +
                                      "8192,,80,64,,49152,,1,OOM,False\n" + "469G_x" + failed +
                                      "16384,,126,128,,131072,,1,OOM,False\n");
  REQUIRE(runs.size() == 2);
  // 80 layers of 4 x 8192^2 + 3 x 8192 x 28,672 and two tables of 131,072 x 8192: 79.9 G.
  CHECK(runs[0].experiment->model.mlp.ffn_hidden == 28'672);
  CHECK(runs[0].experiment->model.attention.kv_heads == 8);
  CHECK(runs[0].experiment->model.vocabulary == 49'152);
  CHECK(runs[1].experiment->model.mlp.ffn_hidden == 53'248);
  CHECK(runs[1].experiment->model.attention.kv_heads == 128);
}

TEST_CASE("A grid run that reduces whole gradients has an eighth of a node's all-reduce a GPU",
          "[unit]") {
  std::string text = kColumns + row("32,2,1", "False");
  text.replace(text.find("True,1,Success"), 14, "True,0,Success");
  const ScaleOutSpec nics =
      runs_in(&read_nanotron_run, text)[0].experiment->cluster.device.scale_out;
  CHECK((nics.nics_per_gpu * nics.efficiency * nics.nic_rate).value() == Approx(10e9));
}

TEST_CASE("Rates of pipelines from before the fix are skipped in a group of their own", "[unit]") {
  const std::vector<MeasuredRun> runs =
      runs_in(&read_nanotron_run,
              kColumns + row("8,2,4", "False") + row("8,2,4", "True") + row("4,16,1", "False"));
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].quantities[0].group == "h100_sxm nanotron pp>1, before the fix");
  CHECK(runs[0].quantities[0].skipped.starts_with("not trusted"));
  CHECK(runs[0].quantities[1].skipped.empty());
  CHECK(runs[1].quantities[0].group == "h100_sxm nanotron pp>1");
  CHECK(runs[1].quantities[0].skipped.empty());
  CHECK(runs[2].quantities[0].group == "h100_sxm nanotron tp>8");
}

TEST_CASE("A grid run that failed is judged by memory, and its name says how it embeds", "[unit]") {
  const std::string failed = ",8.0,4096,2,4.0,1048576.0,,,,,,32,2,1,REDUCE_SCATTER,,";
  const std::string tail = ",,131072,,1,OOM,False\n";
  const std::vector<MeasuredRun> runs =
      runs_in(&read_nanotron_run, kColumns + "1.34G_x" + failed + "2048,8192,16,32" + tail +
                                      "8.86G_x" + failed + "4096,14336,32,32" + tail);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].experiment->model.tied_embeddings);
  CHECK_FALSE(runs[1].experiment->model.tied_embeddings);
  CHECK(runs[1].experiment->model.attention.kv_heads == 32);
  REQUIRE(runs[1].quantities.size() == 1);
  CHECK(runs[1].quantities[0].metric == "fits");
  CHECK(runs[1].quantities[0].value == 0.0);
}

TEST_CASE("Wrong rows of a grid are reported together, each at its line and column", "[unit]") {
  std::string missing = row("32,2,1", "False");
  missing.replace(missing.find("4096"), 4, "");
  const std::vector<Diagnostic> problems = problems_in(
      &read_nanotron_run, kColumns + row("0,2,1", "False") + missing + row("32,2,1", "maybe"));
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].where.line == 2);
  CHECK(problems[0].message.find("'dp'") != std::string::npos);
  CHECK(problems[1].where.line == 3);
  CHECK(problems[1].message.find("'seq_len'") != std::string::npos);
  CHECK(problems[2].where.line == 4);
  CHECK(problems[2].message.find("'after_pp_fix'") != std::string::npos);
  CHECK(problems_in(&read_nanotron_run, kColumns).size() == 1);
}
