# SPDX-License-Identifier: Apache-2.0
"""Opens pages in headless Chromium: check_pages.py FOLDER [PICTURES], with NAME.html and NAME.json of the same command.

No page reports a problem or fetches anything; figures on it are those of the JSON; a heading sorts by keyboard; marks of
drawings show their figures by touch and keys; on a phone and on paper nothing is wider than the page, and no label of a
drawing is cut; one colour means one thing; light and dark differ; a model's name that is markup shows as text. In PICTURES
each page is left as it looks on a desk, on a phone, in the dark and on paper, PNG and PDF.
"""

import json
import pathlib
import re
import sys
import time

import browser

SUFFIXES = {"s": 1, "MHz": 1, "W": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "%": 1e-2, "GiB": 2**30, "T": 1e12, "G": 1e9, "M": 1e6, "MWh": 1e3}
PAPER = 710  # CSS pixels between the margins of A4
# What tells two inputs or several columns apart, where some of what they have is alike.
TITLES = {"difference_settings": "llama3.1_70b on 64 x mi300x: micro_batch_size 1 and micro_batch_size 2",
          "compare_nodes": "llama3.1_70b on mi300x, h200_sxm, each with 8 nodes"}
failures = []
meanings = {}  # of a colour, over all pages: its name


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what)


def number_of(text):
    """A figure as it stands on a page, in the unit of the report, and half of its last digit."""
    found = re.match(r"^(-?[\d,]+(?:\.(\d+))?(?:e[-+]\d+)?)\s*([^\d\s]+)?", text.strip())
    if not found:
        return None
    scale = SUFFIXES.get(found[3], 1)
    return float(found[1].replace(",", "")) * scale, 0.501 * 10.0 ** -len(found[2] or "") * scale


def at(report, key):
    """The value of a key with dots, or None."""
    for step in key.split("."):
        if isinstance(report, list):
            report = report[int(step)] if int(step) < len(report) else None
        else:
            report = report.get(step) if isinstance(report, dict) else None
    return report


def check_figures(tab, name, report):
    """Every marked figure that is no cell of a long table is that of the report."""
    shown = tab.run("[...document.querySelectorAll('[data-figure]')].filter((e) => !e.closest('td[data-figure]'))"
                    ".map((e) => [e.dataset.figure, e.textContent])")
    compared = 0
    columns = {}
    for key, text in shown:
        wanted = at(report, key)
        halves = report.get("columns") or [report[key] for key in ("a", "b") if key in report]
        if wanted is None and halves:
            place = columns.get(key, 0)
            columns[key] = place + 1
            having = [one[key] for one in halves if key in one]
            wanted = having[place] if place < len(having) else None
        if wanted is None:
            continue
        found = number_of(text)
        if found and key.endswith("_us"):
            found = (found[0] * 1e6, found[1] * 1e6)
        check(found is not None and abs(found[0] - wanted) <= found[1] + 1e-6 * abs(wanted),
              f"{name}: '{key}' shows {text}, the report has {wanted}")
        compared += 1
    return compared


