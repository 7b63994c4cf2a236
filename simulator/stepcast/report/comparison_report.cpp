// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/comparison_report.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/plan_changes.hpp"
#include "stepcast/experiment/plan_fields.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"
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

std::string as_money(const Value& value) {
  const double price = value.get<double>();
  return price >= 1.0 ? decimals(price, 2) : significant(price, 3);
}

// A column beside the one that all are related to, which is null where none was timed.
struct RelatedColumn {
  const ComparedColumn& column;
  const ComparedColumn* reference = nullptr;

  [[nodiscard]] const Projection& projection() const { return column.projection; }
  [[nodiscard]] std::string label() const { return column.label(); }
};

constexpr auto kRelatedColumns = std::to_array<Column<RelatedColumn>>({
    {"label", "", member<&RelatedColumn::label>},
    {"options", "", [](const RelatedColumn& it) { return object_of(it.column.options); }},
    {"ratio", "ratio to",
     [](const RelatedColumn& it) {
       return it.projection().priced ? Value(ratio(it.projection(), it.reference->projection))
                                     : no_value();
     },
     as_number<3>},
    {"told_apart", "told apart from",
     [](const RelatedColumn& it) {
       return it.projection().priced && &it.column != it.reference
                  ? Value(can_be_told_apart(it.projection(), it.reference->projection))
                  : no_value();
     },
     as_yes_or_no},
    {"price_per_gpu_hour", "",
     [](const RelatedColumn& it) {
       return it.column.price_per_million_tokens() ? Value(it.projection().gpu_hour->price)
                                                   : no_value();
     }},
    {"price_per_million_tokens", "price a million tokens",
     [](const RelatedColumn& it) { return value_of(it.column.price_per_million_tokens()); },
     as_money},
});
constexpr Columns<RelatedColumn> kRelated{kRelatedColumns};

// Of the step's time.
std::string assumed_text(const Projection& p) {
  return p.provenance ? decimals(100.0 * p.provenance->of(SourceKind::kAssumed), 1) + " %"
                      : kNothing;
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

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
      : columns_(columns), shown_(shown) {
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
    add_timed("on assumed constants", assumed_text);
    add_numbers("model_tflops_per_gpu mfu clock_mhz power_w");
  }

  // A row of what relates each column to the reference.
  void add_related(std::string_view key, const std::string& title,
                   const ComparedColumn& reference) {
    add_cells(title, [&](const ComparedColumn& column) {
      return kRelated.text(key, {column, &reference});
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

  // The first row of a key has all of it; what follows is a part of that.
  void add_time() {
    std::string_view key;
    for (const TimeRow& row : kTimeRows) {
      const bool part = row.key == key;
      key = row.key;
      const auto time = [&row, part](const Projection& p) {
        const TimeBreakdown& all = p.time.breakdown;
        return part ? row.of(all) : time_of_key(all, row.key);
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
    add("can run", [](const Projection& p) {
      return p.feasible() && is_tight(p.memory) ? "yes, tight" : yes_or_no(p.feasible());
    });
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

// --- CSV ----------------------------------------------------------------------------------------

constexpr std::string_view kSearched = "plans:plans_searched priced:plans_priced";

// The plan of a column but for the exchange of experts, and how many were looked at where it was
// searched; or the titles of these cells.
std::string plan_cells(const ComparedColumn& column, CsvCells::Part part) {
  const Projection& p = column.projection;
  CsvCells plan(part, ExpertColumns::kLeftOut);
  write_plan(p.plan, plan);
  plan.field("micro_batch_size", p.training.micro_batch_size);
  plan.field("recompute", name(p.training.recompute.kind));
  std::string text;
  for (const std::string& cell : plan.cells()) {
    const bool empty = part == CsvCells::Part::kValues && !column.has_plan();
    text += "," + (empty ? "" : cell);
  }
  if (column.searched) {
    text += "," + (part == CsvCells::Part::kNames
                       ? Columns<SearchedPlans>::csv_titles(kSearched)
                       : searched_columns().csv_cells(kSearched, *column.searched));
  }
  return text;
}

constexpr std::string_view kInput = "model gpu gpus software feasible tokens_per_second_per_gpu";
constexpr std::string_view kStep =
    "step_time_s model_tflops_per_gpu mfu clock_mhz power_w peak_memory_bytes";
constexpr std::string_view kIntervals = STEPCAST_INTERVAL_COLUMNS;
constexpr std::string_view kLast = "price_per_gpu_hour currency network reasons";

std::string csv_line(const ComparedColumn& column, const ComparedColumn* reference) {
  const Projection& p = column.projection;
  const Columns<Projection>& numbers = projection_columns();
  const RelatedColumn related{column, reference};
  std::string text = kRelated.csv_cells("label", related) + "," + numbers.csv_cells(kInput, p) +
                     "," + kRelated.csv_cells("ratio", related) + "," +
                     numbers.csv_cells(kStep, p) + "," +
                     kRelated.csv_cells("price_per_million_tokens", related) + "," +
                     numbers.csv_cells(kIntervals, p);
  for_each_time_key([&](const TimeRow& row) {
    text += ",";
    text += p.priced ? shortest_text(time_of_key(p.time.breakdown, row.key).value()) : "";
  });
  return text + plan_cells(column, CsvCells::Part::kValues) +
         (asks_for_run(p) ? "," + training_run_cells(p) : "") + "," + numbers.csv_cells(kLast, p) +
         "\n";
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
  std::string text = first.model + ", " + std::to_string(columns.size()) +
                     (columns.size() == 1 ? " column" : " columns") + " side by side\n\n";
  text += line("training", training_text(first.training));
  text += columns.front().searched
              ? line("plan", "each column's own: the most tokens/s/GPU of the plans looked at") +
                    line("kept as given", kept_text(*columns.front().searched)) +
                    line("never tried", never_tried_text())
              : "";
  text += "\n";
  text += tables(columns, width);
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
    json["comparison"].push_back(kRelated.json({column, reference}));
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

std::string comparison_to_csv(const std::vector<ComparedColumn>& columns) {
  std::string text = "column," + Columns<Projection>::csv_titles(kInput) + ",ratio," +
                     Columns<Projection>::csv_titles(kStep) + ",price_per_million_tokens," +
                     Columns<Projection>::csv_titles(kIntervals);
  for_each_time_key([&text](const TimeRow& row) { text += "," + std::string(row.key); });
  text += plan_cells(columns.front(), CsvCells::Part::kNames);
  text += asks_for_run(columns.front().projection)
              ? "," + Columns<Projection>::csv_titles(kRunColumns)
              : "";
  text += "," + Columns<Projection>::csv_titles(kLast) + "\n";
  const ComparedColumn* reference = reference_of(columns);
  for (const ComparedColumn& column : columns) {
    text += csv_line(column, reference);
  }
  return text;
}

}  // namespace stepcast
