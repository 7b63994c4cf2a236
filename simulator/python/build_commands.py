# SPDX-License-Identifier: Apache-2.0
"""Builds the compiled half of the package with CMake, for setuptools.

STEPCAST_BUILD_DIR names a build folder that is configured with STEPCAST_PYTHON=ON; without it the
folder build/python is configured here.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parents[2]


def configured_folder():
    """A build folder with the target _stepcast."""
    given = os.environ.get("STEPCAST_BUILD_DIR")
    if given:
        return Path(given)
    folder = ROOT / "build" / "python"
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_UNITY_BUILD=ON", "-DSTEPCAST_TESTS=OFF", "-DSTEPCAST_PYTHON=ON",
                    f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
    return folder


class CMakeExtension(build_ext):
    """The compiled module, and the models and profiles beside it."""

    def run(self):
        folder = configured_folder()
        subprocess.run(["cmake", "--build", folder, "--target", "_stepcast"], check=True)
        package = Path(self.build_lib) / "stepcast"
        package.mkdir(parents=True, exist_ok=True)
        for module in (folder / "python").glob("_stepcast*.so"):
            shutil.copy2(module, package)
        for part in ("configs", "hardware_profiles"):
            shutil.copytree(ROOT / part, package / "data" / part, dirs_exist_ok=True)


class Wheel(bdist_wheel):
    """A wheel of this platform: setuptools learns of the extension here, before it asks."""

    def finalize_options(self):
        self.distribution.ext_modules = [Extension("stepcast._stepcast", sources=[])]
        super().finalize_options()
