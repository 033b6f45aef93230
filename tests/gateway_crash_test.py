#!/usr/bin/env python3
"""A gateway before a gateway before a store: the second is dead for a while, then both are killed at random moments, and
all the time the next hop may store and never answer. Every sample is in the store exactly once.

GATEWAY_DEAD (3) seconds of death, GATEWAY_KILLS (4) of each, GATEWAY_P99_MS (250): what 99 of 100 senders may wait for
their answer while nothing is killed, although a batch waits for 5 s. CRASH_SEED can be set.
"""
import os
import random
import socket
import threading
import time
import unittest
from http.client import HTTPConnection, HTTPException

from harness import PROTOBUF, Case, free_port, http, one_profile, wait_until

DEAD = float(os.environ.get("GATEWAY_DEAD", "3"))
KILLS = int(os.environ.get("GATEWAY_KILLS", "4"))
P99_MS = float(os.environ.get("GATEWAY_P99_MS", "250"))
SEED = int(os.environ.get("CRASH_SEED", str(time.time_ns() % 10**6)))
SENDERS, RATE = 4, 100


class Forgetful:
    """Passes connections on to a port. Of some, the answers are swallowed: the server stores and never answers."""

    def __init__(self, to):
        self.to, self.moody, self.swallowed = to, True, 0
        self.rng = random.Random(SEED)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.to), timeout=10)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            threading.Thread(target=self.copy, args=(client, server), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, 0.1), daemon=True).start()

    def copy(self, source, target, forgets=0.0):
        silent = False
        try:
            while data := source.recv(65536):
                silent = silent or self.moody and self.rng.random() < forgets
                self.swallowed += silent
                if not silent:
                    target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def close(self):
        self.listener.close()


class Sender(threading.Thread):
    """Sends its share of RATE profiles a second, each until it is acknowledged."""

    def __init__(self, port, number):
        super().__init__()
        self.port, self.number, self.rng = port, number, random.Random(SEED * 10 + number)
        self.stop, self.quiet = threading.Event(), threading.Event()
        self.sent, self.again, self.took = {}, 0, []  # took: only while nothing is killed

    def run(self):
        connection, n, due = None, 0, time.monotonic()
        while not self.stop.is_set():
            due = max(due + SENDERS / RATE, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))
            name, value = f"s{self.number}_{n}", self.rng.randrange(1, 1000)
            body = one_profile(f"shop-{self.number}", value, ("main", name))
            n += 1
            quiet, start = self.quiet.is_set(), time.monotonic()
            while not (connection := self.deliver(connection, body)):
                self.again += 1
                quiet = False
                time.sleep(0.05)
            if quiet and self.quiet.is_set():
                self.took.append(time.monotonic() - start)
            self.sent[name] = value
        connection.close()

    def deliver(self, connection, body):
        """The connection, if it was acknowledged."""
        connection = connection or HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("POST", "/v1development/profiles", body, {"content-type": PROTOBUF})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                return connection
        except (OSError, HTTPException):
            pass
        connection.close()
        return None


class GatewayBeforeGateway(Case):
    def gateway(self, name, port, to):
        path = self.folder / f"{name}.yaml"
        path.write_text(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}
processors: {{batch: {{timeout: 5s, send_batch_size: 10}}}}
exporters:
  otlphttp:
    endpoint: http://127.0.0.1:{to}
    timeout: 1s
    retry_on_failure: {{initial_interval: 100ms, max_interval: 500ms}}
service: {{pipelines: {{profiles: {{receivers: [otlp], processors: [batch], exporters: [otlphttp]}}}}}}
""")
        return self.server("--config", str(path), name=name)

    def is_empty(self, server):
        parts = http("GET", server.http + "/api/v1/status").json["parts"]
        return [part["facts"]["queued requests"] for part in parts if part["part"].startswith("exporter")] == ["0"]

    def stored(self, server):
        found = {}
        for i in range(SENDERS):
            answer = server.get("/api/v1/export", query=f"shop-{i}", type="samples", since="1h", format="folded")
            for line in answer.body.decode().splitlines() if answer.status == 200 else ():
                stack, value = line.rsplit(" ", 1)
                found[stack.split(";")[1]] = int(value)
        return found

    def test_everything_acknowledged_is_there_once(self):
        rng = random.Random(SEED)
        print(f"seed {SEED}: dead for {DEAD:g} s, {KILLS} kills of each", flush=True)
        store = self.server(name="store")
        before_store = Forgetful(int(store.otlp_http.rsplit(":", 1)[1]))
        second_port, first_port = free_port(), free_port()
        second = self.gateway("second", second_port, before_store.port)
        before_second = Forgetful(second_port)
        first = self.gateway("first", first_port, before_second.port)
        self.addCleanup(before_store.close)
        self.addCleanup(before_second.close)
        senders = [Sender(first_port, i) for i in range(SENDERS)]
        for sender in senders:
            sender.start()
            self.addCleanup(sender.join)
            self.addCleanup(sender.stop.set)
            sender.quiet.set()
        wait_until(lambda: all(sender.sent for sender in senders))
        second.kill()
        time.sleep(DEAD)  # senders are answered all the same
        second.start()
        for sender in senders:
            sender.quiet.clear()
        for _ in range(KILLS):
            for gateway in rng.sample((first, second), 2):
                time.sleep(rng.uniform(0.05, 1.2))  # a random moment is the point
                gateway.kill()
                gateway.start()
        for sender in senders:
            sender.stop.set()
        for sender in senders:
            sender.join()
        before_store.moody = before_second.moody = False
        wait_until(lambda: self.is_empty(first) and self.is_empty(second), 120, "the queues were not emptied")
        sent = {name: value for sender in senders for name, value in sender.sent.items()}
        stored = self.stored(store)
        wrong = {name: (value, stored.get(name)) for name, value in sent.items() if stored.get(name) != value}
        self.assertEqual(wrong, {}, "sent, stored")
        self.assertEqual(len(stored), len(sent))
        took = sorted(t for sender in senders for t in sender.took)
        p99 = took[len(took) * 99 // 100] * 1000
        swallowed = before_store.swallowed + before_second.swallowed
        print(f"{len(sent)} profiles, each there once; {sum(s.again for s in senders)} sent again by senders, "
              f"{swallowed} answers swallowed; acknowledged after {took[len(took) // 2] * 1000:.1f} ms (p50), {p99:.1f} ms (p99)",
              flush=True)
        self.assertGreater(swallowed, 0, "otherwise nothing was put to the test")
        self.assertLess(p99, P99_MS)


if __name__ == "__main__":
    unittest.main()
