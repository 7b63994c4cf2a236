# SPDX-License-Identifier: Apache-2.0
"""The package against the program: STEPCAST is the program, STEPCAST_ROOT its tree."""

import copy
import json
import locale
import os
import pickle
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy

import stepcast

PROGRAM = os.environ["STEPCAST"]
ROOT = Path(os.environ["STEPCAST_ROOT"])
DENSE = ROOT / "examples/04_llama3.1_8b_mi300x/experiment.yaml"
MOE = ROOT / "examples/08_mixtral_8x7b_mi300x/experiment.yaml"
JOB = {
    "model": "llama3.1_8b", "cluster": {"gpu": "h100_sxm", "nodes": 1},
    "training": {"sequence_length": 4096, "micro_batch_size": 1, "global_batch_size": 8},
    "plan": {"fsdp": 8},
}
SMALL_SWEEP = {
    "model": "llama3.1_8b",
    "cluster": {"gpu": "h100_sxm", "nodes": 1},
    "training": {"sequence_length": 4096, "micro_batch_size": [1, 2], "global_batch_size": 64},
    "plan": {"tp": [1, 2, 4, 8], "zero": 1},
}


def printed(*arguments, code=0):
    """What the program prints on standard output."""
    run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if run.returncode != code:
        raise AssertionError(f"{arguments} exits {run.returncode}: {run.stderr}")
    return run.stdout


class Reports(unittest.TestCase):
    def test_a_projection_has_the_bytes_of_the_program(self):
        for file in (DENSE, MOE):
            self.assertEqual(stepcast.project(file).to_json(),
                             printed("project", file, "--format", "json"))
            self.assertEqual(str(stepcast.project(file)), printed("project", file))

    def test_a_diagnosis_has_the_bytes_of_the_program(self):
        points = ["training.micro_batch_size=2:9s"]
        self.assertEqual(
            stepcast.diagnose(DENSE, step="20s", memory="60GiB", points=points).to_json(),
            printed("diagnose", DENSE, "--step", "20s", "--memory", "60GiB", "--point", points[0],
                    "--format", "json"))
        made = stepcast.diagnose(DENSE, step="20s").to_dict()
        self.assertGreater(made["best_plan"]["tokens_per_second_per_gpu"], 0)
        self.assertGreater(len(made["published"]), 0)
        short = stepcast.diagnose(DENSE, out_of_memory=True, tried="2GiB")
        self.assertEqual(short.to_json(), printed("diagnose", DENSE, "--out-of-memory", "--tried",
                                                  "2GiB", "--format", "json"))
        with self.assertRaisesRegex(stepcast.InputError, "nothing says how fast the run is"):
            stepcast.diagnose(DENSE)

    def test_memory_explain_and_compare_have_the_bytes_of_the_program(self):
        self.assertEqual(stepcast.memory(DENSE).to_json(),
                         printed("memory", DENSE, "--format", "json"))
        self.assertEqual(stepcast.explain(MOE).to_json(),
                         printed("explain", MOE, "--format", "json"))
        self.assertEqual(stepcast.provenance(DENSE).to_json(),
                         printed("explain", DENSE, "--provenance", "--format", "json"))

    def test_settings_change_what_the_options_change(self):
        ours = stepcast.project(DENSE, set={"plan.tp": 4, "training.recompute": "full"},
                                gpu="h100_sxm", nodes=2)
        self.assertEqual(ours.to_json(),
                         printed("project", DENSE, "--gpu", "h100_sxm", "--nodes", 2, "--set",
                                 "plan.tp=4", "--set", "training.recompute=full", "--format",
                                 "json", code=0 if ours.feasible else 3))

    def test_a_mapping_is_an_experiment_too(self):
        step = stepcast.project(JOB)
        self.assertTrue(step.feasible)
        self.assertAlmostEqual(sum(step.time.values()), step.step_time_s, delta=1e-9)

    def test_a_result_is_frozen_and_its_dict_equals_the_json(self):
        step = stepcast.project(DENSE)
        self.assertEqual(step.to_dict(), json.loads(step.to_json()))
        self.assertEqual(step["mfu"], step.mfu)
        self.assertEqual(set(step), set(step.to_dict()))
        with self.assertRaises(AttributeError):
            step.mfu = 1.0
        with self.assertRaises(TypeError):
            step.time["compute_s"] = 0.0
        self.assertEqual(pickle.loads(pickle.dumps(step)), step)
        self.assertIn("tokens/s/GPU", step._repr_html_())

    def test_a_plan_that_cannot_run_is_an_answer(self):
        step = stepcast.project(DENSE, set={"plan.tp": 3})
        self.assertFalse(step.feasible)
        self.assertTrue(any("3" in reason for reason in step.reasons))
        self.assertIn("cannot run", step._repr_html_())

    def test_operators_are_a_table(self):
        table = stepcast.explain(DENSE).operators_table()
        self.assertIn("total_time_s", table.dtype.names)
        self.assertGreater(len(table), 10)