def values_of(tree, key):
    """Every number that stands under a key anywhere in JSON."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name == key and isinstance(value, (int, float)):
                yield value
            yield from values_of(value, key)
    elif isinstance(tree, list):
        for one in tree:
            yield from values_of(one, key)


def check_tables(tab, name, report):
    """Every marked cell of a table is a number of the report under that key, or, of a projection's operators, of the
    explanation that the page adds."""
    trees = [report, json.loads(tab.run("JSON.stringify(JSON.parse(document.getElementById('charts').textContent).charts?.explanation ?? null)"))]
    cells = tab.run("[...document.querySelectorAll('td[data-figure]')].map((e) => [e.dataset.figure, e.textContent])")
    known = {}
    for key, text in cells:
        if key not in known:
            known[key] = [value for tree in trees for value in values_of(tree, key)]
        found = number_of(text)
        if found is None:
            continue
        scale = {"peak_memory_bytes": 2**30, "mfu": 0.01}.get(key, 1) if re.fullmatch(r"[\d,.]+", text) else 1
        scale = 1e6 if key.endswith("_us") else scale
        value, slack = found[0] * scale, found[1] * scale
        check(any(abs(value - one) <= slack + 2e-5 * abs(one) for one in known[key]),
              f"{name}: a table shows {text} under '{key}', the report has no such number")
    return len(cells)


def check_sort(tab, name):
    """The second press of Enter on a heading turns the order around."""
    if not tab.run("Boolean(document.querySelector('th button'))"):
        return
    order = []
    tab.run("(() => { const all = [...document.querySelectorAll('th.number button')];"
            " (all[1] ?? all[0] ?? document.querySelector('th button')).focus(); })()")
    for _ in range(2):
        tab.key("Enter")
        order.append(tab.run("document.activeElement.closest('th').getAttribute('aria-sort')"))
    check(sorted(order) == ["ascending", "descending"], f"{name}: Enter on a heading sorts {order}")


def check_keys(tab, name):
    """Tab reaches the page's controls, and a drawing zooms by key."""
    tab.run("document.activeElement.blur()")
    tab.key("Tab")
    check(tab.run("document.activeElement !== document.body"), f"{name}: Tab reaches nothing")
    if tab.run("Boolean(document.querySelector('canvas[data-zoom]'))"):
        tab.run("document.querySelector('canvas[data-zoom]').focus()")
        tab.key("+")
        check(float(tab.run("document.querySelector('canvas[data-zoom]').dataset.zoom")) > 1.2, f"{name}: + does not zoom")
        tab.key("0")
        check(float(tab.run("document.querySelector('canvas[data-zoom]').dataset.zoom")) == 1, f"{name}: 0 does not show all")


def check_explorer(tab, name, priced):
    """Filters leave fewer plans in the picture and in the table; pointing and keys choose plans."""
    if not tab.run("Boolean(document.querySelector('canvas[data-shown]'))"):
        return
    every = int(tab.run("document.querySelector('canvas[data-shown]').dataset.shown"))
    check(every >= min(10_000, priced), f"{name}: {every} of {priced} plans in the page")
    middle = tab.run("(() => { const r = report => [...document.querySelectorAll('td[data-figure=tokens_per_second_per_gpu]')]"
                     ".map((e) => Number(e.textContent.replaceAll(',', ''))); const all = r(); return all[Math.floor(all.length / 2)]; })()")
    tab.run("(() => { const box = document.querySelector('.controls input[type=number]');"
            f" box.value = '{middle}'; box.dispatchEvent(new Event('input')); }})()")
    tab.settle()
    left = int(tab.run("document.querySelector('canvas[data-shown]').dataset.shown"))
    check(0 < left < every, f"{name}: a filter leaves {left} of {every} plans")
    tab.run("document.querySelector('canvas[data-shown]').focus()")
    tab.key("ArrowRight")
    check(tab.run("Boolean(document.querySelector('[aria-live] h3'))"), f"{name}: an arrow key chooses no plan")
    found = tab.run("(async () => { const canvas = document.querySelector('canvas[data-shown]'); canvas.scrollIntoView();"
                    " const box = canvas.getBoundingClientRect();"
                    " for (let y = 20; y < 370; y += 8) for (let x = 70; x < box.width - 20; x += 8) {"
                    "  canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + x, clientY: box.top + y }));"
                    "  if (!canvas.parentNode.querySelector('.tip').hidden) return true; } return false; })()")
    check(found, f"{name}: pointing at the plans shows nothing")


