// SPDX-License-Identifier: Apache-2.0
// The parts of the Python module. Reports cross as the JSON that the program prints, so that both
// say the same; what a report is in Python stands in stepcast/_results.py.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "stepcast/stepcast.hpp"

namespace stepcast::python {

// sweep(simulator, source, threads, top, progress) -> dict of columns.
void bind_sweep(pybind11::module_& module);
// RunningSweep(simulator, source, threads): next() -> dict of columns or None, stop().
void bind_running_sweep(pybind11::module_& module);
// Columns by the keys that reports in JSON have, and the settings of each plan.
pybind11::dict plan_columns(const std::vector<SweptPlan>& plans);
// Files of frameworks, in and out.
void bind_foreign_files(pybind11::module_& module, pybind11::class_<Simulator>& simulator);

}  // namespace stepcast::python
