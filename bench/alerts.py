#!/usr/bin/env python3
"""What judging alerts costs: 500 rules over 20 services, every minute, while all of them send profiles.

    bench/alerts.py                     # 2 rounds without rules, then 5 with them: 7 minutes
    bench/alerts.py --minutes 10

Prints the CPU time of the server with rules and without, in per cent of a core; the difference is what alerts cost.
The load is that of the benchmark: 5 instances of each service, a profile of 120 samples each every 10 s, Zipf over 20,000
stacks of 4,000 functions.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from harness import Profiles, Server, field, resource  # noqa: E402

SECOND = 10**9


def stacks_of(service, rng, stacks, functions, depth):
    """Stacks of a service, and how often each is seen: Zipf."""
    names = [[f"{service}::function_{rng.randrange(functions)}" for _ in range(depth)] for _ in range(stacks)]
    return names, list(itertools.accumulate(1 / (rank + 1) for rank in range(stacks)))


def request(stacks, weights, service, instances, at, rng, samples):
    p, bodies, numbers = Profiles(service), b"", {}
    for instance in range(instances):
        seen = {}
        for stack in rng.choices(range(len(stacks)), cum_weights=weights, k=samples):
            seen[stack] = seen.get(stack, 0) + 1
        for stack in seen:
            if stack not in numbers:
                numbers[stack] = p.stack("main", *stacks[stack])
        p.profiles = []
        p.profile([(numbers[stack], n) for stack, n in seen.items()], at)
        scope = field(1, field(1, "bench")) + b"".join(field(2, one) for one in p.profiles)
        labels = resource(service, **{"service.instance.id": str(instance)})
        bodies += field(1, field(1, labels) + field(2, scope))
    p.profiles = []
    return bodies + p.encode()


def rules(services, count):
    """Of every kind, as many of each service."""
    whens = ("above 20%", "change above 10% against previous", "above 2%", "below 1%", "above 50%")
    each = count // len(services)
    entries = [{"alert": f"Rule{i}", "select": service, "function": f"function_{i + 1}$", "over": "5m", "when": whens[i % len(whens)]}
               for service in services for i in range(each)]
    return json.dumps({"groups": [{"name": "bench", "every": "1m", "rules": entries}]})


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metric(server, name):
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return 0.0


def measure(server, seconds):
    begin, used = time.monotonic(), cpu_s(server.process.pid)
    time.sleep(seconds)
    return 100 * (cpu_s(server.process.pid) - used) / (time.monotonic() - begin)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--services", type=int, default=20)
    options.add_argument("--instances", type=int, default=5)
    options.add_argument("--rules", type=int, default=500)
    options.add_argument("--samples", type=int, default=120)
    options.add_argument("--stacks", type=int, default=20_000)
    options.add_argument("--minutes", type=float, default=5)
    o = options.parse_args()
    rng = random.Random(1)
    services = [f"service-{i:02}" for i in range(o.services)]
    load = {service: stacks_of(service, rng, o.stacks, 4000, 25) for service in services}
    bodies = {service: lambda at, s=service: request(*load[s], s, o.instances, at, rng, o.samples) for service in services}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "alerts.yaml"
        file.write_text("groups: []\n")
        with Server(pathlib.Path(folder) / "data", "--alerts", str(file)) as server:
            now = time.time_ns()
            for service in services:  # ten minutes that are there already
                for k in range(60):
                    assert server.send(bodies[service](now - (60 - k) * 10 * SECOND)).status == 200
            stopped = threading.Event()

            def send():
                while not stopped.is_set():
                    begin = time.monotonic()
                    for service in services:
                        server.send(bodies[service](time.time_ns()))
                    stopped.wait(max(0.0, 10 - (time.monotonic() - begin)))

            thread = threading.Thread(target=send)
            thread.start()
            time.sleep(30)
            without = measure(server, 120)
            file.write_text(rules(services, o.rules))
            time.sleep(10)
            rounds, took = metric(server, "wherefore_alerts_round_seconds_count"), metric(server, "wherefore_alerts_round_seconds_sum")
            with_rules = measure(server, 60 * o.minutes)
            rounds, took = metric(server, "wherefore_alerts_round_seconds_count") - rounds, metric(server, "wherefore_alerts_round_seconds_sum") - took
            stopped.set()
            thread.join()
            seen = server.ask("alerts")
            assert len(seen["rules"]) == o.rules // o.services * o.services, len(seen["rules"])
            assert all(rule["services"] == 1 for rule in seen["rules"]), "a rule was not judged"
            firing = sum(alert["state"] == "firing" for alert in seen["alerts"])
    print(f"{o.rules} rules, {o.services} services: {with_rules - without:.1f} % of a core ({without:.1f} % without, {with_rules:.1f} % with); "
          f"a round {1000 * took / max(rounds, 1):.0f} ms, {rounds:.0f} rounds; {firing} fire")


if __name__ == "__main__":
    main()
