// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/comparison_report.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/plan_changes.hpp"
#include "stepcast/experiment/plan_fields.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/related_columns.hpp"
#include "stepcast/report/step_rows.hpp"

namespace stepcast {
namespace {

// --- text ---------------------------------------------------------------------------------------

using AllColumns = std::vector<ComparedColumn>;

// What a row says of a column; only of columns that were timed, if it needs a time.
using Cell = std::function<std::string(const Projection&)>;

constexpr const char* kNothing = "-";

// A list below each other: what is side by side stays narrow.
std::string stacked(std::string list) {
  for (std::size_t at = list.find(", "); at != std::string::npos; at = list.find(", ", at)) {
    list.replace(at, 2, "\n");
  }
  return list;
}

// Of the step's time.
std::string assumed_text(const Projection& p) {
  return p.provenance ? decimals(100.0 * p.provenance->of(SourceKind::kAssumed), 1) + " %"
                      : kNothing;
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string verdict(const Projection& p) {
  return p.feasible() && is_tight(p.memory) ? "yes, tight" : yes_or_no(p.feasible());
}

// Input that is worth a row where columns differ in it. Where plans were searched, so is every row
// of a plan but those that most plans leave at their usual value.
struct InputRow {
  std::string_view title;
  Cell of;
  std::string_view usual{};  // the value that needs no row; empty: each says something
  bool of_plan = true;
};

// A choice that makes no difference to the plan is none.
std::string plan_cell(const PlanKey& key, const ParallelPlan& plan) {
  return std::visit(
      [&]<typename Value>(const Value& value) -> std::string {
        if constexpr (std::is_same_v<Value, bool>) {
          return yes_or_no(value);
        } else if constexpr (std::is_same_v<Value, std::int64_t>) {
          return with_separators(value);
        } else {
          return std::string(key.idle != nullptr && key.idle({}, plan) ? kIdleText : value);
        }
      },
      key.settled(plan));
}

std::vector<InputRow> all_input_rows() {
  std::vector<InputRow> rows = {
      {"model", [](const Projection& p) { return p.model; }, {}, false},
      {"dtype", [](const Projection& p) { return std::string(name(p.training.dtype)); }, {}, false},
      {"sequence",
       [](const Projection& p) { return with_separators(p.training.sequence_length); },
       {},
       false},
      {"global batch",
       [](const Projection& p) { return with_separators(p.training.global_batch_size); },
       {},
       false},
      {"GPUs", [](const Projection& p) { return with_separators(p.gpus); }, {}, false},
      {"software", [](const Projection& p) { return p.software; }, {}, false},
      {"network", [](const Projection& p) { return stacked(network_text(p)); }, {}, false},
      {"micro-batch",
       [](const Projection& p) { return with_separators(p.training.micro_batch_size); }},
      {"recompute", [](const Projection& p) { return recompute_text(p.training.recompute); }},
  };
  for (const PlanKey& key : compared_plan_keys()) {
    rows.push_back({key.compared.title,
                    [&key](const Projection& p) { return plan_cell(key, p.plan); },
                    key.compared.usual});
  }
  return rows;
}

const std::vector<InputRow>& input_rows() {
  static const std::vector<InputRow> rows = all_input_rows();
  return rows;
}

class ComparisonTable {
 public:
  // `columns` are all, of which the table has `shown`.
  ComparisonTable(const AllColumns& columns, std::span<const ComparedColumn> shown)
      : columns_(columns), shown_(shown), by_token_(steps_differ_in_size(columns)) {
    for (const ComparedColumn& column : shown) {
      labels_.push_back(stacked(column.label()));
    }
    std::vector<TextTable::Column> titles = {{""}};
    for (const std::string& label : labels_) {
      titles.push_back({label, Align::kRight});
    }
    table_.emplace(std::move(titles));
  }

  std::string text() {
    for (const InputRow& row : input_rows()) {
      if (differs(row) || (row.of_plan && is_worth_a_row(row))) {
        add_input(row);
      }
    }
    add_searched();
    const ComparedColumn* reference = reference_of(columns_);
    if (reference != nullptr) {
      add_rates(*reference);
      add_runs();
      add_time();
      add_memory();
    }
    return table_->text();
  }

 private:
  static std::string input(const ComparedColumn& column, const InputRow& row) {
    return row.of_plan && !column.has_plan() ? kNothing : row.of(column.projection);
  }

  [[nodiscard]] bool differs(const InputRow& row) const {
    return std::ranges::any_of(columns_, [&](const ComparedColumn& column) {
      return input(column, row) != input(columns_.front(), row) &&
             !(row.of_plan && (!column.has_plan() || !columns_.front().has_plan()));
    });
  }

  // Of a plan that was searched.
  [[nodiscard]] bool is_worth_a_row(const InputRow& row) const {
    return std::ranges::any_of(columns_, [&row](const ComparedColumn& column) {
      return column.searched && column.has_plan() &&
             (row.usual.empty() || row.of(column.projection) != row.usual);
    });
  }

  void add_input(const InputRow& row) {
    add_cells(std::string(row.title),
              [&row](const ComparedColumn& column) { return input(column, row); });
  }

  void add_searched() {
    if (!columns_.front().searched) {
      return;
    }
    searched_columns().each("plans bounded priced", [this](const Column<SearchedPlans>& number) {
      add_cells(std::string(number.title), [&number](const ComparedColumn& column) {
        return number.read(number.of(*column.searched));
      });
    });
  }

  // A row with what `cell` says of each column.
  template <typename CellOfColumn>
  void add_cells(const std::string& title, const CellOfColumn& cell) {
    std::vector<std::string> row = {title};
    std::ranges::transform(shown_, std::back_inserter(row), cell);
    table_->add_row(std::move(row));
  }
  void add(const std::string& title, const Cell& cell) {
    add_cells(title, [&cell](const ComparedColumn& column) { return cell(column.projection); });
  }
  // A row that needs a time.
  void add_timed(const std::string& title, const Cell& cell) {
    add(title, [&cell](const Projection& p) { return p.priced ? cell(p) : kNothing; });
  }

  // A row each of the numbers of a projection.
  void add_numbers(std::string_view keys) {
    projection_columns().each(keys, [this](const Column<Projection>& number) {
      add(std::string(number.title),
          [&number](const Projection& p) { return projection_columns().text(number.key, p); });
    });
  }

  void add_rates(const ComparedColumn& reference) {
    add_numbers("tokens_per_second_per_gpu");
    add_related("ratio", beside("ratio to", reference), reference);
    const bool priced = std::ranges::any_of(columns_, [](const ComparedColumn& column) {
      return column.price_per_million_tokens().has_value();
    });
    if (priced) {
      add_related("price_per_million_tokens", "price a million tokens", reference);
    }
    add_numbers("interval");
    add_related("told_apart", beside("told apart from", reference), reference);
    add_numbers("step_time_s");
    if (by_token_) {
      add_related("time_per_token_gpu_s", "time a token and GPU", reference);
    }
    add_timed("on assumed constants", assumed_text);
    add_numbers("model_tflops_per_gpu mfu clock_mhz power_w");
  }

  // A row of what relates each column to the reference.
  void add_related(std::string_view key, const std::string& title,
                   const ComparedColumn& reference) {
    add_cells(title, [&](const ComparedColumn& column) {
      return related_columns().text(key, {column, &reference});
    });
  }

  // Rows that some column has.
  void add_runs() {
    projection_columns().each(
        "days days_80 gpu_hours price_in_currency energy_kwh joules_per_token goodput",
        [this](const Column<Projection>& number) {
          const bool any = std::ranges::any_of(columns_, [&number](const ComparedColumn& column) {
            return has_value(number.of(column.projection));
          });
          if (any) {
            add_numbers(number.key);
          }
        });
  }

  // The first row of a key has all of it; what follows is a part of that. Steps of different sizes
  // have the time of a token on a GPU.
  void add_time() {
    std::string_view key;
    for (const TimeRow& row : kTimeRows) {
      const bool part = row.key == key;
      key = row.key;
      const auto time = [&row, part, this](const Projection& p) {
        const TimeBreakdown& all = p.time.breakdown;
        const double share =
            by_token_ ? 1.0 / (p.tokens_per_second_per_gpu * p.time.step.value()) : 1.0;
        return share * (part ? row.of(all) : time_of_key(all, row.key));
      };
      const bool any = std::ranges::any_of(columns_, [&time](const ComparedColumn& column) {
        return time(column.projection) > Seconds{};
      });
      if (any) {
        add_timed((part ? "    " : "  ") + std::string(row.title),
                  [&time](const Projection& p) { return readable(time(p)); });
      }
    }
  }

  void add_memory() {
    add_timed("memory of the fullest GPU",
              [](const Projection& p) { return readable(p.peak_memory()); });
    add_timed("  of the capacity", [](const Projection& p) {
      return decimals(100.0 * (p.peak_memory() / p.memory_capacity), 1) + " %";
    });
    add("can run", verdict);
  }

  // "ratio to h100_sxm"; a label of several parts is long for a row's title.
  [[nodiscard]] std::string beside(const std::string& title,
                                   const ComparedColumn& reference) const {
    const std::string label = stacked(reference.label());
    const bool first = &reference == &columns_.front() && label.find('\n') != std::string::npos;
    return title + " " + (first ? "the first" : label);
  }

  const AllColumns& columns_;
  std::span<const ComparedColumn> shown_;
  bool by_token_;
  std::vector<std::string> labels_;
  std::optional<TextTable> table_;
};

std::size_t width_of(std::string_view text) {
  std::size_t widest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    widest = std::max(widest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return widest;
}

// What all columns have in common of "bf16, sequence 4,096, global batch 128".
std::string common_training(const AllColumns& columns) {
  std::string common;
  const std::string first = training_text(columns.front().projection.training);
  for (std::size_t at = 0; at < first.size();) {
    const std::size_t end = std::min(first.find(", ", at), first.size());
    const std::string part = first.substr(at, end - at);
    const bool shared = std::ranges::all_of(columns, [&part](const ComparedColumn& column) {
      return (", " + training_text(column.projection.training) + ", ").find(", " + part + ", ") !=
             std::string::npos;
    });
    common += !shared ? "" : (common.empty() ? "" : ", ") + part;
    at = end + 2;
  }
  return common;
}

// More columns than that are rows.
constexpr std::size_t kMostSideBySide = 5;

// The columns as rows, with what people read first.
class ListedColumns {
 public:
  explicit ListedColumns(const AllColumns& columns)
      : columns_(columns), reference_(reference_of(columns)) {
    add_column("", Align::kLeft, [](const ComparedColumn& column) { return column.label(); });
    add("GPUs",
        [](const ComparedColumn& column) { return with_separators(column.projection.gpus); });
    add_numbers("tokens_per_second_per_gpu interval");
    add_related("ratio", "ratio to the first");
    add_related("told_apart", "told apart");
    add_related("price_per_million_tokens", "price a million tokens");
    if (steps_differ_in_size(columns)) {
      add_related("time_per_token_gpu_s", "time a token and GPU");
    }
    add_numbers("step_time_s mfu days gpu_hours price_in_currency");
    add("memory of the fullest GPU", [](const ComparedColumn& column) {
      return column.projection.memory.empty() ? kNothing
                                              : readable(column.projection.peak_memory());
    });
    add("can run", [](const ComparedColumn& column) { return verdict(column.projection); });
    add("micro-batch", [](const ComparedColumn& column) {
      return column.has_plan() ? with_separators(column.projection.training.micro_batch_size)
                               : kNothing;
    });
    add_column("plan", Align::kLeft, [](const ComparedColumn& column) {
      return column.has_plan() ? plan_line(column.projection.plan) : kNothing;
    });
  }

  [[nodiscard]] std::string text() const {
    std::vector<TextTable::Column> titles;
    for (const Cells& cells : cells_) {
      titles.push_back({cells.title, cells.align});
    }
    TextTable table(std::move(titles));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      table.add_row(each_of(cells_, [i](const Cells& cells) { return cells.of[i]; }));
    }
    return table.text();
  }

 private:
  struct Cells {
    std::string title;
    Align align;
    std::vector<std::string> of;  // each compared column
  };

  template <typename Cell>
  void add_column(std::string title, Align align, const Cell& cell) {
    cells_.push_back({std::move(title), align, each_of(columns_, cell)});
  }
  // Numbers that some column has.
  template <typename Cell>
  void add(const std::string& title, const Cell& cell) {
    add_column(title, Align::kRight,
               [&cell](const ComparedColumn& column) -> std::string { return cell(column); });
    const std::vector<std::string>& all = cells_.back().of;
    if (std::ranges::all_of(all, [](const std::string& text) { return text == kNothing; })) {
      cells_.pop_back();
    }
  }
  void add_numbers(std::string_view keys) {
    projection_columns().each(keys, [this](const Column<Projection>& number) {
      add(std::string(number.title), [&number](const ComparedColumn& column) {
        return projection_columns().text(number.key, column.projection);
      });
    });
  }
  void add_related(std::string_view key, const std::string& title) {
    add(title, [&, this](const ComparedColumn& column) {
      return reference_ == nullptr ? kNothing : related_columns().text(key, {column, reference_});
    });
  }

  const AllColumns& columns_;
  const ComparedColumn* reference_;
  std::vector<Cells> cells_;
};

// As many columns side by side as `width` holds, at least one, and the rest below.
std::string tables(const AllColumns& columns, std::size_t width) {
  std::string text;
  std::span<const ComparedColumn> left(columns);
  while (!left.empty()) {
    std::size_t count = left.size();
    std::string table = ComparisonTable(columns, left).text();
    while (width > 0 && count > 1 && width_of(table) > width) {
      table = ComparisonTable(columns, left.first(--count)).text();
    }
    text += (text.empty() ? "" : "\n") + table;
    left = left.subspan(count);
  }
  return text;
}

// Each note once, with the columns that it is of if it is not of all.
std::string note_lines(const AllColumns& columns) {
  std::vector<std::string> notes;
  for (const ComparedColumn& column : columns) {
    for (const std::string& note : column.projection.notes) {
      if (std::ranges::find(notes, note) == notes.end()) {
        notes.push_back(note);
      }
    }
  }
  std::string text;
  for (const std::string& note : notes) {
    std::string of;
    std::size_t with = 0;
    for (const ComparedColumn& column : columns) {
      const std::vector<std::string>& own = column.projection.notes;
      if (std::ranges::find(own, note) != own.end()) {
        of += (of.empty() ? "" : "; ") + column.label();
        ++with;
      }
    }
    text += line("note", note + (with == columns.size() ? "" : " (" + of + ")"));
  }
  return text;
}

std::string reason_lines(const AllColumns& columns) {
  std::string text;
  for (const ComparedColumn& column : columns) {
    if (column.projection.feasible()) {
      continue;
    }
    for (const std::string& reason : column.projection.reasons) {
      text += "  - " + column.label() + ": " + reason + "\n";
    }
  }
  return text.empty() ? text : "\nThese cannot run:\n" + text;
}

// What a search leaves as it is, beside the work itself.
std::string kept_text(const SearchedPlans& searched) {
  const std::string work = "model, sequence, batch, dtype, software, overlap";
  return searched.kept.empty()
             ? work
             : work + "; " + text_list(searched.kept) + " (--free KEY searches one of these)";
}

// What searches leave out (experiment/plan_changes.hpp).
std::string never_tried_text() {
  return "stages cut by hand, cp above " + std::to_string(kMostContext) + " or under " +
         std::to_string(kLeastTokens) + " tokens a rank, micro-batches above " +
         std::to_string(kMostMicroBatch) + ", schedules that the software does not offer";
}

}  // namespace

std::string comparison_to_text(const std::vector<ComparedColumn>& columns, std::size_t width) {
  const Projection& first = columns.front().projection;
  const bool one_model = std::ranges::all_of(columns, [&first](const ComparedColumn& column) {
    return column.projection.model == first.model;
  });
  std::string text = (one_model ? first.model + ", " : "") + std::to_string(columns.size()) +
                     (columns.size() == 1 ? " column" : " columns") + " side by side\n\n";
  text += line("training", common_training(columns));
  text += columns.front().searched
              ? line("plan", "each column's own: the most tokens/s/GPU of the plans looked at") +
                    line("kept as given", kept_text(*columns.front().searched)) +
                    line("never tried", never_tried_text())
              : "";
  text += "\n";
  text += columns.size() > kMostSideBySide ? ListedColumns(columns).text() : tables(columns, width);
  return text + note_lines(columns) + reason_lines(columns);
}

nlohmann::ordered_json comparison_to_json(const std::vector<ComparedColumn>& columns,
                                          const std::string& version) {
  const bool any = std::ranges::any_of(
      columns, [](const ComparedColumn& column) { return column.projection.feasible(); });
  Value json = {{"schema_version", kJsonSchemaVersion},
                {"context", {{"program", "stepcast"}}},
                {"feasible", any},
                {"comparison", Value::array()},
                {"columns", Value::array()}};
  const ComparedColumn* reference = reference_of(columns);
  for (const ComparedColumn& column : columns) {
    json["comparison"].push_back(related_columns().json({column, reference}));
    Value whole = to_json(column.projection);
    whole["context"]["version"] = version;
    if (column.searched) {
      whole["searched"] = searched_columns().json(*column.searched);
    }
    if (!column.has_plan()) {
      whole["context"]["input"].erase("plan");
    }
    json["columns"].push_back(std::move(whole));
  }
  return json;
}

}  // namespace stepcast
