// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/reported_input.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/report/projection_report.hpp"
#include "text_file.hpp"

namespace stepcast::reported_input_test {
namespace {

using test::contains_text;
using test::data_root;
using Json = nlohmann::ordered_json;
using Settings = std::vector<std::string>;

// Experts, a shared one, groups of them and latent attention.
constexpr const char* kMoe = R"(
model:
  name: small_moe
  hidden_size: 2048
  layers: 4
  vocabulary: 32000
  attention: {kind: mla, heads: 16, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64,
              v_head_dim: 128}
  mlp: {ffn_hidden: 8192}
  moe: {experts: 64, experts_per_token: 6, expert_ffn_hidden: 1024, shared_expert_ffn_hidden: 2048,
        first_dense_layers: 1, router: {groups: 8, topk_groups: 4}}
cluster: {name: h100_rail_optimised, nodes: 4}
training: {sequence_length: 4096, global_batch_size: 64}
plan: {tp: 2, pp: 2, ep: 8, zero: 1}
)";
constexpr const char* kDense = R"(
model:
  name: small_dense
  hidden_size: 2048
  layers: 4
  vocabulary: 32000
  attention: {heads: 16, kv_heads: 8}
  mlp: {ffn_hidden: 8192}
cluster: {gpu: h100_sxm, nodes: 4}
training: {sequence_length: 8192, global_batch_size: 64}
plan: {tp: 2, cp: 2, zero: 3}
)";

Experiment loaded(const std::filesystem::path& file, const Settings& settings = {}) {
  return load_experiment(file, {settings.begin(), settings.end()}, data_root());
}

Json projected(const Experiment& experiment) {
  return to_json(project(experiment, default_cost_model()));
}

// The report of the input that a report gives, as a text.
std::string given_back(const Json& part) {
  const test::TextFile file("back.yaml", part.dump(2));
  return projected(loaded(file.path())).dump();
}

void check_round_trip(const std::filesystem::path& file, const Settings& settings = {}) {
  INFO(file << " " << Json(settings).dump());
  const Json report = projected(loaded(file, settings));
  CHECK(given_back(report.at("context").at("input")) == report.dump());
}

std::filesystem::path example(const std::string& name) {
  return data_root().folder / "examples" / name / "experiment.yaml";
}

TEST_CASE("the input of a report projects to the same report, of every shipped experiment",
          "[unit]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    check_round_trip(file);
  }
}

TEST_CASE("a whole report and its context can be given back as well", "[unit]") {
  const Json report = projected(loaded(example("01_llama3.1_70b_mi300x")));
  CHECK(given_back(report) == report.dump());
  CHECK(given_back(report.at("context")) == report.dump());
}

TEST_CASE("the input of a report projects to the same report, of settings out of the usual",
          "[unit]") {
  const test::TextFile moe("moe.yaml", kMoe);
  const test::TextFile dense("dense.yaml", kDense);
  for (const char* dispatcher : {"allgather", "deepep", "deepep_v2", "hybridep", "sonic",
                                 "minimal_async_ep", "deepep_low_latency"}) {
    check_round_trip(moe.path(), {"plan.dispatcher=" + std::string(dispatcher)});
  }
  check_round_trip(moe.path(), {"expert_exchange={routing: zipf, zipf_exponent: 0.5}"});
  check_round_trip(moe.path(), {"software=torchtitan", "software.deepep=true",
                                "expert_exchange={num_sms: 20, dispatch_dtype: fp8}"});
  check_round_trip(moe.path(),
                   {"expert_exchange={receive_buffer: capacity, capacity_factor: 1.5}"});
  for (const char* schedule : {"dualpipev", "zbv", "gpipe", "zb_h2"}) {
    check_round_trip(moe.path(), {"plan.schedule=" + std::string(schedule)});
  }
  check_round_trip(moe.path(), {"plan.stage_layout=Et*2|t*2L", "plan.ep=4"});
  check_round_trip(moe.path(), {"plan.stage_layout=[1, 3]"});
  check_round_trip(moe.path(), {"training.recompute=memory_budget", "training.memory_budget=0.4"});
  check_round_trip(moe.path(), {"training.recompute=full", "training.recompute_layers=[0, 2]"});
  check_round_trip(moe.path(), {"training.recompute=selective",
                                "training.recompute_modules=[mla_up_proj, moe_act]"});
  check_round_trip(dense.path(), {"training.dtype=fp8", "cluster.gpu_clock=1410 MHz"});
  check_round_trip(dense.path(), {"cluster.power_limit=431.7 W", "cluster.nic_rate=123.4 Gb/s"});
  check_round_trip(dense.path(), {"cluster.scale={scale_out_bandwidth: 1.1, latency: 0.37}",
                                  "cluster.topology=fat_tree", "cluster.nodes_per_pod=2",
                                  "cluster.oversubscription=3"});
  check_round_trip(dense.path(), {"plan={tp: 4, hsdp: 8, zero: 1}"});
  check_round_trip(dense.path(), {"plan={tp: 4, hsdp: 1, zero: 1}"});
  check_round_trip(dense.path(), {"plan.overlap={tp: 0.3, dp: 0.5}"});
  check_round_trip(dense.path(), {"plan.overlap=uniform", "plan.cp_algorithm=all_to_all"});
  check_round_trip(dense.path(), {"software={base: nemo, host: {kernel: 7 us}, memory: "
                                  "{fragmentation: 0.1, logit_at_loss: 3 B}, state_bytes: "
                                  "{gradient: 2 B}, gradient_reduce: bf16}"});
  check_round_trip(dense.path(), {"backends={gemm: roofline, attention: roofline}"});
}