class Locales(unittest.TestCase):
    """Toolkits of windows set the user's locale in the process that they run in."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.addCleanup(locale.setlocale, locale.LC_ALL, "C")
        os.environ["LOCPATH"] = made.name
        self.addCleanup(os.environ.pop, "LOCPATH")

    def set_locale(self, name):
        try:
            subprocess.run(["localedef", "-i", name, "-f", "UTF-8", f"{os.environ['LOCPATH']}/{name}.UTF-8"],
                           capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest(f"SKIPPED: the locale {name}, whose sources (package locales) are not installed")
        locale.setlocale(locale.LC_ALL, f"{name}.UTF-8")
        self.assertEqual(locale.localeconv()["decimal_point"], ",")

    def test_a_comma_in_numbers_and_turkish_letters_change_nothing(self):
        for name in ("de_DE", "tr_TR"):
            self.set_locale(name)
            self.assertEqual(str(stepcast.project(MOE)), printed("project", MOE))
            self.assertEqual(stepcast.memory(MOE).to_json(), printed("memory", MOE, "--format", "json"))
            self.assertEqual(str(stepcast.explain(DENSE)), printed("explain", DENSE))
            with self.assertRaisesRegex(stepcast.InputError, "did you mean 'h100_sxm'"):
                stepcast.project(DENSE, set={"cluster.gpu": "H100_SXN"})


class Errors(unittest.TestCase):
    def test_every_problem_has_a_place_and_a_remedy(self):
        with self.assertRaises(stepcast.InputError) as raised:
            stepcast.project(DENSE, set={"plan.tensor_model_parallel_size": 8, "plan.pp": -1})
        problems = raised.exception.problems
        self.assertEqual(len(problems), 2)
        self.assertIn("did you mean 'tp'?", [problem.remedy for problem in problems])

    def test_wrong_input_is_the_same_after_pickle_and_copy(self):
        with self.assertRaises(stepcast.InputError) as raised:
            stepcast.project({"model": "nope"})
        for again in (pickle.loads(pickle.dumps(raised.exception)), copy.deepcopy(raised.exception)):
            self.assertEqual(str(again), str(raised.exception))
            self.assertEqual(again.problems, raised.exception.problems)

    def test_characters_of_any_plane_are_texts(self):
        job = dict(JOB, description="\N{ROCKET} run")
        self.assertTrue(stepcast.project(job).feasible)
        line = {"kind": "gemm", "m": 1, "n": 1, "k": 1, "id": "a\u2028b\u0085c"}
        self.assertEqual([row["id"] for row in stepcast.cost([line], "h100_sxm")], [line["id"]])

    def test_a_plan_that_fits_is_shown_as_one(self):
        self.assertIn("peak", stepcast.memory(JOB)._repr_html_())

    def test_limits_and_prices_are_those_of_the_program(self):
        run = dict(JOB, training=dict(JOB["training"], tokens="1T"))
        for wrong in ({"days": 0}, {"days": float("nan")}, {"most_gpus": 0}, {"threads": -1},
                      {"prices": {"h100_sxm": float("inf")}},
                      {"prices": {"h100_sxm": 2.0}, "currency": "\x1b[31m"}):
            with self.subTest(wrong), self.assertRaises(stepcast.InputError):
                stepcast.recommend(run, ["h100_sxm"], **wrong)

    def test_a_file_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(stepcast.InputError, "absent.yaml"):
            stepcast.project("absent.yaml")


class Sweeps(unittest.TestCase):
    def test_the_best_plans_are_those_of_the_program(self):
        plans = stepcast.sweep(SMALL_SWEEP)
        self.assertEqual(plans.space_size, 8)
        self.assertEqual(len(plans), plans.priced)
        rates = plans.table["tokens_per_second_per_gpu"]
        self.assertTrue(numpy.all(rates[:-1] >= rates[1:]))
        best = stepcast.project({**SMALL_SWEEP, "training": {**SMALL_SWEEP["training"],
                                                             "micro_batch_size": 1}},
                                set=plans.settings[0])
        self.assertEqual(best.tokens_per_second_per_gpu, rates[0])

    def test_rows_columns_and_threads_say_the_same(self):
        plans = stepcast.sweep(SMALL_SWEEP, threads=1)
        again = stepcast.sweep(SMALL_SWEEP, threads=4)
        self.assertTrue(numpy.array_equal(plans.table, again.table))
        self.assertEqual([plan["plan.tp"] for plan in plans], plans.table["plan.tp"].tolist())
        self.assertEqual(plans.table["plan.tp"].dtype, numpy.int64)
        self.assertEqual(len(stepcast.sweep(SMALL_SWEEP, top=3)), 3)

    def test_other_threads_of_python_run_meanwhile(self):
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(time.monotonic())
        ticker = threading.Thread(target=tick)
        ticker.start()
        stepcast.sweep(ROOT / "configs/sweeps/llama3_70b_512_h100.yaml", top=1, threads=1,
                       set={"training.micro_batch_size": 1})
        stop.set()
        ticker.join()
        self.assertGreater(len(ticks), 5)

    def test_ctrl_c_stops_a_sweep(self):
        killer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        killer.start()
        with self.assertRaises(KeyboardInterrupt):
            stepcast.sweep(ROOT / "configs/sweeps/gpt3_175b_512_a100.yaml", top=1)
        killer.cancel()


    def test_plans_come_while_the_sweep_runs_and_are_those_of_its_answer(self):
        whole = stepcast.sweep(SMALL_SWEEP)
        plans = list(stepcast.sweep_plans(SMALL_SWEEP, threads=2))
        self.assertEqual(len(plans), whole.priced)

        def key(plan):
            return plan["training.micro_batch_size"], plan["plan.tp"]
        self.assertEqual(sorted(plans, key=key), sorted(whole, key=key))

    def test_leaving_the_loop_ends_the_sweep(self):
        # 14 million plans: to the end it takes minutes.
        with stepcast.sweep_plans(ROOT / "configs/sweeps/gpt3_175b_512_a100.yaml") as plans:
            first = next(plans)
            self.assertGreater(first["tokens_per_second_per_gpu"], 0)
        self.assertEqual(list(plans), [])

    def test_what_is_wrong_with_a_sweep_is_raised_at_its_first_plan(self):
        plans = stepcast.sweep_plans({**SMALL_SWEEP, "plan": {"tpp": [1, 2]}})
        with self.assertRaises(stepcast.InputError):
            next(plans)


class Recommendations(unittest.TestCase):
    def test_a_recommendation_has_the_bytes_of_the_program(self):
        run = {"training.tokens": "1T"}
        answer = stepcast.recommend(DENSE, ["h100_sxm", "mi300x"], set=run, days=30,
                                    prices={"h100_sxm": 2.5, "mi300x": 2.0}, most_gpus=256)
        asked = ["recommend", DENSE, "--set", "training.tokens=1T", "--gpu", "h100_sxm", "--gpu", "mi300x",
                 "--days", 30, "--price", "h100_sxm=2.5", "--price", "mi300x=2", "--gpus", 256]
        self.assertTrue(answer.feasible)
        self.assertEqual(answer.to_json(), printed(*asked, "--format", "json"))
        self.assertEqual(str(answer), printed(*asked))

    def test_a_run_that_no_number_ends_in_time_is_an_answer(self):
        work = {"model": "llama3.1_8b", "training": {"tokens": "1T", "sequence_length": 4096}}
        answer = stepcast.recommend(work, ["h100_sxm"], days=0.5, most_gpus=8)
        self.assertFalse(answer.feasible)

    def test_a_budget_without_prices_is_wrong_input(self):
        with self.assertRaises(stepcast.InputError) as caught:
            stepcast.recommend(DENSE, ["mi300x"], set={"training.tokens": "1T"}, budget=1e6)
        self.assertIn("gpu_hour_price", str(caught.exception))


class Names(unittest.TestCase):
    def test_lists_and_descriptions_are_those_of_the_program(self):
        self.assertEqual(stepcast.list("gpus"),
                         [line.split()[0] for line in printed("list", "gpus").splitlines()])
        self.assertEqual(stepcast.describe("h100_sxm"), printed("describe", "h100_sxm"))
        with self.assertRaises(ValueError):
            stepcast.list("colours")

    def test_operators_are_priced_as_lines_are(self):
        operator = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "dtype": "bf16"}
        ours = stepcast.cost([operator], "h100_sxm")
        line = subprocess.run([PROGRAM, "cost", "--gpu", "h100_sxm"], input=json.dumps(operator),
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(ours, [json.loads(line)])

    def test_what_goes_out_to_a_framework_comes_back(self):
        for framework in stepcast.frameworks():
            try:
                files = stepcast.export(framework, DENSE)
            except stepcast.InputError as error:
                self.assertRegex(str(error), "nothing is written|cannot run 'cluster.gpu'")
                continue
            name, text = next(iter(files.items()))
            imported, remarks = stepcast.import_(framework, name, text=text)
            self.assertIn("carried", remarks)
            Path("imported.yaml").write_text(imported)
            self.assertEqual(str(stepcast.project("imported.yaml")), str(stepcast.project(DENSE)))

    def test_a_recipe_is_imported_by_its_name(self):
        recipe = "llama31_405b_pretrain_512gpu_h100_fp8cs_config"
        imported, remarks = stepcast.import_("megatron_bridge", recipe)
        self.assertEqual(imported, printed("import", "megatron_bridge", recipe, "--quiet"))
        self.assertIn(f"from {recipe}: ", remarks)
        with self.assertRaises(FileNotFoundError):  # Primus has no recipes by name
            stepcast.import_("primus", recipe)


if __name__ == "__main__":
    unittest.main()
