// SPDX-License-Identifier: Apache-2.0
// The parts of the Python module. Reports cross as the JSON that the program prints, so that both
// say the same; what a report is in Python stands in stepcast/_results.py.
#pragma once

#include <pybind11/pybind11.h>

namespace stepcast::python {

// sweep(simulator, source, threads, top, progress) -> dict of columns, and
// RunningSweep(simulator, source, threads): next() -> dict of columns or None, stop().
void bind_sweeps(pybind11::module_& module);

}  // namespace stepcast::python
