// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/diagnosis/cause_changes.hpp"
#include "stepcast/diagnosis/cause_info.hpp"
#include "stepcast/diagnosis/cause_score.hpp"
#include "stepcast/diagnosis/figure_convention.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/diagnosis/other_software.hpp"
#include "stepcast/diagnosis/trace_evidence.hpp"
#include "stepcast/diagnosis/varied_run.hpp"

namespace stepcast {
namespace {

using Figures = std::vector<Figure>;

// Figures move by less than this where a cause has no effect on them, as ln.
constexpr double kNoEffect = 0.005;

std::string settings_text(const KeySettings& settings) {
  return text_list(settings, ",",
                   [](const auto& entry) { return entry.first + "=" + entry.second; });
}

constexpr int kSizeDigits = 4;  // as a setting is written

// A form with its fit, before forms are held against each other.
struct Candidate {
  CauseChange change;
  CauseFit fit;
  std::vector<double> residuals;
  std::map<double, std::vector<double>> tried;  // by place of the size; empty without one
  double of_trace = 0.0;                        // ln of the evidence of the traced step
};

class Diagnoser {
 public:
  Diagnoser(const DiagnosisQuestion& question, ProfileCache& profiles, const CostModel& cost)
      : question_(question),
        run_(question.tree, question.experiment, profiles, cost),
        profiles_(profiles),
        errors_(errors_of(question.points, distribution())) {}

