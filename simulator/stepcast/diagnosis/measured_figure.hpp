// SPDX-License-Identifier: Apache-2.0
// Measured figures as people write them, and beside what is projected.
//
//   200tok/s   tokens/s of one GPU          120TFLOP/s   of the model, of one GPU
//   13s        a step                       9.8%         MFU
//   43.5GiB    the largest memory of a GPU, as its allocator gave it out; with "reserved" behind
//              it, as it holds it from the device, which is what torchtitan logs
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// Nothing where the text is none of these, or no amount that can be measured (range_of of its
// metric).
std::optional<Figure> parse_figure(std::string_view text);
// The same of one metric: a number, with or without its unit where that is TFLOP/s or %.
std::optional<Figure> parse_figure(std::string_view text, Metric metric);
// What such a text looks like: "13s".
std::string_view figure_example(Metric metric);

// The figure of a metric that a projection has, whose plan is priced.
Figure figure_of(Metric metric, const Projection& projection);
// "200.0 tokens/s/GPU", "13.00 s".
std::string text_of(const Figure& figure);

// ln of how many times as long a step takes as the projected one, or as much memory: above 0 of a
// run that is slower or larger. Both are of one metric.
double log_excess(const Figure& measured, const Figure& projected);

// Whether the metric says how fast a run is.
bool is_of_pace(Metric metric);

}  // namespace stepcast
