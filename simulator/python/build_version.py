# SPDX-License-Identifier: Apache-2.0
"""The version, as CMakeLists.txt has it."""

import re
from pathlib import Path

VERSION = re.search(r"project\(stepcast VERSION ([0-9.]+)",
                    (Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text())[1]