  Diagnosis take() {
    result_.points = question_.points;
    result_.projection = run_.projected(question_.points.front().settings);
    result_.projection.expected_error = question_.expected;
    if (!result_.projection.priced) {
      return std::move(result_);
    }
    for (const MeasuredPoint& point : question_.points) {
      result_.projected.push_back(base_figure(point));
    }
    base_ = residuals_of(result_.projected);
    judge_pace();
    if (question_.trace) {
      result_.trace = question_.trace->traced;
    }
    if (is_off() || question_.trace) {
      explain();
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::optional<ErrorDistribution> distribution() const {
    return question_.expected ? question_.expected->distribution : std::nullopt;
  }

  Figure base_figure(const MeasuredPoint& point) const {
    const Projection projection = run_.projected(point.settings);
    if (!projection.priced) {
      throw ConfigError({"point " + settings_text(point.settings), 0, 0},
                        "cannot run: " + text_list(projection.reasons, "; "));
    }
    return figure_of(point.measured.metric, projection);
  }

  [[nodiscard]] std::vector<double> residuals_of(const Figures& projected) const {
    std::vector<double> residuals;
    for (std::size_t i = 0; i < projected.size(); ++i) {
      residuals.push_back(log_excess(question_.points[i].measured, projected[i]));
    }
    return residuals;
  }

  // Factors of the predicted rate that are nothing to explain.
  [[nodiscard]] RateInterval interval() const {
    const std::optional<ErrorDistribution> errors = distribution();
    return errors ? errors->interval(Certainty::k80)
                  : RateInterval{1.0 - 2.0 * kMeasuredNoise, 1.0 + 2.0 * kMeasuredNoise};
  }

  [[nodiscard]] Pace pace_of(double excess) const {
    const double ratio = std::exp(-excess);
    const RateInterval expected = interval();
    return ratio < expected.low    ? Pace::kSlow
           : ratio > expected.high ? Pace::kFast
                                   : Pace::kAsExpected;
  }

  void judge_pace() {
    result_.pace = pace_of(base_.front());
    result_.pace_ratio = std::exp(-base_.front());
  }

  // Whether any figure is further from its projection than noise goes. Within the error to expect
  // it may still be told what would explain it.
  [[nodiscard]] bool is_off() const {
    return std::ranges::any_of(
        base_, [](double residual) { return std::abs(residual) > 2.0 * kMeasuredNoise; });
  }

  // Of every point with the settings of causes on top; nothing where one of them cannot run so.
  [[nodiscard]] std::optional<Figures> figures_with(const KeySettings& settings) const {
    Figures figures;
    std::map<std::string, Projection> known;  // points of one configuration have one projection
    for (const MeasuredPoint& point : question_.points) {
      KeySettings all = point.settings;
      all.insert(all.end(), settings.begin(), settings.end());
      const std::string key = settings_text(all);
      auto place = known.find(key);
      if (place == known.end()) {
        std::optional<Projection> projection = run_.if_possible(all);
        if (!projection) {
          return std::nullopt;
        }
        place = known.emplace(key, std::move(*projection)).first;
      }
      figures.push_back(figure_of(point.measured.metric, place->second));
    }
    return figures;
  }

  [[nodiscard]] std::optional<std::vector<double>> residuals_with(
      const KeySettings& settings) const {
    const std::optional<Figures> figures = figures_with(settings);
    return figures ? std::optional(residuals_of(*figures)) : std::nullopt;
  }

  void explain() {
    add_changes();
    add_conventions();
    hold_against_trace();
    drop_useless();
    score();
    keep_best_forms();
    add_pairs();
  }

  void add_changes() {
    const std::vector<CauseChange> changes =
        changes_of({run_.tree().root, question_.experiment, result_.projection,
                    other_releases(question_.experiment, profiles_.data())});
    std::set<Cause> ruled_out;
    for (const CauseChange& change : changes) {
      ruled_out.insert(change.cause);
    }
    for (const CauseChange& change : changes) {
      std::optional<Candidate> candidate = candidate_of(change, {});
      if (candidate && has_effect(*candidate)) {
        ruled_out.erase(change.cause);
        candidates_.push_back(std::move(*candidate));
      }
    }
    result_.ruled_out.assign(ruled_out.begin(), ruled_out.end());
  }

  // A form, with the settings of another cause below it; nothing where it is not possible.
  [[nodiscard]] std::optional<Candidate> candidate_of(const CauseChange& change,
                                                      const KeySettings& below) const {
    const auto with = [&](double size) {
      KeySettings settings = below;
      const KeySettings own = change.at(size);
      settings.insert(settings.end(), own.begin(), own.end());
      return settings;
    };
    std::optional<SizeFit> fit;
    if (change.sized) {
      fit = fit_size(
          change.sized->range, [&](double size) { return residuals_with(with(size)); },
          errors_.own);
    }
    const double size = fit ? rounded_to(fit->size, kSizeDigits) : 0.0;
    const bool possible = fit.has_value() == change.sized.has_value();
    const std::optional<Figures> figures = possible ? figures_with(with(size)) : std::nullopt;
    if (!figures) {
      return std::nullopt;
    }
    Candidate candidate{change, fit_of(change, *figures), residuals_of(*figures), {}, 0.0};
    candidate.fit.settings = change.at(size);
    if (fit) {
      candidate.fit.size = size;
      candidate.fit.unit = change.sized->unit;
      candidate.fit.at_bound = fit->at_bound;
      candidate.tried = std::move(fit->tried);
    }
    return candidate;
  }

  // Whether a figure moves by more than nothing: over the range of a size, or at all.
  [[nodiscard]] bool has_effect(const Candidate& candidate) const {
    const bool sized = !candidate.tried.empty();
    const std::vector<double>& from = sized ? candidate.tried.begin()->second : base_;
    const std::vector<double>& to = sized ? candidate.tried.rbegin()->second : candidate.residuals;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (std::abs(to[i] - from[i]) > kNoEffect) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] CauseFit fit_of(const CauseChange& change, const Figures& figures) const {
    CauseFit fit;
    fit.cause = change.cause;
    fit.form = change.form;
    fit.projected = figures;
    fit.meets = meets(residuals_of(figures));
    fit.gain = std::exp(log_excess(figures.front(), result_.projected.front()));
    return fit;
  }

  // All figures of the metric of the first point count otherwise.
  void add_conventions() {
    const Metric metric = question_.points.front().measured.metric;
    for (const FigureConvention& convention : conventions_of(metric, result_.projection)) {
      Figures figures = result_.projected;
      for (Figure& figure : figures) {
        figure.value *= figure.metric == metric ? convention.ratio : 1.0;
      }
      const CauseChange change{Cause::kFigureConvention, convention.form, {}, std::nullopt};
      Candidate candidate{change, fit_of(change, figures), residuals_of(figures), {}, 0.0};
      candidate.fit.size = convention.ratio;
      candidate.fit.unit = "of our figure";
      candidate.fit.gain = 1.0;
      if (candidate.fit.meets) {
        candidates_.push_back(std::move(candidate));
      }
    }
  }

  // Of a cause that changes no run the trace shows what is projected without any.
  [[nodiscard]] double evidence_without_cause() const {
    return log_evidence(*result_.trace, each_of(result_.trace->parts, &StepPart::projected));
  }

  // Whether chance leaves as much: chi^2 is within three standard deviations of its mean.
  [[nodiscard]] bool meets(const std::vector<double>& residuals) const {
    constexpr double kDeviations = 3.0;
    const auto figures = static_cast<double>(residuals.size());
    return chi_squared(errors_, residuals) < figures + kDeviations * std::sqrt(2.0 * figures);
  }

  // What explains no more than no cause does. A trace has parts enough for chance to favour some
  // cause: there it has to explain 1 more of ln evidence (Akaike's criterion, one parameter more).
  void drop_useless() {
    constexpr double kChance = 1.0;
    const double without =
        log_evidence(errors_, base_) + (result_.trace ? evidence_without_cause() + kChance : 0.0);
    std::erase_if(candidates_, [&](const Candidate& candidate) {
      return log_evidence(errors_, candidate.residuals) + candidate.of_trace <= without;
    });
  }

  // What each form makes of the parts of the traced step, which is of the experiment itself.
  void hold_against_trace() {
    if (!question_.trace) {
      return;
    }
    for (Candidate& candidate : candidates_) {
      const bool changes_run = !candidate.fit.settings.empty();
      const std::optional<Variant> variant =
          changes_run ? run_.variant_if_possible(candidate.fit.settings) : std::nullopt;
      if (!variant) {
        candidate.of_trace = evidence_without_cause();
      } else {
        candidate.fit.traced = question_.trace->projected(*variant);
        candidate.of_trace = log_evidence(*result_.trace, candidate.fit.traced);
        if (candidate.change.seen_by == SeenBy::kOneRank) {
          take_side_of_others(*variant, candidate);
        }
      }
    }
  }

  // Of a cause on another rank than the one that was traced: all that this one does is as without
  // it, and it waits for what the step takes longer.
  void take_side_of_others(const Variant& variant, Candidate& candidate) const {
    std::vector<Seconds> parts =
        each_of(result_.trace->parts, [](const StepPart& part) { return part.projected; });
    const Seconds longer = variant.projection.time.step - traced_base_step();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      parts[k] += result_.trace->parts[k].waits ? longer : Seconds{};
    }
    const double evidence = log_evidence(*result_.trace, parts);
    if (evidence > candidate.of_trace) {
      candidate.fit.traced = std::move(parts);
      candidate.of_trace = evidence;
    }
  }

  [[nodiscard]] Seconds traced_base_step() const {
    return question_.points.front().settings.empty() ? result_.projection.time.step
                                                     : run_.projected({}).time.step;
  }

  [[nodiscard]] double evidence_of(const Candidate& candidate) const {
    return candidate.of_trace + (candidate.tried.empty()
                                     ? log_evidence(errors_, candidate.residuals)
                                     : log_evidence(errors_, candidate.tried));
  }

  void score() {
    std::map<Cause, double> forms;
    for (const Candidate& candidate : candidates_) {
      forms[candidate.fit.cause] += 1.0;
    }
    std::vector<double> logarithms;
    for (const Candidate& candidate : candidates_) {
      const Cause cause = candidate.fit.cause;
      logarithms.push_back(evidence_of(candidate) + std::log(info(cause).prior / forms[cause]));
    }
    const std::vector<double> scores = normalised(logarithms);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      candidates_[i].fit.score = scores[i];
    }
  }

