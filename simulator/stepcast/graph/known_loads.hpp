// SPDX-License-Identifier: Apache-2.0
// The loads of weighted routings (routing.hpp), each found once for all copies of a routing.
//
// Every layer, buffer and exchange of a plan asks for the loads of one routing over the same few
// divisions of its experts, and finding them takes a few hundred exponentials an expert. A routing
// that is read shares what it found with its copies. Answers are those of WeightedChoice, bit for
// bit, whoever asked before.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "stepcast/graph/weighted_choice.hpp"

namespace stepcast {

// Threads may ask at the same time.
class KnownLoads {
 public:
  // The routing is a weighted one.
  PartLoads part_loads(const Routing& routing, ExpertChoice choice, std::int64_t parts);
  // Probability of each expert to be among those of a token.
  std::vector<double> included(const Routing& routing, ExpertChoice choice);

 private:
  struct Entry {
    Routing routing;  // which shares nothing itself
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    WeightedChoice choice;
    std::map<std::int64_t, PartLoads> parts{};  // by their number
  };
  Entry& entry(const Routing& routing, ExpertChoice choice);

  std::mutex asked_;
  std::list<Entry> entries_;
};

// The routing, whose copies share their loads if it is a weighted one.
Routing with_shared_loads(Routing routing);

}  // namespace stepcast
