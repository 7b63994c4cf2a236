// SPDX-License-Identifier: Apache-2.0
#include "frameworks/maxtext_mesh.hpp"

#include <algorithm>
#include <array>

#include "frameworks/job_size.hpp"
#include "stepcast/plan/parallel_plan.hpp"

namespace stepcast {
namespace {

struct MeshAxis {
  std::string_view name;
  std::string_view ours;
  std::int64_t MaxTextMesh::*degree = nullptr;  // null: no training divides by it
  std::int64_t dcn_default = 1;
  std::int64_t ici_default = 1;
};
constexpr std::array kMeshAxes = {
    MeshAxis{"data", "plan.dp", &MaxTextMesh::data, -1, 1},
    MeshAxis{"fsdp", "plan.fsdp", &MaxTextMesh::fsdp, 1, -1},
    MeshAxis{"fsdp_transpose", "plan.fsdp", &MaxTextMesh::fsdp},
    MeshAxis{"sequence", "plan.cp", &MaxTextMesh::context},
    MeshAxis{"context", "plan.cp", &MaxTextMesh::context},
    MeshAxis{"context_usp_ulysses", "plan.cp", &MaxTextMesh::ulysses},
    MeshAxis{"tensor", "plan.tp", &MaxTextMesh::tensor},
    MeshAxis{"tensor_transpose", "plan.tp", &MaxTextMesh::tensor},
    MeshAxis{"tensor_sequence", "plan.tp", &MaxTextMesh::tensor},
    MeshAxis{"pipeline", "plan.pp", &MaxTextMesh::pipeline},
    MeshAxis{"expert", "plan.ep", &MaxTextMesh::expert},
    MeshAxis{"autoregressive", "plan.tp"},
    MeshAxis{"context_autoregressive", "plan.cp"},
    MeshAxis{"diloco", "plan.dp"},
};

using Degrees = std::array<std::int64_t, kMeshAxes.size()>;

class MeshReader {
 public:
  MeshReader(FrameworkReader& settings, const ImportInput& input)
      : settings_(settings),
        node_(gpus_per_node(input)),
        given_ranks_(input.nodes ? bounded_product(*input.nodes, node_) : 0) {}

  MaxTextMesh mesh() {
    const std::size_t before = settings_.diagnostics().entries().size();
    Degrees dcn = degrees("dcn_");
    Degrees ici = degrees("ici_");
    const bool whole = settle("ici_", ici, is_open(ici) ? node_ : 1);
    const std::int64_t inner = std::max<std::int64_t>(1, product(ici));
    const std::int64_t nodes = given_ranks_ > 0 ? given_ranks_ / inner : product(dcn);
    if (!whole || !settle("dcn_", dcn, is_open(dcn) ? nodes : product(dcn))) {
      return {};
    }
    MaxTextMesh mesh;
    for (std::size_t i = 0; i < kMeshAxes.size(); ++i) {
      const std::int64_t degree = bounded_product(dcn.at(i), ici.at(i));
      put(kMeshAxes.at(i), degree, mesh);
    }
    mesh.context = bounded_product(mesh.context, mesh.ulysses);
    check_job(bounded_product(product(dcn), product(ici)));
    return settings_.diagnostics().entries().size() == before ? mesh : MaxTextMesh{};
  }

 private:
  static std::string name_of(std::string_view part, const MeshAxis& axis) {
    return std::string(part) + std::string(axis.name) + "_parallelism";
  }

  Degrees degrees(std::string_view part) {
    Degrees degrees{};
    for (std::size_t i = 0; i < kMeshAxes.size(); ++i) {
      const MeshAxis& axis = kMeshAxes.at(i);
      const std::string name = name_of(part, axis);
      const std::int64_t usual = part == "dcn_" ? axis.dcn_default : axis.ici_default;
      std::int64_t degree = usual == 1 ? settings_.count(name, axis.ours).value_or(1)
                                       : settings_.count_or(name, axis.ours, usual);
      if (degree != -1 && (degree < 1 || degree > kDegree.highest)) {
        settings_.error(name, "must be -1, which means what is left, or a degree from 1");
        degree = 1;
      }
      degrees.at(i) = degree;
    }
    return degrees;
  }

  static bool is_open(const Degrees& degrees) {
    return std::find(degrees.begin(), degrees.end(), -1) != degrees.end();
  }
  // Of those that are given.
  static std::int64_t product(const Degrees& degrees) {
    std::int64_t product = 1;
    for (const std::int64_t degree : degrees) {
      product = bounded_product(product, std::max<std::int64_t>(1, degree));
    }
    return product;
  }

  // Puts what is left of `all` in the place of -1.
  bool settle(std::string_view part, Degrees& degrees, std::int64_t all) {
    auto* const open = std::find(degrees.begin(), degrees.end(), -1);
    if (open == degrees.end()) {
      return true;
    }
    const std::string name =
        name_of(part, kMeshAxes.at(static_cast<std::size_t>(open - degrees.begin())));
    if (std::count(degrees.begin(), degrees.end(), -1) > 1) {
      settings_.error(name, "is -1, and another " + std::string(part) +
                                " axis is as well; one of them can take what is left");
      return false;
    }
    const std::int64_t given = product(degrees);
    if (all < given || all % given != 0) {
      settings_.error(name, "is what is left of " + std::to_string(all) + ", which the other " +
                                std::string(part) + " axes, " + std::to_string(given) +
                                ", do not divide");
      return false;
    }
    *open = all / given;
    return true;
  }

  void put(const MeshAxis& axis, std::int64_t degree, MaxTextMesh& mesh) {
    if (axis.degree != nullptr) {
      mesh.*axis.degree = bounded_product(mesh.*axis.degree, degree);
    } else if (degree > 1) {
      settings_.error(name_of("ici_", axis), "and dcn_ together are " + std::to_string(degree) +
                                                 "; there is no such axis here");
    }
  }

  void check_job(std::int64_t ranks) {
    if (ranks > kMostRanks) {
      settings_.error("ici_tensor_parallelism",
                      "with the other axes makes more ranks than any job");
    } else if (given_ranks_ > 0 && given_ranks_ != ranks) {
      settings_.error("dcn_data_parallelism",
                      "with the other axes makes " + std::to_string(ranks) + " ranks, not the " +
                          std::to_string(given_ranks_) + " GPUs that were given");
    }
  }

  FrameworkReader& settings_;
  std::int64_t node_;  // GPUs
  // GPUs of the whole job where something beside the file says; 0 where nothing does.
  std::int64_t given_ranks_;
};

}  // namespace

MaxTextMesh read_maxtext_mesh(FrameworkReader& settings, const ImportInput& input) {
  return MeshReader(settings, input).mesh();
}

}  // namespace stepcast
