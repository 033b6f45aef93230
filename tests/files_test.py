#!/usr/bin/env python3
"""Files on the command line: shown without a server, pushed to one, exported from it; compared with `go tool pprof`."""
import gzip
import json
import os
import shutil
import subprocess
import unittest

from harness import BINARY, ROOT, VECTOR, Case, Profiles, field, http


class Files(Case):
    def test_a_name_that_two_types_share_is_refused_with_both(self):
        def pprof(period):
            texts = ("", "delay", "nanoseconds", period, "count", "main")
            return (field(1, field(1, 1) + field(2, 2)) + field(11, field(1, 3) + field(2, 4)) +
                    field(2, field(1, b"\x01") + field(2, b"\x07")) + field(4, field(1, 1) + field(4, field(1, 1))) +
                    field(5, field(1, 1) + field(2, 5)) + b"".join(field(6, text) for text in texts))

        files = [self.folder / "mutex.pb", self.folder / "block.pb"]
        for file, period in zip(files, ("contentions", "block")):
            file.write_bytes(pprof(period))
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True)
        for command in (["top"], ["list", "main"]):
            done = run(*command, *map(str, files), "--type", "delay")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("name one: block:delay:nanoseconds:block:count, mutex:delay:nanoseconds:contentions:count", done.stderr)
        for type in ("mutex", "block", "block:delay:nanoseconds:block:count"):
            self.assertRegex(run("top", *map(str, files), "--type", type).stdout, r"total 7\b|total 7 ns")
        self.assertEqual(run("top", str(files[0]), "--type", "delay").returncode, 0)

    def test_a_pprof_file_of_several_types_is_shown_one_by_one(self):
        """A row may have a value for any type; observations are known only if the file says."""
        texts = ("", "cpu", "nanoseconds", "alloc_space", "bytes", "main", "burn", "alloc")
        value_type = lambda type, unit: field(1, type) + field(2, unit)
        rows = [((2, 1), (30 * 10**6, 0)), ((3, 1), (0, 300 << 20))]
        varint = lambda n: bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
        both = b"".join(field(2, field(1, bytes(stack)) + field(2, b"".join(map(varint, values)))) for stack, values in rows)
        file = self.folder / "operation.pb"
        file.write_bytes(field(1, value_type(1, 2)) + field(1, value_type(3, 4)) + field(11, value_type(1, 2)) + field(12, 10**7) + both +
                         b"".join(field(4, field(1, i) + field(4, field(1, i))) + field(5, field(1, i) + field(2, 4 + i)) for i in (1, 2, 3)) +
                         b"".join(field(6, text) for text in texts))
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True, check=True).stdout
        space = run("top", str(file), "--type", "alloc_space")
        self.assertIn("alloc_space: total 300 MiB, observations unknown\n", space)
        self.assertRegex(space, r"(?m)^ +300 MiB +100\.0 % +300 MiB +100\.0 %  alloc$")  # and no error of the share
        self.assertNotIn("burn", space)
        self.assertNotIn("other", space)
        self.assertNotIn("burn", run("tree", str(file), "--type", "alloc_space", "--min-share", "0"))
        self.assertEqual(run("tree", str(file), "--min-share", "2%"), run("tree", str(file), "--min-share", "0.02"))
        self.assertEqual(run("top", str(file), "-n", "1"), run("top", str(file), "--limit", "1"))
        exact = json.loads(run("top", str(file), "--type", "alloc_space", "--json"))
        self.assertNotIn("count", exact)
        self.assertEqual([(r["name"], r["total"]) for r in exact["rows"]], [("alloc", 300 << 20), ("main", 300 << 20)])
        cpu = run("top", str(file))
        self.assertIn("cpu: total 30 ms, 3 observations\n", cpu)
        self.assertNotIn("alloc", cpu)
        file.write_bytes(file.read_bytes().replace(field(2, field(1, bytes(rows[0][0])) + field(2, varint(30 * 10**6) + b"\0")), b""))
        none = subprocess.run([BINARY, "top", str(file)], capture_output=True, text=True)
        self.assertEqual((none.returncode, none.stdout, none.stderr), (1, "", f"{file} has nothing of type 'cpu' in it\n"))

    def test_files_without_a_server_and_pushed(self):
        folded = self.folder / "a.folded"
        folded.write_text("main;parse;tokenize 30\nmain;parse 12\nmain;send 8\n")
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True)
        top = run("top", str(folded), "--type", "samples")
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertRegex(top.stdout, r"(?m)^ +30 +60.0 % .* tokenize")
        self.assertIn("main", run("flame", str(folded), "--type", "samples").stdout)
        later = self.folder / "b.folded"
        later.write_text("main;parse;tokenize 50\nmain;send 8\n")
        diff = run("diff", str(folded), str(later), "--type", "samples")
        self.assertRegex(diff.stdout, r"(?m)^ +\+20 .* tokenize")
        with self.server() as server:
            pushed = server.cli("push", str(folded), "--service", "fold").stdout
            command = next(l for l in pushed.splitlines() if "wherefore top" in l).split()
            again = subprocess.run([BINARY, *command[1:]], capture_output=True, text=True)
            self.assertRegex(again.stdout, r"(?m)^ +30 +60.0 % .* tokenize", pushed)
            exported = server.cli("query", "fold", "--format", "folded").stdout
            self.assertEqual(sorted(exported.split("\n")), sorted(folded.read_text().split("\n")))
            for kind in ("svg", "speedscope", "pprof", "otlp"):
                out = self.folder / kind
                server.cli("query", "fold", "--format", kind, "-o", str(out))
                self.assertGreater(out.stat().st_size, 50, kind)
            speedscope = json.loads((self.folder / "speedscope").read_text())
            self.assertEqual(speedscope["profiles"][0]["endValue"], 50)

    def test_every_format_is_read_by_everything_that_reads_files(self):
        """One file of each, gzipped or not: on the command line, in the ad hoc view, and pushed. The unit tests check
        that no format is missing."""
        with self.server() as server:
            for file in sorted((ROOT / "tests/golden/formats").iterdir()):
                packed = self.folder / (file.name + ".gz")
                packed.write_bytes(gzip.compress(file.read_bytes()))
                traces, picture = "traces" in file.name, file.name == "flamebearer"
                for path in (file, packed):
                    shown = http("POST", server.http + "/api/v1/adhoc", path.read_bytes())
                    top = subprocess.run([BINARY, "top", str(path), "--json"], capture_output=True, text=True)
                    if traces:
                        self.assertEqual((shown.status, top.returncode), (400, 2), path)
                        for said in (shown.json["error"]["message"], top.stderr):
                            self.assertIn("has traces, not profiles", said, path)
                    else:
                        self.assertEqual((shown.status, top.returncode), (200, 0), f"{path}: {shown.body} {top.stderr}")
                        self.assertGreater(shown.json["total"], 0, path)
                        self.assertGreater(len(json.loads(top.stdout)["rows"]), 0, path)
                    pushed = server.cli("push", str(path), "--service", file.name, "--now", check=False)
                    self.assertEqual(pushed.returncode == 0, not picture, f"{path}: {pushed.stderr}")
                    if picture:
                        self.assertIn("has no samples", pushed.stderr)
            self.assertEqual(server.ask("flame", query="speedscope", type="samples")["total"], 2 * 10**7)

    def test_standard_input_is_a_file_too(self):
        with self.server() as server:
            for arguments in ([], ["-"]):
                done = subprocess.run([BINARY, "push", *arguments, "--service", "piped", "--server", server.http], input="main;work 7\n", capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.ask("flame", query="piped", type="samples")["total"], 14)
        top = subprocess.run([BINARY, "top", "-", "--json"], input="main;work 7\n", capture_output=True, text=True)
        self.assertEqual(json.loads(top.stdout)["total"], 7, top.stderr)

    def test_check_names_the_violation(self):
        good, bad = self.folder / "good.otlp", self.folder / "bad.otlp"
        good.write_bytes(VECTOR)
        p = Profiles()
        bad.write_bytes(p.profile([(99, 1)]).encode())
        run = lambda *a: subprocess.run([BINARY, "check", *a], capture_output=True, text=True)
        self.assertEqual(run(str(good)).returncode, 0)
        found = run(str(bad))
        self.assertEqual(found.returncode, 1)
        self.assertIn("samples[0].stack_index", found.stdout)
        self.assertEqual(run(str(self.folder / "none")).returncode, 3)

    def test_usage_errors_and_help(self):
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True)
        self.assertEqual(run("nonsense").returncode, 2)
        self.assertEqual(run("top", "x", "--server", "http://127.0.0.1:1").returncode, 3)
        for command in ("serve", "push", "query", "top", "list", "tree", "flame", "diff", "trace", "check", "doctor", "delete", "backup", "restore"):
            self.assertIn("EXAMPLES", run(command, "--help").stdout, command)
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("push", run("completion", shell).stdout)


