// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/same_plans.hpp"

#include <algorithm>

#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {
namespace {

// The values of an axis over dispatchers that do nothing where one rank has all experts.
std::vector<std::size_t> between_ranks(const SweepAxis& axis) {
  std::vector<std::size_t> values;
  const std::span<const std::string_view> names = names_of<Dispatcher>();
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    const auto place = std::find(names.begin(), names.end(), axis.values[i].front());
    if (place != names.end() &&
        !model_of(static_cast<Dispatcher>(place - names.begin())).serves_one_rank) {
      values.push_back(i);
    }
  }
  return values;
}

bool is_later(const std::vector<std::size_t>& alike, std::size_t value) {
  return alike.size() > 1 && value > alike.front() &&
         std::find(alike.begin(), alike.end(), value) != alike.end();
}

}  // namespace

SamePlans::SamePlans(const SweepSpace& space) : space_(&space) {
  for (std::size_t place = 0; place < space.axes().size(); ++place) {
    const SweepAxis& swept = space.axes()[place];
    const auto only = [&swept](const char* key) {
      return swept.keys.size() == 1 && swept.keys.front() == key && swept.size() > 1;
    };
    Axis axis{.place = place,
              .sequence_parallel = only("plan.sequence_parallel"),
              .cp_algorithm = only("plan.cp_algorithm"),
              .reshard = only("plan.fsdp_reshard"),
              .unsharded = {},
              .between_ranks = {}};
    if (only("plan.dispatcher")) {
      axis.between_ranks = between_ranks(swept);
    }
    const auto zero = std::find(swept.keys.begin(), swept.keys.end(), "plan.zero");
    const bool shards_alone =
        std::all_of(swept.keys.begin(), swept.keys.end(), [](const std::string& key) {
          return key == "plan.zero" || key == "plan.fsdp_reshard" || key == "plan.hsdp";
        });
    for (std::size_t i = 0; zero != swept.keys.end() && shards_alone && i < swept.values.size();
         ++i) {
      const std::vector<std::string>& texts = swept.values[i];
      const std::string& stage = texts[static_cast<std::size_t>(zero - swept.keys.begin())];
      const auto set = std::count_if(texts.begin(), texts.end(),
                                     [](const std::string& text) { return !text.empty(); });
      if (set == 1 && (stage == "0" || stage == "1" || stage == "2")) {
        axis.unsharded.push_back(i);
      }
    }
    if (axis.sequence_parallel || axis.cp_algorithm || axis.reshard || axis.unsharded.size() > 1 ||
        axis.between_ranks.size() > 1) {
      axes_.push_back(std::move(axis));
    }
  }
}

bool SamePlans::repeats(std::int64_t index, const ParallelPlan& plan) const {
  return std::any_of(axes_.begin(), axes_.end(), [&](const Axis& axis) {
    const std::size_t digit = space_->digit(index, axis.place);
    if ((axis.sequence_parallel && plan.tp == 1) || (axis.cp_algorithm && plan.cp == 1) ||
        (axis.reshard && plan.zero != 3)) {
      return digit > 0;
    }
    if (plan.ep == 1 && is_later(axis.between_ranks, digit)) {
      return true;
    }
    return plan.replicas() == 1 && plan.edp == 1 && is_later(axis.unsharded, digit);
  });
}

}  // namespace stepcast
