// SPDX-License-Identifier: Apache-2.0
// A sweep off the interpreter's thread, so that a signal (Ctrl-C) stops it: Python handles signals
// on its main thread only, which waits here and looks for them.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <future>

#include "python/bindings.hpp"
#include "stepcast/stepcast.hpp"

namespace py = pybind11;

namespace stepcast::python {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};

struct Counted {
  std::atomic<std::int64_t> done = 0;
  std::atomic<std::int64_t> all = 0;
};

// Waits for the sweep; runs Python's signal handlers and `progress` meanwhile. What they raise
// stops the sweep and is raised here.
SweepAnswer awaited(std::future<SweepAnswer>& running, std::stop_source& stop,
                    const Counted& counted, const py::object& progress) {
  for (;;) {
    bool ready = false;
    {
      const py::gil_scoped_release release;
      ready = running.wait_for(kBetweenLooks) == std::future_status::ready;
    }
    if (ready) {
      return running.get();
    }
    try {
      if (PyErr_CheckSignals() != 0) {
        throw py::error_already_set();
      }
      if (!progress.is_none()) {
        progress(counted.done.load(), counted.all.load());
      }
    } catch (const py::error_already_set&) {
      stop.request_stop();
      const py::gil_scoped_release release;
      running.wait();
      throw;
    }
  }
}

py::array_t<double> column(const std::vector<SweptPlan>& plans, double StepNumbers::*number) {
  py::array_t<double> values(static_cast<py::ssize_t>(plans.size()));
  double* out = values.mutable_data();
  for (const SweptPlan& plan : plans) {
    *out++ = plan.numbers.*number;
  }
  return values;
}

py::dict swept(const Simulator& simulator, const ExperimentSource& source, int threads,
               std::int64_t top, bool every_plan, const py::object& progress) {
  std::stop_source stop;
  Counted counted;
  SweepSettings settings;
  settings.threads = threads;
  settings.top = top;
  settings.every_plan = every_plan;
  settings.stop = stop.get_token();
  settings.progress = [&counted](std::int64_t done, std::int64_t all) {
    counted.done = done;
    counted.all = all;
  };
  std::future<SweepAnswer> running =
      std::async(std::launch::async, [&] { return simulator.sweep(source, settings); });
  const SweepAnswer answer = awaited(running, stop, counted, progress);
  py::dict result;
  result["complete"] = answer.complete;
  result["space_size"] = answer.space_size;
  result["evaluated"] = answer.evaluated;
  result["priced"] = answer.priced;
  result["bounded"] = answer.bounded;
  result["best"] = plan_columns(answer.best);
  result["memory_pareto"] = plan_columns(answer.memory_pareto);
  result["refused"] = py::cast(answer.refused);
  return result;
}

}  // namespace

py::dict plan_columns(const std::vector<SweptPlan>& plans) {
  py::list settings;
  for (const SweptPlan& plan : plans) {
    settings.append(py::cast(plan.settings));
  }
  py::dict table;
  table["settings"] = settings;
  table["tokens_per_second_per_gpu"] = column(plans, &StepNumbers::tokens_per_second_per_gpu);
  table["step_time_s"] = column(plans, &StepNumbers::step_time_s);
  table["model_tflops_per_gpu"] = column(plans, &StepNumbers::model_tflops_per_gpu);
  table["mfu"] = column(plans, &StepNumbers::mfu);
  table["peak_memory_bytes"] = column(plans, &StepNumbers::peak_memory_bytes);
  table["clock_mhz"] = column(plans, &StepNumbers::clock_mhz);
  table["power_w"] = column(plans, &StepNumbers::power_w);
  for (std::size_t kind = 0; !plans.empty() && kind < plans.front().numbers.time.size(); ++kind) {
    py::array_t<double> values(static_cast<py::ssize_t>(plans.size()));
    double* out = values.mutable_data();
    for (const SweptPlan& plan : plans) {
      *out++ = plan.numbers.time[kind].second;
    }
    table[py::str(plans.front().numbers.time[kind].first)] = values;
  }
  return table;
}

void bind_sweep(py::module_& module) {
  module.def("sweep", &swept, py::arg("simulator"), py::arg("source"), py::arg("threads"),
             py::arg("top"), py::arg("every_plan"), py::arg("progress"));
}

}  // namespace stepcast::python