TEST_CASE("a plan that was not given, or cannot run, gives the same notes and reasons again",
          "[unit]") {
  const test::TextFile without("without.yaml",
                               "model: llama3.1_8b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
                               "training: {sequence_length: 4096, global_batch_size: 64}\n");
  check_round_trip(without.path());
  const test::TextFile dense("dense.yaml", kDense);
  check_round_trip(dense.path(), {"plan.dp=3"});
  check_round_trip(dense.path(), {"plan.tp=7"});
  check_round_trip(dense.path(), {"training.global_batch_size=7"});
  check_round_trip(dense.path(), {"plan.pp=2", "plan.schedule=zbv"});
}

TEST_CASE("settings on top of a report given back count", "[unit]") {
  const test::TextFile dense("dense.yaml", kDense);
  const Json report = projected(loaded(dense.path()));
  const test::TextFile back("report.yaml", report.dump());
  const Settings settings = {"plan.tp=4", "cluster.nodes=2", "software.attention=flash2"};
  CHECK(projected(loaded(back.path(), settings)) == projected(loaded(dense.path(), settings)));
}

TEST_CASE("an edit of a report that does not count is refused", "[unit]") {
  const test::TextFile dense("dense.yaml", kDense);
  const Json report = projected(loaded(dense.path()));
  const auto refusal = [](const Json& input) {
    const test::TextFile file("edit.yaml", input.dump(2));
    return test::config_error([&] { loaded(file.path()); });
  };
  Json input = report.at("context").at("input");
  input["plan"]["dp"] = 3;
  CHECK_THAT(refusal(input), contains_text("'plan.dp' is '3' in the report, but '8' follows"));
  input = report.at("context").at("input");
  input["extra"] = 1;
  CHECK_THAT(refusal(input), contains_text("unknown key 'extra'"));
  input.erase("extra");
  input.erase("cluster_settings");
  CHECK_THAT(refusal({{"context", {{"input", input}}}}),
             contains_text("does not say all that ran"));
}

// --- every key that changes a step is in the input -----------------------------------------------

std::vector<std::string> words_after(const std::string& text, const std::string& start) {
  std::vector<std::string> words;
  const std::size_t at = text.find(start);
  if (at == std::string::npos) {
    return words;
  }
  const std::size_t end = std::min(text.find('\n', at), text.size());
  std::istringstream list(text.substr(at + start.size(), end - at - start.size()));
  for (std::string word; list >> word;) {
    words.push_back(word.substr(0, word.find(',')));
  }
  return words;
}

// The keys that a section's reader knows, by what it says of one that it does not.
std::vector<std::string> known_keys(const std::filesystem::path& file, const std::string& section) {
  const std::string setting = section + ".xxxxxxxxxxxxxxxxxxxx=1";
  return words_after(test::config_error([&] { loaded(file, {setting}); }), "known keys: ");
}

