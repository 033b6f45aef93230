#!/usr/bin/env python3
"""`profiling:`: what is enforced on senders, switching services off and on, and what SDKs are told over OpAMP."""
import itertools
import json
import os
import random
import re
import struct
import subprocess
import threading
import time
import unittest

import sdk_recorder
from harness import (BINARY, PROTOBUF, ROOT, SPAN, TRACE, Case, Profiles, engine_query, field, http, one_profile, spans_request,
                     wait_until)

UID = bytes(range(16))


def agent_message(sequence, service=None, capabilities=0x1003, status=None):
    """AgentToServer. status: (hash, state)."""
    body = field(1, UID) + field(2, sequence) + field(4, capabilities)
    if service:
        pairs = {"service.name": service, "service.instance.id": service + "-1"}
        body += field(3, b"".join(field(1, field(1, k) + field(2, field(1, v))) for k, v in pairs.items()))
    if status:
        body += field(7, field(1, status[0]) + field(2, status[1]))
    return body


def parse(data):
    """Fields of a message by number; the last of each counts."""
    fields, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 2:
            size = number()
            fields[key >> 3] = data[at:at + size]
            at += size
        else:
            assert key & 7 == 0, key
            fields[key >> 3] = number()
    return fields


def metric(server, name):
    total = 0
    for line in http("GET", server.http + "/metrics").body.decode().splitlines():
        if line.startswith(name + " ") or line.startswith(name + "{"):
            total += float(line.rsplit(" ", 1)[1])
    return total


