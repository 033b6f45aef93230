#!/usr/bin/env python3
"""What was acknowledged is in the next answer: over every port, beside other senders, after kill -9, and while a large log is read again."""
import json
import threading
import time
import unittest

from harness import PROTOBUF, Case, Profiles, http, one_profile, spans_request

NEVER = ("--flush-interval", "1h")  # nothing is inserted unless somebody asks, or there is very much


def large_request(number, stacks=4000):
    """About a megabyte of rows whose names are all new."""
    p = Profiles("large")
    p.profile([(p.stack("main", *(f"{number}_{i}_{k}" for k in range(6))), 1) for i in range(stacks)])
    return p.encode()


class Visible(Case):
    def send(self, server, door, body):
        if door == "grpc":
            self.assertEqual(server.send_grpc(body)[0], 0)
        else:
            url = {"otlp": server.otlp_http, "page": server.http}[door]
            answer = http("POST", url + "/v1development/profiles", body, {"content-type": PROTOBUF})
            self.assertEqual(answer.status, 200, answer.body)

    def querier_total(self, server, service):
        body = json.dumps({"profileTypeID": "process_cpu:samples:count:cpu:nanoseconds", "labelSelector": f'{{service_name="{service}"}}',
                           "start": int(time.time() * 1000) - 3_600_000, "end": int(time.time() * 1000) + 60_000, "maxNodes": 100}).encode()
        answer = http("POST", server.http + "/querier.v1.QuerierService/SelectMergeStacktraces", body, {"content-type": "application/json"})
        self.assertEqual(answer.status, 200, answer.body)
        return int(answer.json["flamegraph"].get("total", 0))

    def test_three_hundred_pushes_are_each_in_the_next_answer(self):
        server = self.server(*NEVER)
        doors = ["otlp", "page", "grpc"]
        for i in range(300):
            self.send(server, doors[i % 3], one_profile("shop", 1, time_ns=time.time_ns() + i))
            seen = server.total("shop") if i % 2 else self.querier_total(server, "shop")
            self.assertEqual(seen, i + 1)

    def test_eight_senders_each_see_their_own(self):
        server = self.server(*NEVER)
        wrong = []

        def send_and_ask(n):
            for i in range(38):
                self.send(server, "page" if n % 2 else "otlp", one_profile(f"shop-{n}", 1, time_ns=time.time_ns() + i))
                if (seen := server.total(f"shop-{n}")) != i + 1:
                    wrong.append((n, i + 1, seen))

        threads = [threading.Thread(target=send_and_ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_spans_and_every_list_too(self):
        server = self.server(*NEVER)
        now = time.time_ns()
        body = spans_request("shop", [{"trace": bytes(range(16)), "span": bytes(range(1, 9)), "name": "pay", "start": now, "end": now + 10**6}])
        self.assertEqual(server.send(body, "/v1/traces").status, 200)
        self.assertEqual(len(server.ask("traces", service="shop")["traces"]), 1)
        self.send(server, "otlp", one_profile("new", 1))
        self.assertIn("new", [s["name"] for s in server.ask("services")["services"]])
        self.assertIn("main", server.cli("top", "new").stdout)

    def test_after_kill_9_it_is_still_there(self):
        server = self.server(*NEVER)
        for i in range(20):
            self.send(server, "otlp", one_profile("shop", 1, time_ns=time.time_ns() + i))
            if i % 5 == 4:
                server.kill()
                server.start()
            if i % 3 == 0:
                self.assertEqual(server.total("shop"), i + 1)
        self.assertEqual(server.total("shop"), 20)

    def test_a_large_log_holds_up_neither_the_start_nor_senders(self):
        server = self.server(*NEVER)
        for number in range(12):
            self.send(server, "otlp", large_request(number))
        self.assertGreater(sum(f.stat().st_size for f in (server.data / "wal").iterdir()), 8 << 20)
        server.kill()
        begin = time.monotonic()
        server.start()
        self.assertEqual(server.get("/ready").status, 200)
        ready = time.monotonic() - begin
        self.send(server, "otlp", one_profile("large", 7))
        sent = time.monotonic() - begin
        self.assertEqual(server.total("large"), 12 * 4000 + 7)
        print(f"ready after {ready:.2f} s, first request stored after {sent:.2f} s, all answered after {time.monotonic() - begin:.2f} s")
        self.assertLess(ready, 3)
        server.kill()  # with two writers' names in one log, or in the engine
        server.start()
        self.assertEqual(server.total("large"), 12 * 4000 + 7)


if __name__ == "__main__":
    unittest.main(verbosity=2)
