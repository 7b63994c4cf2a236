// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include "catch.hpp"
#include "unit/importers/table_runs.hpp"

namespace stepcast::nanotron_grid_test {
using stepcast::test::problems_in;
using stepcast::test::runs_in;

namespace {

const std::string kColumns =
    "name,nodes,seq_len,mbs,batch_accum,gbs,tok/s/gpu,AllReduce (GB/s),AllGather (GB/s),"
    "ReduceScatter (GB/s),AR Intra-node (GB/s),AG Intra-node "
    "(GB/s),dp,tp,pp,tp_mode,tp_async_comm,hidden_size,"
    "interm_dim,num_layers,num_heads,num_kv_heads,vocab_size,tie_word_embeddings,zero_stage,status,"
    "after_pp_fix\n";
// 1.34G: tied embeddings; 8.86G: a matrix of its own for the head.
const std::string kModel = "2048,8192,16,32,32.0,131072,True,1,Success,";
const std::string kMeasured = "8.0,4096,2,4.0,256.0,5000,80,20,20,450,264,";

std::string row(const std::string& degrees, const std::string& fixed,
                const std::string& measured = kMeasured) {
  return "1.34G_x," + measured + degrees + ",REDUCE_SCATTER,True," + kModel + fixed + "\n";
}

}  // namespace

TEST_CASE("A row of nanotron's grid is a Llama with the figures of its columns", "[unit]") {
  const std::vector<MeasuredRun> runs = runs_in(kColumns + row("32,2,1", "False"));
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
  CHECK(experiment.software.zero_all_reduces);
  CHECK(runs[0].quantities[0].metric == Metric::kTokenRate);
  CHECK(runs[0].quantities[0].group == "h100_sxm nanotron pp1 tp<=8");
  CHECK(runs[0].quantities[1].metric == Metric::kFits);
  CHECK(runs[0].quantities[1].value == 1.0);
}

TEST_CASE("A grid run's step is what its rings took at each rank beyond the time inside a node",
          "[unit]") {
  // 1 GiB over 64 ranks at 20 GB/s takes 52.8 ms; over 8 at 264 GB/s 3.6 ms; the rest over 64
  // ranks.
  const double tensor = 1024.0 * 1024 * 1024;
  const auto device_of = [](double inside, const std::string& degrees) {
    std::string measured = kMeasured;
    measured.replace(measured.find("264"), 3, std::to_string(static_cast<int>(inside)));
    return runs_in(kColumns + row(degrees, "False", measured))[0].experiment->cluster.device;
  };
  const auto step_at = [&](double inside) {
    return (63.0 / 64.0 * tensor / 20e9 - 7.0 / 8.0 * tensor / (inside * 1e9)) / 64;
  };
  // Slower inside a node, too: at each rank.
  const DeviceSpec disturbed = device_of(240, "32,2,1");
  CHECK(disturbed.collectives.simple.hop.value() == Approx(step_at(240)));
  CHECK(disturbed.collectives.simple.network_hop.value() == Approx(step_at(240)));
  // Else of groups that leave the node only: of data-parallel ones, half a node's ranks are members
  // beside tensor parallelism of 2, one beside 8; of tensor-parallel ones of 16 all.
  const DeviceSpec sound = device_of(264, "32,2,1");
  CHECK(sound.collectives.simple.hop < disturbed.collectives.simple.hop);
  CHECK(sound.collectives.simple.network_hop.value() == Approx(4.0 * step_at(264)));
  CHECK(device_of(264, "8,8,1").collectives.simple.network_hop.value() == Approx(step_at(264)));
  CHECK(device_of(264, "4,16,1").collectives.simple.network_hop.value() ==
        Approx(8.0 * step_at(264)));
}

TEST_CASE("Layers of a grid run lie on pipeline ranks by the cost of blocks, the head's included",
          "[unit]") {
  ModelSpec model;
  model.hidden = 2048;
  model.mlp.ffn_hidden = 8192;
  model.layers = 16;
  model.vocabulary = 131'072;  // 4 layers' worth: 2048 x 131072 over 2048 (4 x 2048 + 3 x 8192)
  CHECK(nanotron_stages(model, 4) == "Et*6|t*5|t*5|L");
  CHECK(nanotron_stages(model, 2) == "Et*11|t*5L");
  model.vocabulary = 2048;
  CHECK(nanotron_stages(model, 4) == "Et*5|t*4|t*4|t*3L");
  CHECK(runs_in(kColumns + row("8,2,4", "True"))[0].experiment->plan.layout == "Et*6|t*5|t*5|L");
}

TEST_CASE("Pipelines whose messages are held up are skipped in a group of their own", "[unit]") {
  // 4,096 tokens a GPU at 1,000 a second, 0.16 s of products, 1.34 GB of gradients at 20 GB/s,
  // 14 messages: 0.27 s each.
  std::string measured = kMeasured;
  measured.replace(measured.find("5000"), 4, "1000");
  const auto quantity = [](const std::string& text) {
    return runs_in(kColumns + text)[0].quantities[0];
  };
  const MeasuredQuantity held = quantity(row("8,2,4", "True", measured));
  CHECK(held.group == "h100_sxm nanotron pp>1, messages held up");
  CHECK(held.skipped.starts_with("not trusted"));
  CHECK(quantity(row("32,2,1", "True", measured)).group == "h100_sxm nanotron pp1 tp<=8");
  // At 1 GB/s the traffic of gradients explains 1.3 s of it.
  measured.replace(measured.find("20,20"), 5, "1,1");
  const MeasuredQuantity slow = quantity(row("8,2,4", "True", measured));
  CHECK(slow.group == "h100_sxm nanotron pp>1");
  CHECK(slow.skipped.empty());
}

TEST_CASE("Pipelines on nodes without a fabric inside are a group of their own", "[unit]") {
  std::string measured = kMeasured;
  measured.replace(measured.find("450,264"), 7, "45,42");
  const auto group = [](const std::string& text) {
    return runs_in(kColumns + text)[0].quantities[0].group;
  };
  CHECK(group(row("8,2,4", "True", measured)) == "h100_sxm nanotron pp>1, no fabric inside nodes");
  CHECK(group(row("8,2,4", "True")) == "h100_sxm nanotron pp>1");
}

TEST_CASE("A grid run without a width has that of the size in its name", "[unit]") {
  const std::string failed = ",8.0,4096,2,4.0,1048576.0,,,,,,,32,2,1,REDUCE_SCATTER,,";
  const std::vector<MeasuredRun> runs =
      runs_in(kColumns + "80G_x_vocab49k_gqa8" + failed + "8192,,80,64,,49152,,1,OOM,False\n" +
              "469G_x" + failed + "16384,,126,128,,131072,,1,OOM,False\n");
  REQUIRE(runs.size() == 2);
  // 80 layers of 4 x 8192^2 + 3 x 8192 x 28,672 and two tables of 131,072 x 8192: 79.9 G.
  CHECK(runs[0].experiment->model.mlp.ffn_hidden == 28'672);
  CHECK(runs[0].experiment->model.attention.kv_heads == 8);
  CHECK(runs[0].experiment->model.vocabulary == 49'152);
  CHECK(runs[1].experiment->model.mlp.ffn_hidden == 53'248);
  CHECK(runs[1].experiment->model.attention.kv_heads == 128);
}

TEST_CASE("Rings over all nodes of a grid run have an eighth of a node's all-reduce a GPU",
          "[unit]") {
  const auto rate_of = [](const std::string& degrees, const std::string& zero,
                          const std::string& inside) {
    std::string text = kColumns + row(degrees, "False");
    text.replace(text.find("True,1,Success"), 14, "True," + zero + ",Success");
    text.replace(text.find("450,264"), 7, inside);
    const ScaleOutSpec nics = runs_in(text)[0].experiment->cluster.device.scale_out;
    return (nics.nics_per_gpu * nics.efficiency * nics.nic_rate).value();
  };
  CHECK(rate_of("32,2,1", "0", "450,264") == Approx(10e9));
  CHECK(rate_of("32,2,1", "1", "450,264") == Approx(10e9));
  CHECK(rate_of("32,2,1", "0", "420,240") == Approx(10e9));
  // Steps longer than their bytes would take, and neighbouring nodes: the NICs' own, 0.9 of 50.
  CHECK(rate_of("32,2,1", "1", "420,240") == Approx(45e9));
  CHECK(rate_of("4,16,1", "1", "450,264") == Approx(45e9));
}

TEST_CASE("Rates of pipelines from before the fix are skipped in a group of their own", "[unit]") {
  const std::vector<MeasuredRun> runs =
      runs_in(kColumns + row("8,2,4", "False") + row("8,2,4", "True") + row("4,16,1", "False"));
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].quantities[0].group == "h100_sxm nanotron pp>1, before the fix");
  CHECK(runs[0].quantities[0].skipped.starts_with("not trusted"));
  CHECK(runs[0].quantities[1].skipped.empty());
  CHECK(runs[1].quantities[0].group == "h100_sxm nanotron pp>1");
  CHECK(runs[1].quantities[0].skipped.empty());
  CHECK(runs[2].quantities[0].group == "h100_sxm nanotron tp>8");
}

TEST_CASE("A grid run that failed is judged by memory, and its name says how it embeds", "[unit]") {
  const std::string failed = ",8.0,4096,2,4.0,1048576.0,,,,,,,32,2,1,REDUCE_SCATTER,,";
  const std::string tail = ",,131072,,1,OOM,False\n";
  const std::vector<MeasuredRun> runs =
      runs_in(kColumns + "1.34G_x" + failed + "2048,8192,16,32" + tail + "8.86G_x" + failed +
              "4096,14336,32,32" + tail);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].experiment->model.tied_embeddings);
  CHECK_FALSE(runs[1].experiment->model.tied_embeddings);
  CHECK(runs[1].experiment->model.attention.kv_heads == 32);
  REQUIRE(runs[1].quantities.size() == 1);
  CHECK(runs[1].quantities[0].metric == Metric::kFits);
  CHECK(runs[1].quantities[0].value == 0.0);
}

TEST_CASE("Wrong rows of a grid are reported together, each at its line and column", "[unit]") {
  std::string missing = row("32,2,1", "False");
  missing.replace(missing.find("4096"), 4, "");
  const std::vector<Diagnostic> problems =
      problems_in(kColumns + row("0,2,1", "False") + missing + row("32,2,1", "maybe"));
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].where.line == 2);
  CHECK(problems[0].message.find("'dp'") != std::string::npos);
  CHECK(problems[1].where.line == 3);
  CHECK(problems[1].message.find("'seq_len'") != std::string::npos);
  CHECK(problems[2].where.line == 4);
  CHECK(problems[2].message.find("'after_pp_fix'") != std::string::npos);
  CHECK(problems_in(kColumns).size() == 1);
}

}  // namespace stepcast::nanotron_grid_test
