// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "frameworks/framework_table.hpp"
#include "frameworks/hf_config.hpp"
#include "frameworks/import_check.hpp"
#include "python/bindings.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/stepcast.hpp"

namespace py = pybind11;

namespace stepcast::python {
namespace {

const FrameworkInfo& framework_of(const std::string& wanted) {
  std::string known;
  for (const FrameworkInfo& framework : frameworks()) {
    if (wanted == framework.name) {
      return framework;
    }
    known += (known.empty() ? "" : ", ") + std::string(framework.name);
  }
  throw ConfigError({"framework", 0, 0}, "there is no '" + wanted + "'; give one of " + known);
}

struct ImportArguments {
  std::string framework;
  std::string file;
  std::string text;
  std::filesystem::path folder;
  std::vector<std::string> overrides;
  std::string gpu;
  std::optional<std::int64_t> nodes;
  std::string software;
  bool lenient = false;
};

// The experiment as YAML and what became of the keys, as the program prints both.
std::pair<std::string, std::string> imported(const ImportArguments& a, const std::string& data) {
  return answer_of([&]() -> std::pair<std::string, std::string> {
    ImportInput input;
    input.text = a.text;
    input.file = a.file;
    input.folder = a.folder;
    input.overrides = a.overrides;
    input.gpu = a.gpu;
    input.nodes = a.nodes;
    input.software = a.software;
    input.unknown = a.lenient ? UnknownSettings::kRemarked : UnknownSettings::kRefused;
    input.data = {data};
    const ImportedExperiment result = framework_of(a.framework).import_from(input);
    check_import(result, input);
    return {to_yaml(result, a.file), remarks_text(result, a.file)};
  });
}

std::vector<std::pair<std::string, std::string>> exported_files(
    const std::string& framework, const std::filesystem::path& file, const std::string& text,
    const std::vector<std::string>& settings, const std::string& data) {
  return answer_of([&] {
    const DataRoot root{data};
    ExperimentTree tree = file.empty() ? ExperimentTree{parse_config(text, "experiment"), {}}
                                       : load_experiment_tree(file, root);
    apply_overrides(tree.root, {settings.begin(), settings.end()});
    const FrameworkInfo& info = framework_of(framework);
    if (info.export_to == nullptr) {
      throw ConfigError({"framework", 0, 0}, "nothing is written for '" + framework + "'");
    }
    std::vector<std::pair<std::string, std::string>> files;
    for (ExportedFile& made : exported(info, tree.root, tree.folder, root)) {
      files.emplace_back(std::move(made.name), std::move(made.text));
    }
    return files;
  });
}

}  // namespace

void bind_foreign_files(py::module_& module) {
  py::class_<ImportArguments>(module, "ImportArguments")
      .def(py::init<>())
      .def_readwrite("framework", &ImportArguments::framework)
      .def_readwrite("file", &ImportArguments::file)
      .def_readwrite("text", &ImportArguments::text)
      .def_readwrite("folder", &ImportArguments::folder)
      .def_readwrite("overrides", &ImportArguments::overrides)
      .def_readwrite("gpu", &ImportArguments::gpu)
      .def_readwrite("nodes", &ImportArguments::nodes)
      .def_readwrite("software", &ImportArguments::software)
      .def_readwrite("lenient", &ImportArguments::lenient);
  module.def("import_text", &imported, py::call_guard<py::gil_scoped_release>());
  module.def("export_text", &exported_files, py::call_guard<py::gil_scoped_release>());
  module.def("takes_name", [](const std::string& framework) {
    return answer_of([&] { return framework_of(framework).takes_name; });
  });
  module.def("frameworks", [] {
    std::vector<std::string> names;
    for (const FrameworkInfo& framework : frameworks()) {
      names.emplace_back(framework.name);
    }
    return names;
  });
  module.def("import_hf",
             [](const std::string& text, const std::string& file, const std::string& name) {
               return answer_of([&] { return to_yaml(import_hf_config(text, file, name)); });
             });
}

}  // namespace stepcast::python