class Pprof(Case):
    """Files of real programs survive a round trip: `go tool pprof` sees no difference."""

    def top(self, file, *flags):
        done = subprocess.run(["go", "tool", "pprof", "-top", *flags, str(file)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @unittest.skipIf(shutil.which("go") is None and not os.environ.get("CI"), "go is not installed")
    def test_go_tool_pprof_prints_the_same_for_original_and_export(self):
        with self.server() as server:
            for name, types in (("go_cpu", ["cpu", "samples"]), ("cpp_cpu", ["cpu", "samples"]),
                                ("go_heap", ["inuse_space", "inuse_objects", "alloc_space", "alloc_objects"])):
                original = ROOT / f"tests/golden/{name}.pb.gz"
                server.cli("push", str(original), "--service", name)
                back = self.folder / f"{name}.pb.gz"
                server.cli("query", name, "--since", "3000d", "--format", "pprof", "-o", str(back))
                same = self.top(back)
                if "Time:" not in self.top(original):  # a file without a time is of when it arrived
                    same = "".join(l for l in same.splitlines(True) if not l.startswith("Time:"))
                self.assertEqual(self.top(original), same, name)
                for type in types:
                    rows = [self.top(f, "-sample_index=" + type).split("flat  flat%")[1] for f in (original, back)]
                    self.assertEqual(*rows, (name, type))


if __name__ == "__main__":
    unittest.main(verbosity=1)
