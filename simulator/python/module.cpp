// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <array>
#include <charconv>

#include "python/bindings.hpp"
#include "stepcast/stepcast.hpp"

namespace py = pybind11;

namespace stepcast::python {
namespace {

using ReleaseGil = py::call_guard<py::gil_scoped_release>;

// What Python raises: stepcast.InputError with the problems as tuples, made by the package.
// NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 hands it over by value.
void translate_input_error(std::exception_ptr thrown) {
  try {
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  } catch (const InputError& error) {
    py::list problems;
    for (const Problem& problem : error.problems()) {
      problems.append(py::make_tuple(problem.file, problem.line, problem.column, problem.message));
    }
    const py::object type = py::module_::import("stepcast._results").attr("InputError");
    PyErr_SetObject(type.ptr(), py::make_tuple(error.what(), problems).ptr());
  }
}

void bind_values(py::module_& module) {
  py::class_<ExperimentSource>(module, "ExperimentSource")
      .def(py::init([](std::filesystem::path file, std::string text,
                       const std::vector<std::string>& settings) {
             return ExperimentSource{.file = std::move(file),
                                     .text = std::move(text),
                                     .settings = {settings.begin(), settings.end()}};
           }),
           py::arg("file"), py::arg("text"), py::arg("settings"));
  py::class_<Report>(module, "Report")
      .def_readonly("feasible", &Report::feasible)
      .def_readonly("text", &Report::text);
  py::enum_<ReportFormat>(module, "ReportFormat")
      .value("TEXT", ReportFormat::kText)
      .value("JSON", ReportFormat::kJson)
      .value("CSV", ReportFormat::kCsv);
  py::class_<ReportForm>(module, "ReportForm").def(py::init<ReportFormat>());
  py::implicitly_convertible<ReportFormat, ReportForm>();
  py::enum_<Listing> listing(module, "Listing");
  int value = 0;
  for (const std::string& kind : Simulator::kinds()) {
    listing.value(kind.c_str(), static_cast<Listing>(value++));
  }
}

void bind_reports(py::class_<Simulator>& simulator) {
  using Source = const ExperimentSource&;
  using Form = const ReportForm&;
  simulator
      .def(
          "project",
          [](const Simulator& self, Source source, Form form) {
            return self.project_report(source, form);
          },
          ReleaseGil())
      .def("memory", &Simulator::memory_report, ReleaseGil())
      .def("provenance", &Simulator::provenance_report, ReleaseGil())
      .def(
          "explain",
          [](const Simulator& self, Source source, Form form) {
            return self.explain_report(source, form);
          },
          ReleaseGil())
      .def(
          "difference",
          [](const Simulator& self, Source first, Source second, Form form) {
            return self.explain_report(first, second, form);
          },
          ReleaseGil())
      .def("compare", &Simulator::compare_report, ReleaseGil());
}

void bind_diagnose(py::class_<Simulator>& simulator) {
  simulator.def(
      "diagnose",
      [](const Simulator& self, const ExperimentSource& source, std::string measured,
         std::string step, std::string tflops, std::string mfu, std::string memory,
         std::vector<std::string> points, std::vector<std::string> traces, bool out_of_memory,
         std::string tried, ReportFormat format) {
        return self.diagnose_report(source,
                                    {.measured = std::move(measured),
                                     .step = std::move(step),
                                     .tflops = std::move(tflops),
                                     .mfu = std::move(mfu),
                                     .memory = std::move(memory),
                                     .points = std::move(points),
                                     .traces = std::move(traces),
                                     .out_of_memory = out_of_memory,
                                     .tried = std::move(tried)},
                                    format);
      },
      ReleaseGil());
}

// All of them: the text reads as the same number.
std::string digits(double value) {
  std::array<char, 32> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

void bind_recommend(py::class_<Simulator>& simulator) {
  simulator.def(
      "recommend",
      [](const Simulator& self, const ExperimentSource& work, std::vector<std::string> gpus,
         std::optional<double> days, std::optional<double> budget,
         std::optional<std::int64_t> most_gpus,
         const std::vector<std::pair<std::string, double>>& prices, std::string currency,
         std::vector<std::string> constraints, bool prove, int threads, ReportFormat format) {
        GpuHourPrices gpu_hour{{}, std::move(currency)};
        for (const auto& [gpu, price] : prices) {
          gpu_hour.prices.emplace_back(gpu + "=" + digits(price), "gpu_hour_price of " + gpu);
        }
        return self.recommend_report(work,
                                     {.gpus = std::move(gpus),
                                      .days = days,
                                      .budget = budget,
                                      .most_gpus = most_gpus,
                                      .gpu_hour_price = std::move(gpu_hour),
                                      .constraints = std::move(constraints),
                                      .prove = prove,
                                      .threads = threads},
                                     format);
      },
      ReleaseGil());
}

// Files of frameworks, in and out.
void bind_foreign_files(py::module_& module, py::class_<Simulator>& simulator) {
  py::class_<ImportSettings>(module, "ImportSettings")
      .def(py::init<>())
      .def_readwrite("overrides", &ImportSettings::overrides)
      .def_readwrite("gpu", &ImportSettings::gpu)
      .def_readwrite("nodes", &ImportSettings::nodes)
      .def_readwrite("software", &ImportSettings::software)
      .def_readwrite("release", &ImportSettings::release)
      .def_readwrite("lenient", &ImportSettings::lenient);
  simulator
      .def(
          "import_experiment",
          [](const Simulator& self, const std::string& framework, const std::filesystem::path& file,
             const std::string& text, const ImportSettings& settings) {
            Imported imported = self.import_experiment(framework, {file, text}, settings);
            return std::pair(std::move(imported.text), std::move(imported.remarks));
          },
          ReleaseGil())
      .def(
          "export_files",
          [](const Simulator& self, const std::string& framework, const ExperimentSource& source) {
            return self.export_files(framework, source).files;
          },
          ReleaseGil())
      .def("import_model",
           [](const Simulator& self, const std::filesystem::path& file, const std::string& text,
              const std::string& name) {
             return self.import_model({file, text}, name);
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

}  // namespace
}  // namespace stepcast::python

PYBIND11_MODULE(_stepcast, module) {
  using namespace stepcast;
  module.doc() = "The compiled half of the package stepcast.";
  module.attr("__version__") = std::string(version());
  py::register_exception_translator(&python::translate_input_error);
  python::bind_values(module);
  py::class_<Simulator> simulator(module, "Simulator");
  simulator.def(py::init<std::filesystem::path>(), py::arg("data"));
  python::bind_reports(simulator);
  simulator
      .def(
          "cost",
          [](const Simulator& self, const std::string& lines, const std::string& gpu,
             const std::vector<std::string>& backends, std::optional<double> clock,
             const std::string& limit, bool terms) {
            return self.cost(lines, {.gpu = gpu,
                                     .backends = {backends.begin(), backends.end()},
                                     .gpu_clock_mhz = clock,
                                     .power_limit = limit,
                                     .terms = terms});
          },
          python::ReleaseGil())
      .def("list", &Simulator::list, python::ReleaseGil())
      .def("describe", &Simulator::describe, python::ReleaseGil());
  python::bind_diagnose(simulator);
  python::bind_recommend(simulator);
  python::bind_sweeps(module);
  python::bind_foreign_files(module, simulator);
}