class Limits(Case):
    def check(self, config):
        path = self.folder / "c.yaml"
        path.write_text(config)
        server = self.server("--config", str(path))
        p = Profiles("deep")
        deep = p.stack("main", *[f"f{i}" for i in range(10)], "leaf")
        p.profile([(deep, 5), (p.stack("main", "leaf"), 7)])
        self.assertEqual(http("POST", server.http + "/v1development/profiles", p.encode(),
                              {"content-type": PROTOBUF}).status, 200)
        p = Profiles("large")
        p.profile([(p.stack("main", f"function_with_a_long_name_{i:05}"), i + 1) for i in range(5000)])
        self.assertEqual(http("POST", server.http + "/v1development/profiles", p.encode(),
                              {"content-type": PROTOBUF}).status, 200)
        return server

    def test_without_service(self):
        server = self.check("profiling: {max_stack_depth: 4, max_profile_size: 64KB}")
        names = {row["name"] for row in server.ask("top", query="deep", type="samples", since="1h")["rows"]}
        self.assertEqual(names, {"[truncated]", "f7", "f8", "f9", "main", "leaf"})
        self.assertEqual(server.total("deep"), 12)
        top = server.ask("top", query="large", type="samples", since="1h", limit="10000")
        rows = {row["name"]: int(row["self"]) for row in top["rows"]}
        self.assertEqual(int(top["total"]), 5000 * 5001 // 2)
        self.assertGreater(rows["[other]"], 0)
        self.assertIn("function_with_a_long_name_04999", rows)
        self.assertNotIn("function_with_a_long_name_00000", rows)
        self.assertEqual(metric(server, "wherefore_profiling_cut_profiles_total"), 1)

    def test_before_exporters(self):
        out = self.folder / "out.json"
        server = self.check(f"""
profiling: {{max_stack_depth: 4}}
receivers: {{pyroscope: }}
exporters: {{file: {{path: {out}}}}}
service: {{pipelines: {{profiles: {{receivers: [pyroscope], exporters: [file]}}}}}}
""")
        wait_until(lambda: out.exists() and len(out.read_text().splitlines()) == 2)
        text = out.read_text().splitlines()[0]
        self.assertIn("[truncated]", text)
        self.assertNotIn('"f0"', text)
        server.stop()


class Control(Case):
    def url(self, service=None):
        return self.running.http + "/api/v1/profiling" + (f"/{service}" if service else "")

    def state(self, service=None):
        answer = http("GET", self.url(service))
        self.assertEqual(answer.status, 200)
        return answer.json["enabled"]

    def test_off_and_on(self):
        self.running = server = self.server()
        self.assertEqual(http("GET", self.url()).body, b'{"enabled":true}\n')
        answer = http("DELETE", self.url("demo"))
        self.assertEqual((answer.status, answer.body), (200, b"Profiling disabled"))
        self.assertFalse(self.state("demo"))
        self.assertTrue(self.state("other"))
        # OTLP, and a Pyroscope client: told that it was taken, nothing stored, counted.
        self.assertEqual(server.send(one_profile("demo", 5)).status, 200)
        ingest = server.http + f"/ingest?name=demo&format=folded&from={int(time.time())}&until={int(time.time()) + 10}"
        self.assertEqual(http("POST", ingest, b"main;work 7\n").status, 200)
        self.assertEqual(server.send(one_profile("other", 3)).status, 200)
        self.assertEqual(server.total("other"), 3)
        self.assertEqual([s["name"] for s in server.ask("services", since="1h")["services"]], ["other"])
        self.assertEqual(metric(server, "wherefore_profiling_off_profiles_total"), 2)
        self.assertIn("demo: profiles left out while off", json.dumps(server.ask("status")))
        # Over a kill.
        server.kill()
        server.start()
        self.assertFalse(self.state("demo"))
        answer = http("POST", self.url("demo"))
        self.assertEqual((answer.status, answer.body), (200, b"Profiling enabled"))
        self.assertEqual(server.send(one_profile("demo", 6)).status, 200)
        self.assertEqual(server.total("demo"), 6)

    def test_pyroscope_go_is_taken_and_left_out(self):
        """Requests as pyroscope-go sent them, byte for byte."""
        captures = sorted((ROOT / "tests/golden/sdk").glob("go-*.http"))
        profiles = [path for path in captures if "traces" not in path.name]
        self.assertGreaterEqual(len(profiles), 4)
        self.running = server = self.server()
        http("DELETE", self.url("shop-go"))
        for path in captures:
            status, body, _ = sdk_recorder.send(sdk_recorder.decode(path.read_bytes()), server.http)
            self.assertEqual(status, 200, body)
        self.assertEqual(metric(server, "wherefore_profiling_off_profiles_total"), 11, "of every type")
        found = {s["name"]: s["types"] for s in server.ask("services", since="9000d")["services"]}
        self.assertEqual(found.get("shop-go", []), [])
        http("POST", self.url("shop-go"))
        for path in profiles:
            self.assertEqual(sdk_recorder.send(sdk_recorder.decode(path.read_bytes()), server.http)[0], 200)
        found = {s["name"]: s["types"] for s in server.ask("services", since="9000d")["services"]}
        self.assertEqual(len(found["shop-go"]), 11)

    def test_a_program_with_libwherefore_obeys(self):
        self.running = server = self.server()
        program = subprocess.Popen(
            [BINARY, "run", "--types", "cpu", "--", "python3", "-c", "while True: sum(range(10000))"], stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "OTEL_SERVICE_NAME": "demo", "WHEREFORE_UPLOAD_INTERVAL": "1s",
                                            "OTEL_EXPORTER_OTLP_ENDPOINT": server.otlp_http})
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        total = lambda: server.total("demo", "cpu")
        wait_until(lambda: "demo" in [s["name"] for s in server.ask("services", since="1h")["services"]] and total() > 0, 30)
        self.assertEqual(http("DELETE", self.url("demo")).body, b"Profiling disabled")
        wait_until(lambda: re.search(r"off +applied", server.cli("profiling", "status", "demo").stdout), 20, "it was not told")
        time.sleep(2)  # what it had when it was told
        before = (total(), metric(server, "wherefore_profiling_off_profiles_total"))
        time.sleep(4)
        self.assertEqual((total(), metric(server, "wherefore_profiling_off_profiles_total")), before, "it samples nothing")
        self.assertEqual(http("POST", self.url("demo")).body, b"Profiling enabled")
        wait_until(lambda: total() > before[0], 20, "it did not begin again")

    def test_all_and_for(self):
        self.running = server = self.server()
        http("DELETE", self.url())
        self.assertFalse(self.state("any"))
        body = json.dumps({"sample_rate": 250, "types": ["cpu"], "for": "1s"}).encode()
        self.assertEqual(http("POST", self.url("any"), body).status, 200)
        self.assertTrue(self.state("any"))
        wait_until(lambda: not self.state("any"), 10)
        for bad in (b'{"rate": 1}', b'{"for": 5}', b"{", b'{"types": ["x"]}'):
            self.assertEqual(http("POST", self.url("any"), bad).status, 400, bad)
        self.assertIn("off", server.cli("profiling", "status").stdout)
        self.assertIn("Profiling enabled", server.cli("profiling", "on").stdout)
        self.assertTrue(self.state("any"))
        server.cli("profiling", "off", "a service/with slash")
        self.assertIn("a service/with slash", server.cli("profiling", "status").stdout)

    def test_opamp(self):
        path = self.folder / "c.yaml"
        path.write_text("profiling: {cpu: {enabled: true, sample_rate: 50}}")
        self.running = server = self.server("--config", str(path))

        def send(message, url=server.opamp, **headers):
            answer = http("POST", url, message, {"content-type": PROTOBUF, **headers})
            self.assertEqual(answer.status, 200, answer.body)
            return parse(answer.body)

        def offered(answer):
            config = parse(answer[3])
            file = parse(parse(config[1])[1])
            self.assertEqual(file[1], b"profiling.yaml")
            self.assertEqual(parse(file[2])[2], b"text/yaml")
            return parse(file[2])[1].decode(), config[2]

        self.assertEqual(send(agent_message(0))[6], 1, "ReportFullState")
        block, digest = offered(send(agent_message(1, "demo")))
        self.assertEqual(block, "profiling:\n  enabled: true\n  cpu:\n    enabled: true\n    sample_rate: 50\n")
        self.assertNotIn(3, send(agent_message(2, status=(digest, 1))))
        # Every port that takes OTLP over HTTP.
        self.assertNotIn(3, send(agent_message(3), server.http + "/v1/opamp"))
        http("DELETE", self.url("demo"))
        block, digest = offered(send(agent_message(4), server.otlp_http + "/v1/opamp"))
        self.assertIn("  enabled: false\n", block)
        self.assertIn("pending", server.cli("profiling", "status", "demo").stdout)
        send(agent_message(5, status=(digest, 1)))
        status = server.cli("profiling", "status", "demo").stdout
        self.assertRegex(status, r"demo-1 +off +applied")
        upgrade = http("GET", server.opamp, headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        self.assertEqual(upgrade.status, 426)
        self.assertEqual(http("POST", server.opamp, b"\x0a\x7f", {"content-type": PROTOBUF}).status, 400)


class Shedding(Case):
    def test_too_much_memory_sheds_detail_then_profiles_never_spans(self):
        path = self.folder / "c.yaml"
        path.write_text("profiling: {load_shedding: {cpu_threshold: 100%, memory_threshold: 1MB}}")
        server = self.server("--config", str(path))

        def profile(value):
            p = Profiles("shop")
            p.profile([(p.stack("main"), value, p.link(bytes([value] * 16), bytes(range(1, 9))))])
            return server.send(p.encode())

        wait_until(lambda: metric(server, "wherefore_shedding_level") >= 1, 20)
        answer = profile(5)
        if metric(server, "wherefore_shedding_level") == 1:  # else it rose meanwhile
            self.assertEqual(answer.status, 200)
            self.assertEqual(server.total("shop"), 5)
            self.assertEqual(metric(server, "wherefore_shed_requests_total"), 1)
        wait_until(lambda: metric(server, "wherefore_shedding_level") == 2, 20)
        answer = profile(6)
        self.assertEqual(answer.status, 429)
        self.assertIn("Retry-After", answer.headers)
        now = time.time_ns()
        spans = spans_request("shop", [{"trace": bytes(range(16)), "span": bytes(range(8)), "start": now, "end": now + 5}])
        self.assertEqual(server.send(spans, "/v1/traces").status, 200)
        self.assertIn("profiles are refused", json.dumps(server.ask("status")))
        # That it recovers alone is tested with injected pressure (src/gateway/profiling/load_test.cc).
        path.write_text("profiling: {load_shedding: {enabled: false}}")
        self.assertEqual(http("POST", server.http + "/-/reload", b"").status, 200)
        wait_until(lambda: metric(server, "wherefore_shedding_level") == 0, 5)
        self.assertEqual(profile(7).status, 200)


class MachineLoad:
    """A /proc/stat of our own: what the machine seems to do."""

    def __init__(self, path):
        self.path, self.share, self.busy, self.all = path, 0.2, 10**6, 10**7
        self.write()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def write(self):
        with open(self.path, "r+b" if self.path.exists() else "wb", buffering=0) as file:
            file.write(f"cpu {self.busy:12} 0 0 {self.all - self.busy:12} 0 0 0 0 0 0\n".encode())

    def run(self):
        while not self.stop.wait(0.05):
            self.all += 1000
            self.busy += int(1000 * self.share)
            self.write()

    def close(self):
        self.stop.set()
        self.thread.join()


@unittest.skipUnless(os.geteuid() == 0, "needs root for a /proc/stat of its own")
class BusyMachine(Case):
    SECONDS = float(os.environ.get("SHED_SECONDS", "4"))

    def send(self, server, number):
        """One profile with a link, until it is taken."""
        p = Profiles("shop")
        p.profile([(p.stack("main", f"f{number % 50}"), number, p.link(struct.pack(">QQ", 2, number), struct.pack(">Q", number)))])
        body = p.encode()
        while (answer := server.send(body)).status == 429:
            self.assertIn("Retry-After", answer.headers)
            time.sleep(0.2)
        self.assertEqual(answer.status, 200, answer.body)

    def test_detail_goes_and_comes_back_and_totals_are_exact(self):
        load = MachineLoad(self.folder / "stat")
        self.addCleanup(load.close)
        path = self.folder / "c.yaml"
        path.write_text("profiling: {load_shedding: {enabled: true, cpu_threshold: 90%}}")
        within = ("unshare", "--mount", "bash", "-c", f'mount --bind {self.folder}/stat /proc/stat && exec "$0" "$@"')
        try:
            server = self.server("--config", str(path), within=within)
        except AssertionError as error:
            if "unshare" in str(error) or "mount" in str(error):
                self.skipTest("no mount namespaces here")
            raise
        level = lambda: int(metric(server, "wherefore_shedding_level"))
        number, stop = itertools.count(1), threading.Event()
        sent = []

        def sender():
            while not stop.is_set():
                n = next(number)
                self.send(server, n)
                sent.append(n)
                time.sleep(0.01)
        senders = [threading.Thread(target=sender) for _ in range(2)]
        for one in senders:
            one.start()
        try:
            wait_until(lambda: len(sent) > 20)
            self.assertEqual(level(), 0)
            load.share = 0.95
            begun = time.monotonic()
            wait_until(lambda: level() >= 1, 10, "detail was not shed")
            while time.monotonic() < begun + self.SECONDS:
                now = time.time_ns()
                span = {"trace": TRACE, "span": SPAN, "start": now - 5, "end": now}
                self.assertEqual(server.send(spans_request("shop", [span]), "/v1/traces").status, 200, "spans are never refused")
                time.sleep(0.2)
            load.share, ended = 0.3, time.monotonic()
            wait_until(lambda: level() == 0, 30, "it does not end")
            back = time.monotonic() - ended
            self.assertLess(back, 16, "15 s and a look")
        finally:
            stop.set()
            for one in senders:
                one.join()
        marks = [server.total("shop"), next(number)]
        self.assertEqual(marks[0], sum(sent))
        self.send(server, marks[1])
        server.flush()
        shed = metric(server, "wherefore_shed_requests_total")
        self.assertGreater(shed, 0)
        server.stop()
        linked = {int(line) for line in engine_query(server.data, "SELECT toString(value) FROM links")}
        self.assertLess(len(linked), len(sent), "detail was shed")
        self.assertIn(marks[1], linked, "and is back")
        self.assertIn(1, linked)
        print(f"{self.SECONDS:g} s at 95 %: {len(sent)} profiles, total exact, {len(sent) - len(linked & set(sent))} without detail, "
              f"back after {back:.1f} s", flush=True)


class Conditional(Case):
    REQUESTS = 20_000
    CONFIG = "profiling: {conditional: {slow_request_threshold: 1s, profile_errors: true, decision_wait: 6s}}"

    def load(self):
        """Requests and what is sent of them, shuffled: [(path, body)], ids of slow or failed traces, of the others."""
        rnd = random.Random(17)
        now = time.time_ns()
        wanted, others, messages = set(), set(), []
        spans, profiles = {"shop": [], "cart": []}, {"shop": [], "cart": []}
        for i in range(self.REQUESTS):
            trace, service = struct.pack(">QQ", 1, i + 1), ("shop", "cart")[i % 2]
            slow, failed = i % 100 == 7, i % 100 == 31
            (wanted if slow or failed else others).add(trace.hex())
            start = now - rnd.randrange(5 * 10**9)
            spans[service].append({"trace": trace, "span": trace[8:], "start": start, "status": 2 if failed else 0,
                                   "end": start + (1_500_000_000 if slow else 20_000_000)})
            profiles[service] += [(trace, rnd.randrange(20)) for _ in range(3)]
        for service in spans:
            rnd.shuffle(spans[service])
            rnd.shuffle(profiles[service])
            for at in range(0, len(spans[service]), 500):
                messages.append(("/v1/traces", spans_request(service, spans[service][at:at + 500])))
            for at in range(0, len(profiles[service]), 500):
                p = Profiles(service)
                stacks = [p.stack("main", f"handler_{n % 5}", f"work_{n}") for n in range(20)]
                p.profile([(stacks[n], 1, p.link(trace, trace[8:])) for trace, n in profiles[service][at:at + 500]])
                messages.append(("/v1development/profiles", p.encode()))
        rnd.shuffle(messages)
        return messages, wanted, others

    def test_detail_of_slow_and_failed_requests_only(self):
        path = self.folder / "c.yaml"
        path.write_text(self.CONFIG)
        messages, wanted, others = self.load()
        plain, reduced = self.server(name="plain"), self.server("--config", str(path), name="reduced")
        for server in (plain, reduced):
            for where, body in messages:
                self.assertEqual(server.send(body, where).status, 200)
        for server in (plain, reduced):
            wait_until(lambda: server.total() == 3 * self.REQUESTS, 30, "not all samples arrived")
        for service in ("shop", "cart"):
            one, two = (sorted(s.get("/api/v1/export", query=service, type="samples", since="1h", format="folded").body
                               .splitlines()) for s in (plain, reduced))
            self.assertEqual(len(one), 20)
            self.assertEqual(one, two)

        def linked(server, traces):
            return sum(int(server.ask(f"traces/{trace}/flame", type="samples").get("total", 0)) > 0 for trace in traces)

        self.assertEqual(linked(reduced, sorted(wanted)), len(wanted))
        some = random.Random(1).sample(sorted(others), 300)
        self.assertLess(linked(reduced, some), 0.05 * len(some))
        self.assertEqual(linked(plain, some[:10]), 10)
        outcome = 'wherefore_conditional_samples_total{outcome="%s"}'
        text = http("GET", reduced.http + "/metrics").body.decode()
        counts = {o: float(line.rsplit(" ", 1)[1]) for o in ("kept", "reduced", "no_request")
                  for line in text.splitlines() if line.startswith(outcome % o)}
        self.assertEqual(counts, {"kept": 3 * len(wanted), "reduced": 3 * len(others), "no_request": 0})
        self.assertNotIn("reduced", json.dumps(reduced.ask("labels", since="1h")), "it is no label")
        why = reduced.ask(f"traces/{some[0]}/flame", type="samples")
        self.assertIn("conditional", json.dumps(why))
        rows = []
        for server in (plain, reduced):
            server.flush()
            server.stop()
            rows.append(int(engine_query(server.data, "SELECT toString(count()) FROM links")[0]))
        print(f"link rows: {rows[1]} of {rows[0]}", flush=True)
        self.assertEqual(rows[0], 3 * self.REQUESTS)
        self.assertLessEqual(rows[1], 0.1 * rows[0])

    def test_conditional_is_switched_off_by_a_reload(self):
        path = self.folder / "c.yaml"
        path.write_text(self.CONFIG.replace("6s", "600s"))
        server = self.server("--config", str(path))
        p = Profiles("shop")
        p.profile([(p.stack("main"), 5, p.link(bytes(range(16)), bytes(range(8))))])
        self.assertEqual(server.send(p.encode()).status, 200)
        self.assertEqual(server.total(), 0, "it waits")
        path.write_text("profiling: {}")
        self.assertEqual(http("POST", server.http + "/-/reload", b"").status, 200)
        wait_until(lambda: server.total() == 5, 20, "what waited did not go on")
        self.assertEqual(server.send(p.encode()).status, 200, "a repeat")

    def test_what_waits_survives_a_kill(self):
        path = self.folder / "c.yaml"
        path.write_text(self.CONFIG)
        server = self.server("--config", str(path))
        p = Profiles("shop")
        p.profile([(p.stack("main"), 5, p.link(bytes(range(16)), bytes(range(8))))])
        self.assertEqual(server.send(p.encode()).status, 200)
        server.kill()
        server.start()
        wait_until(lambda: server.total() == 5, 20)


if __name__ == "__main__":
    unittest.main()