def check_marks(tab, name):
    """A mark shows its figures at the focus and at a touch; arrow keys go to the next one, Escape puts them away."""
    if not tab.run("Boolean(document.querySelector('.mark'))"):
        return
    shown = "[...document.querySelectorAll('.tip')].filter((tip) => !tip.hidden).map((tip) => tip.textContent).join()"
    tab.run("document.querySelector('.mark[tabindex=\"0\"]').focus()")
    first = tab.run(shown)
    tab.key("ArrowRight")
    second = tab.run(shown)
    lone = tab.run("document.querySelector('.mark').closest('svg').querySelectorAll('.mark').length") < 2
    check(first and second and (lone or first != second), f"{name}: arrow keys show '{first}', then '{second}'")
    tab.key("Escape")
    check(not tab.run(shown), f"{name}: Escape leaves the figures of a mark")
    tab.run("document.activeElement.blur(); document.querySelector('.mark').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    check(tab.run(shown), f"{name}: touching a mark shows nothing")
    tab.run("document.querySelector('.mark').dispatchEvent(new MouseEvent('mouseleave'))")


def check_labels(tab, name, where):
    """No text of a drawing reaches beyond it, where it would be cut."""
    cut = tab.run("[...document.querySelectorAll('svg text')].filter((text) => { const box = text.getBBox();"
                  " const own = text.closest('svg').viewBox.baseVal; return box.width > 0 && own.width > 0 && !text.hasAttribute('transform')"
                  " && (box.x < -2 || box.x + box.width > own.width + 2); }).map((text) => text.textContent)")
    check(not cut, f"{name}: labels are cut {where}: {cut[:5]}")


def check_widths(tab, name):
    places = (("on a phone", {"width": 375, "phone": True}), ("on a desk", {"width": 1280}), ("on paper", {"width": PAPER, "paper": True}))
    for where, how in places:
        tab.show(height=812, **how)
        tab.settle()
        wide = tab.run("document.documentElement.scrollWidth")
        check(wide <= how["width"], f"{name}: {wide} pixels wide {where} of {how['width']}")
        check_labels(tab, name, where)
        tables = tab.run("[...document.querySelectorAll('table')].filter((table) => table.offsetParent && table.scrollWidth > table.closest('section').clientWidth"
                         f" && !({'true' if how.get('phone') else 'false'} && !table.matches('.cards'))).map((table) => table.getAttribute('aria-label'))")
        check(not tables, f"{name}: tables are cut {where}: {tables}")


def check_colours(tab, name):
    """One name a colour and one colour a name, on this page and on all before it, of what is no row of its own."""
    own = re.compile(r"^--(s\d|faint|good|bad|front)$")
    keys = tab.run("[...document.querySelectorAll('.swatch')].map((one) => [(one.style.background.match(/--[\\w-]+/) ?? [''])[0],"
                   " one.parentNode.textContent.trim()])")
    for colour, text in keys:
        if not own.match(colour):
            # A time stands behind its name where a plan is told.
            meaning = re.sub(r" [\d.,]+ \S+$", "", text)
            known = meanings.setdefault(colour, meaning)
            check(known == meaning, f"{name}: {colour} is '{meaning}' and '{known}'")
    values = tab.run("(() => { const style = getComputedStyle(document.documentElement); return [...document.styleSheets[0].cssRules]"
                     ".filter((rule) => rule.selectorText === ':root').flatMap((rule) => [...rule.style].map((key) => [key, style.getPropertyValue(key).trim()])); })()")
    seen = {}
    for key, value in values:
        if key in meanings:
            check(seen.setdefault(value, key) == key, f"{name}: {key} and {seen[value]} are one colour")


def check_legends(tab, name):
    """No two entries of a legend have one colour, also of those that have no meaning of their own."""
    legends = tab.run("[...document.querySelectorAll('.legend')].map((one) => [...one.querySelectorAll('.swatch')].map((swatch) => swatch.style.background))")
    for colours in legends:
        check(len(set(colours)) == len(colours), f"{name}: a legend has a colour twice: {colours}")


def check_scaling(tab, name, report):
    """Only sizes that lose are drawn as losses, each plan is there, and the title begins and ends with sizes that run."""
    if "scaling" not in report:
        return
    sizes = [size for size in report["sizes"] if "loss" in size]
    drawn = tab.run("[...document.querySelectorAll('svg[aria-label=\"what takes the rate, by size\"] text')].map((one) => one.textContent)")
    losing = {f"{size['gpus']:,} GPUs" for size in sizes if size["loss"] > 0}
    check({one for one in drawn if one.endswith("GPUs")} == losing, f"{name}: {drawn} are drawn, and {losing} lose")
    plans = tab.run("[...document.querySelectorAll('table[aria-label=plans] tbody tr')].map((row) => row.lastElementChild.textContent)")
    check(sorted(plans) == sorted(size["plan"] for size in report["sizes"] if "plan" in size), f"{name}: has the plans {plans}")
    ends = f" on {sizes[0]['gpus']:,} to {sizes[-1]['gpus']:,} x "
    check(ends in tab.run("document.title"), f"{name}: is called {tab.run('document.title')}")


def take_pictures(tab, page, folder):
    looks = {"desk": {}, "phone": {"width": 375, "height": 812, "phone": True}, "dark": {"scheme": "dark"}, "paper": {"width": PAPER, "paper": True}}
    for look, how in looks.items():
        tab.show(**how)
        tab.open(page)
        tab.picture(folder / f"{page.stem}_{look}.png")
    tab.show()
    (folder / f"{page.stem}.pdf").write_bytes(tab.pdf())


def check_schemes(tab, name):
    grounds = []
    for scheme in ("light", "dark"):
        tab.show(scheme=scheme)
        tab.settle()
        grounds.append(tab.run("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"))
    check(grounds[0] != grounds[1], f"{name}: light and dark are one")
    tab.show()


def main():
    folder = pathlib.Path(sys.argv[1])
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    with browser.Browser() as tab:
        for page in sorted(folder.glob("*.html")):
            name = page.stem
            report = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            tab.show()
            began = time.monotonic()
            tab.open(page)
            took = time.monotonic() - began
            compared = check_figures(tab, name, report)
            cells = check_tables(tab, name, report)
            check(compared + cells > 0 or report.get("feasible") is False,
                  f"{name}: no figure was compared")
            check(tab.run("document.title") == tab.run("document.querySelector('h1').textContent"), f"{name}: two titles")
            check(tab.run("document.title") == TITLES.get(name, tab.run("document.title")), f"{name}: is called {tab.run('document.title')}")
            check(tab.run("document.querySelectorAll('section').length") > 1, f"{name}: has no sections")
            check(not tab.run("Boolean(window.ran)"), f"{name}: a name ran as a script")
            check_sort(tab, name)
            check_keys(tab, name)
            check_explorer(tab, name, report.get("priced", 0))
            check_marks(tab, name)
            check_colours(tab, name)
            check_legends(tab, name)
            check_scaling(tab, name, report)
            check_widths(tab, name)
            tab.show()
            pdf = tab.pdf()
            check(pdf.startswith(b"%PDF") and b"/Type /Page" in pdf, f"{name}: cannot be printed")
            check_schemes(tab, name)
            for problem in tab.problems:
                check(False, f"{name}: {problem}")
            fetched = [url for url in tab.requests if not url.startswith(("file:", "data:"))]
            check(not fetched, f"{name}: fetches {fetched}")
            tab.problems.clear()
            tab.requests.clear()
            if pictures:
                take_pictures(tab, page, pictures)
            print(f"{name}: {page.stat().st_size / 1e6:.2f} MB, drawn in {took:.2f} s, {compared} figures and {cells} cells compared")
            check(page.stat().st_size <= 3e6, f"{name}: is larger than 3 MB")
            check(took < 3, f"{name}: takes {took:.1f} s to open")  # 0.3 s on a machine at rest
    sys.exit(1 if failures else 0)


main()
