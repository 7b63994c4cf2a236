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

// Draws again whenever the width changes: draw(width) gives the elements of a drawing.
function responsive(draw) {
  const holder = el("div", { class: "plot" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width > 0 && width !== drawn) {
      drawn = width;
      holder.replaceChildren(...[draw(width)].flat());
    }
  }).observe(holder);
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
const palette = (i) => `var(--c${(i % 10) + 1})`;

// Says when the reader's browser turns from light to dark, for what is drawn point by point.
function onScheme(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
