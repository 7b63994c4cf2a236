// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/projection_report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/report/step_rows.hpp"

namespace stepcast::projection_report_test {
namespace {

using test::contains_text;

// A line of "Where the time goes": "  host      855.8 ms    7.7 %".
struct PrintedTime {
  std::string title;
  double seconds = 0.0;
  double rounding = 0.0;  // half of the last digit printed
};

PrintedTime printed_time(const std::string& line) {
  const std::size_t gap = line.find("  ", 2);
  std::istringstream values(line.substr(gap));
  std::string number;
  std::string unit;
  values >> number >> unit;
  std::erase(number, ',');
  const std::size_t point = number.find('.');
  const auto digits = point == std::string::npos ? 0 : static_cast<int>(number.size() - point - 1);
  const double scale = unit == "s" ? 1.0 : unit == "ms" ? 1e-3 : 1e-6;
  return {line.substr(2, gap - 2), scale * std::stod(number),
          0.5 * scale * std::pow(10.0, -digits)};
}

// The lines from the heading to the step, which is the last.
std::vector<PrintedTime> printed_times(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("Where the time goes")) {
  }
  std::vector<PrintedTime> times;
  while (std::getline(lines, line) && line.starts_with("  ")) {
    times.push_back(printed_time(line));
    if (times.back().title == "step") {
      break;
    }
  }
  return times;
}

void check_printed_time(const Projection& p) {
  const std::vector<PrintedTime> times = printed_times(to_text(p));
  REQUIRE(times.size() > 1);
  REQUIRE(times.back().title == "step");
  double sum = 0.0;
  double rounding = times.back().rounding;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    sum += times[i].seconds;
    rounding += times[i].rounding;
  }
  CHECK(std::abs(sum - times.back().seconds) <= 1.0001 * rounding);
  // Each key of JSON that takes time is there, with the number of JSON.
  const nlohmann::ordered_json json = to_json(p);
  for_each_time_key([&](const TimeRow& row) {
    const double seconds = json.at("time").at(std::string(row.key)).get<double>();
    double shown = 0.0;
    double tolerance = 0.0;
    for (const PrintedTime& time : times) {
      for (const TimeRow& part : kTimeRows) {
        if (part.key == row.key && part.title == time.title) {
          shown += time.seconds;
          tolerance += time.rounding;
        }
      }
    }
    INFO(row.key);
    CHECK(std::abs(seconds - shown) <= 1.0001 * tolerance);
  });
}

Projection projected(const std::filesystem::path& file,
                     const std::vector<Override>& overrides = {}) {
  return project(load_experiment(file, overrides, test::data_root()), default_cost_model());
}

std::filesystem::path example(const std::string& name) {
  return test::data_root().folder / "examples" / name / "experiment.yaml";
}

TEST_CASE("the lines of where the time goes add up to the step, and say what JSON says", "[unit]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    INFO(file);
    check_printed_time(projected(file));
  }
}

