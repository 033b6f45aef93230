#!/usr/bin/env python3
"""Programs of other projects before and behind our gateway: the OpenTelemetry Collector, OpAMP's own library, pyroscope-go.

They are built once into the cache (tests/components/prepare). Part of ./test --all."""
import json
import os
import random
import signal
import struct
import subprocess
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import BINARY, ROOT, Case, Profiles, field, fixed64, free_port, http, packed, wait_until
from profiling_test import metric


def component(name):
    """The path of a program, built if it is not there yet."""
    done = subprocess.run([ROOT / "tests/components/prepare", name], stdout=subprocess.PIPE, text=True)
    if done.returncode == 3 and os.environ.get("CI") != "true":
        raise unittest.SkipTest("Go is not installed")
    assert done.returncode == 0, name
    return done.stdout.strip()


# --- OTLP with everything in it ---

def any_value(rnd, depth=0):
    kind = rnd.randrange(5 if depth > 2 else 7)
    if kind == 0:
        return field(1, rnd.choice(["", "text", "ünï", "x" * 300]))
    if kind == 1:
        return field(2, rnd.randrange(2))
    if kind == 2:
        return field(3, rnd.choice([0, 1, -1, 2**63 - 1, -2**63]))
    if kind == 3:
        return bytes([4 << 3 | 1]) + struct.pack("<d", rnd.choice([0.0, -1.5, 1e300]))
    if kind == 4:
        return field(7, rnd.randbytes(rnd.randrange(5)))
    if kind == 5:
        return field(5, b"".join(field(1, any_value(rnd, depth + 1)) for _ in range(rnd.randrange(4))))
    return field(6, pairs(rnd, 1, rnd.randrange(4), depth + 1))


def pairs(rnd, number, count, depth=0):
    """Attributes as messages, keys all different."""
    return b"".join(field(number, field(1, f"key.{i}") + field(2, any_value(rnd, depth))) for i in range(count))


def profiles(rnd, number):
    p = Profiles(f"service-{number % 3}")
    p.resource += pairs(rnd, 1, 4)
    p.strings += ["ms", "key.0", "key.1", "key.2"]
    unit, keys = p.strings.index("ms"), [p.strings.index(f"key.{i}") for i in range(3)]
    for key in keys:
        p.attributes.append(field(1, key) + field(2, any_value(rnd)) + field(3, rnd.choice([0, unit])))
    stacks = [p.stack(*[f"function {rnd.randrange(30)}" for _ in range(rnd.randrange(1, 12))]) for _ in range(6)]
    stacks.append(p.stack(("in a module", "/usr/lib/libx.so")))
    p.file("function 1", "/src/a.cc", 17)
    links = [0, p.link(rnd.randbytes(16), rnd.randbytes(8)), p.link(rnd.randbytes(16), rnd.randbytes(8))]
    now = time.time_ns() - 10**9
    for _ in range(rnd.randrange(1, 4)):
        samples = []
        for _ in range(rnd.randrange(1, 20)):
            values = [rnd.randrange(1, 10**6) for _ in range(rnd.randrange(1, 4))]
            link = rnd.choice(links)
            samples.append(field(1, rnd.choice(stacks)) + packed(2, rnd.sample(range(1, len(p.attributes)), rnd.randrange(3))) +
                           (field(3, link) if link else b"") + packed(4, values) +
                           field(5, b"".join((now + i).to_bytes(8, "little") for i in range(len(values)))))
        p.profile([], now, rnd.randbytes(16), b"".join(field(2, s) for s in samples) + packed(11, [len(p.attributes) - 1]))
    return p.encode()


def spans(rnd, number):
    now, body = time.time_ns(), b""
    for _ in range(rnd.randrange(1, 9)):
        event = fixed64(1, now) + field(2, "event") + pairs(rnd, 3, 2)
        link = field(1, rnd.randbytes(16)) + field(2, rnd.randbytes(8)) + field(3, "state=1") + pairs(rnd, 4, 1)
        body += field(2, field(1, rnd.randbytes(16)) + field(2, rnd.randbytes(8)) + field(4, rnd.randbytes(8)) + field(5, "name") +
                      field(6, rnd.randrange(6)) + fixed64(7, now - 10**6) + fixed64(8, now) + pairs(rnd, 9, rnd.randrange(4)) +
                      field(11, event) + field(13, link) + field(15, field(2, "message") + field(3, rnd.randrange(3))))
    scope = field(1, field(1, "scope") + field(2, "1.0") + pairs(rnd, 3, 2))
    service = field(1, field(1, "service.name") + field(2, field(1, f"service-{number % 3}")))
    return field(1, field(1, service + pairs(rnd, 1, 3)) + field(2, scope + body))


