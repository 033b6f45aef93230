#!/usr/bin/env python3
"""The stock SDKs of five languages against a fresh server: recorded requests replayed, then the examples run for real.

What the server answers is compared with what the bytes add up to, read by tests/sdk_bytes.py without any code of the
server, and with the CPU time the programs measured themselves. A missing or too old toolchain skips the test with a
message, and fails it with CI=true.
"""
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time
import unittest

import sdk_bytes
import sdk_recorder
from harness import ROOT, Case, wait_until
from profiling_test import metric

CAPTURES = ROOT / "tests/golden/sdk"
SECONDS = 13  # of load; with start and stop a run stays under 20 s on a machine that is not overloaded
EVER = "9000d"  # the captures get old
TOOLCHAIN_MISSING = 3  # exit code of examples/*/run

GO_HEAP = [f"memory:{t}:space:bytes" for t in
           ("alloc_objects:count", "alloc_space:bytes", "inuse_objects:count", "inuse_space:bytes")]
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


class Language:
    """The expectations for an example: the type ids of its SDK, and the span kind its samples are stored under."""

    def __init__(self, cpu, others, hot, linked_span, why):
        self.cpu, self.others, self.hot, self.linked_span, self.why = cpu, others, hot, linked_span, why


LANGUAGES = {
    "go": Language(CPU, ["process_cpu:samples:count:cpu:nanoseconds", *GO_HEAP,
                         "goroutines:goroutine:count:goroutine:count", "mutex:contentions:count:contentions:count",
                         "mutex:delay:nanoseconds:contentions:count", "block:contentions:count:contentions:count",
                         "block:delay:nanoseconds:contentions:count"], r"main\.parse", "process-data", "links CPU samples only"),
    "python": Language(CPU, GO_HEAP, "parse", "process-data", "links CPU samples only"),
    "node": Language("wall:cpu:nanoseconds:wall:nanoseconds",
                     ["wall:samples:count:wall:nanoseconds", "wall:wall:nanoseconds:wall:nanoseconds",
                      "memory:inuse_objects:count:inuse_space:bytes", "memory:inuse_space:bytes:inuse_space:bytes"],
                     r"\./main\.js:parse:\d+", "parse", ""),
    "java": Language(CPU, ["memory:alloc_in_new_tlab_objects:count:space:bytes",
                           "memory:alloc_in_new_tlab_bytes:bytes:space:bytes", "mutex:contentions:count:mutex:count",
                           "mutex:delay:nanoseconds:mutex:count"], r"Shop\.parse", "parse", "CPU and lock samples only"),
    "rust": Language(CPU, [], "shop::parse", "process-data", "links CPU samples only"),
}


def is_snapshot(id):
    return id.split(":")[1] in sdk_bytes.SNAPSHOTS


def in_unit(answer, value):
    return int(value) / answer["scale"]


def average(profiles, id):
    """A snapshot over time: value x interval, over the time in which it was seen; one process sends it, so that is the
    sum of
    the intervals. An interval is as long as the profile says, and ends where the next one begins."""
    seen = sorted((p for p in profiles if id in p.ids), key=lambda p: p.time)
    assert len({frozenset(p.labels.items()) for p in seen}) == 1, "one series"
    lengths = [min(p.duration, after.time - p.time if after else p.duration) for p, after in zip(seen, [*seen[1:], None])]
    if not any(lengths):
        assert len(seen) == 1, "which says how long it stands for, or follows another"
        lengths = [1]
    value = lambda p: sum(sample.values[p.ids.index(id)] for sample in p.samples)
    return sum(value(p) * length for p, length in zip(seen, lengths)) / sum(lengths)


class Sdk(Case):
    def check_types(self, server, service, wanted):
        found = {s["name"]: {t["id"] for t in s["types"]} for s in server.ask("services", since=EVER)["services"]}
        self.assertIn(service, found)
        self.assertEqual(sorted(found[service]), sorted(wanted), service)

    def check_totals(self, server, service, profiles_or_totals):
        """Every type adds up to what was sent; snapshots to their average."""
        if isinstance(profiles_or_totals, dict):
            expected = profiles_or_totals
        else:
            expected = sdk_bytes.totals(profiles_or_totals)
            expected.update({id: average(profiles_or_totals, id) for id in expected if is_snapshot(id)})
        for id, value in expected.items():
            answer = server.ask("top", query=service, type=id, since=EVER, limit=100_000)
            self.assertEqual(answer["averaged"], is_snapshot(id), (service, id))
            # A mean is rounded per stack, to a thousandth.
            slack = len(answer["rows"]) / answer["scale"] if is_snapshot(id) else 0
            self.assertAlmostEqual(in_unit(answer, answer["total"]), value, delta=slack, msg=f"{service} {id}")

    def share(self, server, service, id, function):
        answer = server.ask("top", query=service, type=id, since=EVER, limit=100_000)
        rows = [row for row in answer["rows"] if re.fullmatch(function, row["name"])]
        self.assertEqual(len(rows), 1, (service, function, [row["name"] for row in answer["rows"]][:50]))
        return int(rows[0]["total"]) / int(answer["total"])

    def check_span(self, server, trace, span, id, leaves):
        """The profile of one span has exactly its samples: function -> self value."""
        answer = server.ask(f"traces/{trace}/flame", span=span, type=id)
        found = collections.Counter()
        for function, value in zip(answer["function"], answer["self"]):
            if int(value):
                found[answer["functions"][function][0]] += in_unit(answer, value)
        self.assertEqual(found, leaves, (trace, span, id, answer.get("hint")))