TEST_CASE("a report says the size of its model, and how experts are loaded", "[unit]") {
  const std::string dense = to_text(projected(example("04_llama3.1_8b_mi300x")));
  CHECK_THAT(dense, contains_text("8,030,261,248 parameters; "));  // of its model card: 8.03 B
  CHECK_THAT(dense, !contains_text("expert load"));
  const Projection mixtral = projected(example("08_mixtral_8x7b_mi300x"));
  CHECK_THAT(to_text(mixtral), contains_text("46,702,792,704 parameters, 12,879,925,248 active; "));
  CHECK_THAT(to_text(mixtral), contains_text("expert load"));
  const nlohmann::ordered_json json = to_json(mixtral);
  CHECK(json.at("parameters") == 46'702'792'704.0);
  CHECK(json.at("active_parameters") == 12'879'925'248.0);
  // What the rate of the model is, is its FLOPs a token at the rate of tokens.
  CHECK(json.at("flops_per_token").get<double>() * mixtral.tokens_per_second_per_gpu ==
        Approx(1e12 * json.at("model_tflops_per_gpu").get<double>()));
}

TEST_CASE("time in which the host holds up the device has a line", "[unit]") {
  const Projection p =
      projected(example("01_llama3.1_70b_mi300x"), {"software.host={kernel: 500 us, step: 1 s}"});
  REQUIRE(p.time.breakdown.host >= Seconds(1.0));
  CHECK_THAT(to_text(p), contains_text("\n  host "));
  check_printed_time(p);
}

TEST_CASE("the heading names what a step depends on beside degrees", "[unit]") {
  const std::string text =
      to_text(projected(example("01_llama3.1_70b_mi300x"),
                        {"plan.fsdp=64", "plan.cp=2", "plan.cp_algorithm=all_gather",
                         "training.recompute=full", "training.recompute_method=block",
                         "training.recompute_layers=3", "software.attention=flash2"}));
  CHECK_THAT(text, contains_text("cp 2 (all_gather)"));
  CHECK_THAT(text, contains_text("recompute full (block, 3 layers a stage)"));
  CHECK_THAT(text, contains_text("but attention flash2"));
  CHECK_THAT(text, contains_text(" a GPU, rail_optimised_fat_tree"));
  CHECK_THAT(to_text(projected(example("01_llama3.1_70b_mi300x"),
                               {"training.recompute=selective",
                                "training.recompute_modules=[layernorm, moe_act]"})),
             contains_text("recompute selective (layernorm, moe_act)"));
}

// The first number of the line with this title.
double printed_number(const std::string& text, std::string_view title) {
  const std::size_t at = text.find("\n  " + std::string(title) + "  ");
  REQUIRE(at != std::string::npos);
  std::istringstream values(text.substr(at + 3 + title.size()));
  std::string number;
  values >> number;
  std::erase(number, ',');
  return std::stod(number);
}

TEST_CASE("rates and memory are the same numbers in text and in JSON", "[unit]") {
  constexpr double kGi = 1024.0 * 1024.0 * 1024.0;
  for (const char* name : {"01_llama3.1_70b_mi300x", "14_deepseek_v3_h800"}) {
    const Projection p = projected(example(name));
    const std::string text = to_text(p);
    const nlohmann::ordered_json json = to_json(p);
    const auto number = [&json](std::string_view key) {
      return json.at(std::string(key)).get<double>();
    };
    CHECK(printed_number(text, "tokens/s/GPU") ==
          Approx(number("tokens_per_second_per_gpu")).margin(0.05));
    CHECK(printed_number(text, "model TFLOP/s/GPU") ==
          Approx(number("model_tflops_per_gpu")).margin(0.05));
    CHECK(printed_number(text, "MFU") == Approx(100.0 * number("mfu")).margin(0.05));
    const auto& fullest = json.at("memory_by_stage")
                              .at(static_cast<std::size_t>(p.fullest_stage() - p.memory.data()));
    for (const MemoryRow& row : kMemoryRows) {
      INFO(row.title);
      CHECK(printed_number(text, row.title) ==
            Approx(fullest.at(std::string(row.key)).get<double>() / kGi).margin(0.005));
    }
    for (const BufferRow& row : kBufferRows) {
      const double bytes = fullest.at("buffers").at(std::string(row.key)).get<double>();
      if (bytes > 0.0) {
        CHECK(printed_number(text, "  " + std::string(row.title)) ==
              Approx(bytes / kGi).margin(0.005));
      }
    }
  }
}

// Round robin gives a token's 8 choices to one rank of 8, where choices at random go to most of
// them; 131,072 choices do not divide by 384 experts, so that the fullest has one row more.
TEST_CASE("a routing that sends less than choices at random is said to be faster than balanced",
          "[unit]") {
  const Experiment experiment =
      read_experiment(parse_config("model: kimi_k2\n"
                                   "cluster: {gpu: mi355x, nodes: 1}\n"
                                   "training: {sequence_length: 4096, micro_batch_size: 4, "
                                   "global_batch_size: 256, dtype: fp8}\n"
                                   "plan: {ep: 8, zero: 1, dispatcher: deepep}\n"
                                   "software: primus_turbo\n"
                                   "expert_exchange: {routing: round_robin_forced}\n",
                                   "test.yaml"),
                      {}, test::data_root());
  const Projection p = project(experiment, default_cost_model());
  REQUIRE(p.uneven_experts);
  CHECK(p.uneven_experts->balanced_tokens_per_second_per_gpu < p.tokens_per_second_per_gpu);
  CHECK(p.uneven_experts->waiting == Seconds{});
  CHECK_THAT(to_text(p), contains_text(" % less): this routing sends less than choices at random"));
}

}  // namespace
}  // namespace stepcast::projection_report_test
