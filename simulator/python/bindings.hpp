// SPDX-License-Identifier: Apache-2.0
// The parts of the Python module. Reports cross as the JSON that the program prints, so that both
// say the same; what a report is in Python stands in stepcast/_results.py.
#pragma once

#include <pybind11/pybind11.h>

namespace stepcast::python {

// sweep(simulator, source, threads, top, progress) -> dict of columns.
void bind_sweep(pybind11::module_& module);
// import_text and export_text of the frameworks.
void bind_foreign_files(pybind11::module_& module);

}  // namespace stepcast::python