class Replay(Sdk):
    """Requests captured from the SDKs, sent again byte for byte with their old times."""

    def entrance(self, server):
        """Where requests are sent, so that they arrive at the server."""
        return server.http

    def arrive(self):
        """Waits until what was sent has."""

    def replay(self, language):
        expected = json.loads((CAPTURES / "expected.json").read_text())[language]
        service = expected["service"]
        with self.server() as server:
            entrance = self.entrance(server)
            for name in expected["files"] * 2:  # sent again, as a sender that saw no answer does, it counts once
                request = sdk_recorder.decode((CAPTURES / name).read_bytes())
                status, body, _ = sdk_recorder.send(request, entrance)
                self.assertEqual(status, 200, (name, body))
            self.arrive()
            server.flush()
            self.check_types(server, service, expected["totals"])
            self.check_totals(server, service, expected["totals"])
            for id, (function, value) in expected["functions"].items():
                rows = server.ask("top", query=service, type=id, since=EVER, limit=100_000)
                found = sum(in_unit(rows, row["self"]) for row in rows["rows"] if row["name"] == function)
                self.assertAlmostEqual(found, value, delta=1 if rows["averaged"] else 0, msg=(id, function))
            hot = expected["hot"]
            self.assertAlmostEqual(self.share(server, service, hot["type"], hot["function"]), hot["share"], places=5)
            for label, value in expected["labels"].items():
                values = server.ask(f"labels/{label}/values", query=service, since=EVER)["values"]
                self.assertEqual(values, [value], label)
            labels = server.ask("labels", query=service, since=EVER)["labels"]
            self.assertFalse({"span_id", "trace_id", "profile_id", "__session_id__"} & set(labels), labels)
            span = expected["span"]
            spans = server.ask(f"traces/{span['trace']}")["spans"]
            self.assertIn((span["span"], span["name"], service), [(s["span"], s["name"], s["service"]) for s in spans])
            self.check_span(server, span["trace"], span["span"], span["type"], span["functions"])

    def test_go(self):
        self.replay("go")

    def test_python(self):
        self.replay("python")

    def test_node(self):
        self.replay("node")

    def test_java(self):
        self.replay("java")

    def test_rust(self):
        self.replay("rust")


class ReplayThroughAGateway(Replay):
    """The same, made OTLP by a gateway before the server: types, totals, functions, labels and links are the same."""

    def entrance(self, server):
        config = self.folder / "gateway.yaml"
        config.write_text(f"""
receivers: {{pyroscope: }}
processors: {{batch: {{timeout: 100ms}}}}
exporters: {{otlphttp: {{endpoint: '{server.otlp_http}'}}}}
service:
  pipelines:
    profiles: {{receivers: [pyroscope], processors: [batch], exporters: [otlphttp]}}
    traces: {{receivers: [pyroscope], processors: [batch], exporters: [otlphttp]}}
""")
        self.gateway = self.server("--config", str(config), name="gateway")
        return self.gateway.http

    def arrive(self):
        wait_until(lambda: metric(self.gateway, "otelcol_exporter_queue_size") == 0, 30, "not everything was sent on")
        self.assertEqual(metric(self.gateway, "otelcol_exporter_send_failed_profile_samples_total"), 0)
        self.gateway.stop()


