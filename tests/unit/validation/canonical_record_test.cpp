// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/canonical_record.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/json_node.hpp"

namespace stepcast::canonical_record_test {
namespace {

MeasuredRow read(const std::string& text) {
  ProfileCache profiles(test::data_root());
  Diagnostics diagnostics;
  const std::optional<ConfigNode> record =
      parse_json_object(text, {"records.jsonl", 7, "record"}, diagnostics);
  diagnostics.throw_if_any();
  return read_record(*record, profiles);
}

std::string fault_of(const std::string& text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

const std::string kRun = R"({"id": "r", "experiment": {
  "model": {"base": "llama3.1_8b", "layers": 4, "attention": {"kv_heads": 4}},
  "cluster": {"gpu": "h100_sxm", "nodes": 2, "nic_rate": "12.5 GB/s"},
  "training": {"sequence_length": 4096, "global_batch_size": 32}, "plan": {"tp": 2},
  "software": {"base": "nemo", "async_tp": false}},
  "measured": {"step_time_s": 1.5, "peak_memory_bytes": 3e10, "peak_memory_bytes_by_rank": [1, 2],
               "fits": true}, "hold_out": "h", "group": "mine", "assumed": ["x: because"])";

TEST_CASE("a run is an experiment with what was measured of it", "[unit]") {
  const auto run = std::get<MeasuredRun>(read(kRun + "}"));
  REQUIRE(run.experiment);
  CHECK(run.experiment->model.layers == 4);
  CHECK(run.experiment->model.hidden == 4096);  // of the base
  CHECK(run.experiment->model.attention.kv_heads == 4);
  CHECK_FALSE(run.experiment->software.async_tp);
  CHECK(run.gpu == "h100_sxm");
  CHECK(run.split == "h");
  REQUIRE(run.quantities.size() == 5);
  CHECK(run.quantities[3].rank == 1);
  CHECK(run.quantities[4].metric == Metric::kFits);
}

const std::string kLayer = R"({"id": "l", "experiment": {"model": "mixtral_8x7b",
  "cluster": {"gpu": "h100_sxm", "nodes": 1}, "training": {"sequence_length": 4096, "global_batch_size": 8},
  "plan": {"ep": 8}}, "measured": {"forward_s": 1e-3, "saved_bytes": 2e9})";

TEST_CASE("a layer that was measured by itself is a run with the key layer", "[unit]") {
  const auto run = std::get<MeasuredRun>(
      read(kLayer + R"(, "layer": {"layer": "moe", "block": "whole", "forward_only": true}})"));
  REQUIRE(run.layer);
  CHECK(run.layer->layer == "moe");
  CHECK(run.layer->part == LayerPart::kWhole);
  CHECK(run.layer->use == LayerUse::kInference);
  REQUIRE(run.quantities.size() == 2);
  CHECK(run.quantities[1].metric == Metric::kSavedBytes);
  CHECK_THAT(fault_of(kLayer + "}"), test::contains_text("unknown key 'forward_s'"));
  CHECK_THAT(fault_of(kLayer + R"(, "layer": {"layer": "dense"}})"),
             test::contains_text("all of them with experts"));
}

TEST_CASE("a key of a record that is not known is an error that names it", "[unit]") {
  CHECK_THAT(fault_of(kRun + R"(, "colour": "red"})"),
             test::contains_text("records.jsonl:13:92: error: unknown key 'colour'"));
  CHECK_THAT(fault_of(R"({"id": "o", "gpu": "h200_sxm", "operator": {"kind": "gemm", "m": 1, "n": 1,
                          "k": 1, "colour": 1}, "measured": {"time_s": 1}})"),
             test::contains_text("unknown key 'colour'"));
  CHECK_THAT(fault_of(R"({"gpu": "h200_sxm", "operator": {"kind": "gemm", "m": 1, "n": 1, "k": 1},
                          "measured": {"time": 1}})"),
             test::contains_text("unknown key 'time'"));
}

