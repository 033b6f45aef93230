"""A server with little memory: cgroups of 300 to 1,000 MB, bodies of 20 MB, three clients that query. It refuses what
does not fit, survives, and keeps everything it acknowledged. Prints a table of what happened: limits x bodies
(docs/performance.md).

By hand: python3 tests/memory_test.py [--limits 300,500] [--bodies stacks,names] [--sizes 20,5] [--senders 4] [--seconds
20] [--addresses]
"""
import argparse
import collections
import gzip
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import unittest

from harness import BINARY, Case, Server, field, fixed64, http, one_each, profiles_request, resource, spans_request, varint, wait_until

MB = 1 << 20
TOKEN = b"TOKENTOKEN"  # part of every name: another one makes all of a body's names, and so its stacks, new
LIMITS = (300, 500, 700, 1000)


class Box:
    """A memory cgroup; `within` is a command prefix that enters it."""

    def __init__(self, megabytes):
        first = pathlib.Path("/sys/fs/cgroup/memory")
        self.old = first.is_dir()
        self.folder = (first if self.old else pathlib.Path("/sys/fs/cgroup")) / f"wherefore-test-{os.getpid()}-{megabytes}"
        try:
            self.folder.mkdir()
            (self.folder / ("memory.limit_in_bytes" if self.old else "memory.max")).write_text(str(megabytes * MB))
            if not self.old:
                (self.folder / "memory.swap.max").write_text("0")
        except OSError as error:
            if self.folder.is_dir():
                self.folder.rmdir()
            raise unittest.SkipTest(f"no memory cgroup can be made here: {error}")

    @property
    def within(self):
        return ("sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh")

    def peak(self):
        return int((self.folder / ("memory.max_usage_in_bytes" if self.old else "memory.peak")).read_text())

    def remove(self):
        wait_until(lambda: not (self.folder / "cgroup.procs").read_text(), 10)
        self.folder.rmdir()


class Addresses:
    """The same with `ulimit -v`: the kernel does not kill the process, but every allocation may fail. The engine alone reserves 2 GB."""

    def __init__(self, megabytes):
        self.within = ("sh", "-c", f'ulimit -v {megabytes * 1024} && exec "$@"', "sh")

    def peak(self):
        return 0

    def remove(self):
        pass


# --- bodies: about `size` bytes each ---

def names_of(functions, length):
    return [TOKEN + b"::%d" % i + b"x" * length for i in range(functions)]


def stacks_body(size):
    """Stacks of 30 frames, all different."""
    functions, depth = 8000, 30
    draw = random.Random(1)
    numbers = [varint(i + 200) for i in range(functions - 200)]
    count = size // (2 * depth + 16)
    stacks = b"".join(field(7, field(1, b"".join(draw.choices(numbers, k=depth)))) for _ in range(count))
    return profiles_request(names_of(functions, 20), functions, stacks, one_each(count)), count


def names_body(size):
    """Functions with long names, each a stack of its own."""
    count = size // 180
    stacks = b"".join(field(7, field(1, varint(i + 1))) for i in range(count))
    return profiles_request(names_of(count, 100), count, stacks, one_each(count)), count


