// SPDX-License-Identifier: Apache-2.0
// A sweep whose plans are taken while it runs. It works on a thread of its own and waits where
// nobody takes what it found; one that is given up stops.
#include <pybind11/stl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "python/bindings.hpp"
#include "stepcast/stepcast.hpp"

namespace py = pybind11;

namespace stepcast::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignals{50};
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
        changed_.wait_for(lock, kBetweenSignals, [this] { return ended_ || !waiting_.empty(); });
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

void bind_running_sweep(py::module_& module) {
  py::class_<RunningSweep>(module, "RunningSweep")
      .def(py::init<const Simulator&, ExperimentSource, int>(), py::arg("simulator"),
           py::arg("source"), py::arg("threads"), py::keep_alive<1, 2>())
      .def("next", &RunningSweep::next)
      .def("stop", &RunningSweep::stop);
}

}  // namespace stepcast::python
