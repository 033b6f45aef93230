#!/usr/bin/env python3
"""A busy server: small queries are still answered."""
import base64
import concurrent.futures
import json
import random
import socket
import time
import unittest
import urllib.parse

from harness import PROFILES_METHOD, PROTOBUF, Case, field, http, one_each, one_profile, profiles_request, varint, wait_until

FUNCTIONS, DEPTH = 8000, 30


def many_stacks(count, service="large"):
    """An OTLP request with `count` different stacks of 30 frames, observed once each."""
    draw = random.Random(1)
    numbers = [varint(i + 1) for i in range(FUNCTIONS)]
    stacks = b"".join(field(7, field(1, b"".join(draw.choices(numbers, k=DEPTH)))) for _ in range(count))
    names = [b"function number %d" % i for i in range(FUNCTIONS)]
    return profiles_request(names, FUNCTIONS, stacks, one_each(count), service)


class Busy(Case):
    def test_a_small_question_does_not_wait_behind_large_ones(self):
        server = self.server()
        self.assertEqual(server.send(many_stacks(40_000)).status, 200)
        server.flush()
        server.ask("services", since="1h")
        url = server.http + "/api/v1/flame?query=&type=samples&since=1h&max_nodes=2000&lens=invert%20%3E%20hide:nothing{}"
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            large = [pool.submit(http, "GET", url.format(i), timeout=300) for i in range(20)]
            waits = []
            while not all(one.done() for one in large):
                for path in ("services", "labels", "status"):
                    start = time.monotonic()
                    self.assertEqual(server.get("/api/v1/" + path, **({} if path == "status" else {"since": "1h"})).status, 200)
                    waits.append((time.monotonic() - start, path))
                time.sleep(0.2)
            answers = [one.result() for one in large]
        for one in answers:
            self.assertEqual(one.status, 200, one.body)
        waits.sort()
        print(f"small questions during 20 large ones: {len(waits)}, median {waits[len(waits) // 2][0]:.3f} s, slowest {waits[-1][0]:.3f} s ({waits[-1][1]})")
        self.assertLess(waits[len(waits) // 2][0], 1)
        self.assertLess(waits[-1][0], 2)

    def test_a_large_file_is_given_up_in_time(self):
        server = self.server("--query-timeout", "1")
        body = many_stacks(400_000)
        upload = json.dumps({"name": "large", "profile": base64.b64encode(body).decode()}).encode()
        for path, sent, kind in (("/api/v1/adhoc", body, PROTOBUF),
                                 ("/adhocprofiles.v1.AdHocProfileService/Upload", upload, "application/json")):
            start = time.monotonic()
            answer = http("POST", server.http + path, sent, {"content-type": kind})
            took = time.monotonic() - start
            self.assertEqual(answer.status, 429, answer.body[:200])
            self.assertIn(b"--query-timeout", answer.body)
            print(f"{path}: given up after {took:.1f} s, of which it may take 1")
            self.assertLess(took, 3)

    def test_answers_that_nobody_reads_are_bounded(self):
        server = self.server("--memory", "600MiB")
        self.assertEqual(server.send(many_stacks(25_000)).status, 200)
        server.flush()
        path = "/api/v1/export?format=folded&query=&type=samples&since=1h"
        size = len(http("GET", server.http + path).body)
        address = urllib.parse.urlsplit(server.http)

        def number(name):
            return sum(float(line.rsplit(" ", 1)[1]) for line in server.get("/metrics").body.decode().splitlines() if line.startswith(name))
        for i in range(8):  # one after the other: each is made or refused before the next is asked for
            one = socket.socket()
            self.addCleanup(one.close)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            one.connect((address.hostname, address.port))
            one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            wait_until(lambda: number("wherefore_unread_answers_bytes") // size + number("wherefore_unread_answers_refused_total") > i, 20, "neither made nor refused")
        unread = number("wherefore_unread_answers_bytes")
        print(f"answers of {size / 1e6:.0f} MB that eight do not read hold {unread / 1e6:.0f} MB")
        self.assertLess(unread, 100e6)
        self.assertGreater(number("wherefore_unread_answers_refused_total"), 0)
        self.assertEqual(server.get("/api/v1/services", since="1h").status, 200)
        self.assertEqual(server.get("/api/v1/top", query="", type="samples", since="1h", limit=10).status, 200)

    def test_calls_that_bring_no_message_are_bounded(self):
        server = self.server()
        self.assertEqual(server.send_grpc(one_profile("before", 1))[0], 0)
        before = anonymous_bytes(server)
        connections = [open_calls(server, 1000) for _ in range(20)]
        self.addCleanup(lambda: [one.close() for one in connections])

        def calls():
            return sum(float(line.rsplit(" ", 1)[1]) for line in server.get("/metrics").body.decode().splitlines() if line.startswith("wherefore_grpc_open_calls"))
        wait_until(lambda: calls() >= 1000, 20, "no calls are open")
        # Whoever has waited for two seconds makes room.
        wait_until(lambda: server.send_grpc(one_profile("among", 1))[0] == 0, 20, "an honest sender is kept out")
        self.assertLessEqual(calls(), 4096)
        # Those that were refused have left; what they had goes back to the system every five seconds.
        grown = lambda: (anonymous_bytes(server) - before) / 1e6
        at_first = grown()
        wait_until(lambda: grown() < 120, 20, "calls that were refused still hold memory")
        print(f"20,000 calls without a message: {calls():.0f} are open, {at_first:.0f} MB at first, then {grown():.0f}")


def anonymous_bytes(server):
    return next(float(line.split()[1]) for line in server.get("/metrics").body.decode().splitlines() if line.startswith("wherefore_memory_anonymous_bytes"))


def open_calls(server, count):
    """A connection with that many open gRPC calls without a message, as raw bytes: no gRPC client would open so many."""
    def frame(kind, flags, stream, payload):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def text(value):
        return bytes([len(value)]) + value
    head = b"\x83\x86\x04" + text(PROFILES_METHOD.encode()) + b"\x01" + text(b"localhost") + b"\x0f\x10" + text(b"application/grpc") + b"\x00" + text(b"te") + text(b"trailers")
    host, port = server.otlp_grpc.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)))
    frames = b"".join(frame(1, 4, 2 * i + 1, head) for i in range(count))
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frames)
    return connection


if __name__ == "__main__":
    unittest.main()
