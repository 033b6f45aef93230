#!/usr/bin/env python3
"""kill -9 at random moments under load: every acknowledged request is stored exactly once, and so is every
unacknowledged one that is sent again. CRASH_ROUNDS (50) and CRASH_SEED can be set."""
import http.client
import os
import random
import threading
import time
import unittest

from harness import PROTOBUF, Case, one_profile

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "50"))
SEED = int(os.environ.get("CRASH_SEED", str(time.time_ns() % 10**6)))
SENDERS = 4


class Sender(threading.Thread):
    """Sends requests one after the other until the server dies; remembers the one without an answer."""

    def __init__(self, address, number, rng, backlog):
        super().__init__()
        self.address, self.number, self.rng = address.removeprefix("http://"), number, rng
        self.backlog, self.acknowledged, self.unanswered = backlog, [], None

    def request(self):
        value = self.rng.randrange(1, 1000)
        names = ("main", f"f{self.rng.randrange(200)}", f"g{self.rng.randrange(200)}")
        # Several days, so that one insert touches several buckets.
        at = time.time_ns() - self.rng.randrange(3) * 86_400 * 10**9
        return value, one_profile(f"crash-{self.number}", value, names, at, run=str(self.rng.random()))

    def run(self):
        connection = http.client.HTTPConnection(self.address, timeout=10)
        while True:
            value, body = self.backlog.pop() if self.backlog else self.request()
            try:
                connection.request("POST", "/v1development/profiles", body, {"content-type": PROTOBUF})
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException):
                self.unanswered = (value, body)
                return
            if response.status == 200:
                self.acknowledged.append(value)
            else:
                self.unanswered = (value, body)
                return


class Crash(Case):
    def test_acknowledged_once_and_retried_once(self):
        rng = random.Random(SEED)
        print(f"crash test: {ROUNDS} rounds, seed {SEED}", flush=True)
        server = self.server()
        backlog = [[] for _ in range(SENDERS)]
        acknowledged = [0] * SENDERS
        requests = 0
        for round in range(ROUNDS):
            senders = [Sender(server.otlp_http, i, random.Random(rng.random()), backlog[i]) for i in range(SENDERS)]
            for sender in senders:
                sender.start()
            # A random moment is the point of this test; nothing is waited for.
            time.sleep(rng.uniform(0.0, 0.6) if round % 10 else rng.uniform(2.0, 2.6))
            server.kill()
            for i, sender in enumerate(senders):
                sender.join()
                acknowledged[i] += sum(sender.acknowledged)
                requests += len(sender.acknowledged)
                if sender.unanswered:
                    backlog[i].append(sender.unanswered)
            server.start()
            if round % 5 == 4 or round == ROUNDS - 1:
                self.verify(server, acknowledged, backlog, f"round {round}, seed {SEED}")
        # Everything unanswered is sent again; some of it had been stored. All of it counts once.
        for i in range(SENDERS):
            for value, body in backlog[i]:
                self.assertEqual(server.send(body).status, 200)
                acknowledged[i] += value
            backlog[i].clear()
        self.verify(server, acknowledged, backlog, f"end, seed {SEED}")
        print(f"crash test: {requests} acknowledged requests, all there exactly once", flush=True)
        server.stop()

    def verify(self, server, acknowledged, backlog, where):
        server.flush()
        for i in range(SENDERS):
            total = server.total(f"crash-{i}")
            maybe = [value for value, _ in backlog[i]]
            # Unanswered requests may or may not have made it; never in part, never twice.
            possible = {acknowledged[i]}
            for value in maybe:
                possible |= {p + value for p in possible}
            self.assertIn(total, possible, f"sender {i}, {where}: missing {acknowledged[i] - total}")


if __name__ == "__main__":
    unittest.main(verbosity=1)