  // A cause has the score of all of its forms, and is told by the one that leaves least.
  void keep_best_forms() {
    std::map<Cause, double> scores;
    for (const Candidate& candidate : candidates_) {
      scores[candidate.fit.cause] += candidate.fit.score;
    }
    std::ranges::stable_sort(candidates_, {}, [this](const Candidate& candidate) {
      double left = -2.0 * candidate.of_trace;  // beside figures, as sizes are fitted to them
      for (std::size_t i = 0; i < candidate.residuals.size(); ++i) {
        left += std::pow(candidate.residuals[i] / errors_.own[i], 2);
      }
      return left;
    });
    std::vector<Candidate> best;
    for (Candidate& candidate : candidates_) {
      if (const auto score = scores.extract(candidate.fit.cause)) {
        best.push_back(std::move(candidate));
        best.back().fit.score = score.mapped();
      }
    }
    std::ranges::stable_sort(best, std::greater<>(),
                             [](const Candidate& candidate) { return candidate.fit.score; });
    candidates_ = std::move(best);
    result_.causes = each_of(candidates_, [](const Candidate& known) { return known.fit; });
  }

  // Of a single figure any two sizes would do. The second cause has to explain more than chance: it
  // leaves 2 less of chi^2 than either does alone (Akaike's criterion, one parameter more).
  void add_pairs() {
    constexpr std::size_t kBest = 5;
    constexpr double kChance = 2.0;
    const std::size_t best = question_.points.size() > 1 ? std::min(kBest, candidates_.size()) : 0;
    for (std::size_t i = 0; i < best; ++i) {
      for (std::size_t j = i + 1; j < best; ++j) {
        const std::optional<CausePair> pair = pair_of(candidates_[i], candidates_[j]);
        const double alone = std::min(chi_squared(errors_, candidates_[i].residuals),
                                      chi_squared(errors_, candidates_[j].residuals));
        if (pair && pair->chi_squared + kChance < alone) {
          result_.pairs.push_back(*pair);
        }
      }
    }
    std::ranges::stable_sort(result_.pairs, {}, &CausePair::chi_squared);
  }

