// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Each returns a text.
const thin = (number, digits) =>
  number.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

const count = (number) => thin(number, 0);
// Four significant digits, with separators: 12,345 1,234 123.4 12.34 1.234 0.1234.
function figure(number) {
  const size = Math.abs(number);
  if (Number.isInteger(number) && size < 1e15) return count(number);
  if (size < 0.001) return number.toPrecision(3);
  return thin(number, size >= 1000 ? 0 : Math.min(6, 3 - Math.floor(Math.log10(size))));
}
const rate = (number) => thin(number, number < 10 ? 3 : 1);
const percent = (share, digits = 1) => `${thin(100 * share, digits)} %`;
const gib = (bytes) => `${thin(bytes / 2 ** 30, 2)} GiB`;

function scaled(number, unit, steps) {
  const size = Math.abs(number);
  const [factor, prefix] = steps.find(([least]) => size >= least) ?? steps[steps.length - 1];
  return `${figure(number / factor)} ${prefix}${unit}`;
}
// What is left of rounding where times are subtracted is no time.
const seconds = (time) => Math.abs(time) < 1e-12 ? "0 s" : scaled(time, "s", [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]]);
const si = (number, unit) =>
  scaled(number, unit, [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [0, ""]]);
// Of parameters, tokens, money.
function large(number) {
  const steps = [[1e12, " T"], [1e9, " G"], [1e6, " M"]];
  const found = steps.find(([least]) => Math.abs(number) >= least);
  return found ? `${figure(number / found[0]).replace(/\.0+$|(\.\d*[1-9])0+$/, "$1")}${found[1]}` : figure(number);
}

// What a key of the report is called: "tp_communication_s" is "TP communication".
const words = (key) => key.replace(/_(s|bytes)$/, "").replaceAll("_", " ").replace(/^compute$/, "computation")
  .replace(/^(tp|ep|cp|dp|pp|hbm) /, (letters) => letters.toUpperCase());

// A value of an input as a text.
function plain(value) {
  if (value === null) return "–";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([key, one]) => `${key} ${plain(one)}`).join(", ");
  return typeof value === "number" && Math.abs(value) >= 1e5 ? count(value) : String(value);
}

// A mark of an axis among others that are `apart` from each other.
function tickText(tick, apart) {
  const step = apart || Math.abs(tick) || 1;
  const steps = [[1e15, " P"], [1e12, " T"], [1e9, " G"], [1e6, " M"]];
  const [factor, prefix] = steps.find(([least]) => Math.abs(tick) >= least) ?? [1, ""];
  return thin(tick / factor, Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / factor) - 1e-9)))) + prefix;
}

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

// 1, 2 or 5 times a power of ten: whole steps that cover the range, about `wanted` of them.
function ticks(least, most, wanted = 5) {
  const rough = (most - least) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((one) => one * power >= rough * 0.99) ?? 10);
  const first = Math.ceil(least / step - 1e-9);
  const last = Math.floor(most / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// 1, 2 and 5 times each power of ten, and more of them where these would be few; the ends are exponents.
function powerMarks(from, to) {
  const powers = Array.from({ length: Math.ceil(to) - Math.floor(from) + 1 }, (_, i) => Math.floor(from) + i);
  const marks = (digits) => powers.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)))
    .filter((v) => from <= Math.log10(v) && Math.log10(v) <= to);
  return [[1, 2, 5], [1, 2, 3, 4, 5, 7]].map(marks).find((found) => found.length >= 4) ?? marks([1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9]);
}
