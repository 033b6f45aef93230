"""Stages of the benchmark in which several things happen at once, or there are very many of something."""
import concurrent.futures
import pathlib
import random
import re
import sys
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "tests")]
import many_services_test  # noqa: E402
import measure  # noqa: E402
from harness import Server, one_profile  # noqa: E402


class Askers:
    """So many clients that ask without pause while the block runs."""

    def __init__(self, bench, count, ask, pause=0.0):
        self.done, self.answers = threading.Event(), 0
        self.pool = concurrent.futures.ThreadPoolExecutor(count)
        self.bench, self.ask, self.pause, self.count = bench, ask, pause, count

    def _run(self):
        client = measure.Client(self.bench.server.http)
        while not self.done.is_set():
            self.ask(client)
            self.answers += 1
            self.done.wait(self.pause)
        client.connection.close()

    def __enter__(self):
        self.running = [self.pool.submit(self._run) for _ in range(self.count)]
        return self

    def __exit__(self, *unused):
        self.done.set()
        for one in self.running:
            one.result()
        self.pool.shutdown()


def send_for(bench, rate, seconds, first_step):
    steps = max(1, round(rate * seconds / (bench.o.services * bench.o.instances)))
    return bench.send(0, rate=rate, steps=steps, first_step=first_step)


def beside_readers(bench):
    """Pushes while four people ask for all services without pause."""
    with Askers(bench, 4, lambda client: bench.flame(client, bench.sent["total"])) as askers:
        sent = send_for(bench, 100, bench.o.seconds / 2, 4_000_000)
    bench.check_live(sent)
    bench.add_latency(f"push latency beside four readers of everything ({askers.answers} answers)", sent)


def visible(bench):
    """What a query costs more beside 100 profiles/s, when each time there is something to insert."""
    service = bench.sent["services"][0]
    client = measure.Client(bench.server.http)
    rounds = 5 if bench.o.smoke else 60

    def ask():
        times = []
        for _ in range(rounds):
            times.append(bench.flame(client, service["total"], service["name"]))
            time.sleep(0.05)
        return measure.percentile(times, 0.95)

    quiet = ask()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        load = pool.submit(send_for, bench, 100, bench.o.seconds / 3, 5_000_000)
        time.sleep(0.5)
        beside = ask()
        bench.check_live(load.result())
    client.connection.close()
    bench.add("one service beside 100 profiles/s, p95, more than alone", beside - quiet, 100, "ms",
              note=f"{quiet:.0f} and {beside:.0f} ms")


def live_page(bench):
    """Ten profiles a second, and a page in live mode: every 5 s flame graph and timeline of one service, at once."""
    pid = bench.server.process.pid
    service = bench.sent["services"][0]["name"]
    both = threading.Barrier(2)

    def asker(path, **more):
        def ask(client):
            try:
                both.wait(30)
            except threading.BrokenBarrierError:  # the other one has ended
                return
            client.get(path, query=service, since="1h", type="samples", **more)
        return ask

    bench.settle(pid)
    before, begin = measure.cpu_seconds(pid), time.monotonic()
    with Askers(bench, 1, asker("flame", format="binary"), pause=5), Askers(bench, 1, asker("series"), pause=5):
        sent = send_for(bench, 10, bench.o.seconds, 6_000_000)
        used = (measure.cpu_seconds(pid) - before) / (time.monotonic() - begin)
        both.abort()
    bench.check_live(sent)
    bench.add("light load, 10 profiles/s, with a live page", used * 100, 3, "% of a core")


def inserts(bench):
    """(how many there were, the seconds they took)"""
    client = measure.Client(bench.server.http)
    client.connection.request("GET", "/metrics")
    text = client.connection.getresponse().read().decode()
    client.connection.close()
    return tuple(sum(float(n) for n in re.findall(rf"^wherefore_store_insert_seconds_{what}\S* (\S+)$", text, re.M))
                 for what in ("count", "sum"))


def steady(bench):
    """Four readers of one service each without pause beside 100 profiles/s, for ten minutes: does memory grow, who waits?"""
    pid, parts = bench.server.process.pid, 2 if bench.o.smoke else 10
    some = bench.sent["services"]
    (count, taken), began = inserts(bench), time.monotonic()
    peaks = []
    with Askers(bench, 4, lambda client: client.get("flame", query=random.choice(some)["name"], since="1h", type="samples",
                                                    format="binary")) as askers:
        for part in range(parts):
            with measure.PeakMemory(pid) as peak:
                sent = send_for(bench, 100, bench.o.seconds, 7_000_000 + part * 100_000)
            peaks.append(peak.anonymous)
    seconds = time.monotonic() - began
    bench.check_live(sent)
    count, taken = (after - before for after, before in zip(inserts(bench), (count, taken)))
    # The first of them fills the caches.
    bench.add(f"four readers and one writer for {seconds / 60:.0f} min, peak memory of the last tenth, against the second",
              peaks[-1] / peaks[1 if parts > 2 else 0], 1.1, "x",
              note=f"MB anonymous: {' '.join(f'{p:.0f}' for p in peaks)}; {askers.answers:,} answers; {count / seconds:.1f} inserts/s, "
                   f"{100 * taken / seconds:.0f} % of the time")


def connections(bench):
    """Peak memory with 512 connections that all send as fast as they can, into an empty server."""
    usual, bench.server = bench.server, Server(bench.folder / "connections").start()
    try:
        with measure.PeakMemory(bench.server.process.pid) as peak:
            sent = bench.send(bench.o.hours / 4, start=bench.start, connections=8 if bench.o.smoke else 512)
            bench.server.flush()
        bench.expect("refused with 512 connections", sent["refused"], {})
    finally:
        bench.server.stop()
        bench.server = usual
    bench.add("memory while ingesting, peak, 512 connections", peak.anonymous, 400, "MB anonymous",
              note=f"{sent['profiles'] / sent['seconds']:,.0f} profiles/s")


def many_services(bench):
    """The overview of 3,000 services, and a query over 300 dictionaries, both right after a start."""
    count = 30 if bench.o.smoke else 3000
    with Server(bench.folder / "many") as server:
        many_services_test.send(server, count)
    with Server(bench.folder / "many") as server:
        client = measure.Client(server.http)
        body, ms = client.get("overview", since="1h")
        client.connection.close()
    bench.add(f"overview of {count:,} services, right after a start", ms / 1000, 2, "s", note=f"{len(body) / 1000:.0f} kB")
    services, days = (3, 2) if bench.o.smoke else (30, 10)
    wanted = 0
    with Server(bench.folder / "dictionaries") as server:
        now = time.time_ns()
        for day in range(days):
            for service in range(services):
                answer = server.send(one_profile(f"s{service}", 1 + day, ("main", f"f{service}", f"d{day}"),
                                                 time_ns=now - day * 86_400 * 10**9 - 60 * 10**9))
                bench.expect("a profile of another day", answer.status, 200)
                wanted += 1 + day
        server.flush()
    with Server(bench.folder / "dictionaries") as server:
        client = measure.Client(server.http)
        body, ms = client.get("flame", since=f"{days + 1}d", type="samples", format="binary")
        client.connection.close()
        bench.expect("flame graph over many days", measure.flame_total(body), (wanted, wanted))
    bench.add(f"flame graph over {services * days} dictionaries, right after a start", ms / 1000, 1, "s")
