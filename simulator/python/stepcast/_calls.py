# SPDX-License-Identifier: Apache-2.0
"""The functions of the package, one for each command of the program."""

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from . import _stepcast
from ._results import Comparison, Diagnosis, Explanation, Projection, Recommendation, Report
from ._sweeps import RunningSweep, SweepResult

_FORMATS = _stepcast.ReportFormat
_all = 2**62  # more plans than any sweep has


def _data():
    """The models and profiles that the package brings along, or those of STEPCAST_DATA."""
    return Path(os.environ.get("STEPCAST_DATA") or Path(__file__).parent / "data")


@lru_cache(maxsize=None)
def _simulator(data):
    return _stepcast.Simulator(data)


def _here():
    return _simulator(_data())


def _json(value):
    # Characters as they are: YAML has no pairs of escapes for those beyond the first 65,536.
    return json.dumps(value, ensure_ascii=False)


def _written(value):
    """A value of a setting as YAML; JSON is YAML."""
    return value if isinstance(value, str) else _json(value)


def _assignments(settings, gpu, nodes):
    """`set`, `gpu` and `nodes` of every function as the program's --set takes them, in order."""
    given = {"cluster.gpu": gpu, "cluster.nodes": nodes}
    assignments = [f"{key}={value}" for key, value in given.items() if value is not None]
    return assignments + [f"{key}={_written(value)}" for key, value in (settings or {}).items()]


def _file_and_text(experiment):
    """An experiment as the name of its file or as its text; the other is empty."""
    if isinstance(experiment, Mapping):
        return "", _json(experiment)
    return os.fspath(experiment), ""


def _source(experiment, settings, gpu, nodes):
    return _stepcast.ExperimentSource(*_file_and_text(experiment),
                                      _assignments(settings, gpu, nodes))


def _report(kind, call, *sources):
    answer = call(*sources, _FORMATS.JSON)
    return kind(answer.text, lambda: call(*sources, _FORMATS.TEXT).text, answer.feasible)


def project(experiment, *, set=None, gpu=None, nodes=None):
    """The projected step: tokens/s/GPU, step time, where it goes, memory, MFU.

    `experiment`: a file, or a mapping with the keys of one. A plan that cannot run is an answer:
    `feasible` is false and `reasons` says why. Raises InputError.
    """
    return _report(Projection, _here().project, _source(experiment, set, gpu, nodes))


def memory(experiment, *, set=None, gpu=None, nodes=None):
    """Memory of each pipeline stage by kind, in bytes, against the capacity. Raises InputError."""
    return _report(Projection, _here().memory, _source(experiment, set, gpu, nodes))


def explain(experiment, *, set=None, gpu=None, nodes=None):
    """Per operator: count, shape, time, what bounds it; the critical path; sensitivities."""
    return _report(Explanation, _here().explain, _source(experiment, set, gpu, nodes))


def diagnose(experiment, *, measured="", step="", tflops="", mfu="", memory="", points=(),
             traces=(), out_of_memory=False, tried="", set=None, gpu=None, nodes=None):
    """Why a run is slower than projected: causes with their sizes, the likeliest first.

    One of `measured` (tokens/s of a GPU, "200tok/s"), `step` ("13s"), `tflops` (120) and `mfu` (in
    per cent, 9.8), with `memory` ("43.5GiB") and `points` of other settings
    ("plan.tp=2:1.93s"), and `traces` of its step by PyTorch's profiler, which without one of the
    first four say how fast the run is. Or a run that is `out_of_memory`, and the size of the request that failed
    ("2GiB"). Raises InputError.
    """
    figures = [str(figure) for figure in (measured, step, tflops, mfu, memory)]

    def call(source, form):
        return _here().diagnose(source, *figures, [str(point) for point in points],
                                [str(trace) for trace in traces], out_of_memory, tried, form)

    return _report(Diagnosis, call, _source(experiment, set, gpu, nodes))


def provenance(experiment, *, set=None, gpu=None, nodes=None):
    """The constants that the step's time rests on, where each comes from, and its share."""
    return _report(Report, _here().provenance, _source(experiment, set, gpu, nodes))


def difference(first, second):
    """Where the time of two experiments differs: terms that add up to the difference."""
    return _report(Report, _here().difference, _source(first, None, None, None),
                   _source(second, None, None, None))


def compare(experiment, variants):
    """The same work side by side: a column for each mapping of settings in `variants`.

    >>> stepcast.compare("experiment.yaml", [{"cluster.gpu": "h100_sxm"}, {"cluster.gpu": "mi300x"}])
    """
    sources = [_source(experiment, variant, None, None) for variant in variants]
    return _report(Comparison, _here().compare, sources)