  // Each in turn on top of the other, at the size that it had last.
  [[nodiscard]] std::optional<CausePair> pair_of(const Candidate& a, const Candidate& b) const {
    if (a.fit.settings.empty() || b.fit.settings.empty()) {
      return std::nullopt;  // a convention changes no run
    }
    std::optional<Candidate> first = a;
    std::optional<Candidate> second = candidate_of(b.change, a.fit.settings);
    constexpr int kRounds = 2;
    for (int round = 0; round < kRounds && second; ++round) {
      first = candidate_of(a.change, second->fit.settings);
      second = first ? candidate_of(b.change, first->fit.settings) : std::nullopt;
    }
    return second ? std::optional(CausePair{first->fit, second->fit, second->fit.projected,
                                            chi_squared(errors_, second->residuals)})
                  : std::nullopt;
  }

  const DiagnosisQuestion& question_;
  VariedRun run_;
  ProfileCache& profiles_;
  FigureErrors errors_;
  std::vector<double> base_;  // residuals without any cause
  std::vector<Candidate> candidates_;
  Diagnosis result_;
};

}  // namespace

Diagnosis diagnose(const DiagnosisQuestion& question, ProfileCache& profiles,
                   const CostModel& cost) {
  return Diagnoser(question, profiles, cost).take();
}

}  // namespace stepcast
