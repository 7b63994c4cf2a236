// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "python/bindings.hpp"
#include "stepcast/stepcast.hpp"

namespace py = pybind11;

namespace stepcast::python {

void bind_foreign_files(py::module_& module, py::class_<Simulator>& simulator) {
  py::class_<ImportSettings>(module, "ImportSettings")
      .def(py::init<>())
      .def_readwrite("overrides", &ImportSettings::overrides)
      .def_readwrite("gpu", &ImportSettings::gpu)
      .def_readwrite("nodes", &ImportSettings::nodes)
      .def_readwrite("software", &ImportSettings::software)
      .def_readwrite("lenient", &ImportSettings::lenient);
  const py::call_guard<py::gil_scoped_release> released;
  simulator
      .def(
          "import_experiment",
          [](const Simulator& self, const std::string& framework, const std::filesystem::path& file,
             const std::string& text, const ImportSettings& settings) {
            Imported imported = self.import_experiment(framework, {file, text}, settings);
            return std::pair(std::move(imported.text), std::move(imported.remarks));
          },
          released)
      .def(
          "export_files",
          [](const Simulator& self, const std::string& framework, const ExperimentSource& source) {
            return self.export_files(framework, source).files;
          },
          released)
      .def_static(
          "import_model",
          [](const std::filesystem::path& file, const std::string& text, const std::string& name) {
            return Simulator::import_model({file, text}, name);
          })
      // By the name of each: whether an import takes the name of a recipe.
      .def_static("frameworks", [] {
        py::dict takes_name;
        for (const Framework& framework : Simulator::frameworks()) {
          takes_name[py::str(framework.name)] = framework.takes_name;
        }
        return takes_name;
      });
}

}  // namespace stepcast::python
