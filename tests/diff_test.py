#!/usr/bin/env python3
"""Differences that say whether they are more than chance, by the command people have from the articles."""
import json
import os
import re
import subprocess
import time
import unittest
from xml.etree import ElementTree

from compiled import compile_text
from harness import BINARY, ROOT, Case, Profiles, field, packed, spans_request

# As the article has it, but for the program's name.
COMMAND = ["diff", "--baseline", "my-service{commit=abc123}", "--comparison", "my-service{commit=def456}", "--time-range", "1h"]

# Half a second of CPU time in Render, as much or twice as much in Parse.
BENCHMARK = """#include <ctime>
volatile double sink;
double Now() { timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
[[gnu::noinline]] void Spin(double seconds) { for (const double end = Now() + seconds; Now() < end;) for (int i = 0; i < 10000; ++i) sink = sink + i; }
[[gnu::noinline]] void Parse() { Spin(0.025); sink = 1; }
[[gnu::noinline]] void Render() { Spin(0.025); sink = 2; }
int main() {
  for (int i = 0; i < ROUNDS; ++i) Parse();
  for (int i = 0; i < 20; ++i) Render();
}
"""


class Diff(Case):
    def send(self, server, commit, shares):
        """One profile of each instance: that many of 1,000 samples in parse."""
        for number, share in enumerate(shares):
            p = Profiles("my-service", commit=commit, pod=f"{commit}-{number}")
            p.profile([(p.stack("main", "parse"), share), (p.stack("main", "render"), 1000 - share)])
            self.assertEqual(server.send(p.encode()).status, 200)

    def row(self, done, name):
        return next(row for row in json.loads(done.stdout)["rows"] if row["name"] == name)

    def test_the_command_of_the_article_names_what_changed(self):
        server = self.server()
        self.send(server, "abc123", [100, 130, 85, 95, 110])
        self.send(server, "def456", [190, 215, 180, 205, 210])
        text = server.cli(*COMMAND).stdout
        self.assertRegex(text, r"\+9\.\d +\d+\.\d % +20\.0 % +\+9\.\d +\+\d\.\d to \+1\d\.\d  more  more  parse")
        self.assertIn("compared by instances (5 and 5)", text)
        parse = self.row(server.cli(*COMMAND, "--json"), "parse")
        self.assertEqual(parse["self"]["verdict"], "more")
        self.assertLess(parse["self"]["low"], parse["self"]["high"])

    def test_causes_come_first_and_can_fail_a_build(self):
        server = self.server()
        self.send(server, "abc123", [100, 130, 85, 95, 110])
        self.send(server, "def456", [190, 215, 180, 205, 210])
        text = server.cli(*COMMAND).stdout
        self.assertRegex(text, r"causes, of the cost before.*\n  more +\+1\d\.\d % \(\+\d+\.\d to \+\d+\.\d\)  parse, called by main")
        cause = json.loads(server.cli(*COMMAND, "--json").stdout)["causes"][0]
        self.assertEqual((cause["function"], cause["kind"]), ("parse", "more"))
        # render is the rest that did not change: 895 of it then, 800 now.
        self.assertAlmostEqual(cause["share_of_before"], 0.2 * 0.896 / 0.8 - 0.104, delta=0.002)
        done = server.cli(*COMMAND, "--fail-on", "5%", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("parse surely costs", done.stderr)
        self.assertEqual(server.cli(*COMMAND, "--fail-on", "50%").returncode, 0)

    def test_what_could_not_be_seen_is_said(self):
        server = self.server()
        self.send(server, "abc123", [100, 130, 85, 95, 110])
        self.send(server, "def456", [105, 90, 120, 100, 500])
        done = server.cli(*COMMAND, "--fail-on", "1%")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"no change of 1\.0 % could have been seen: only those of \d+\.\d % and more")
        self.assertIn("no function surely explains", done.stdout)
        done = server.cli(*COMMAND, "--mode", "raw", "--fail-on", "1%", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--fail-on needs", done.stderr)

    def test_per_request_neither_load_nor_length_is_a_change(self):
        """Twice the requests at the same cost each, but for parse, which costs half as much again."""
        server = self.server()
        now = time.time_ns() - 60 * 10**9
        for commit, requests, parse in (("abc123", 100, 4), ("def456", 200, 6)):
            for number in range(3):
                labels = dict(commit=commit, pod=f"{commit}-{number}")
                p = Profiles("my-service", **labels)
                ids = [(os.urandom(16), os.urandom(8)) for _ in range(requests)]
                samples = []
                for trace, span in ids:
                    for name, value in (("parse", parse), ("render", 3)):
                        samples.append(field(1, p.stack("main", name)) + field(3, p.link(trace, span)) + packed(4, [value]))
                p.profile(samples, now)
                self.assertEqual(server.send(p.encode()).status, 200)
                spans = [dict(trace=t, span=s, name="GET /", kind=2, start=now + 10**9, end=now + 2 * 10**9) for t, s in ids]
                self.assertEqual(server.send(spans_request("my-service", spans, **labels), "/v1/traces").status, 200)
        text = server.cli(*COMMAND, "--mode", "request").stdout
        self.assertIn("per request (300 and 600 requests): before 70 ms, after 90 ms, change +20 ms", text)
        self.assertRegex(text, r"causes, of the cost before, per request of each endpoint.*\n  more +\+28\.6 % .*  parse, called by main")
        self.assertRegex(text, r"\+20 ms +40 ms +60 ms +\+20 ms +\+\S+ ms to \+\S+ ms +more +more  parse")
        self.assertRegex(text, r" 0 ns +30 ms +30 ms +0 ns .*  render")
        exact = json.loads(server.cli(*COMMAND, "--mode", "request", "--json").stdout)
        self.assertEqual((exact["cause_basis"], exact["requests_before"], exact["requests_after"]), ("endpoints", 300, 600))
        self.assertEqual(server.cli(*COMMAND, "--mode", "request", "--fail-on", "10%", check=False).returncode, 1)

    def test_runs_in_files_are_groups(self):
        """The recipe for a build: five runs of a benchmark on each side, without a server."""
        for side, shares in (("before", [100, 104, 97, 101, 99]), ("after", [150, 146, 152, 149, 155]), ("same", [99, 102, 96, 103, 100])):
            (self.folder / side).mkdir()
            for number, share in enumerate(shares):
                p = Profiles("bench")
                p.profile([(p.stack("main", "parse"), share), (p.stack("main", "render"), 900)])
                (self.folder / side / f"{number}.otlp").write_bytes(p.encode())
        run = lambda *more: subprocess.run([BINARY, "diff", *more], capture_output=True, text=True)
        diff = lambda after, *more: run("--baseline", f"{self.folder}/before/*.otlp", "--comparison", f"{self.folder}/{after}/*.otlp", *more)
        done = diff("after", "--fail-on", "3%")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"  more +\+5\.\d % .*  parse, called by main")
        self.assertIn("compared by files (5 and 5)", done.stdout)
        self.assertIn("parse surely costs", done.stderr)
        self.assertEqual(diff("same", "--fail-on", "3%").returncode, 0)
        markdown = diff("after", "--format", "markdown").stdout
        self.assertRegex(markdown, r"- \*\*more\*\* \+5\.\d % .* `parse`, called by `main`")
        self.assertRegex(markdown, r"\| \+4\.\d \| 10\.0 % \| 14\.\d % \| \+4\.\d \| more \| `parse` \|")
        svg = diff("after", "--format", "svg").stdout
        self.assertIn("surely more", svg)
        ElementTree.fromstring(svg)
        # One file a side: the answer says what it cannot know.
        one = run(f"{self.folder}/before/0.otlp", f"{self.folder}/after/0.otlp", "--mode", "share").stdout
        self.assertIn("One file a side: by how much runs differ from each other is not in the intervals", one)
        # Per run: 1,000 samples of 10 ms, then some 1,050.
        runs = diff("after", "--mode", "request", "--fail-on", "3%")
        self.assertEqual(runs.returncode, 1)
        self.assertRegex(runs.stdout, r"cpu, per run \(5 and 5 runs\): before 10 s, after 10\.5 s, change \+50\d ms")
        self.assertRegex(runs.stdout, r"per run \(95 %\):\n  more +\+5\.\d % .*  parse, called by main")
        self.assertRegex(diff("after", "--mode", "request", "--format", "markdown").stdout, r"\| \+50\d ms \| 1 s \| 1\.5 s \| \+50\d ms \| more \| `parse` \|")
        server = self.server()
        mixed = server.cli("diff", "bench", str(self.folder / "after/0.otlp"), "--mode", "request", check=False)
        self.assertIn("two selections, or files on both sides", mixed.stderr)

    def test_the_recipe_of_the_documentation(self):
        """docs/ci.md, as it stands there, with a benchmark whose second version does half as much again."""
        recipe = next(block for block in re.findall(r"(?:^    .*\n)+", (ROOT / "docs/ci.md").read_text(), re.M) if "wherefore run" in block)
        for side, rounds in (("old", 20), ("new", 40)):
            (self.folder / side).mkdir()
            compile_text(BENCHMARK.replace("ROUNDS", str(rounds)), self.folder / side / "benchmark")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "WHEREFORE_"))}
        environment["PATH"] = f"{os.path.dirname(BINARY)}:{environment['PATH']}"
        done = subprocess.run(["bash", "-c", recipe], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=90)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        # Parse calls Spin more: which of the two is named is a matter of where more than chance ends. The figure is the near
        # end of the interval: below what was planted, and the lower the more the runs differ.
        surely = re.search(r"surely costs (\d+\.\d) % more.*\n", done.stderr)
        self.assertTrue(surely and 5 < float(surely[1]) < 60, done.stderr)
        self.assertIn("Parse", done.stderr)
        self.assertIn("compared by files (5 and 5)", done.stdout)

    def test_one_odd_instance_is_not_called_a_change(self):
        server = self.server()
        self.send(server, "abc123", [100, 130, 85, 95, 110])
        self.send(server, "def456", [105, 90, 120, 100, 500])
        self.assertEqual(self.row(server.cli(*COMMAND, "--json"), "parse")["self"]["verdict"], "undecided")

    def test_the_sides_have_two_names_or_none(self):
        done = self.server().cli("diff", "--baseline", "a", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--baseline and --comparison go together", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