def moments_body(size):
    """Few stacks, many observations with a time each."""
    count = size // 8
    samples = b"".join(field(2, field(1, 1) + field(5, b"".join(
        (time.time_ns() + i).to_bytes(8, "little") for i in range(1000)))) for _ in range(count // 1000))
    return profiles_request(names_of(1, 20), 1, field(7, field(1, b"\1")), samples), count // 1000 * 1000


def spans_body(size):
    count = size // 160
    now = time.time_ns()
    one = [{"trace": os.urandom(16), "span": os.urandom(8), "name": (TOKEN + b"/%d" % (i % 50_000)).decode(), "start": now, "end": now + 10**6,
            "attributes": {"http.route": "/x/%d" % (i % 1000)}} for i in range(count)]
    return spans_request("large", one), count


BODIES = {"stacks": stacks_body, "names": names_body, "moments": moments_body, "spans": spans_body, "packed": stacks_body}
PATHS = {"spans": "/v1/traces"}


class Load:
    """Concurrent senders and queries, and the answers they got."""

    def __init__(self, server, kind, body, senders, seconds):
        self.server, self.kind, self.body, self.until = server, kind, body, time.monotonic() + seconds
        self.sent, self.asked = collections.Counter(), collections.Counter()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.sender, args=(i,)) for i in range(senders)]
        self.threads += [threading.Thread(target=self.asker, args=(path,)) for path in (
            "/api/v1/flame?from=now-1h&max_nodes=0", "/api/v1/top?from=now-1h", "/api/v1/export?format=pprof&from=now-1h")]

    def run(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        return self

    def repeat(self, counter, call):
        while time.monotonic() < self.until:
            try:
                answer = call()
                status = answer.status
                if status == 500:
                    status = f"500: {answer.body[:300]}"
            except OSError as error:
                status = type(error).__name__
            with self.lock:
                counter[status] += 1
            if status != 200:
                time.sleep(0.2)

    def sender(self, number):
        turn = iter(range(10**6))

        def call():
            body = self.body.replace(TOKEN, b"%02d%08d" % (number, next(turn)))
            headers = {"content-type": "application/x-protobuf"}
            if self.kind == "packed":
                body, headers["content-encoding"] = gzip.compress(body, 1), "gzip"
            return http("POST", self.server.otlp_http + PATHS.get(self.kind, "/v1development/profiles"), body, headers, timeout=120)
        self.repeat(self.sent, call)

    def asker(self, path):
        self.repeat(self.asked, lambda: http("GET", self.server.http + path, timeout=120))


def told(counter):
    return ", ".join(f"{n} x {status}" for status, n in sorted(counter.items(), key=str)) or "nothing"


def trial(folder, limit, kind, senders, seconds, size, box=Box):
    """One server in one cgroup under one load: a row of the table. What was acknowledged is counted outside of the cgroup."""
    box = box(limit)
    server = Server(folder / f"{kind}-{limit}-{size}", within=box.within)
    try:
        server.start()
        body, items = BODIES[kind](size * MB)
        load = Load(server, kind, body, senders, seconds).run()
        row = {"limit": limit, "size": size, "kind": kind, "sent": load.sent, "asked": load.asked, "code": server.process.poll(),
               "peak": box.peak() // MB, "want": load.sent[200] * items}
        if row["code"] is None:
            small = BODIES["stacks"](MB // 2)[0].replace(TOKEN, b"afterwards").replace(b"large", b"after")
            wait_until(lambda: server.send(small).status == 200, 60)
            server.stop()
    finally:
        if server.process and server.process.poll() is None:
            server.kill()
        box.remove()
    server.within = ()
    with server:
        server.flush()
        row["kept"] = kept(server, kind)
    return row


def kept(server, kind):
    """Uses a query without stacks, which needs little memory."""
    if kind == "spans":
        stored = next(part for part in server.ask("status")["parts"] if part["part"] == "stored")["facts"]
        return int(stored.get("spans", "0 rows").split(" rows")[0].replace(",", ""))
    return sum(sum(group["values"]) for group in server.ask("series", query="large", type="samples", since="1h", step="60s")["groups"])


def show(row):
    """A line of the table in docs/performance.md."""
    end = "lives" if row["code"] is None else f"DEAD ({row['code']})"
    kept = f"all {row['kept']:,}" if row["kept"] == row["want"] else f"**{row['kept']:,} of {row['want']:,}**"
    print(f"| {row['limit']:,} MB | {row['size']} MB, {row['kind']} | {told(row['sent'])} | {told(row['asked'])} | {row['peak']} MB | {end} | {kept} |", flush=True)


def many_spans(count, attributes):
    now = time.time_ns()
    rest = field(5, "op") + fixed64(7, now - 10**6) + fixed64(8, now)
    rest += b"".join(field(9, field(1, f"k{i}") + field(2, field(1, "v"))) for i in range(attributes))
    spans = b"".join(field(2, field(1, os.urandom(16)) + field(2, os.urandom(8)) + rest) for _ in range(count))
    return field(1, field(1, resource("spans")) + field(2, spans))


class Memory(Case):
    def tried(self, *arguments, **more):
        row = trial(self.folder, *arguments, senders=4, seconds=5, **more)
        show(row)
        self.assertIsNone(row["code"], "it lives")
        self.assertLessEqual(set(row["sent"]), {200, 413, 429, 503})
        self.assertLessEqual(set(row["asked"]), {200, 404, 429, 503})
        self.assertEqual(row["kept"], row["want"], "what was acknowledged is kept, and nothing else")
        return row

    def test_in_a_small_box_it_refuses_and_keeps_what_it_took(self):
        for limit, kind, size in ((300, "stacks", 5), (300, "names", 5), (500, "moments", 20), (1000, "stacks", 20)):
            with self.subTest(limit=limit, kind=kind):
                self.assertGreater(self.tried(limit, kind, size=size)["sent"][200], 0)

    def test_what_can_never_fit_is_said(self):
        self.assertEqual(set(self.tried(300, "stacks", size=20)["sent"]), {413})
        box = Box(300)
        try:
            with self.server(name="said", within=box.within) as server:
                answer = server.send(b"x" * (20 * MB))
                self.assertEqual(answer.status, 413)
                self.assertIn(b"--memory", answer.body)
                self.assertIn(b"wherefore_memory_limit_bytes %d" % (300 * MB), http("GET", server.http + "/metrics").body)
        finally:
            box.remove()

    def test_spans_are_inserted_in_the_smallest_box(self):
        """An insert that never fits would block everything after it forever."""
        box = Box(300)
        try:
            with self.server(name="spans", within=box.within) as server:
                for count, attributes in ((97_000, 0), (5_000, 120)):
                    body = many_spans(count, attributes)
                    wait_until(lambda: server.send(body, "/v1/traces").status == 200, 60)
                wait_until(lambda: http("POST", server.http + "/api/v1/flush", b"").status == 200, 60)
                self.assertEqual(kept(server, "spans"), 102_000)
        finally:
            box.remove()

    def test_too_few_addresses_are_said(self):
        data = str(self.folder / "few")
        done = subprocess.run(["sh", "-c", 'ulimit -v 1400000 && exec "$@"', "sh", BINARY, "serve", "--data", data, "--http-port", "0"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("1,800 MiB", done.stderr)

    def test_without_addresses_an_allocation_costs_a_request(self):
        self.assertGreater(self.tried(2600, "stacks", size=20, box=Addresses)["sent"][200], 0)


if __name__ == "__main__" and not any(a.startswith("--") for a in sys.argv[1:]):
    unittest.main()
elif __name__ == "__main__":
    import tempfile
    parser = argparse.ArgumentParser()
    parser.add_argument("--limits", default=",".join(map(str, LIMITS)))
    parser.add_argument("--bodies", default=",".join(BODIES))
    parser.add_argument("--sizes", default="20,5", help="MB")
    parser.add_argument("--addresses", action="store_true", help="limits are ulimit -v, not memory cgroups")
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for limit in map(int, options.limits.split(",")):
            for kind in options.bodies.split(","):
                for size in map(int, options.sizes.split(",")):
                    show(trial(pathlib.Path(folder), limit, kind, options.senders, options.seconds, size, Addresses if options.addresses else Box))
