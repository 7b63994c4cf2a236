// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/operator_categories.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "trace_reader/work_shape.hpp"

namespace stepcast {
namespace {

using Category = StepCategory;
using Sizes = std::vector<std::int64_t>;
using Shapes = std::vector<Sizes>;

constexpr std::array<std::string_view, 3> kIndexing = {"aten::index", "aten::index_put_",
                                                       "aten::_index_put_impl_"};

// Those that stand between an operator and the one that it is called by for nothing but it.
constexpr std::array<std::string_view, 4> kOfOneCall = {"aten::", "triton_", "PythonDispatchMode",
                                                        "PythonSubclass"};

bool is_batched_product(std::string_view op) { return op == "aten::bmm" || op == "aten::baddbmm"; }

bool names_a_copy(Category category) {
  return category == Category::kCopies || category == Category::kMemoryBound ||
         category == Category::kOther;
}

// A batch of products with a vector: nothing is used twice, so that memory bounds it.
struct VectorProducts {
  std::int64_t batch = 0;
  std::int64_t rows = 0;   // that each adds up or makes
  std::int64_t width = 0;  // of a row
};

std::optional<VectorProducts> vector_products(const Shapes& shapes) {
  if (shapes.size() < 2 || shapes[0].size() != 3 || shapes[1].size() != 3 ||
      shapes[0][2] != shapes[1][1]) {
    return std::nullopt;
  }
  std::array extents = {shapes[0][1], shapes[0][2], shapes[1][2]};
  std::ranges::sort(extents);
  if (shapes[0][0] < 2 || extents[0] != 1) {
    return std::nullopt;
  }
  return VectorProducts{shapes[0][0], extents[1], extents[2]};
}

// 0: more than any tensor has.
std::int64_t counted(std::int64_t tokens, std::int64_t rows_of_each) {
  constexpr double kMost = 1e12;
  const double count = static_cast<double>(tokens) * static_cast<double>(rows_of_each);
  return count <= kMost ? tokens * rows_of_each : 0;
}

// The rows of experts in a step.
struct ExpertRows {
  std::set<std::int64_t> widths;
  std::set<std::int64_t> counts;

  [[nodiscard]] bool are(const Sizes& sizes) const {
    switch (sizes.size()) {
      case 1:
        return counts.contains(sizes[0]);
      case 2:
        return widths.contains(sizes[1]) &&
               (counts.contains(sizes[0]) || counts.contains(sizes[0] - 1));
      case 3:
        return widths.contains(sizes[2]) && (counts.contains(counted(sizes[0], sizes[1])) ||
                                             (sizes[1] == 1 && are_shared(sizes[0])));
      default:
        return false;
    }
  }

 private:
  // Whether each of so many tokens has several of the rows.
  [[nodiscard]] bool are_shared(std::int64_t tokens) const {
    return tokens > 0 && std::ranges::any_of(counts, [tokens](std::int64_t count) {
             return count > tokens && count % tokens == 0;
           });
  }
};

class OperatorCategories {
 public:
  explicit OperatorCategories(TraceRecording& recording) : recording_(recording) {}

  void settle() {
    find_expert_rows();
    for (DeviceCall& call : recording_.calls) {
      if (call.op >= 0) {
        call.category = settled(call);
      }
    }
  }

