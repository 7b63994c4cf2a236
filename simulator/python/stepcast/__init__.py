# SPDX-License-Identifier: Apache-2.0
"""Projects the training of large models, without a GPU.

>>> import stepcast
>>> step = stepcast.project("experiment.yaml", set={"plan.tp": 8})
>>> step.tokens_per_second_per_gpu
1043.2...

An experiment is a file, or a mapping with the keys of such a file. Every function takes `set`, a
mapping of dotted keys to values, as the option --set of the program, and `gpu` and `nodes`. Results
are frozen: attributes and items by the keys of the program's JSON, `to_dict()` a plain copy,
`to_json()` the same bytes as `stepcast COMMAND --format json` prints, `str()` the report as text.
"""

from ._calls import (compare, cost, describe, diagnose, difference, explain, export, frameworks,
                     import_, list, memory, project, provenance, recommend, sweep, sweep_plans)
from ._results import (Comparison, Diagnosis, Explanation, InputError, Problem, Projection,
                       Recommendation, Report)
from ._stepcast import __version__
from ._sweeps import RunningSweep, SweepResult

__all__ = [
    "Comparison", "Diagnosis", "Explanation", "InputError", "Problem", "Projection",
    "Recommendation", "Report", "RunningSweep", "SweepResult", "__version__", "compare", "cost",
    "describe", "diagnose", "difference", "explain", "export", "frameworks", "import_", "list",
    "memory", "project", "provenance", "recommend", "sweep", "sweep_plans",
]
