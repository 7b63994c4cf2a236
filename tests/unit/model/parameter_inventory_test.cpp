// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/parameter_inventory.hpp"

#include <algorithm>
#include <filesystem>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::parameter_inventory_test {
namespace {

ParameterList all_parameters(const ModelSpec& model) {
  ParameterList all;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const ParameterList layer = layer_parameters(model, layer_kind(model, i));
    all.insert(all.end(), layer.begin(), layer.end());
  }
  for (const ParameterList& ends : {embedding_parameters(model), head_parameters(model)}) {
    all.insert(all.end(), ends.begin(), ends.end());
  }
  return all;
}

// What lies beside a matrix is a bias of its outputs; a tensor without one is vectors, filters of a
// few positions, or what norms and residuals are weighted with.
TEST_CASE("every tensor of the shipped models is a matrix with a bias, or vectors", "[unit]") {
  for (const auto& file :
       std::filesystem::directory_iterator(test::data_root().folder / "configs/models")) {
    if (file.path().extension() != ".yaml") {
      continue;
    }
    const ModelSpec model = load_model(file.path());
    for (const ParameterTensor& tensor : all_parameters(model)) {
      INFO(file.path() << " " << tensor.name);
      const MatrixShape& shape = tensor.matrix;
      const std::int64_t beside = tensor.elements - shape.inputs * shape.outputs;
      CHECK((shape.outputs > 0 ? beside == 0 || beside == shape.outputs
                               : tensor.role == ParameterRole::kNorm ||
                                     beside <= std::max(32 * model.hidden, model.vocabulary)));
    }
  }
}

// Llama 3 70B: 8,192 wide, 64 query and 8 key heads of 128, MLP of 28,672.
TEST_CASE("the matrices of a layer have the shapes of its products", "[case]") {
  const ModelSpec model = test::shipped_model("llama3_70b");
  const ParameterList layer = layer_parameters(model, layer_kind(model, 0));
  const auto matrix = [&layer](std::string_view name) {
    return std::find_if(layer.begin(), layer.end(),
                        [name](const ParameterTensor& tensor) { return tensor.name == name; })
        ->matrix;
  };
  CHECK(matrix("q").inputs == 8'192);
  CHECK(matrix("q").outputs == 64 * 128);
  CHECK(matrix("k").outputs == 8 * 128);
  CHECK(matrix("k").stacked == StackedMatrix::kQkv);
  CHECK(matrix("o").divided == DividedBy::kInputs);
  CHECK(matrix("gate").outputs == 28'672);
  CHECK(matrix("down").inputs == 28'672);
  CHECK(matrix("down").divided == DividedBy::kInputs);
}

}  // namespace
}  // namespace stepcast::parameter_inventory_test
