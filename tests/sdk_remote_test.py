"""libwherefore under remote control: a small OpAMP server, and a real program that obeys it.

tests/sdk/remote.cc, linked with the library. The server here takes profiles too, as the real one does on one port, and
offers a `profiling.yaml` until the program says that it has it.
"""
import gzip
import hashlib
import http.server
import os
import pathlib
import re
import subprocess
import threading
import time
import unittest
import uuid

import sdk_bytes
from compiled import LINK_SHARED, compile_program
from harness import ROOT, Case, field, wait_until

INTERVAL = 0.5
APPLIED, FAILED = 1, 3
CAPABILITIES = 0x1 | 0x2 | 0x4 | 0x800 | 0x1000 | 0x2000


def attributes(items):
    """KeyValue{1 key, 2 AnyValue{1 string, 3 int}} -> dict"""
    found = {}
    for item in map(sdk_bytes.message, items):
        value = sdk_bytes.message(sdk_bytes.one(item, 2, b""))
        found[sdk_bytes.one(item, 1).decode()] = sdk_bytes.one(value, 1).decode() if 1 in value else sdk_bytes.one(value, 3)
    return found


class Report:
    """One AgentToServer."""

    def __init__(self, body, headers):
        message = sdk_bytes.message(body)
        self.time, self.fields, self.headers = time.monotonic(), set(message), headers
        self.uid = sdk_bytes.one(message, 1)
        self.sequence, self.capabilities = sdk_bytes.one(message, 2), sdk_bytes.one(message, 4)
        description = sdk_bytes.message(sdk_bytes.one(message, 3, b""))
        self.identifying, self.other = attributes(description[1]), attributes(description[2])
        self.effective = None
        if 6 in message:
            files = sdk_bytes.message(sdk_bytes.one(sdk_bytes.message(sdk_bytes.one(message, 6)), 1))[1]
            entry, = map(sdk_bytes.message, files)
            assert sdk_bytes.one(entry, 1) == b"profiling.yaml"
            self.effective = sdk_bytes.one(sdk_bytes.message(sdk_bytes.one(entry, 2)), 1).decode()
        status = sdk_bytes.message(sdk_bytes.one(message, 7, b""))
        self.hash, self.status = sdk_bytes.one(status, 1, b""), sdk_bytes.one(status, 2)
        self.message = sdk_bytes.one(status, 3, b"").decode()


class OpampServer:
    """Takes OTLP and OpAMP on one port of loopback."""

    def __init__(self, opamp_status=200):
        self.opamp_status, self.lock = opamp_status, threading.Lock()
        self.reports, self.profiles, self.traces, self.offered = [], [], [], None
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
                status, answer = owner.take(self.path, body, self.headers)
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *unused):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def take(self, path, body, headers):
        with self.lock:
            if path != "/v1/opamp":
                (self.profiles if path.endswith("profiles") else self.traces).append((time.monotonic(), body))
                return 200, b""
            report = Report(body, headers)
            known = any(r.uid == report.uid for r in self.reports)
            self.reports.append(report)
            if self.opamp_status != 200:
                return self.opamp_status, b""
            answer = field(1, report.uid)
            if self.offered and not any(r.uid == report.uid and r.hash == self.hash for r in self.reports):
                file = field(1, field(1, "profiling.yaml") + field(2, field(1, self.offered) + field(2, "text/yaml")))
                answer += field(3, field(1, file) + field(2, self.hash))
            return 200, answer + (b"" if known or 3 in report.fields else b"\x30\x01")

    @property
    def hash(self):
        return hashlib.sha256(self.offered.encode()).digest()

    def offer(self, yaml, uid=None):
        """Waits for what the program says to it; it has one interval to do so. The machine may be busy."""
        with self.lock:
            self.offered = yaml
        offered = time.monotonic()
        found = []

        def answered():
            with self.lock:
                found[:] = [r for r in self.reports if r.hash == self.hash and (uid is None or r.uid == uid)]
            return found
        wait_until(answered, 30, f"no status for {yaml!r}")
        assert found[0].time - offered < INTERVAL + 1.5, f"it took {found[0].time - offered:.1f} s"
        return found[0]

    def sent(self):
        with self.lock:
            return list(self.profiles)

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def periods(body):
    """sample type -> period, of a request of profiles."""
    request = sdk_bytes.message(body)
    strings = [s.decode() for s in sdk_bytes.message(sdk_bytes.one(request, 2))[5]]
    found = {}
    for resource in map(sdk_bytes.message, request[1]):
        for scope in map(sdk_bytes.message, resource[2]):
            for profile in map(sdk_bytes.message, scope[2]):
                kind = strings[sdk_bytes.one(sdk_bytes.message(sdk_bytes.one(profile, 1)), 1)]
                found[kind] = sdk_bytes.one(profile, 6)
    return found


