// SPDX-License-Identifier: Apache-2.0
// How often a diagnosis finds the cause of runs whose cause is known: experiments drawn at random,
// with a cause and a size drawn evenly, measured by their projections with 2 % noise a figure.
//
//   stepcast_diagnosis_draws DRAWS    prints the shares; exit code 1 where one is below its floor
//
// A draw is an experiment that fits, a cause evenly among those with a form for it, one of its
// forms, and a size evenly between its bounds on a logarithmic scale. Draws that move the step by
// less than 10 % are left out and counted. Each is diagnosed from its rate alone, and from four
// figures: the rate, that with another micro-batch, that with another tp or number of nodes, and
// the peak memory. Nothing of a draw knows a prior. The projections that measure are those that
// diagnose, so that our own error is none: these shares say what the figures can tell apart, and
// not how often a real run is explained. For that the four figures are asked once more, off by an
// error as large as the one to expect.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "backends/builtin_backends.hpp"
#include "property/random_experiments.hpp"
#include "sample_specs.hpp"
#include "stepcast/diagnosis/cause_changes.hpp"
#include "stepcast/diagnosis/cause_score.hpp"
#include "stepcast/diagnosis/diagnose.hpp"
#include "stepcast/diagnosis/figure_convention.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/diagnosis/other_software.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/varied_run.hpp"

namespace stepcast::diagnosis_draws {
namespace {

constexpr double kLeastEffect = 0.1;

// Shares of 250 and more draws as they were measured. A run may fall below by three standard
// deviations of as many draws as it has.
constexpr double kFirstOfFour = 0.88;
constexpr double kThreeOfRate = 0.88;
constexpr double kSizeOfFour = 0.96;

bool is_kept(int found, int asked, double measured) {
  constexpr double kDeviations = 3.0;
  const auto all = static_cast<double>(asked);
  return asked == 0 || static_cast<double>(found) / all >=
                           measured - kDeviations * std::sqrt(measured * (1.0 - measured) / all);
}

class Noise {
 public:
  explicit Noise(std::uint64_t seed) : numbers_(seed) {}
  double factor() { return std::exp(kMeasuredNoise * normal()); }
  double share() { return even_(numbers_); }
  double normal() { return normal_(numbers_); }