def sweep(experiment, *, set=None, gpu=None, nodes=None, threads=0, top=None, progress=None):
    """Every plan of a sweep (an experiment whose values may be lists or ranges), as a SweepResult.

    `threads`: 0 is one for each processor. `top`: how many plans to keep; all if not given. Plans
    that surely are neither among these nor in the Pareto set are counted (`bounded`) and not priced.
    `progress`: called with the plans done and all there are, some times a second. The interpreter
    is free while it runs, and Ctrl-C stops it. Raises InputError.
    """
    source = _source(experiment, set, gpu, nodes)
    return SweepResult(_stepcast.sweep(_here(), source, threads, _all if top is None else top,
                                       top is None, progress))


def sweep_plans(experiment, *, set=None, gpu=None, nodes=None, threads=0):
    """The plans of a sweep that can run, a mapping each, while the sweep runs.

    They come as they are priced, so their order follows from the threads; what each says does not.
    Leaving the loop, closing the iterator or an exception ends the sweep. Raises InputError.

    >>> for plan in stepcast.sweep_plans("sweep.yaml"):
    ...     if plan["mfu"] > 0.5:
    ...         break
    """
    return RunningSweep(_stepcast.RunningSweep(_here(), _source(experiment, set, gpu, nodes), threads))


def recommend(experiment, gpus, *, days=None, budget=None, most_gpus=None, prices=None, currency="",
              constraints=(), prove=False, threads=0, set=None):
    """How many of which GPUs a training run needs: fewest, cheapest, fastest, each with its plan.

    The experiment, or `set`, says how long the run is: `training.tokens`. `days`, `budget` and
    `most_gpus` limit it; `prices` has the price of a GPU-hour by GPU. `prove` looks at every plan.
    Where nothing stays within the limits `feasible` is false and `emptied_by` of a GPU says why.
    Raises InputError.

    >>> stepcast.recommend("experiment.yaml", ["h100_sxm"], set={"training.tokens": "1T"}, days=30)
    """
    source = _source(experiment, set, None, None)
    priced = [*(prices or {}).items()]

    def call(form):
        return _here().recommend(source, [*gpus], days, budget, most_gpus, priced, currency,
                                 [*constraints], prove, threads, form)

    return _report(Recommendation, call)


def cost(operators, gpu, *, backends=(), gpu_clock_mhz=None, power_limit="", terms=False):
    """Operators with their prices: each mapping comes back with `predicted_s`, `bound` and more.

    >>> stepcast.cost([{"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}], "h100_sxm")
    """
    lines = "".join(_json(operator) + "\n" for operator in operators)
    priced = _here().cost(lines, gpu, [*backends], gpu_clock_mhz, power_limit, terms)
    return [json.loads(line) for line in priced.split("\n") if line]


def list(kind):
    """The names of what there is: "gpus", "models", "clusters", "software", "backends", ..."""
    kinds = _stepcast.Listing.__members__
    if kind not in kinds:
        raise ValueError(f"there is no list of '{kind}'; give one of " + ", ".join(kinds))
    return _here().list(kinds[kind])


def describe(name):
    """What a name stands for: values, equation, assumptions, source, as text. Raises InputError."""
    return _here().describe(name)


def frameworks():
    """The frameworks whose files import_() takes."""
    return [*_stepcast.Simulator.frameworks()]


def import_(framework, file, *, overrides=(), gpu="", nodes=None, software="", lenient=False,
            text=None, release=""):
    """An experiment from a framework's launch file, as YAML text, and remarks on its keys.

    `text`, if given, is read instead of the file, which then only has a name. Where the framework
    has recipes by name (Megatron-Bridge), `file` may be the name of one. `release` is the month of
    torchtitan, "2026-03", instead of what the file's form says. Raises InputError.
    """
    if text is None:
        known = _stepcast.Simulator.frameworks()
        named = known.get(framework, framework != "hf") and not Path(file).exists()
        text = str(file) if named else Path(file).read_text()
    if framework == "hf":
        return _here().import_model(str(file), text, Path(file).stem), ""
    settings = _stepcast.ImportSettings()
    settings.overrides = [*overrides]
    settings.gpu = gpu
    settings.nodes = nodes
    settings.software = software
    settings.lenient = lenient
    settings.release = release
    return _here().import_experiment(framework, str(file), text, settings)


def export(framework, experiment, *, set=None, gpu=None, nodes=None):
    """The files with which a framework runs an experiment: a mapping of name to text."""
    return dict(_here().export_files(framework, _source(experiment, set, gpu, nodes)))
