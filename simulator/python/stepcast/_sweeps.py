# SPDX-License-Identifier: Apache-2.0
"""A sweep's plans as rows and as columns, when it has ended or while it runs."""

import html
import json

from ._tables import from_columns


def _value(text):
    """A setting's value as Python has it: "8" is 8, "true" is True, "balanced" a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _table(columns):
    columns = dict(columns)
    settings = [dict(setting.partition("=")[::2] for setting in plan)
                for plan in columns.pop("settings")]
    keys = list(dict.fromkeys(key for plan in settings for key in plan))
    axes = {key: [_value(plan[key]) if key in plan else None for plan in settings] for key in keys}
    return settings, from_columns({**axes, **columns})


class SweepResult:
    """Priced plans, the best first.

    Iterating gives a mapping for each plan; `table` has all as a numpy structured array, with a
    column for each axis of the sweep ("plan.tp") and for each number ("step_time_s").
    `settings[i]` is what `project(sweep, set=...)` takes for plan i.
    """

    __slots__ = ("table", "settings", "memory_pareto", "refused", "space_size", "evaluated",
                 "priced", "bounded", "complete")

    def __init__(self, answer):
        settings, table = _table(answer["best"])
        table.setflags(write=False)
        pareto = _table(answer["memory_pareto"])[1]
        pareto.setflags(write=False)
        values = {"table": table, "settings": tuple(settings), "memory_pareto": pareto,
                  "refused": tuple(answer["refused"]),
                  **{key: answer[key] for key in ("space_size", "evaluated", "priced", "bounded", "complete")}}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        raise AttributeError("SweepResult is frozen")

    def __len__(self):
        return len(self.table)

    def __iter__(self):
        names = self.table.dtype.names or ()
        for row in self.table:
            yield dict(zip(names, row.tolist()))

    def __getitem__(self, index):
        return dict(zip(self.table.dtype.names, self.table[index].tolist()))

    def to_dataframe(self):
        """The table as a pandas.DataFrame; pandas is imported here and nowhere else."""
        import pandas
        return pandas.DataFrame(self.table)

    def __repr__(self):
        return (f"<stepcast.SweepResult: {self.priced} of {self.space_size} plans priced, "
                f"{len(self)} here>")

    def _repr_html_(self):
        names = self.table.dtype.names or ()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row.tolist())
                       + "</tr>" for row in self.table[:10])
        return f"<p>{html.escape(repr(self))}</p><table><tr>{head}</tr>{body}</table>"


class RunningSweep:
    """An iterator over the plans of a sweep that runs meanwhile; ends it when it is closed."""

    def __init__(self, running):
        self._running = running
        self._plans = iter(())

    def __iter__(self):
        return self

    def __next__(self):
        for plan in self._plans:
            return plan
        columns = self._running.next()
        if columns is None:
            raise StopIteration
        self._plans = iter(SweepRows(columns))
        return next(self._plans)

    def close(self):
        """Ends the sweep; what was not taken is given up."""
        self._running.stop()
        self._plans = iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class SweepRows:
    """Columns of plans as a mapping for each: its settings, typed, and its numbers."""

    def __init__(self, columns):
        self._columns = dict(columns)
        self._settings = self._columns.pop("settings")

    def __iter__(self):
        for index, settings in enumerate(self._settings):
            row = {key: _value(text) for key, _, text in
                   (setting.partition("=") for setting in settings)}
            row.update((name, values[index].item()) for name, values in self._columns.items())
            yield row
