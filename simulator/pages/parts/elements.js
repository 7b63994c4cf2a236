// SPDX-License-Identifier: Apache-2.0
// Elements of the page. Text from the report becomes text nodes and attributes only, never markup.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

let sections = 0;
function section(title, about, ...children) {
  const id = `section-${++sections}`;
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), about ? el("p", { class: "sub" }, about) : null,
    children);
}

// `figure` is the key in the report that the value shows.
function tile({ name, value, unit, under, figure: key, lead, drawing }) {
  return el("div", { class: lead ? "lead" : null },
    el("div", { class: "name" }, name),
    el("div", { class: "value", "data-figure": key }, value, unit ? el("small", {}, ` ${unit}`) : null),
    drawing ?? null,
    (Array.isArray(under) ? under : [under]).filter(Boolean).map((line) => el("div", { class: "under" }, line)));
}

const swatch = (colour) => el("span", { class: "swatch", style: `background:${colour}` });
const legend = (entries) =>
  el("ul", { class: "legend" }, entries.map(([name, colour]) => el("li", {}, swatch(colour), name)));

// What is drawn again when the page goes to paper and when it is back: functions of whether it does.
const paperDrawings = [];
// In pixels of CSS: A4 less the margins of browsers and the frame of a section. Letter is wider.
const paperWidth = 680;

// Calls draw(width) whenever the width of `holder` changes, and for paper, where no observer is called.
function onWidth(holder, draw) {
  let drawn = 0;
  const at = (width) => {
    if (width > 0 && width !== drawn) {
      drawn = width;
      draw(width);
    }
  };
  const own = () => Math.floor(holder.clientWidth);
  // What stands in a tile is about as wide on paper as on a screen.
  const fit = (paper) => at(paper && !holder.closest(".tiles") ? paperWidth : own());
  new ResizeObserver(() => fit(matchMedia("print").matches)).observe(holder);
  paperDrawings.push(fit);
}

// What is folded on a screen and cannot be unfolded on paper: `unfolds` marks it.
function turnToPaper(paper) {
  for (const fold of document.querySelectorAll("details.unfolds")) {
    if (paper && !fold.open) fold.dataset.folded = "";
    if (paper) fold.open = true;
    else if ("folded" in fold.dataset) { fold.open = false; delete fold.dataset.folded; }
  }
  for (const draw of paperDrawings) draw(paper);
}
addEventListener("beforeprint", () => turnToPaper(true));
addEventListener("afterprint", () => turnToPaper(false));
matchMedia("print").addEventListener("change", (event) => turnToPaper(event.matches));

// Draws again whenever the width changes: draw(width) gives the elements of a drawing.
function responsive(draw) {
  const holder = el("div", { class: "plot" });
  onWidth(holder, (width) => holder.replaceChildren(...[draw(width)].flat()));
  return holder;
}

// Marks whose figures show at a touch, under the pointer and at the focus, in a drawing of draw(width) -> {drawing, marks}:
// marks [{element, x, y, title, lines}] in the order in which arrow keys go through them; one of them is in the tab order.
function pointed(draw) {
  const holder = el("div", { class: "plot" });
  const stage = el("div", {});
  holder.append(stage);
  const tip = tooltip(holder);
  function prepare({ element, x, y, title, lines }, i, marks) {
    const show = () => tip.show(x, y, title, lines.filter(Boolean));
    fill(element, { class: "mark", tabindex: i === 0 ? 0 : -1, role: "img", "aria-label": [title, ...lines.filter(Boolean)].join(", "),
      on: { mouseenter: show, mouseleave: tip.hide, click: show, focus: show, blur: tip.hide,
        keydown: (event) => {
          const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          if (event.key === "Escape") tip.hide();
          const next = by && marks[i + by]?.element;
          if (!next) return;
          element.setAttribute("tabindex", -1);
          next.setAttribute("tabindex", 0);
          next.focus();
          event.preventDefault();
        } } }, []);
  }
  onWidth(holder, (width) => {
    const { drawing, marks } = draw(width);
    drawing.setAttribute("role", "group");
    marks.forEach(prepare);
    stage.replaceChildren(drawing);
  });
  return holder;
}

// A box beside the pointer, inside `holder`.
function tooltip(holder) {
  const box = el("div", { class: "tip", hidden: true, role: "status" });
  holder.append(box);
  new ResizeObserver(() => { box.hidden = true; }).observe(holder);
  return {
    show(x, y, title, lines) {
      box.replaceChildren(el("b", {}, title), ...lines.map((line) => el("div", {}, line)));
      box.hidden = false;
      box.style.left = `${Math.max(0, Math.min(x + 14, holder.clientWidth - box.offsetWidth - 4))}px`;
      box.style.top = `${y + 14}px`;
    },
    hide() { box.hidden = true; },
  };
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Says when the reader's browser turns from light to dark, for what is drawn point by point.
function onScheme(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
