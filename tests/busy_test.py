#!/usr/bin/env python3
"""A server that has much to do: who asks for little is answered meanwhile."""
import concurrent.futures
import random
import time
import unittest

from harness import Case, field, fixed64, http, resource, varint

FUNCTIONS, DEPTH = 8000, 30


def many_stacks(count, service="large"):
    """An OTLP request of that many stacks of 30 frames, all different, observed once each."""
    draw = random.Random(1)
    numbers = [varint(i + 1) for i in range(FUNCTIONS)]
    strings = (b"", b"samples", b"count", b"cpu", b"nanoseconds", *(b"function number %d" % i for i in range(FUNCTIONS)))
    dictionary = field(1, b"") + field(2, b"")
    dictionary += b"".join(field(2, field(3, field(1, i + 1))) for i in range(FUNCTIONS)) + field(3, b"")
    dictionary += b"".join(field(3, field(1, i + 5)) for i in range(FUNCTIONS)) + field(4, b"")
    dictionary += b"".join(field(5, s) for s in strings) + field(6, b"") + field(7, b"")
    dictionary += b"".join(field(7, field(1, b"".join(draw.choices(numbers, k=DEPTH)))) for _ in range(count))
    samples = b"".join(field(2, field(1, i + 1) + field(4, b"\1")) for i in range(count))
    profile = field(1, field(1, 1) + field(2, 2)) + samples + fixed64(3, time.time_ns()) + field(4, 10**10)
    profile += field(5, field(1, 3) + field(2, 4)) + field(6, 10_000_000)
    return field(1, field(1, resource(service)) + field(2, field(2, profile))) + field(2, dictionary)


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


if __name__ == "__main__":
    unittest.main()
