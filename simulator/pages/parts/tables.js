// SPDX-License-Identifier: Apache-2.0
// A table whose columns sort it, by pointer and by keyboard.
//
// A column is {name, text(row), value(row), number, title, key, wrap}: `text` is what stands there, `value` what sorts;
// a column without `value` does not sort. `mark(row)` gives the class of a row. On a phone each row is a card of its cells,
// each behind the name of its column; the roles say that it is a table all the same.
const tableClass = (columns) => [columns > 3 ? "cards" : "", columns > 8 ? "dense" : "", columns > 14 ? "packed" : ""].join(" ").trim() || null;

function sortable({ label, columns, rows, first = 50, sort = null, mark = null, total = null, choose = null }) {
  let order = sort;
  let shown = first;
  let listed = rows;
  const body = el("tbody", { role: "rowgroup" });
  const more = el("button", { class: "button", type: "button", on: { click: () => { shown += 200; draw(); } } });
  const heads = columns.map((column, i) => {
    const head = el("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null, title: column.title });
    head.append(column.value
      ? el("button", { type: "button", on: { click: () => turn(i) } }, column.name)
      : document.createTextNode(column.name));
    return head;
  });

  function turn(i) {
    const fresh = columns[i].number ? "descending" : "ascending";
    const other = fresh === "descending" ? "ascending" : "descending";
    order = { column: i, way: order?.column === i && order.way === fresh ? other : fresh };
    draw();
  }

  function sorted() {
    if (!order) return listed;
    const { value } = columns[order.column];
    const sign = order.way === "ascending" ? 1 : -1;
    const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * sign);
    return listed.map((row, i) => [value(row), i, row]).sort((a, b) => compare(a[0], b[0]) || a[1] - b[1])
      .map(([, , row]) => row);
  }

  const cell = (column, row) => el("td", {
    role: "cell", class: column.number ? "number" : column.wrap ? "wrap" : null, "data-figure": column.key ?? null, "data-name": column.name,
  }, column.text(row));

  function draw() {
    heads.forEach((head, i) => {
      if (order?.column === i) head.setAttribute("aria-sort", order.way);
      else head.removeAttribute("aria-sort");
    });
    const all = sorted();
    body.replaceChildren(...all.slice(0, shown).map((row) => {
      const line = el("tr", { role: "row", class: mark?.(row) }, columns.map((column) => cell(column, row)));
      if (choose) line.addEventListener("click", () => choose(row));
      return line;
    }));
    if (total) body.append(total);
    more.hidden = all.length <= shown;
    more.textContent = `Show more of ${count(all.length)}`;
  }
  draw();
  const table = el("table", { role: "table", "aria-label": label, class: tableClass(columns.length) },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)), body);
  const scroll = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
  return {
    element: el("div", {}, scroll, more),
    show(list) { listed = list; shown = first; draw(); },
    redraw: draw,
    sorted,
  };
}

// A table of rows of cells as they are; the first cell of a row is its name. `numbers`: whether a column holds numbers.
function table(label, heads, rows, numbers, totals = []) {
  const line = (cells, kind) => el("tr", { role: "row", class: kind }, cells.map((one, i) =>
    el(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, role: i === 0 ? "rowheader" : "cell", class: numbers[i] ? "number" : null, "data-name": i === 0 ? null : heads?.[i] }, one)));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    el("table", { role: "table", "aria-label": label, class: tableClass(heads?.length ?? 0) },
      heads ? el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((head, i) =>
        el("th", { scope: "col", role: "columnheader", class: numbers[i] ? "number" : null }, head)))) : null,
      el("tbody", { role: "rowgroup" }, rows.map((cells) => line(cells, null)), totals.map((cells) => line(cells, "total")))));
}
