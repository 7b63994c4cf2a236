// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "sweep_text.hpp"

namespace stepcast::sweep_reader_test {
namespace {

using test::contains_text;
using test::small_sweep;
using test::sweep_error;

const std::string kBatch = ", global_batch_size: 16";

}  // namespace

TEST_CASE("Every problem of every axis is reported at once, at its place", "[unit]") {
  const SweepSource source =
      load_sweep_source(test::data_root().folder / "tests/cli/bad/sweep_axes.yaml", {}, "test");
  const std::string error =
      test::config_error([&] { return read_sweep(source, test::data_root()); });
  for (const char* problem : {
           ":3:28: error: unknown GPU 'h10_sxm'; did you mean 'h100_sxm'?",
           ":3:49: error: 'cluster.nodes': 0 is out of range",
           ":6:22: error: the range of 'training.global_batch_size' has no values",
           ":7:25: error: 'training.micro_batch_size': 'two' is not a whole number",
           ":8:17: error: 'training.dtype': unknown value 'bf17'; did you mean 'bf16'?",
           ":9:86: error: 'training.recompute_layers': -1 is out of range",
           ":11:11: error: 'plan.tp': 0 is out of range",
           ":12:7: error: the range of 'plan.pp' never ends",
           ":13:8: error: 'plan.vpp' is an empty list",
           ":14:13: error: 'plan.zero' has the value 1 twice",
           ":15:31: error: 'plan.schedule': unknown value 'interleaved'",
           ":16:3: error: unknown key 'fsdp_rehsard' in 'plan'; did you mean 'fsdp_reshard'?",
           ":17:39: error: unknown key 'cuda_grph' in 'software'; did you mean 'cuda_graph'?",
           ":19:12: error: the constraint reads 'gpus_per_nod'",
           ":20:9: error: the constraint assigns with '='; write == to compare",
           ":21:18: error: the constraint has 'if1b', which no schedule is; did you mean '1f1b'?",
           ":22:19: error: the constraint ends too early",
           ":23:6: error: the constraint reads 'dtype', a text",
           ":24:10: error: 'rank_by': unknown value",
           ":25:1: error: unknown key 'constraint'; did you mean 'constraints'?",
       }) {
    CHECK_THAT(error, contains_text(problem));
  }
  // These and no others.
  CHECK(std::count(error.begin(), error.end(), '\n') == 19);
}

TEST_CASE("A key is varied in one place", "[unit]") {
  CHECK_THAT(sweep_error(small_sweep(
                 kBatch, "{vpp: [1, 2], schedule: [1f1b, {schedule: interleaved_1f1b, vpp: 2}]}")),
             contains_text("'plan.vpp' is set by the values of"));
}

TEST_CASE("A value that is empty, and a list where none belongs, are refused", "[unit]") {
  CHECK_THAT(sweep_error(small_sweep(kBatch, "{tp: [1, ~]}")),
             contains_text("'plan.tp' has an empty value"));
  CHECK(sweep_error(small_sweep(kBatch, "{tp: [1, [2, 4]]}")) != "no error");
}

TEST_CASE("Ranges that never end or are too long are refused", "[unit]") {
  for (const char* range : {"{from: 0, to: 8, times: 2}", "{from: 1, to: 8, times: 1}",
                            "{from: 1, to: 8, step: 0}", "{from: 1, to: 8, step: -1}"}) {
    INFO(range);
    CHECK_THAT(sweep_error(small_sweep(kBatch, std::string("{tp: ") + range + "}")),
               contains_text("never ends"));
  }
  CHECK_THAT(sweep_error(small_sweep(kBatch, "{tp: {from: 1, to: 100000}}")),
             contains_text("has more than 10000 values"));
  CHECK_THAT(sweep_error(small_sweep(kBatch, "{tp: {from: 1, to: 8, step: 1, times: 2}}")),
             contains_text("exclude each other"));
  CHECK_THAT(sweep_error(small_sweep(kBatch, "{tp: {from: 1, too: 8}}")),
             contains_text("unknown key 'too'"));
}

TEST_CASE("Too many sites, or plans, are refused before they are read", "[unit]") {
  CHECK_THAT(
      sweep_error(small_sweep(kBatch, "{tp: 1}",
                              "backends: {}\nsoftware: {base: megatron, attention_copies: "
                              "{from: 0, to: 64}, vocabulary_multiple: {from: 1, to: 100}}\n")),
      contains_text("make more than 4096 combinations"));
  const std::string many = "{from: 1, to: 9000}";
  CHECK_THAT(sweep_error(small_sweep(", global_batch_size: " + many + ", micro_batch_size: " + many,
                                     "{tp: " + many + ", pp: " + many + "}")),
             contains_text("more than 2^40 plans"));
}

TEST_CASE("What read_experiment refuses, a sweep refuses", "[unit]") {
  CHECK_THAT(sweep_error(small_sweep(kBatch, "{tp: 1}", "qqqqqqqq: 1\n")),
             contains_text("description, constraints, rank_by"));
  CHECK_THAT(sweep_error("cluster: {gpu: h100_sxm}\n"), contains_text("needs the key 'model'"));
  CHECK_THAT(sweep_error(small_sweep(kBatch, "{tp: 1}", "softwear: megatron\n")),
             contains_text("unknown key 'softwear'"));
  CHECK_THAT(sweep_error(small_sweep(kBatch, "{all: maybe}")),
             contains_text("'plan.all' must be true, offered or false"));
}

}  // namespace stepcast::sweep_reader_test