class Example:
    """One example's run script. missing: which tool this machine lacks."""

    def __init__(self, language):
        self.language, started = language, time.monotonic()
        code, _, error = self.start("http://127.0.0.1:9", 0, timeout=900, PREPARE_ONLY="1")
        self.prepared = time.monotonic() - started
        self.missing = error.strip() if code == TOOLCHAIN_MISSING else ""
        assert self.missing or code == 0, f"{language} did not build:\n{error[-3000:]}"

    def start(self, url, seconds, timeout, **environment):
        """(exit code, output, error) of the example's run script; nothing of it outlives the time limit."""
        process = subprocess.Popen([str(ROOT / "examples" / self.language / "run"), url, str(seconds)], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env={**os.environ, **environment})
        try:
            output, error = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its own session: the script, the service and their children
            output, error = process.communicate()
        return process.returncode, output, error

    def run(self, url, seconds, timeout, **environment):
        """The line of JSON that it prints at its end."""
        code, output, error = self.start(url, seconds, timeout, **environment)
        assert code == 0, f"{self.language} failed:\n{output[-3000:]}\n{error[-3000:]}"
        return json.loads(output)

    def skip(self):
        """Whether it cannot be run, which CI does not take for an answer."""
        if self.missing:
            print(f"SKIPPED {self.language}: {self.missing}", flush=True)
            assert os.environ.get("CI") != "true", self.missing
        return bool(self.missing)


class Run(Example):
    """One example run against a server, with everything it sent."""

    def __init__(self, language, server):
        super().__init__(language)
        if self.missing:
            return
        with sdk_recorder.Recorder(upstream=server.http) as recorder:
            started = time.monotonic()
            self.truth = self.run(recorder.url, SECONDS, timeout=60)
            self.took = time.monotonic() - started
            self.requests = recorder.requests()
        self.profiles = [p for r in self.requests for p in sdk_bytes.profiles_of(r)]
        self.spans = [s for r in self.requests for s in sdk_bytes.spans_of(r)]

    def slowest_linked_span(self, name, id):
        """The slowest span of that name with samples in what was sent."""
        linked = sdk_bytes.by_span(self.profiles, id)
        return max((s for s in self.spans if s.name == name and linked[s.span] > 0), key=lambda span: span.duration)


class Examples(Sdk):
    """The five programs, two at a time, all sending to one fresh server."""

    def check(self, server, run, language):
        refused = [(r.target[:80], r.status) for r in run.requests if r.status != 200]
        self.assertEqual(refused, [])
        service = run.truth["service"]
        sent = sdk_bytes.totals(run.profiles)
        # JFR has what happened to be there: a park event now and then.
        self.assertLessEqual({language.cpu, *language.others}, set(sent))
        self.check_types(server, service, sent)
        self.check_totals(server, service, run.profiles)

        real = run.truth["cpu_ns"]["parse"] / run.truth["total_cpu_ns"]
        seen = self.share(server, service, language.cpu, language.hot)
        self.assertAlmostEqual(seen, real, delta=0.10, msg=f"{service}: parse is {real:.1%} of the CPU time, shown as {seen:.1%}")

        span = run.slowest_linked_span(language.linked_span, language.cpu)
        leaves = sdk_bytes.leaves(run.profiles, language.cpu, sdk_bytes.of_span(span.span))
        self.check_span(server, span.trace, span.span, language.cpu, leaves)
        self.assertLess(sum(leaves.values()), sent[language.cpu])
        slow = server.ask("traces", service=service, name=span.name, min_duration=f"{span.duration}ns", since="1h")["traces"]
        self.assertIn(span.trace, [t["trace"] for t in slow])
        account = self.check_accounting(server, span, leaves, language)
        print(f"{service}: built in {run.prepared:.1f} s, ran {run.took:.1f} s, {run.truth['requests']} requests, "
              f"{len(run.requests)} uploads, {len(sent)} types; parse {real:.1%} real, {seen:.1%} shown; {span.name}: {account}", flush=True)

    def check_accounting(self, server, span, leaves, language):
        """Parts of every span of the trace add up, the CPU time is that of its samples, and what is not known says why."""
        answer = server.ask(f"traces/{span.trace}/accounting")
        for row, duration in enumerate(answer["duration"]):
            self.assertEqual(sum(part["value"][row] for part in answer["parts"].values()), duration, answer["span"][row])
        row = answer["span"].index(span.span)
        parts = {name: part["value"][row] for name, part in answer["parts"].items()}
        why = answer["reasons"][answer["why"][row]]
        own = answer["duration"][row] - parts["children"]
        self.assertGreater(parts["on_cpu"], min(sum(leaves.values()), own) * 0.5, (parts, leaves))
        if parts["unobserved"]:  # else samples saw as much as the span took
            self.assertIn(language.why, why)
        return f"{', '.join(f'{name} {value / 1e6:.1f} ms' for name, value in parts.items() if value)} ({why})"

    def test_each_language_arrives_whole(self):
        with self.server() as server, concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = {name: pool.submit(Run, name, server) for name in LANGUAGES}
            concurrent.futures.wait(runs.values())
            server.flush()
            for name, future in runs.items():
                with self.subTest(name):
                    run = future.result()
                    if run.skip():
                        continue
                    self.assertLess(run.took, 30, name)
                    self.check(server, run, LANGUAGES[name])


if __name__ == "__main__":
    unittest.main(verbosity=1)
