"""Generated deployments with linked samples and known causes, as senders would send them. Another generator than that
of src/query/test_deployment.h: bursts, requests of unequal size, and decoys of its own."""
import math
import os
import random
import time
from collections import Counter

from harness import Profiles, field, packed, spans_request, varint, wait_until

SECOND = 10**9
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
DECOYS = ("none", "load", "rename", "moved", "mix", "differ", "slow", "rolled_back")


def poisson(rng, mean):
    if mean > 30:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, n, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        n += 1
        product *= rng.random()
    return n


def around_one(rng, variation):
    return rng.gammavariate(1 / variation**2, variation**2) if variation > 0 else 1


def settled(server, seconds=900, **parameters):
    """What is known of regressions after all looks that are due were taken."""
    server.ask("regressions", max_age=0)
    wait_until(lambda: not server.ask("regressions", limit=1)["looking"], seconds, "looks are still due")
    return server.ask("regressions", limit=10000, **parameters)


def one_regression(server, service="dearer"):
    """The id of one, with as little data as shows it."""
    now = time.time_ns()
    for version, parse, ago in (("v1", 200, 2), ("v2", 400, 1)):
        for pod in range(4):
            p = Profiles(service, **{"service.version": version, "host.name": f"{version}-{pod}"})
            for minute in range(0, 30, 10):
                others = [(p.stack("main", f"f{i}"), 100 + (pod * i + minute) % 7) for i in range(6)]
                p.profile([(p.stack("main", "parse"), parse + pod), *others], now - ago * HOUR + minute * MINUTE)
            server.send(p.encode())
    server.flush()
    return settled(server)["regressions"][0]["id"]


class Side:
    """One version: what each endpoint's requests cost, and how many there are."""

    def __init__(self, version, paths, requests, differ=0.05):
        self.version, self.paths, self.requests, self.differ = version, dict(paths), list(requests), differ
        self.slow = None  # an instance that takes longer for everything

    def like(self, version):
        side = Side(version, self.paths, self.requests, self.differ)
        return side


class Deployment:
    """v1 for five hours, then v2 for a day and more up to now; sometimes one between them that was rolled back.

    paths: (endpoint, stack root first) -> samples of a request, on average."""

    ENDPOINTS = 5
    INSTANCES = 5

    def __init__(self, service, seed, part=0.0, decoy="none", scale=1.0):
        self.service, self.decoy, self.scale = service, decoy, scale
        self.rng = rng = random.Random(seed)
        paths = {}
        for e in range(self.ENDPOINTS):
            for f in range(6):
                way = ("main", f"handle{e}", f"f{e}_{f}")
                paths[e, way] = 0.03 + rng.gammavariate(1.5, 0.25)
                for g in range(rng.randrange(3)):
                    paths[e, (*way, f"g{e}_{f}_{g}")] = 0.03 + rng.gammavariate(1.5, 0.25)
        self.v1 = Side("v1", paths, [24] * self.ENDPOINTS)
        self.v2 = self.v1.like("v2")
        self.sides = [self.v1, self.v2]
        self.part, self.changed, self.rolled_back = part, None, None
        self.sent = Counter()  # requests of each endpoint, of v1 and v2
        whole = sum(paths.values())
        if part:
            key = rng.choice(list(paths))
            self.v2.paths[key] += part * whole
            self.changed, self.change_key = key[1][-1], key
        self.disguise(decoy, whole)

    def disguise(self, decoy, whole):
        rng, v2 = self.rng, self.v2
        movable = [k for k in v2.paths if v2.paths[k] > 0.01 * whole and k[1][-1] != self.changed]
        if decoy == "load":
            v2.requests = [3 * n for n in v2.requests]
        elif decoy in ("rename", "moved"):
            key = rng.choice([k for k in movable if not any(o[1][:-1] == k[1] for o in v2.paths)])
            name = key[1][-1]
            new = (*key[1][:-1], name + "_renamed") if decoy == "rename" else (*key[1], name + "_helper")
            v2.paths[key[0], new] = v2.paths.pop(key)
        elif decoy == "mix":
            v2.requests = [n * 2.5 if e % 2 else n * 0.5 for e, n in enumerate(v2.requests)]
        elif decoy == "differ":
            self.v1.differ = v2.differ = 0.25
        elif decoy == "slow":
            v2.slow = 1
        elif decoy == "rolled_back":
            self.rolled_back = Side("v2-bad", self.v1.paths, self.v1.requests, self.v1.differ)
            key = rng.choice(movable)
            self.rolled_back.paths[key] += 0.25 * whole
            self.bad = key[1][-1]

    def send(self, server, now):
        begin = now - 25 * HOUR  # of v2
        before = [begin - 4 * HOUR, begin - 50 * MINUTE, begin - 30 * MINUTE, begin - 15 * MINUTE]
        self.write(server, self.v1, before, 3)
        # So that each look has more than the one before.
        after = [begin, begin + 5 * MINUTE, begin + 10 * MINUTE, begin + 45 * MINUTE, begin + 5 * HOUR, begin + 20 * HOUR, begin + 24 * HOUR + 40 * MINUTE]
        self.write(server, self.v2, after, 3)
        if self.rolled_back:
            bad = begin - 2 * HOUR
            self.write(server, self.rolled_back, [bad, bad + 4 * MINUTE, bad + 8 * MINUTE], 4)

    def write(self, server, side, times, kind):
        stacks = [list(group) for group in ([k for k in side.paths if k[0] == e] for e in range(self.ENDPOINTS))]
        for i in range(self.INSTANCES):
            labels = {"service.version": side.version, "host.name": f"{side.version}-{i}"}
            slow = 1.6 if side.slow == i else 1
            cost = {k: c * slow * around_one(self.rng, side.differ) for k, c in side.paths.items()}
            p, spans = Profiles(self.service, **labels), []
            numbers = {k: field(1, p.stack(*k[1])) for k in side.paths}
            for at in times:
                samples = []
                for e in range(self.ENDPOINTS):
                    mine = stacks[e]
                    weights, total = [], 0.0
                    for k in mine:
                        total += cost[k]
                        weights.append(total)
                    requests = max(1, poisson(self.rng, self.scale * side.requests[e] * around_one(self.rng, 0.2)))
                    if side is not self.rolled_back:
                        self.sent[e] += requests
                    for _ in range(requests):
                        trace, span = os.urandom(16), os.urandom(8)
                        start = at + self.rng.randrange(9 * SECOND)
                        spans.append({"trace": trace, "span": span, "name": f"GET /{e}", "kind": 2, "start": start, "end": start + 50_000_000})
                        # Requests differ in size; what they cost goes with it.
                        drawn = poisson(self.rng, total * around_one(self.rng, 0.3))
                        if drawn:
                            link = b"\x18" + varint(p.link(trace, span))
                            for k, n in Counter(self.rng.choices(mine, cum_weights=weights, k=drawn)).items():
                                samples.append(numbers[k] + link + packed(4, [n]))
                p.profile(samples, at)
            for body, path in ((p.encode(), "/v1development/profiles"), (spans_request(self.service, spans, **labels), "/v1/traces")):
                answer = server.send(body, path)
                assert answer.status == 200, (answer.status, answer.body)

    def truth(self):
        """What is planted, of the cost before, by the mix of requests that there really was."""
        if not self.changed:
            return 0.0
        before = sum(c * self.sent[k[0]] for k, c in self.v1.paths.items())
        grown = self.v2.paths[self.change_key] - self.v1.paths[self.change_key]
        return grown * self.sent[self.change_key[0]] / before
