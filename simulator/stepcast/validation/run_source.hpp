// SPDX-License-Identifier: Apache-2.0
// Who published a run: runs of one source share its machines and its habits, so that one says
// little about the error of another that it does not say of its own.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// Of the `source` of a record. The name of the repository that it refers to after its last ": ",
// without a version at its end, so that releases, branches and mirrors are one source; of another
// page its host; of neither, what stands before the first bracket, comma or colon. Without any
// text, the `file` is the source.
//
//   "Results: mlcommons/training_results_v5.0/NVIDIA/results/x@b87b9"  training_results
//   "torchtitan PR: pytorch/torchtitan pull request 2107"              torchtitan
//   "https://pytorch.org/blog/x"                                       pytorch.org
//   "arXiv 2205.05198 (Reducing ...), table 5"                         arXiv 2205.05198
std::string source_of(std::string_view text, std::string_view file);

}  // namespace stepcast
