// SPDX-License-Identifier: Apache-2.0
// What an experiment could be on the GPUs that it has: with the best plan, and with the best of the
// software sets of its family and beneath its own set, which may be of another framework.
//
// The plan is the one that climbs reach from the experiment's own and from the usual ones
// (plan_climb.hpp), of 20,000 plans at most, a second or two on one core: likely the best one, and
// no proof. The dispatcher stays, which is the software's; micro-batch and recomputation are
// searched, and the global batch is kept. Sets are those of other_software.hpp, all of which are
// tried.
#pragma once

#include "stepcast/diagnosis/varied_run.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// `base` is what the experiment is projected to do, which is priced. Ways that do not fit in memory
// are none; without settings no other way is faster.
FastestWay fastest_plan(const VariedRun& run, const Projection& base);
// Nothing is tried where nothing is known of the framework at another time.
FastestWay fastest_software(const VariedRun& run, const Projection& base, const DataRoot& data);

}  // namespace stepcast