 private:
  [[nodiscard]] const HostOperator* at(std::int32_t place) const {
    return place < 0 ? nullptr : &recording_.operators[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] const std::string& name_of(const HostOperator& op) const {
    return recording_.texts.text(op.name);
  }
  [[nodiscard]] Shapes shapes_of(const HostOperator& op) const {
    return op.input_dims == kNoText ? Shapes{} : tensors_in(recording_.texts.text(op.input_dims));
  }

  // Once for each name and shapes.
  template <typename Take>
  void for_each_kind(const Take& take) const {
    std::set<std::pair<TextId, TextId>> seen;
    for (const HostOperator& op : recording_.operators) {
      if (op.input_dims != kNoText && seen.emplace(op.name, op.input_dims).second) {
        take(name_of(op), op);
      }
    }
  }

  void find_expert_rows() {
    std::set<std::int64_t> extents;  // of the products' two matrices
    for_each_kind([&](const std::string& name, const HostOperator& op) {
      const std::optional<WorkShape> shape =
          work_shape(Category::kGroupedGemm, name, recording_.texts.text(op.input_dims));
      if (shape) {
        rows_.counts.insert(shape->sizes[1]);
        extents.insert({shape->sizes[2], shape->sizes[3]});
      }
    });
    if (extents.empty()) {
      return;
    }
    for_each_kind([&](const std::string& name, const HostOperator& op) {
      if (std::ranges::find(kIndexing, name) != kIndexing.end()) {
        const Shapes shapes = shapes_of(op);
        if (!shapes.empty() && shapes[0].size() == 2 && extents.contains(shapes[0][1])) {
          rows_.widths.insert(shapes[0][1]);
        }
      }
    });
    count_rows_moved();
    drop_tokens();
  }

  void count_rows_moved() {
    for (const RecordedCollective& call : recording_.collectives) {
      for (const std::int64_t width : rows_.widths) {
        const bool exchanges = recording_.texts.text(call.name).starts_with("all_to_all");
        for (const double elements : {call.in_elements, call.out_elements}) {
          const double rows = elements / static_cast<double>(width);
          if (exchanges && rows >= 2.0 && rows < 1e12 && rows == std::floor(rows)) {
            rows_.counts.insert(static_cast<std::int64_t>(rows));
          }
        }
      }
    }
    for_each_kind([&](const std::string& name, const HostOperator& op) {
      const auto products =
          is_batched_product(name) ? vector_products(shapes_of(op)) : std::nullopt;
      if (products && products->rows > 1 && rows_.widths.contains(products->width)) {
        rows_.counts.insert(counted(products->batch, products->rows));
      }
    });
  }

  // Ordinary products take a row for each token, as wide as those of experts.
  void drop_tokens() {
    rows_.counts.erase(0);
    for_each_kind([&](const std::string& name, const HostOperator& op) {
      const HostOperator* const caller = at(op.parent);
      if (name == "aten::mm" && (caller == nullptr || !is_grouped(*caller))) {
        const Shapes shapes = shapes_of(op);
        if (!shapes.empty() && shapes[0].size() == 2 && rows_.widths.contains(shapes[0][1])) {
          rows_.counts.erase(shapes[0][0]);
        }
      }
    });
  }

  [[nodiscard]] bool is_grouped(const HostOperator& op) const {
    return op.input_dims != kNoText &&
           work_shape(Category::kGroupedGemm, name_of(op), recording_.texts.text(op.input_dims));
  }

  Category settled(const DeviceCall& call) {
    Category category = call.category;
    if (category == Category::kSendRecv && is_exchange(call)) {
      return Category::kAllToAll;
    }
    const bool product = category == Category::kGemm;
    if ((product || category == Category::kOther) && multiplies_vectors(call)) {
      category = Category::kMemoryBound;
    } else if (product && is_of_grouped(call)) {
      return Category::kGroupedGemm;
    }
    if (!names_a_copy(category)) {
      return category;
    }
    if (is_of_fsdp(call)) {
      return Category::kFsdpCopies;
    }
    if (moves_rows(call)) {
      return Category::kExpertRows;
    }
    return copies_tensors(call) ? Category::kMemoryBound : category;
  }

  // An operator of PyTorch that copies on the device, as part of what the model computes.
  [[nodiscard]] bool copies_tensors(const DeviceCall& call) const {
    return name_of(*at(call.op)).starts_with("aten::") &&
           recording_.texts.text(call.name).starts_with("Memcpy DtoD");
  }

  [[nodiscard]] bool multiplies_vectors(const DeviceCall& call) const {
    const HostOperator& op = *at(call.op);
    return is_batched_product(name_of(op)) && vector_products(shapes_of(op));
  }

  [[nodiscard]] bool is_of_grouped(const DeviceCall& call) const {
    const HostOperator* const caller = at(at(call.op)->parent);
    return caller != nullptr && is_grouped(*caller);
  }

  // NCCL sends and receives alone; what it is asked for says PyTorch's operator around the launch.
  [[nodiscard]] bool is_exchange(const DeviceCall& call) const {
    constexpr std::string_view kExchange = "c10d::alltoall";
    const HostOperator* op = at(call.op);
    for (int i = 0; op != nullptr && i < kFarthestCaller; ++i, op = at(op->parent)) {
      if (name_of(*op).starts_with(kExchange)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_of_fsdp(const DeviceCall& call) const {
    const HostOperator* op = at(call.op);
    for (int i = 0; op != nullptr && i < kFarthestCaller; ++i, op = at(op->parent)) {
      if (name_of(*op).starts_with(kFsdpMark) || name_of(*op).starts_with("fsdp::")) {
        return true;
      }
    }
    return false;
  }

  bool moves_rows(const DeviceCall& call) {
    const HostOperator* op = at(call.op);
    for (int i = 0; op != nullptr && i < kFarthestCaller; ++i, op = at(op->parent)) {
      const std::string& name = name_of(*op);
      if (std::ranges::none_of(kOfOneCall,
                               [&](std::string_view start) { return name.starts_with(start); })) {
        return false;
      }
      if (has_rows(*op)) {
        return true;
      }
    }
    return false;
  }

  // Remembered by name and shapes.
  bool has_rows(const HostOperator& op) {
    const auto [known, is_new] = has_rows_.try_emplace({op.name, op.input_dims}, false);
    if (is_new) {
      const Shapes shapes = shapes_of(op);
      const bool indexes = std::ranges::find(kIndexing, name_of(op)) != kIndexing.end() &&
                           !shapes.empty() && shapes[0].size() == 2 &&
                           rows_.widths.contains(shapes[0][1]);
      known->second = indexes || std::ranges::any_of(shapes, [this](const Sizes& sizes) {
                        return rows_.are(sizes);
                      });
    }
    return known->second;
  }

  TraceRecording& recording_;
  ExpertRows rows_;
  std::map<std::pair<TextId, TextId>, bool> has_rows_;
};

}  // namespace

void settle_categories(TraceRecording& recording) { OperatorCategories(recording).settle(); }

}  // namespace stepcast