# --- what a collector sent as JSON ---

TABLES = {"stackIndex": "stackTable", "linkIndex": "linkTable", "mappingIndex": "mappingTable", "functionIndex": "functionTable",
          "locationIndices": "locationTable", "attributeIndices": "attributeTable"}
VALUES = {"stringValue", "boolValue", "intValue", "doubleValue", "bytesValue", "arrayValue", "kvlistValue"}


def resolved(what, dictionary):
    """Without numbers of entries of the dictionary; what is not set is left out."""
    if isinstance(what, list):
        return [resolved(one, dictionary) for one in what]
    if not isinstance(what, dict):
        return what
    out = {}
    for key, value in what.items():
        if key in TABLES:
            entries = dictionary[TABLES[key]]
            one = [resolved(entries[i], dictionary) for i in value] if isinstance(value, list) else resolved(entries[value], dictionary)
            value = sorted(one, key=json.dumps) if key == "attributeIndices" else one
        elif key.endswith("Strindex"):
            key, value = key.removesuffix("Strindex"), dictionary["stringTable"][value]
        else:
            value = resolved(value, dictionary)
        if key in VALUES or value not in ("", 0, "0", None, [], {}):
            out[key] = value
    return out


class Recorder:
    """Takes OTLP as JSON, and remembers it."""

    def __init__(self, case):
        self.requests = requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *unused):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        case.addCleanup(server.server_close)
        case.addCleanup(server.shutdown)
        self.exporter = (f"{{endpoint: 'http://127.0.0.1:{server.server_port}', encoding: json, compression: none}}")


def written(requests, signal):
    """Every profile or span, each with its resource and scope."""
    found = []
    for request in requests:
        dictionary = request.get("dictionary", {})
        for one in request.get("resource" + signal, []):
            for scope in one.get("scope" + signal, []):
                for each in scope.get(signal.lower(), []):
                    all_of_it = {"resource": one.get("resource"), "scope": scope.get("scope"), "it": each}
                    found.append(json.dumps(resolved(all_of_it, dictionary), sort_keys=True))
    return sorted(found)