// What may be written for a key, legal or not: its names if it has some, else values of all kinds.
std::vector<std::string> candidates(const std::filesystem::path& file, const Settings& settings,
                                    const std::string& key) {
  Settings wrong = settings;
  wrong.push_back(key + "=xxxxxxxxxxxxxxxxxxxx");
  const std::vector<std::string> names =
      words_after(test::config_error([&] { loaded(file, wrong); }), "give one of: ");
  if (!names.empty()) {
    return names;
  }
  return {"true", "false", "1",    "2",       "4",     "0.5",   "16",       "3",  "[0, 2]", "[moe]",
          "8 B",  "1 GiB", "1 ms", "25 GB/s", "400 W", "1 GHz", "balanced", "64", "0.1",    "2048"};
}

struct Outcome {
  double step = 0.0;
  Json memory;
  Json input;
};

Outcome outcome(const Experiment& experiment) {
  const Json report = projected(experiment);
  return {report.value("step_time_s", 0.0), report.value("memory_by_stage", Json()),
          report.at("context").at("input")};
}

// Changes each key of a section to legal values until one moves the step; the keys that did.
std::set<std::string> moving_keys(const std::filesystem::path& file, const Settings& settings,
                                  const std::string& section) {
  constexpr int kEnough = 3;  // legal values of a key
  const Outcome base = outcome(loaded(file, settings));
  std::set<std::string> moving;
  for (const std::string& name : known_keys(file, section)) {
    const std::string key = section + "." + name;
    int legal = 0;
    for (const std::string& value : candidates(file, settings, key)) {
      Settings changed = settings;
      changed.push_back(key + "=" + value);
      std::optional<Experiment> experiment;
      if (test::config_error([&] { experiment = loaded(file, changed); }) != "no error") {
        continue;
      }
      const Outcome other = outcome(*experiment);
      INFO(key << "=" << value);
      if (other.step != base.step || other.memory != base.memory) {
        moving.insert(key);
        CHECK(other.input != base.input);
        break;
      }
      if (++legal == kEnough) {
        break;
      }
    }
  }
  return moving;
}

TEST_CASE("every key that changes a step or its memory changes the input of the report",
          "[property]") {
  const test::TextFile moe("moe.yaml", kMoe);
  const test::TextFile dense("dense.yaml", kDense);
  std::set<std::string> moving;
  const auto look = [&moving](const test::TextFile& file, const Settings& settings,
                              const std::vector<std::string>& sections) {
    for (const std::string& section : sections) {
      moving.merge(moving_keys(file.path(), settings, section));
    }
  };
  look(dense, {},
       {"cluster", "cluster.scale", "training", "plan", "plan.overlap", "software", "software.host",
        "software.state_bytes", "software.memory", "model", "model.attention", "model.mlp"});
  look(moe, {},
       {"plan", "software", "software.expert_exchange", "expert_exchange", "model",
        "model.attention", "model.moe", "model.moe.router"});
  look(moe, {"plan.dispatcher=deepep"}, {"expert_exchange"});
  look(moe, {"plan.dispatcher=sonic"}, {"expert_exchange"});
  look(moe, {"expert_exchange.routing=zipf", "expert_exchange.zipf_exponent=1"},
       {"expert_exchange"});
  look(dense, {"training.recompute=full"}, {"training"});
  look(dense, {"training.recompute=selective"}, {"training"});
  look(dense, {"training.recompute=memory_budget", "training.memory_budget=0.3"}, {"training"});
  for (const char* key :
       {"plan.cp_algorithm", "training.recompute", "training.recompute_layers",
        "training.recompute_method", "training.memory_budget", "training.dropout",
        "cluster.nic_rate", "cluster.power_limit", "software.attention", "software.host.kernel",
        "software.memory.fragmentation", "expert_exchange.num_sms", "expert_exchange.zipf_exponent",
        "plan.overlap.dp", "model.layers"}) {
    INFO(key);
    CHECK(moving.contains(key));
  }
}

}  // namespace
}  // namespace stepcast::reported_input_test