TEST_CASE("a problem of a record stands where its key or value is", "[unit]") {
  CHECK(fault_of(R"({"gpu": "h200_sxm", "operator": {"kind": "gemm", "m": 0, "n": 1},)"
                 R"( "before": {"kind": "gem"}, "beside": {"collectives": 1, "kernels": 1},)"
                 R"( "measured": {"time_s": "1 ms"}, "duty": 2})") ==
        "records.jsonl:7:33: error: the operator needs the key 'k'\n"
        "records.jsonl:7:50: error: 'm' must be a whole number from 1 to 1099511627776, not 0\n"
        "records.jsonl:7:78: error: 'kind' must be one of gemm, grouped_gemm, attention, "
        "linear_attention, sparse_attention, index_scores, memory_bound, collective, dispatch, "
        "combine; it is the text 'gem'; did you mean 'gemm'?\n"
        "records.jsonl:7:104: error: 'beside' needs the key 'collective'\n"
        "records.jsonl:7:104: error: 'beside.collective' must be an operator of the kind "
        "collective\n"
        "records.jsonl:7:161: error: 'measured.time_s': '1 ms' is not a plain number; write e.g. "
        "0.93\n"
        "records.jsonl:7:178: error: 'duty': 2 is out of range; give 0.001000 to 1.000");
  CHECK(fault_of(R"({"measured": {"time_s": 1, "time_s": 2}})") ==
        "records.jsonl:7:28: error: duplicate key 'time_s'; keep one of them");
}

TEST_CASE("a group or a reason to skip is of a metric that a run can have", "[unit]") {
  const std::string run = R"({"experiment": {"model": "llama3.1_8b", "cluster": {"gpu": "h100_sxm"},
    "training": {"sequence_length": 4096, "global_batch_size": 8}, "plan": {}}, "measured": {"step_time_s": 1, "fits": true},)";
  const auto read_run = std::get<MeasuredRun>(
      read(run + R"("group": {"step_time_s": "a", "fits": "b"}, "skipped": {"fits": "why"}})"));
  CHECK(read_run.quantities[0].group == "a");
  CHECK(read_run.quantities[0].skipped.empty());
  CHECK(read_run.quantities[1].group == "b");
  CHECK(read_run.quantities[1].skipped == "why");
  CHECK_THAT(fault_of(run + R"("skipped": {"step_time": "why"}})"),
             test::contains_text("did you mean 'step_time_s'"));
}

TEST_CASE("an operator is of a half only if its record says by what", "[unit]") {
  const std::string kernel =
      R"({"gpu": "h200_sxm", "operator": {"kind": "gemm", "m": 1, "n": 1, "k": 1},
          "measured": {"time_s": 1}, "hold_out": )";
  CHECK(std::get<MeasuredKernel>(read(kernel + R"("shapes"})")).split == "shapes");
  CHECK(std::get<MeasuredKernel>(read(kernel + "null}")).split.empty());
}

TEST_CASE("an operator is priced at its GPU, beside and after others", "[unit]") {
  const auto kernel = std::get<MeasuredKernel>(
      read(R"({"gpu": "h200_sxm", "operator": {"kind": "gemm", "m": 64, "n": 64, "k": 64},
               "before": {"kind": "memory_bound", "op": "copy", "rows": 8, "cols": 8}, "duty": 0.5,
               "beside": {"collective": {"kind": "collective", "op": "all_gather", "bytes": 1024,
               "ranks": 4}, "collectives": 25, "kernels": 60},
               "measured": {"time_s": 1e-5, "clock_mhz": 1500}})"));
  CHECK(kernel.quantities.size() == 2);
  CHECK(kernel.before.size() == 1);
  CHECK(kernel.duty == 0.5);
  CHECK(kernel.beside->collective.group.size == 4);
}

TEST_CASE("an imported record that cannot be read is a row that is skipped", "[unit]") {
  ProfileCache profiles(test::data_root());
  Record record = Record::parse(kRun + "}");
  record["experiment"]["plan"]["tp"] = -3;
  const MeasuredRow row = read_imported({record, "f", 1}, profiles);
  CHECK_THAT(std::get<MeasuredRun>(row).skipped, Catch::Matchers::StartsWith("input wrong: "));
  CHECK(std::get<MeasuredRun>(row).gpu == "h100_sxm");
}

}  // namespace
}  // namespace stepcast::canonical_record_test