class Collector(Case):
    def collector(self, name, exporters, port=None, protocol="http"):
        program = component("otelcol")
        port = port or free_port()
        path = self.folder / f"{name}.yaml"
        pipelines = "".join(f"    {signal}: {{receivers: [otlp], exporters: [{', '.join(names)}]}}\n"
                            for signal, names in exporters["pipelines"].items())
        path.write_text(f"receivers: {{otlp: {{protocols: {{{protocol}: {{endpoint: '127.0.0.1:{port}'}}}}}}}}\n"
                        f"exporters:\n{exporters['text']}\nservice:\n  telemetry: {{metrics: {{level: none}}}}\n  pipelines:\n{pipelines}")
        log = open(self.folder / f"{name}.log", "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen([program, "--config", str(path), "--feature-gates=+service.profilesSupport"], stdout=log,
                                   stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and process.kill())

        def ready():
            self.assertIsNone(process.poll(), (self.folder / f"{name}.log").read_text()[-3000:])
            return "Everything is ready" in (self.folder / f"{name}.log").read_text()
        wait_until(ready, 30, "the collector did not start")
        return process, port

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 0)

    def gateway(self, to, exporter, batch="{timeout: 300ms}"):
        grpc, web = free_port(), free_port()
        path = self.folder / f"gateway-{exporter}.yaml"
        endpoint = f"127.0.0.1:{to}" if exporter == "otlp" else f"http://127.0.0.1:{to}"
        path.write_text(f"""
receivers: {{otlp: {{protocols: {{grpc: {{endpoint: '127.0.0.1:{grpc}'}}, http: {{endpoint: '127.0.0.1:{web}'}}}}}}}}
processors: {{batch: {batch}}}
exporters: {{{exporter}: {{endpoint: '{endpoint}', tls: {{insecure: true}}}}}}
service:
  pipelines:
    traces: {{receivers: [otlp], processors: [batch], exporters: [{exporter}]}}
    profiles: {{receivers: [otlp], processors: [batch], exporters: [{exporter}]}}
""")
        return self.server("--config", str(path), name=f"data-{exporter}"), grpc, web

    def through(self, inward, outward):
        """Collector -> us -> collector; the first one also says what it sends us."""
        direct, arrived = Recorder(self), Recorder(self)
        last, last_port = self.collector(f"last-{inward}", {
            "text": f"  otlphttp/record: {arrived.exporter}",
            "pipelines": {"traces": ["otlphttp/record"], "profiles": ["otlphttp/record"]}},
            protocol="grpc" if outward == "otlp" else "http")
        gateway, grpc, web = self.gateway(last_port, outward)
        endpoint = f"127.0.0.1:{grpc}" if inward == "otlp" else f"http://127.0.0.1:{web}"
        first, port = self.collector(f"first-{inward}", {
            "text": f"  otlphttp/record: {direct.exporter}\n  {inward}: {{endpoint: '{endpoint}', tls: {{insecure: true}}}}",
            "pipelines": {"traces": ["otlphttp/record", inward], "profiles": ["otlphttp/record", inward]}})
        rnd = random.Random(17)
        for number in range(60):
            for path, body in (("/v1development/profiles", profiles(rnd, number)), ("/v1/traces", spans(rnd, number))):
                answer = http("POST", f"http://127.0.0.1:{port}{path}", body, {"content-type": "application/x-protobuf"})
                self.assertEqual(answer.status, 200, answer.body)
                self.assertIn(answer.body, (b"", b"\n\0"), "nothing is rejected")
        # A collector that stops gives up what it could not send yet.
        wait_until(lambda: len(direct.requests) == 120, 60, "the collector did not send everything it took")
        self.stop(first)
        self.assertEqual(metric(gateway, "otelcol_receiver_refused_spans_total"), 0)
        wait_until(lambda: metric(gateway, "otelcol_exporter_queue_size") == 0, 30, gateway.log.read_text()[-2000:])
        gateway.stop()
        self.stop(last)
        for signal_name in ("Profiles", "Spans"):
            sent, came = written(direct.requests, signal_name), written(arrived.requests, signal_name)
            self.assertGreater(len(sent), 100)
            self.assertEqual(len(came), len(sent), signal_name)
            for one, other in zip(sent, came):
                self.assertEqual(json.loads(other), json.loads(one))
            print(f"{inward} -> us -> {outward}: {len(sent)} {signal_name.lower()}, all equal", flush=True)

    def test_everything_comes_through_over_http_and_goes_on_over_grpc(self):
        self.through("otlphttp", "otlp")

    def test_everything_comes_through_over_grpc_and_goes_on_over_http(self):
        self.through("otlp", "otlphttp")

    def test_its_limit_of_4_mib_drops_nothing(self):
        arrived = Recorder(self)
        last, port = self.collector("last", {"text": f"  otlphttp/record: {arrived.exporter}",
                                             "pipelines": {"profiles": ["otlphttp/record"]}}, protocol="grpc")
        gateway, _, web = self.gateway(port, "otlp", "{timeout: 2s, send_batch_size: 10000000}")
        total = 0
        for stacks in (40_000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000):
            p = Profiles(f"large-{stacks}")
            values = [(p.stack("main", f"a function with a long name, {i:0200}"), i + 1) for i in range(stacks)]
            total += sum(value for _, value in values)
            body = p.profile(values).encode()
            self.assertEqual(http("POST", f"http://127.0.0.1:{web}/v1development/profiles", body,
                                  {"content-type": "application/x-protobuf"}).status, 200)
        wait_until(lambda: metric(gateway, "otelcol_exporter_queue_size") == 0, 60, gateway.log.read_text()[-2000:])
        self.assertEqual(metric(gateway, "otelcol_exporter_send_failed_profile_samples_total"), 0)
        gateway.stop()
        self.stop(last)
        came = sum(int(value) for one in written(arrived.requests, "Profiles") for sample in json.loads(one)["it"]["samples"]
                   for value in sample["values"])
        self.assertEqual(came, total)
        print(f"over 4 MiB: {total} arrived in requests of at most 4 MiB", flush=True)


