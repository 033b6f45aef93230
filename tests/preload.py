"""Runs programs with libwherefore preloaded and reads their profiles."""
import functools
import json
import math
import os
import pathlib
import subprocess
import sys

from harness import BINARY, Case

BUILD = pathlib.Path(BINARY).parent
LIBRARY = BUILD / "libwherefore.so"
PROGRAMS = BUILD / "tests"


def preload(**more):
    """The environment of a profiled program."""
    found = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "WHEREFORE_"))}
    return {**found, "LD_PRELOAD": str(LIBRARY), "WHEREFORE_LOG": "warn", **more}


def function_name(name):
    """A function without its namespaces and parameters."""
    return name.replace("(anonymous namespace)::", "").split("(")[0].split("::")[-1]


class Profiled(Case):
    def profiled(self, *command, seconds=60, **environment):
        """Runs a program to its end with profiles going to files."""
        return subprocess.run(command, env=preload(WHEREFORE_OUTPUT=str(self.folder / "out"), **environment),
                              capture_output=True, text=True, timeout=seconds, check=True)

    def rows(self, type, lens=None, files="out*profiles.otlp"):
        """function -> row of `wherefore top` over everything the programs sent."""
        files = sorted(str(file) for file in self.folder.glob(files))
        self.assertTrue(files, "the program sent no profiles")
        command = [BINARY, "top", *files, "--type", type, "--json", "--limit", "100000"]
        done = subprocess.run(command + (["--lens", lens] if lens else []), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        return answer, {function_name(row["name"]): row for row in answer["rows"]}

    def shares(self, type, names):
        """The share of each function among these, and the number of observations of all of them."""
        _, rows = self.rows(type)
        values = {name: int(rows[name]["total"]) if name in rows else 0 for name in names}
        all_of_them = sum(values.values())
        self.assertGreater(all_of_them, 0, f"none of {names} in the {type} profile")
        return {name: value / all_of_them for name, value in values.items()}, all_of_them

    def assert_shares(self, type, truth, observations):
        """Within two points, or three times the sampling error if that is more."""
        seen, total = self.shares(type, truth)
        real_total = sum(truth.values())
        for name, value in truth.items():
            real = value / real_total
            allowed = max(0.02, 3 * math.sqrt(real * (1 - real) / max(observations, 1)))
            self.assertAlmostEqual(seen[name], real, delta=allowed,
                                   msg=f"{type}: {name} is {real:.1%}, seen {seen[name]:.1%}")
        return total

    def assert_live_bytes(self, truth):
        """Fewer observations than one per 512 KB where the collector was held up: the distance was larger meanwhile."""
        observations = self.rows("inuse_space")[0]["count"]
        self.assertGreater(observations, 40)
        self.assertLess(observations, 1.3 * sum(truth.values()) / (512 * 1024))
        total = self.assert_shares("inuse_space", truth, observations)
        self.assertAlmostEqual(total, sum(truth.values()), delta=4 / math.sqrt(observations) * sum(truth.values()))


def estimate(test):
    """An unbiased estimate is off by more than three standard errors three times in a thousand; twice in a row means a bug."""
    @functools.wraps(test)
    def wrapped(self):
        try:
            test(self)
        except AssertionError as first:
            print(f"{test.__name__}: once more, since {first}", file=sys.stderr)
            for file in self.folder.glob("out*"):
                file.unlink()
            test(self)
    return wrapped
