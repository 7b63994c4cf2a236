// SPDX-License-Identifier: Apache-2.0
// Sweeps off the interpreter's thread, so that a signal (Ctrl-C) stops them: Python handles signals
// on its main thread only, which waits here and looks for them. One waits for the answer of the
// whole; of the other the plans are taken while it runs: it waits where nobody takes what it found,
// and stops where it is given up.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

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

// Columns by the keys that reports in JSON have, and the settings of each plan.
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

constexpr std::size_t kMostWaiting = 64;  // batches, of a chunk of the sweep each

class RunningSweep {
 public:
  RunningSweep(const Simulator& simulator, ExperimentSource source, int threads)
      : thread_([this, &simulator, source = std::move(source), threads](
                    const std::stop_token& stop) { work(simulator, source, threads, stop); }) {}
  // NOLINTNEXTLINE(bugprone-exception-escape): a lock that the system refuses ends the program.
  ~RunningSweep() { stop(); }
  RunningSweep(const RunningSweep&) = delete;
  RunningSweep& operator=(const RunningSweep&) = delete;

  // The next plans; nothing when all were given. Throws what the sweep threw, and what a signal's
  // handler raises.
  py::object next() {
    for (;;) {
      std::vector<SweptPlan> plans;
      bool ended = false;
      {
        const py::gil_scoped_release release;
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kBetweenLooks, [this] { return ended_ || !waiting_.empty(); });
        if (!waiting_.empty()) {
          plans = std::move(waiting_.front());
          waiting_.pop_front();
          changed_.notify_all();
        }
        ended = ended_ && plans.empty();
      }
      if (!plans.empty()) {
        return plan_columns(plans);
      }
      if (ended) {
        return ended_with();
      }
      if (PyErr_CheckSignals() != 0) {
        throw py::error_already_set();
      }
    }
  }

  void stop() {
    const py::gil_scoped_release release;
    thread_.request_stop();
    {
      const std::scoped_lock lock(mutex_);  // nobody is between looking and waiting
    }
    changed_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
    const std::scoped_lock lock(mutex_);
    waiting_.clear();  // what was not taken is given up
  }

 private:
  void work(const Simulator& simulator, const ExperimentSource& source, int threads,
            const std::stop_token& stop) {
    SweepSettings settings;
    settings.threads = threads;
    settings.top = 0;
    settings.every_plan = true;
    settings.stop = stop;
    settings.found = [this, &stop](std::vector<SweptPlan> plans) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop.stop_requested() || waiting_.size() < kMostWaiting; });
      waiting_.push_back(std::move(plans));
      changed_.notify_all();
    };
    std::exception_ptr thrown;
    try {
      (void)simulator.sweep(source, settings);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    thrown_ = thrown;
    ended_ = true;
    changed_.notify_all();
  }

  py::object ended_with() {
    if (std::exception_ptr thrown = std::exchange(thrown_, nullptr)) {
      std::rethrow_exception(thrown);
    }
    return py::none();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<SweptPlan>> waiting_;
  std::exception_ptr thrown_;
  bool ended_ = false;
  std::jthread thread_;  // the last: it works with all of the others
};

}  // namespace

void bind_sweeps(py::module_& module) {
  module.def("sweep", &swept, py::arg("simulator"), py::arg("source"), py::arg("threads"),
             py::arg("top"), py::arg("every_plan"), py::arg("progress"));
  py::class_<RunningSweep>(module, "RunningSweep")
      .def(py::init<const Simulator&, ExperimentSource, int>(), py::arg("simulator"),
           py::arg("source"), py::arg("threads"), py::keep_alive<1, 2>())
      .def("next", &RunningSweep::next)
      .def("stop", &RunningSweep::stop);
}

}  // namespace stepcast::python
