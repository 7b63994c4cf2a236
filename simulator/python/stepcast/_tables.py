# SPDX-License-Identifier: Apache-2.0
"""Rows and columns as numpy structured arrays, which pandas.DataFrame takes as they are."""

import json

import numpy


def _type_of(values):
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present) and len(present) == len(values):
        return bool
    if present and all(isinstance(value, int) and not isinstance(value, bool) for value in present) \
            and len(present) == len(values):
        return numpy.int64
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
        return numpy.float64
    return object


def _cell(value, kind):
    if kind is object:
        return "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return numpy.nan if value is None else value


def structured(rows):
    """An array with a field for every key of the rows that is no list and no mapping."""
    names = []
    for row in rows:
        names += [key for key, value in row.items()
                  if key not in names and isinstance(value, (str, int, float, bool, type(None)))]
    return from_columns({name: [row.get(name) for row in rows] for name in names})


def from_columns(columns):
    """An array with a field for every column; all columns are equally long."""
    kinds = {name: values.dtype if isinstance(values, numpy.ndarray) else _type_of(values)
             for name, values in columns.items()}
    length = len(next(iter(columns.values()), ()))
    table = numpy.empty(length, dtype=[(name, kind) for name, kind in kinds.items()])
    for name, values in columns.items():
        kind = kinds[name]
        table[name] = values if isinstance(values, numpy.ndarray) else \
            [_cell(value, kind) for value in values]
    return table