 private:
  std::mt19937_64 numbers_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> even_;
};

// Of all draws of one kind of question.
struct Found {
  int asked = 0;
  int first = 0;
  int among_three = 0;
  int sized = 0;  // first, with a size
  int size_right = 0;
};

void print(const std::string& what, const Found& found) {
  const auto percent = [](int part, int all) {
    return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
  };
  std::cout << what << ": " << found.asked << " asked, first " << percent(found.first, found.asked)
            << " %, among three " << percent(found.among_three, found.asked)
            << " %, size within 20 % " << percent(found.size_right, found.sized) << " % of "
            << found.sized << "\n";
}

// An experiment that was drawn, with all that its projections need.
struct Subject {
  ExperimentTree tree;
  Experiment experiment;
};

std::optional<Subject> subject_of(const ExperimentSource& source, ProfileCache& profiles) {
  try {
    Subject subject{{parse_config(source.text, "drawn"), {}}, {}};
    for (const Assignment& setting : source.settings) {
      apply_override(subject.tree.root, Override(setting.text));
    }
    subject.experiment = read_experiment(subject.tree.root, {}, profiles);
    return subject;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

// A cause that was drawn.
struct Secret {
  Cause cause = Cause::kLinkBetweenNodes;
  KeySettings settings;
  std::optional<double> size;
  double convention = 1.0;  // ratio of the figure
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed)
      : simulator_(STEPCAST_DATA_ROOT), experiments_(simulator_, seed), noise_(seed) {}

  void run(int count) {
    while (rate_.asked < count) {
      draw();
    }
    std::cout << "left out: " << small_ << " that move the step by less than 10 %, " << unfit_
              << " experiments that do not run or fit\n";
    print("one rate", rate_);
    print("four figures", four_);
    print("four figures, with our own error", widened_);
    for (const auto& [cause, found] : by_cause_) {
      print("  " + std::string(name(cause)), found);
    }
    std::cout << "confused with:";
    for (const auto& [pair, count_of] : confused_) {
      std::cout << " " << name(pair.first) << ">" << name(pair.second) << " " << count_of << ",";
    }
    std::cout << "\n";
  }

  [[nodiscard]] bool holds() const {
    return is_kept(four_.first, four_.asked, kFirstOfFour) &&
           is_kept(rate_.among_three, rate_.asked, kThreeOfRate) &&
           is_kept(four_.size_right, four_.sized, kSizeOfFour);
  }

 private:
  void draw() {
    const std::optional<Subject> subject = subject_of(experiments_.next(), profiles_);
    if (!subject) {
      ++unfit_;
      return;
    }
    const VariedRun run(subject->tree, subject->experiment, profiles_, cost_);
    const std::optional<Projection> base = run.if_possible({});
    if (!base || !base->feasible()) {
      ++unfit_;
      return;
    }
    const std::optional<Secret> secret = drawn_secret(*subject, run, *base);
    if (!secret) {
      return;
    }
    const std::optional<std::vector<MeasuredPoint>> points = measured(run, *subject, *secret);
    if (!points) {
      ++unfit_;
      return;
    }
    ask({points->front()}, *subject, *secret, std::nullopt, rate_, false);
    ask(*points, *subject, *secret, std::nullopt, four_, true);
    const ExpectedError expected = expected_error(known_, subject->experiment);
    ask(off_by_our_error(*points, expected), *subject, *secret, expected, widened_, false);
  }

  std::optional<Secret> drawn_secret(const Subject& subject, const VariedRun& run,
                                     const Projection& base) {
    std::map<Cause, std::vector<CauseChange>> forms;
    for (CauseChange& change : changes_of({subject.tree.root, subject.experiment, base,
                                           other_releases(subject.experiment, profiles_.data())})) {
      forms[change.cause].push_back(std::move(change));
    }
    const std::vector<FigureConvention> conventions = conventions_of(Metric::kTokenRate, base);
    const std::size_t choice = experiments_.below(forms.size() + 1);
    if (choice == forms.size()) {
      const FigureConvention& convention = conventions[experiments_.below(conventions.size())];
      return Secret{Cause::kFigureConvention, {}, convention.ratio, convention.ratio};
    }
    const auto& [cause, of_cause] = *std::next(forms.begin(), static_cast<std::ptrdiff_t>(choice));
    const CauseChange& change = of_cause[experiments_.below(of_cause.size())];
    Secret secret{cause, change.settings, std::nullopt};
    if (change.sized) {
      secret.size = change.sized->range.at(noise_.share());
      secret.settings = change.at(*secret.size);
    }
    const std::optional<Projection> with = run.if_possible(secret.settings);
    if (!with || with->time.step / base.time.step < 1.0 + kLeastEffect) {
      ++small_;
      return std::nullopt;
    }
    return secret;
  }

  // Of a point, if its plan runs with the secret and without.
  std::optional<MeasuredPoint> figure(const VariedRun& run, const Secret& secret,
                                      const KeySettings& point, Metric metric) {
    KeySettings all = point;
    all.insert(all.end(), secret.settings.begin(), secret.settings.end());
    const std::optional<Projection> with = run.if_possible(all);
    if (!with || !run.if_possible(point)) {
      return std::nullopt;
    }
    Figure value = figure_of(metric, *with);
    value.value *= noise_.factor() * (metric == Metric::kTokenRate ? secret.convention : 1.0);
    return MeasuredPoint{point, value};
  }

  std::optional<std::vector<MeasuredPoint>> measured(const VariedRun& run, const Subject& subject,
                                                     const Secret& secret) {
    const std::int64_t micro_batch = subject.experiment.training.micro_batch_size;
    const std::int64_t tp = subject.experiment.plan.tp;
    const std::int64_t nodes = subject.experiment.cluster.nodes;
    const auto whole = [](const char* key, std::int64_t value) -> KeySettings {
      return {{key, std::to_string(value)}};
    };
    std::vector<MeasuredPoint> points;
    const auto add_one_of = [&](const std::vector<KeySettings>& variants, Metric metric) {
      for (const KeySettings& settings : variants) {
        if (std::optional<MeasuredPoint> point = figure(run, secret, settings, metric)) {
          points.push_back(std::move(*point));
          return true;
        }
      }
      return false;
    };
    const bool all =
        add_one_of({{}}, Metric::kTokenRate) &&
        add_one_of({whole("training.micro_batch_size", 2 * micro_batch),
                    whole("training.micro_batch_size", std::max<std::int64_t>(1, micro_batch / 2))},
                   Metric::kTokenRate) &&
        add_one_of({whole("plan.tp", 2 * tp), whole("plan.tp", std::max<std::int64_t>(1, tp / 2)),
                    whole("cluster.nodes", 2 * nodes)},
                   Metric::kTokenRate) &&
        add_one_of({{}}, Metric::kPeakMemory);
    return all ? std::optional(points) : std::nullopt;
  }

  // What would be measured if the projection of every run were off as the error to expect says.
  std::vector<MeasuredPoint> off_by_our_error(std::vector<MeasuredPoint> points,
                                              const ExpectedError& expected) {
    const FigureErrors errors = errors_of(points, expected.distribution);
    const double shared = noise_.normal();
    for (std::size_t i = 0; i < points.size(); ++i) {
      Figure& figure = points[i].measured;
      const double own = std::sqrt(errors.own[i] * errors.own[i] - kMeasuredNoise * kMeasuredNoise);
      const double excess = errors.usual[i] + errors.common[i] * shared + own * noise_.normal();
      figure.value *= std::exp(figure.metric == Metric::kTokenRate ? -excess : excess);
    }
    return points;
  }

  void ask(const std::vector<MeasuredPoint>& points, const Subject& subject, const Secret& secret,
           const std::optional<ExpectedError>& expected, Found& found, bool in_detail) {
    const Diagnosis d =
        diagnose({subject.tree, subject.experiment, points, expected}, profiles_, cost_);
    count(d, secret, found);
    if (in_detail) {
      count(d, secret, by_cause_[secret.cause]);
      if (!d.causes.empty() && d.causes.front().cause != secret.cause) {
        ++confused_[{secret.cause, d.causes.front().cause}];
      }
    }
  }

  static void count(const Diagnosis& d, const Secret& secret, Found& found) {
    ++found.asked;
    const auto place = std::ranges::find(d.causes, secret.cause, &CauseFit::cause);
    const auto rank = place - d.causes.begin();
    const bool is_there = place != d.causes.end();
    found.among_three += is_there && rank < 3 ? 1 : 0;
    if (!is_there || rank > 0) {
      return;
    }
    ++found.first;
    const bool same_form = place->size.has_value() == secret.size.has_value();
    if (secret.size && same_form) {
      ++found.sized;
      found.size_right += std::abs(*place->size / *secret.size - 1.0) < 0.2 ? 1 : 0;
    }
  }

  Simulator simulator_;
  test::RandomExperiments experiments_;
  Noise noise_;
  ProfileCache profiles_{test::data_root()};
  CostModel cost_ = default_cost_model();
  std::vector<HeldOutRun> known_ = load_accuracy(test::data_root());
  Found rate_;
  Found four_;
  Found widened_;
  std::map<Cause, Found> by_cause_;
  std::map<std::pair<Cause, Cause>, int> confused_;
  int small_ = 0;
  int unfit_ = 0;
};

int run(int count) {
  constexpr std::uint64_t kSeed = 1;
  Draws draws(kSeed);
  draws.run(count);
  return draws.holds() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace stepcast::diagnosis_draws

int main(int argc, char** argv) {
  return stepcast::diagnosis_draws::run(argc > 1 ? std::atoi(argv[1]) : 50);
}