class Lines:
    """A program whose lines are read as they come."""

    def __init__(self, case, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.process.stdout.close)
        case.addCleanup(self.process.wait, 20)
        case.addCleanup(self.process.stdin.close)
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()


class Opamp(Case):
    def test_its_agent_obeys_our_server(self):
        path = self.folder / "c.yaml"
        path.write_text("profiling: {cpu: {enabled: true, sample_rate: 50}}")
        server = self.server("--config", str(path))
        agent = Lines(self, component("opamp"), "agent", server.opamp, "demo")
        wait_until(lambda: agent.lines, 20, "nothing was offered")
        self.assertEqual(json.loads(agent.lines[0]), {"files": {
            "profiling.yaml": "profiling:\n  enabled: true\n  cpu:\n    enabled: true\n    sample_rate: 50\n"}})
        applied = lambda state: any(line.split()[0] == "demo" and state in line and "applied" in line
                                    for line in server.cli("profiling", "status", "demo").stdout.splitlines() if line.strip())
        wait_until(lambda: "applied" in server.cli("profiling", "status", "demo").stdout, 20, "it is not known to have obeyed")
        server.cli("profiling", "off", "demo")
        wait_until(lambda: len(agent.lines) == 2, 20, "it was not told")
        self.assertIn("enabled: false", json.loads(agent.lines[1])["files"]["profiling.yaml"])
        wait_until(lambda: applied("off"), 20, server.cli("profiling", "status", "demo").stdout)
        time.sleep(4)  # four polls
        self.assertEqual(len(agent.lines), 2, "what it has is not offered again")
        server.stop()

    def test_its_server_is_obeyed_by_libwherefore(self):
        opamp = Lines(self, component("opamp"), "server")
        wait_until(lambda: opamp.lines, 20)
        url, seen = opamp.lines[0].strip(), lambda: [json.loads(line) for line in opamp.lines[1:]]
        program = subprocess.Popen([BINARY, "run", "--types", "cpu", "--", "sleep", "120"], stdin=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env={
            **os.environ, "OTEL_OPAMP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SERVICE_NAME": "demo",
            "WHEREFORE_UPLOAD_INTERVAL": "500ms"})
        self.addCleanup(program.wait)
        self.addCleanup(program.stderr.close)
        self.addCleanup(program.terminate)
        wait_until(lambda: any(m.get("agent", {}).get("service.name") == "demo" for m in seen()), 30, "it did not say who it is")

        def told(block, status, effective="", error=""):
            before = len(opamp.lines)
            opamp.say(json.dumps(block))
            fits = lambda m: m.get("status") == status and error in m.get("error", "")
            wait_until(lambda: any(fits(m) for m in seen()[before - 1:]), 30, (block, seen()[before - 1:]))
            if effective:
                wait_until(lambda: any(effective in text for m in seen() for text in m.get("effective", {}).values()), 30, seen())
        told("profiling:\n  enabled: false\n", "RemoteConfigStatuses_APPLIED", "enabled: false")
        told("profiling:\n  cpu: [1\n", "RemoteConfigStatuses_FAILED")
        told("profiling:\n  enabled: true\n  cpu: {enabled: true, sample_rate: 37}\n", "RemoteConfigStatuses_APPLIED", "sample_rate: 37")
        numbers = [m["sequence"] for m in seen()]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))


class StockSdk(Case):
    def test_pyroscope_go_of_a_service_that_is_off_is_dropped_and_counted(self):
        run = ROOT / "examples/go/run"
        if subprocess.run([run], env={**os.environ, "CHECK_ONLY": "1"}, capture_output=True).returncode == 3:
            self.skipTest("Go is not installed")
        server = self.server()
        answer = http("DELETE", server.http + "/api/v1/profiling/shop-go")
        self.assertEqual((answer.status, answer.body), (200, b"Profiling disabled"))
        done = subprocess.run([run, server.http, "12"], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        dropped = metric(server, "wherefore_profiling_off_profiles_total")
        self.assertGreater(dropped, 0)
        services = {s["name"]: s for s in server.ask("services", since="1h")["services"]}
        self.assertEqual(services.get("shop-go", {}).get("types", []), [])
        print(f"pyroscope-go: {dropped:.0f} profiles left out", flush=True)
        server.stop()


if __name__ == "__main__":
    unittest.main()
