// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_defaults.hpp"

#include <algorithm>

#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {
namespace {

class PipelineCollector {
 public:
  PipelineCollector(const GivenTexts& given, ScheduleScope scope) : given_(given), scope_(scope) {}

  void collect(const Experiment& site, std::set<Pipeline>& found) const {
    for (const std::int64_t pp : ranks_of(site)) {
      for (const std::int64_t vpp : chunks_of(site, pp)) {
        for (std::size_t i = 0; i < names_of<Schedule>().size(); ++i) {
          const auto schedule = static_cast<Schedule>(i);
          if (wants(site, schedule, pp) && schedule_reasons(schedule, pp, vpp).empty()) {
            found.insert({pp, vpp, site.model.layers % pp != 0, schedule});
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] bool is_given(std::string_view key) const { return given_.contains(key); }

  // Whether the model's layers make so many stages: evenly or, where pp does not divide them,
  // balanced, with one or two stages a rank or as many as come out even with both ends.
  [[nodiscard]] bool makes_stages(const Experiment& site, std::int64_t pp, std::int64_t vpp) const {
    const std::int64_t layers = site.model.layers;
    if (layers % pp == 0 && !is_given("plan.stage_layout")) {
      return layers % (pp * vpp) == 0;
    }
    const bool even = layers % (pp * vpp) == 0 || (layers + 2) % (pp * vpp) == 0;
    return pp * vpp <= layers && (vpp <= 2 || even);
  }

  [[nodiscard]] Degrees ranks_of(const Experiment& site) const {
    if (is_given("plan.pp")) {
      return given_degrees(given_, "plan.pp");
    }
    return divisors(site.cluster.gpus());
  }

  [[nodiscard]] Degrees chunks_of(const Experiment& site, std::int64_t pp) const {
    Degrees chunks = given_degrees(given_, "plan.vpp");
    if (!is_given("plan.vpp")) {
      chunks.insert(1);
      for (std::int64_t vpp = 2; pp > 1 && pp * vpp <= site.model.layers; ++vpp) {
        chunks.insert(vpp);
      }
    }
    std::erase_if(chunks, [&](std::int64_t vpp) { return !makes_stages(site, pp, vpp); });
    return chunks;
  }

  // Whether the software can run it, as far as it says.
  [[nodiscard]] bool is_offered(const Experiment& site, Schedule schedule) const {
    const std::vector<Schedule>& offered = site.software.offered_schedules;
    return scope_ == ScheduleScope::kEvery || offered.empty() ||
           std::find(offered.begin(), offered.end(), schedule) != offered.end();
  }

  [[nodiscard]] bool wants(const Experiment& site, Schedule schedule, std::int64_t pp) const {
    const auto given = given_.find("plan.schedule");
    if (given != given_.end()) {
      const std::vector<std::string>& names = given->second;
      return std::find(names.begin(), names.end(), name(schedule)) != names.end();
    }
    // With one rank all are the same, and GPipe takes as long as 1F1B and holds more.
    return pp > 1 ? schedule != Schedule::kGpipe && is_offered(site, schedule)
                  : schedule == Schedule::kOneFOneB;
  }

  const GivenTexts& given_;
  ScheduleScope scope_;
};

}  // namespace

std::set<Pipeline> all_pipelines(const std::vector<Experiment>& sites, const GivenTexts& given,
                                 ScheduleScope scope) {
  const PipelineCollector collector(given, scope);
  std::set<Pipeline> found;
  for (const Experiment& site : sites) {
    collector.collect(site, found);
  }
  return found;
}

}  // namespace stepcast
