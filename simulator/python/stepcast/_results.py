# SPDX-License-Identifier: Apache-2.0
"""Results and errors: frozen values with the keys of the program's JSON."""

import html
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Problem:
    """One problem of an input, and where it lies; lines and columns count from 1, 0 is all of it."""

    file: str
    line: int
    column: int
    message: str

    @property
    def remedy(self):
        """What to write instead; empty where the message has none."""
        return self.message.partition("; ")[2]


class InputError(ValueError):
    """The input is wrong; `problems` has every problem at once."""

    def __init__(self, text, problems):
        super().__init__(text)
        self.problems = tuple(Problem(*problem) for problem in problems)

    def __reduce__(self):
        # As pickle and copy make it again: an exception keeps but the first argument by itself.
        return type(self), (str(self), [astuple(problem) for problem in self.problems])


def _frozen(value):
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value


class Report(Mapping):
    """What a command of the program prints: a mapping with the keys of its JSON, also attributes."""

    __slots__ = ("_json", "_text", "_values", "_feasible")

    def __init__(self, json_text, text, feasible):
        """`text`: the report, or a function that gives it when it is asked for."""
        object.__setattr__(self, "_json", json_text)
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_feasible", feasible)
        object.__setattr__(self, "_values", _frozen(json.loads(json_text)))

    def __getitem__(self, key):
        return self._values[key]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no '{name}'; it has "
                                 + ", ".join(self._values)) from None

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name):
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __dir__(self):
        return [*super().__dir__(), *self._values]

    def __eq__(self, other):
        return isinstance(other, Report) and self._json == other._json

    def __hash__(self):
        return hash(self._json)

    def __reduce__(self):
        return type(self), (self._json, str(self), self._feasible)

    @property
    def feasible(self):
        """Whether the plan runs; of a comparison whether any of its plans does."""
        return self._feasible

    def to_dict(self):
        """A plain copy, equal to the program's JSON."""
        return json.loads(self._json)

    def to_json(self):
        """The bytes that the program prints with --format json."""
        return self._json

    def __str__(self):
        if callable(self._text):
            object.__setattr__(self, "_text", self._text())
        return self._text

    def __repr__(self):
        first = str(self).partition("\n")[0]
        return f"<stepcast.{type(self).__name__}: {first}>"

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>"


class Projection(Report):
    """A projected step: `stepcast project` and `stepcast memory`."""

    __slots__ = ()

    def _repr_html_(self):
        values = self._values
        if values["feasible"] and "step_time_s" not in values:
            return super()._repr_html_()  # of memory alone
        if values.get("step_time_s") is None:
            reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in values["reasons"])
            return f"<p>cannot run</p><ul>{reasons}</ul>"
        step = values["step_time_s"]
        rows = [("tokens/s/GPU", f"{values['tokens_per_second_per_gpu']:.4g}"),
                ("step time", f"{step:.4g} s"), ("MFU", f"{100 * values['mfu']:.1f} %"),
                ("peak memory", f"{values['peak_memory_bytes'] / 2**30:.1f} GiB")]
        rows += [(key.removesuffix("_s").replace("_", " "), f"{100 * spent / step:.1f} %")
                 for key, spent in values["time"].items() if spent > 0]
        cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{text}</td></tr>"
                        for name, text in rows)
        return f"<table>{cells}</table>"


class Explanation(Report):
    """Operators, the critical path, sensitivities: `stepcast explain`."""

    __slots__ = ()

    def operators_table(self):
        """The operators as a numpy structured array, a column for each number and text."""
        from ._tables import structured
        return structured(self.to_dict()["operators"])


class Diagnosis(Report):
    """Causes of a run's pace: `stepcast diagnose`."""

    __slots__ = ()


class Comparison(Report):
    """Experiments side by side: `stepcast compare`."""

    __slots__ = ()


class Recommendation(Report):
    """Numbers of GPUs for a training run: `stepcast recommend`."""

    __slots__ = ()
