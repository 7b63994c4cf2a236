// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/comparison_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "stepcast/base/units_text.hpp"
#include "stepcast/report/comparison_rows.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"

namespace stepcast {
namespace {

using Columns = std::vector<ComparedColumn>;

// What a row says of a column; only of columns that were timed, if it needs a time.
using Cell = std::function<std::string(const Projection&)>;

constexpr const char* kNothing = "-";

// Three digits after the point.
std::string thousandths(double value) {
  const auto scaled = std::llround(1000.0 * value);
  const std::string fraction = std::to_string(1000 + scaled % 1000);
  return with_separators(scaled / 1000) + "." + fraction.substr(1);
}

std::string money(double price) {
  return price >= 1.0 ? decimals(price, 2) : significant(price, 3);
}

// Input that is worth a row where columns differ in it.
struct InputRow {
  const char* title;
  std::string (*of)(const Projection&);
};
constexpr std::array kInputRows = {
    InputRow{"GPUs", [](const Projection& p) { return with_separators(p.gpus); }},
    InputRow{"micro-batch",
             [](const Projection& p) { return with_separators(p.training.micro_batch_size); }},
    InputRow{"recompute",
             [](const Projection& p) { return std::string(name(p.training.recompute.kind)); }},
    InputRow{"tp", [](const Projection& p) { return with_separators(p.plan.tp); }},
    InputRow{"cp", [](const Projection& p) { return with_separators(p.plan.cp); }},
    InputRow{"pp", [](const Projection& p) { return with_separators(p.plan.pp); }},
    InputRow{"vpp", [](const Projection& p) { return with_separators(p.plan.vpp); }},
    InputRow{"schedule", [](const Projection& p) { return std::string(name(p.plan.schedule)); }},
    InputRow{"ep", [](const Projection& p) { return with_separators(p.plan.ep); }},
    InputRow{"etp", [](const Projection& p) { return with_separators(p.plan.etp); }},
    InputRow{"dispatcher",
             [](const Projection& p) { return std::string(name(p.plan.exchange.dispatcher)); }},
    InputRow{"dp", [](const Projection& p) { return with_separators(p.plan.dp); }},
    InputRow{"fsdp", [](const Projection& p) { return with_separators(p.plan.fsdp); }},
    InputRow{"zero", [](const Projection& p) { return std::to_string(p.plan.zero); }},
    InputRow{"micro-batches",
             [](const Projection& p) { return with_separators(p.plan.micro_batches); }},
};

class ComparisonTable {
 public:
  explicit ComparisonTable(const Columns& columns) : columns_(columns) {
    for (const ComparedColumn& column : columns) {
      labels_.push_back(column.label());
    }
    std::vector<TextTable::Column> titles = {{""}};
    for (const std::string& label : labels_) {
      titles.push_back({label, Align::kRight});
    }
    table_.emplace(std::move(titles));
  }

  std::string text() {
    for (const InputRow& row : kInputRows) {
      if (differs(row.of)) {
        add(row.title, row.of);
      }
    }
    const ComparedColumn* reference = reference_of(columns_);
    if (reference != nullptr) {
      add_rates(*reference);
      add_time();
      add_memory();
    }
    return table_->text();
  }

 private:
  [[nodiscard]] bool differs(const Cell& cell) const {
    return std::any_of(columns_.begin(), columns_.end(), [&](const ComparedColumn& column) {
      return cell(column.projection) != cell(columns_.front().projection);
    });
  }

  void add(const std::string& title, const Cell& cell) {
    std::vector<std::string> row = {title};
    for (const ComparedColumn& column : columns_) {
      row.push_back(cell(column.projection));
    }
    table_->add_row(std::move(row));
  }
  // A row that needs a time.
  void add_timed(const std::string& title, const Cell& cell) {
    add(title, [&cell](const Projection& p) { return p.priced ? cell(p) : kNothing; });
  }

