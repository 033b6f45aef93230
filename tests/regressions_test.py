#!/usr/bin/env python3
"""One test per defect found in the server or the command line."""
import gzip
import json
import subprocess
import time
import unittest

from harness import BINARY, ROOT, SPAN, TRACE, VECTOR, Case, Profiles, field, fixed64, http, one_profile, spans_request


class Regressions(Case):
    def test_the_script_that_starts_everything_says_what_it_does_at_once(self):
        for flag in (("--help",), ("-h",), ("--no-demo", "--help")):
            done = subprocess.run([str(ROOT / "run"), *flag], capture_output=True, text=True, timeout=10)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for text in ("--no-demo", "three C++ services", "wherefore serve --help"):
                self.assertIn(text, done.stdout)

    def test_config_file_counts_and_mistakes_in_it_are_usage_errors(self):
        config = self.folder / "c.conf"
        config.write_text('# ours\ntoken = "abc"\nretention: 7d\n')
        with self.server("--config", str(config)) as server:
            self.assertEqual(http("GET", server.http + "/api/v1/status").status, 401)
            status = http("GET", server.http + "/api/v1/status", headers={"Authorization": "Bearer abc"})
            self.assertIn(b"7 d", status.body)
        for text in ("nonsense = 1\n", "http-port = many\n", "just words\n"):
            config.write_text(text)
            done = subprocess.run([BINARY, "serve", "--config", str(config), "--data", str(self.folder / "x")], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("c.conf:1", done.stderr)
        self.assertEqual(subprocess.run([BINARY, "serve", "--config", "/no/such/file"], capture_output=True).returncode, 2)

    def test_delete_forgets_only_requests_of_what_was_deleted(self):
        with self.server() as server:
            kept, gone = one_profile("kept", 5), one_profile("gone", 3)
            for body in (kept, gone):
                server.send(body)
            server.cli("delete", "gone", "--from", "-1d", "--to", "now", "--yes")
            for body in (kept, gone):
                server.send(body)
            server.flush()
            self.assertEqual((server.total("kept"), server.total("gone")), (5, 3))
            now = time.time_ns()
            server.send(spans_request("only-spans", [{"trace": TRACE, "span": SPAN, "start": now, "end": now + 2**63 + 5}]), "/v1/traces")
            server.flush()
            self.assertGreater(int(server.ask("traces/" + TRACE.hex())["spans"][0]["duration_ns"]), 0)
            self.assertIn('"spans":1', server.cli("delete", "only-spans", "--from", "-1d", "--to", "-0s", "--yes").stdout)
            self.assertEqual(server.get("/api/v1/traces/" + TRACE.hex()).status, 404)

    def test_senseless_options_are_refused_with_a_sentence(self):
        folded = self.folder / "a.folded"
        folded.write_text("main;f 3\n")
        for arguments, words in ((("serve", "--data", str(self.folder / "x"), "--retention", "0d"), "would keep nothing"),
                                 (("serve", "--data", str(self.folder / "x"), "--query-memory", "1MB"), "at least 16MiB"),
                                 (("serve", "--data", str(self.folder / "x"), "--query-memory", "much"), "is not a size"),
                                 (("top", str(folded), "--limit", "-5"), "range"),
                                 (("diff", str(folded), str(folded), "--limit", "-1"), "range"),
                                 (("flame", str(folded), "--rows", "-1"), "range")):
            done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "x").exists())

    def test_doctor_prints_one_json_document(self):
        with self.server() as server:
            report = json.loads(server.cli("--json", "doctor").stdout)
            self.assertEqual(report["problems"], 0)
            self.assertTrue(all(c["state"] == "ok" for c in report["checks"]))
        done = subprocess.run([BINARY, "--json", "--server", "http://127.0.0.1:1", "doctor"], capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, json.loads(done.stdout)["problems"]), (1, 1))

    def test_a_question_stays_within_its_memory(self):
        """20,000 different stacks of 30 frames need more than the limit; small queries still work."""
        folded = self.folder / "many.folded"
        with folded.open("w") as out:
            for i in range(20_000):
                out.write("main;" + ";".join(f"f{i}_{d}" for d in range(30)) + " 1\n")
        with self.server() as server:
            server.send(one_profile("small", 5))
            server.cli("push", str(folded), "--service", "many")
            self.assertEqual(server.total("many"), 20_000)
        with self.server("--query-memory", "32MiB") as server:
            for path in ("flame?query=many", "top?query=many", "export?query=many&format=pprof", "export?query=many&format=folded",
                         "export?query=many&format=speedscope", "list?query=many&function=f1_1"):
                answer = http("GET", server.http + "/api/v1/" + path + "&type=samples&since=1d")
                self.assertEqual(answer.status, 429, (path, answer.body[:300]))
                self.assertIn(b"--query-memory", answer.body)
            self.assertEqual(server.total("small"), 5)

    def test_delete_by_label_takes_spans_and_leaves_no_name(self):
        now = time.time_ns()
        spans = [{"trace": bytes([i + 1] * 16), "span": bytes([i + 1] * 8), "start": now, "end": now + 5, "name": f"op{i}", "attributes": a}
                 for i, a in enumerate(({"user": "secret-user-name"}, {"user": "fine", "zone": "eu-1"}, {"zone": "us-1"}, {}))]
        with self.server() as server:
            server.send(spans_request("shop", spans), "/v1/traces")
            server.send(spans_request("other", [dict(spans[0], trace=bytes([9] * 16))]), "/v1/traces")
            server.send(one_profile("shop", 5, names=("main", "fine_function")))
            server.flush()

            def delete(selector):
                return json.loads(server.cli("delete", selector, "--from", "-1d", "--to", "-0s", "--yes").stdout)["spans"]

            def left():
                return [i for i in range(4) if server.get("/api/v1/traces/" + spans[i]["trace"].hex()).status == 200]

            self.assertEqual(delete('shop{user="nobody"}'), 0)
            self.assertEqual(delete('shop{zone=~"us-.*",user=""}'), 1)
            self.assertEqual(left(), [0, 1, 3])
            self.assertEqual(delete('shop{user="secret-user-name"}'), 1)
            self.assertEqual(left(), [1, 3])
            self.assertEqual(delete('{user="secret-user-name"}'), 1)  # of the other service
            self.assertEqual(server.total("shop"), 5)
            self.assertEqual(delete('shop{zone!~"eu.*",user!="fine"}'), 1)
            self.assertEqual(left(), [1])
            self.assertEqual(server.total("shop"), 0, "profiles without these labels match too")

    def test_names_do_not_reach_the_terminal_raw(self):
        with self.server() as server:
            server.send(one_profile("esc\x1b[31m", 1, names=("main", "ev\x1b]0;pwn\x07il\nline")))
            server.flush()
            for command in (["top", "{}", "--type", "samples"], ["tree", "{}"], ["flame", "{}"], ["list", "ev", "{}"], ["query"], ["query", "{}", "--by", "service.name"]):
                out = server.cli(*command).stdout
                self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f]", command)

    def test_cpu_of_counts_with_different_periods_is_added_up_as_time(self):
        with self.server() as server:
            for period, value in ((10_000_000, 2), (50_000_000, 2)):
                p = Profiles("mix")
                p.profile([(p.stack("main"), value)])
                body = p.encode()
                server.send(body.replace(field(6, 10_000_000), field(6, period)) if period != 10_000_000 else body)
            server.flush()
            self.assertEqual(server.total("mix", type="cpu"), 120_000_000)
            out = self.folder / "mix.pb.gz"
            server.cli("query", "mix", "--type", "cpu", "--format", "pprof", "-o", str(out))
            top = json.loads(server.cli("top", str(out), "--json").stdout)
            self.assertEqual((top["type"], top["total"]), ("cpu", 120_000_000))

    def test_exports_keep_to_the_rules_and_averages_stay_averages(self):
        with self.server() as server:
            now = time.time_ns()
            for i in range(4):
                p = Profiles("heap")
                p.strings[1:5] = ["inuse_space", "bytes", "space", "bytes2"]
                p.profile([(p.stack("main"), 1000)], now - i * 10**9)
                server.send(p.encode())
            server.flush()
            self.assertEqual(server.get("/api/v1/export", query="heap", type="inuse_space", format="folded").body, b"main 1000\n")
            out = self.folder / "back.otlp"
            out.write_bytes(server.get("/api/v1/export", query="heap", format="otlp").body)
            checked = subprocess.run([BINARY, "check", str(out)], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)
            self.assertNotIn("orphan", checked.stdout)
            self.assertEqual(server.get("/api/v1/export", query="heap", format="otlp", lens="my-code").status, 400)
            self.assertEqual(server.get("/api/v1/flame", query="heap", format="xml").status, 400)
            self.assertEqual(server.get("/api/v1/profiles/" + "00" * 16).status, 404)

    def test_kept_payloads_come_back(self):
        with self.server("--keep-payload") as server:
            id = bytes(range(3, 19))
            p = Profiles("kept")
            p.profile([(p.stack("main"), 1)], id=id, extra=field(9, "pprof") + field(10, b"\x1f\x8b the file"))
            server.send(p.encode())
            server.flush()
            back = server.get("/api/v1/profiles/" + id.hex(), format="otlp").body
            self.assertIn(field(9, "pprof") + field(10, b"\x1f\x8b the file"), back)

    def test_events_and_links_of_spans_come_back(self):
        with self.server() as server:
            now = time.time_ns()
            event = field(11, fixed64(1, now + 7) + field(2, "retry") + field(3, field(1, "n") + field(2, field(3, 2))))
            link = field(13, field(1, bytes(range(2, 18))) + field(2, bytes(8 * [7])))
            server.send(spans_request("ev", [{"trace": TRACE, "span": SPAN, "start": now, "end": now + 9, "extra": event + link}]), "/v1/traces")
            server.flush()
            span = server.ask("traces/" + TRACE.hex())["spans"][0]
            self.assertEqual([(e["name"], e["attributes"]) for e in span["events"]], [("retry", {"n": "2"})])
            self.assertEqual(span["links"][0]["span"], "07" * 8)
            self.assertEqual(span["scope"], "test")

    def test_selection_mistakes_and_odd_files(self):
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(run("push", "/").returncode, 3)
        self.assertEqual(run("top", "a", "b").returncode, 2)
        self.assertEqual(run("top", "a", "--service", "b").returncode, 2)
        (self.folder / "v.otlp.gz").write_bytes(gzip.compress(VECTOR))
        self.assertIn("main", run("top", "v.otlp.gz", "--type", "samples").stdout)
        (self.folder / "f.folded.gz").write_bytes(gzip.compress(b"main;foo 3\n"))
        self.assertIn("ROUTINE foo", run("list", "foo", "f.folded.gz").stdout)
        for command in (["top"], ["tree"], ["flame"]):
            done = run(*command, "f.folded.gz", "--lens", "focus:nowhere")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "the lens 'focus:nowhere' removes everything\n"), command)
        self.assertIn("removes everything", run("diff", "f.folded.gz", "f.folded.gz", "--lens", "focus:nowhere").stderr)
        deep = ";".join(f"f{i}" for i in range(3000)) + " 1\n"
        (self.folder / "deep.folded").write_text(deep)
        self.assertLess(len(run("tree", "deep.folded").stdout), 1_000_000)
        with self.server() as server:
            (self.folder / "good").write_bytes(b"\x7fELF not a profile")
            server.send(one_profile("good", 3))
            server.flush()
            done = subprocess.run([BINARY, "top", "good", "--type", "samples", "--server", server.http], capture_output=True, text=True, cwd=self.folder)
            self.assertIn("work", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
