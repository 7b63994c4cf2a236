// SPDX-License-Identifier: Apache-2.0
// What every answer to an experiment keeps, however odd the experiment is: numbers that are finite
// and not negative, times that add up to the step, memory that adds up to what is allocated, a
// reason where there is no step, and no GPU that multiplies faster than it can.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "stepcast/stepcast.hpp"

namespace stepcast::test {

class ProjectionPromise {
 public:
  explicit ProjectionPromise(const StepProjection& step) : step_(step) {}

  // Throws a std::logic_error that names what was not kept.
  void check() const {
    keep(step_.feasible || !step_.reasons.empty(), "a plan that cannot run has no reason");
    keep(step_.numbers.has_value() || !step_.feasible, "a plan that can run has no step");
    if (step_.numbers) {
      check_step(*step_.numbers);
      check_memory(step_.numbers->peak_memory_bytes);
    }
    if (step_.run) {
      check_run(*step_.run);
    }
  }

 private:
  // Sums of a few terms, in another order.
  static constexpr double kRounding = 1e-9;

  static void keep(bool kept, const std::string& what) {
    if (!kept) {
      throw std::logic_error(what);
    }
  }
  static void check_amount(double value, const std::string& what) {
    keep(std::isfinite(value) && value >= 0.0, what + " is " + std::to_string(value));
  }
  static void check_equal(double sum, double whole, const std::string& what) {
    keep(std::abs(sum - whole) <= kRounding * std::max(sum, whole),
         what + ": " + std::to_string(sum) + " of " + std::to_string(whole));
  }

  static void check_step(const StepNumbers& step) {
    double sum = 0.0;
    for (const auto& [key, seconds] : step.time) {
      check_amount(seconds, key);
      sum += seconds;
    }
    check_equal(sum, step.step_time_s, "times do not add up to the step");
    for (const double value : {step.tokens_per_second_per_gpu, step.step_time_s, step.clock_mhz,
                               step.power_w, step.peak_memory_bytes}) {
      check_amount(value, "a number of the step");
      keep(value > 0.0, "a number of the step is 0");
    }
    check_amount(step.model_tflops_per_gpu, "the model's rate");
    check_amount(step.mfu, "MFU");
  }

  void check_memory(double peak) const {
    keep(!step_.memory.empty(), "a step without memory");
    double fullest = 0.0;
    for (const StageBytes& stage : step_.memory) {
      double sum = 0.0;
      for (const double part :
           {stage.parameters_bytes, stage.gradients_bytes, stage.optimizer_bytes,
            stage.activations_bytes, stage.buffers_bytes}) {
        check_amount(part, "a part of memory");
        sum += part;
      }
      check_equal(sum, stage.allocated_bytes, "memory does not add up to what is allocated");
      check_amount(stage.outside_bytes, "memory outside of the allocator");
      check_amount(stage.reserved_bytes, "memory of the allocator");
      // What a dispatcher exchanges lies past the allocator.
      const double own = stage.allocated_bytes - stage.buffers_bytes;
      keep(stage.reserved_bytes >= own * (1.0 - kRounding), "the allocator has less than it gave");
      fullest = std::max(fullest, stage.allocated_bytes);
    }
    check_equal(fullest, peak, "the peak is not that of the fullest rank");
  }

  static void check_run(const RunNumbers& run) {
    for (const double value : {run.days, run.gpu_hours, run.energy_kwh, run.joules_per_token}) {
      check_amount(value, "a number of the run");
    }
    keep(run.tokens > 0 && run.steps > 0, "a run without steps");
    keep(run.goodput > 0.0 && run.goodput <= 1.0, "goodput is " + std::to_string(run.goodput));
    keep(!run.days_80 || run.days_80->first <= run.days_80->second, "an interval of days is empty");
  }

  const StepProjection& step_;
};

// A number that is none is null in JSON. Operators without a tile have null there too.
inline void check_numbers(const nlohmann::json& value, const std::string& place) {
  if (value.is_null()) {
    throw std::logic_error(place + " is no number");
  }
  if (value.is_structured()) {
    for (const auto& [key, member] : value.items()) {
      if (key != "tile") {
        check_numbers(member, place + "/" + key);
      }
    }
  }
}

// The same of a report in JSON.
inline void check_json_report(const std::string& text) {
  const nlohmann::json report = nlohmann::json::parse(text);
  check_numbers(report, "");
  // Of what attention's mask leaves: beside it MFU counts, by its convention, what no GPU computes.
  if (report.value("mfu_masked", 0.0) > 1.0) {
    throw std::logic_error("MFU without masked pairs is " + report["mfu_masked"].dump());
  }
}

}  // namespace stepcast::test