class Program:
    def __init__(self, case, binary, endpoint, **environment):
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "WHEREFORE_"))}
        self.log = case.folder / f"log-{time.monotonic_ns()}"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**clean, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "WHEREFORE_UPLOAD_INTERVAL": f"{INTERVAL}s",
                     "WHEREFORE_MAX_OVERHEAD": "100%", **environment})
        case.addCleanup(self.close)

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def state(self):
        """type -> (on, rate, why)"""
        found = {}
        for part in self.ask("state").rstrip(";").split(";"):
            name, rest = part.split("=", 1)
            on, rate, why = rest.split(":", 2)
            found[name] = (on == "on", float(rate), why)
        return found

    def timers(self):
        """How many timers of CPU time it has, as far as the kernel says."""
        file = pathlib.Path(f"/proc/{self.process.pid}/timers")
        return len(re.findall("^ID:", file.read_text(), re.M)) if file.exists() else None

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(60)


class Remote(Case):
    def setUp(self):
        super().setUp()
        self.binary = compile_program(ROOT / "tests/sdk/remote.cc", self.folder / "remote", *LINK_SHARED)

    def serve(self, **options):
        server = OpampServer(**options)
        self.addCleanup(server.close)
        return server

    def start(self, server, **environment):
        program = Program(self, self.binary, server.url, **environment)
        wait_until(lambda: server.reports or server.opamp_status != 200, 30, "it does not ask")
        return program

    def assert_quiet(self, server, intervals=4):
        """Nothing is sent any more, but for what was on its way."""
        time.sleep(INTERVAL)
        before = len(server.sent())
        time.sleep(intervals * INTERVAL)
        self.assertEqual(len(server.sent()), before, "it still sends profiles")

    def test_says_who_it_is_and_then_only_that_it_is_there(self):
        server = self.serve()
        program = self.start(server, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20x",
                             OTEL_RESOURCE_ATTRIBUTES="service.namespace=shop,service.version=v1")
        wait_until(lambda: len(server.reports) >= 3, 30)
        self.assertEqual(program.end(), 0)
        reports = server.reports
        first = reports[0]
        self.assertTrue(server.sent() and server.sent()[0][0] <= first.time, "it asked before the first upload")
        self.assertEqual(len({r.uid for r in reports}), 1)
        self.assertEqual(uuid.UUID(bytes=first.uid).version, 7)
        self.assertEqual([r.sequence for r in reports], list(range(first.sequence, first.sequence + len(reports))))
        self.assertEqual({r.capabilities for r in reports}, {CAPABILITIES})
        self.assertEqual({r.headers["opamp-instance-uid"] for r in reports}, {str(uuid.UUID(bytes=first.uid))})
        self.assertEqual({r.headers["authorization"] for r in reports}, {"Bearer x"})
        self.assertEqual(set(first.identifying), {"service.name", "service.namespace", "service.instance.id"})
        self.assertEqual(first.identifying["service.name"], "remote")
        self.assertEqual((first.other["service.version"], first.other["process.pid"]), ("v1", program.process.pid))
        self.assertIn("  cpu: {enabled: true, sample_rate: 100}", first.effective)
        for report in reports[1:-1]:
            self.assertEqual(report.fields, {1, 2, 4})
            self.assertGreater(report.time - first.time, 0.8 * INTERVAL, "once per interval")
        self.assertIn(9, reports[-1].fields, "it does not say that it ends")
        self.assertIn(f"obeys {server.url}/v1/opamp", program.log.read_text())

    def test_off_samples_nothing_and_on_brings_everything_back(self):
        server = self.serve()
        program = self.start(server, WHEREFORE_CPU_RATE="40", WHEREFORE_HEAP_RATE="64KiB")
        before = program.state()
        self.assertEqual({name for name, state in before.items() if state[0]}, set(before), before)
        if program.timers() is not None:
            self.assertGreater(program.timers(), 0)
        report = server.offer("profiling:\n  enabled: false\n")
        self.assertEqual((report.status, report.message), (APPLIED, ""))
        self.assertIn("  enabled: false\n", report.effective)
        self.assertEqual({state[::2] for state in program.state().values()}, {(False, "switched off remotely")})
        self.assertIn(program.timers(), (0, None))
        self.assert_quiet(server)
        quiet = len(server.sent())
        report = server.offer("profiling: {enabled: true}")
        self.assertEqual(report.status, APPLIED)
        self.assertIn("  enabled: true\n", report.effective)
        wait_until(lambda: len(server.sent()) >= quiet + 3, 30, "profiles did not come back")
        after = program.state()
        self.assertEqual({name: state[0] for name, state in after.items()}, {name: state[0] for name, state in before.items()})
        for name in ("cpu", "wall", "off_cpu", "threads"):
            self.assertEqual(after[name][1], before[name][1], name)
        found = periods(server.sent()[-1][1])
        self.assertEqual(found["cpu"], 25_000_000)
        self.assertEqual({"cpu", "wall", "off_cpu", "alloc_space", "delay"} - set(found), set())
        self.assertEqual(program.end(), 0)
        log = program.log.read_text()
        self.assertIn("wants it: on: nothing; off: cpu (switched off remotely)", log)

    def test_types_and_rates_change_and_go_back(self):
        server = self.serve()
        program = self.start(server)
        report = server.offer("profiling:\n  cpu: {sample_rate: 20}\n  memory: {enabled: false}\n  wall_clock: {sample_rate: 5}\n")
        self.assertEqual(report.status, APPLIED)
        state = program.state()
        self.assertEqual(state["cpu"], (True, 20, "set remotely"))
        self.assertEqual(state["heap"][::2], (False, "switched off remotely"))
        self.assertEqual(state["block"][::2], (True, ""))
        since = len(server.sent())
        wait_until(lambda: len(server.sent()) >= since + 2, 30)
        found = periods(server.sent()[-1][1])
        self.assertEqual(found["cpu"], 50_000_000)
        self.assertNotIn("alloc_space", found)
        # What a later file does not say is as it was before the first.
        self.assertEqual(server.offer("profiling: {}\n").status, APPLIED)
        state = program.state()
        self.assertEqual(state["cpu"], (True, 100, ""))
        self.assertTrue(state["heap"][0])

    def test_a_broken_file_changes_nothing(self):
        server = self.serve()
        program = self.start(server)
        self.assertEqual(server.offer("profiling:\n  cpu: {sample_rate: 25}\n").status, APPLIED)
        for yaml, message in (("profiling:\n  mutex: off\n  cpu: {sample_rate: fast}\n", r"profiling.yaml: line 3: cpu.sample_rate: 'fast'"),
                              ("profiling:\n  cpu: [\n", "line 2"), ("no: file of ours\n", "there is no profiling: block")):
            report = server.offer(yaml)
            self.assertEqual(report.status, FAILED, yaml)
            self.assertRegex(report.message, message)
            state = program.state()
            self.assertEqual((state["cpu"][1], state["mutex"][0]), (25, True), yaml)
        self.assertIn("the remote configuration changes nothing", program.log.read_text())

    def test_what_is_not_the_servers_to_choose(self):
        server = self.serve()
        program = self.start(server, CODE_SAYS_NO_HEAP="1", WHEREFORE_MUTEX="off", WHEREFORE_MAX_OVERHEAD="2%")
        evil = self.serve()
        report = server.offer(f"profiling:\n  endpoint: {evil.url}\n  output_file: {self.folder}/stolen\n  heap: {{enabled: true}}\n"
                              "  mutex: on\n  max_overhead: 90%\n  cpu: {sample_rate: 10}\n")
        self.assertEqual(report.status, APPLIED)
        self.assertIn("  heap: {enabled: false", report.effective)
        self.assertIn("  mutex: {enabled: true", report.effective)
        self.assertIn("  max_overhead_percent: 2\n", report.effective)
        state = program.state()
        self.assertEqual((state["heap"][0], state["mutex"][0], state["cpu"][1]), (False, True, 10))
        since = len(server.sent())
        wait_until(lambda: len(server.sent()) > since, 30)
        self.assertEqual((evil.sent(), list(self.folder.glob("stolen*"))), ([], []))
        self.assertIn("'endpoint' is not the server's to choose", program.log.read_text())

    def test_switched_off_here_nobody_is_asked(self):
        server = self.serve()
        program = Program(self, self.binary, server.url, WHEREFORE_REMOTE="off")
        wait_until(lambda: len(server.sent()) >= 4, 30)
        self.assertEqual(server.reports, [])
        self.assertEqual(program.end(), 0)
        self.assertNotIn("obeys", program.log.read_text())

    def test_a_server_without_opamp_is_asked_once_an_hour(self):
        server = self.serve(opamp_status=404)
        program = self.start(server)
        wait_until(lambda: len(server.sent()) >= 5, 30)
        self.assertEqual(len(server.reports), 1)
        self.assertEqual(program.end(), 0)
        self.assertNotIn("404", program.log.read_text(), "most servers know nothing of it: not worth a word")

    def test_an_address_of_its_own(self):
        server, control = self.serve(), self.serve()
        program = Program(self, self.binary, server.url, OTEL_OPAMP_ENDPOINT=control.url)
        wait_until(lambda: len(control.reports) >= 2, 30)
        self.assertEqual((server.reports, control.sent()), ([], []))
        self.assertEqual(program.end(), 0)

    def test_one_that_begins_switched_off_can_be_switched_on(self):
        server = self.serve()
        program = self.start(server, WHEREFORE_ENABLED="off")
        self.assertEqual({state[::2] for state in program.state().values()}, {(False, "switched off")})
        self.assertEqual(server.sent(), [])
        self.assertEqual(server.offer("profiling: {enabled: true}").status, APPLIED)
        wait_until(lambda: len(server.sent()) >= 2, 30, "it samples nothing")

    def test_a_forked_child_stays_off_and_asks_for_itself(self):
        server = self.serve()
        program = self.start(server)
        self.assertEqual(server.offer("profiling: {enabled: false}").status, APPLIED)
        parent = server.reports[0].uid
        child = int(program.ask("fork"))
        wait_until(lambda: any(r.uid != parent for r in server.reports), 30, "the child does not ask")
        mine = next(r for r in server.reports if r.uid != parent)
        self.assertEqual(mine.other["process.pid"], child)
        self.assertIn("  enabled: false\n", mine.effective)
        self.assert_quiet(server)
        self.assertEqual(server.offer("profiling: {enabled: true}", uid=mine.uid).status, APPLIED)
        wait_until(lambda: len(server.sent()) >= 3, 30)

    def test_conditions_on_requests_come_and_go(self):
        server = self.serve()
        program = self.start(server)
        report = server.offer("profiling: {conditional: {slow_request_threshold: 1s}}")
        self.assertEqual(report.status, APPLIED)
        self.assertIn("slow_request_threshold: 1s", report.effective)

        def reduced(since):
            for _ in range(20):
                self.assertEqual(program.ask("span"), "done")
            wait_until(lambda: len(server.sent()) >= since + 3, 30)
            return any(b"wherefore.profile.reduced" in body for _, body in server.sent()[since:])
        self.assertTrue(reduced(len(server.sent())), "links of fast requests are still there")
        server.offer("profiling: {}")
        since = len(server.sent())
        wait_until(lambda: len(server.sent()) >= since + 2, 30)
        self.assertFalse(reduced(len(server.sent())))


if __name__ == "__main__":
    unittest.main()