  void add_rates(const ComparedColumn& reference) {
    add_timed("tokens/s/GPU",
              [](const Projection& p) { return decimals(p.tokens_per_second_per_gpu, 1); });
    add_timed("ratio to " + reference.label(), [&reference](const Projection& p) {
      return thousandths(ratio(p, reference.projection));
    });
    add_prices();
    add_timed("expected error", [](const Projection& p) {
      const bool known = p.expected_error && p.expected_error->runs > 0;
      return known ? "+-" + decimals(100.0 * p.expected_error->median, 1) + " %" : kNothing;
    });
    add_timed("step time", [](const Projection& p) { return readable(p.time.step); });
    add_timed("model TFLOP/s/GPU",
              [](const Projection& p) { return decimals(p.model_rate_per_gpu.value() / 1e12, 1); });
    add_timed("MFU", [](const Projection& p) { return decimals(100.0 * p.mfu, 1) + " %"; });
    add_timed("clock",
              [](const Projection& p) { return decimals(p.clock.value() / 1e6, 1) + " MHz"; });
    add_timed("mean power",
              [](const Projection& p) { return decimals(p.power.value(), 1) + " W"; });
  }

  void add_prices() {
    const bool any = std::any_of(
        columns_.begin(), columns_.end(),
        [](const ComparedColumn& column) { return column.price_per_million_tokens().has_value(); });
    if (!any) {
      return;
    }
    std::vector<std::string> row = {"price a million tokens"};
    for (const ComparedColumn& column : columns_) {
      const std::optional<double> price = column.price_per_million_tokens();
      row.push_back(price ? money(*price) : kNothing);
    }
    table_->add_row(std::move(row));
  }

  void add_time() {
    for (const TimeRow& row : kTimeRows) {
      const bool any =
          std::any_of(columns_.begin(), columns_.end(), [&row](const ComparedColumn& column) {
            return row.of(column.projection.time.breakdown) > Seconds{};
          });
      if (any) {
        add_timed("  " + std::string(row.title),
                  [&row](const Projection& p) { return readable(row.of(p.time.breakdown)); });
      }
    }
  }

  void add_memory() {
    add_timed("memory of the fullest GPU",
              [](const Projection& p) { return readable(p.peak_memory()); });
    add_timed("  of the capacity", [](const Projection& p) {
      return decimals(100.0 * (p.peak_memory() / p.memory_capacity), 1) + " %";
    });
    add("can run", [](const Projection& p) { return std::string(p.feasible ? "yes" : "no"); });
  }

  const Columns& columns_;
  std::vector<std::string> labels_;
  std::optional<TextTable> table_;
};

// Each note once, with the columns that it is of if it is not of all.
std::string note_lines(const Columns& columns) {
  std::vector<std::string> notes;
  for (const ComparedColumn& column : columns) {
    for (const std::string& note : column.projection.notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
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
      if (std::find(own.begin(), own.end(), note) != own.end()) {
        of += (of.empty() ? "" : "; ") + column.label();
        ++with;
      }
    }
    text += line("note", note + (with == columns.size() ? "" : " (" + of + ")"));
  }
  return text;
}

std::string reason_lines(const Columns& columns) {
  std::string text;
  for (const ComparedColumn& column : columns) {
    for (const std::string& reason : column.projection.reasons) {
      text += "  - " + column.label() + ": " + reason + "\n";
    }
  }
  return text.empty() ? text : "\nThese cannot run:\n" + text;
}

}  // namespace

std::string comparison_to_text(const std::vector<ComparedColumn>& columns) {
  const Projection& first = columns.front().projection;
  std::string text = first.model + ", " + std::to_string(columns.size()) +
                     (columns.size() == 1 ? " column" : " columns") + " side by side\n\n";
  text += line("training", training_text(first.training)) + "\n";
  text += ComparisonTable(columns).text();
  return text + note_lines(columns) + reason_lines(columns);
}

}  // namespace stepcast
