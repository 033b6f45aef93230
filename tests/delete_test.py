#!/usr/bin/env python3
"""Deleting under load: senders and queries continue, a start after kill -9 does not wait, empty selectors are refused."""
import threading
import time
import unittest
import urllib.parse

from harness import Case, http, one_profile, wait_until

DAY = 86_400 * 10**9
NOW = time.time_ns()


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Delete(Case):
    def fill(self, server, days=10, a_day=30):
        """Profiles, every third with the label `pod=bad` and names of its own."""
        for day in range(days):
            for i in range(a_day):
                pod = "bad" if i % 3 == 0 else "fine"
                body = one_profile("shop", 10, names=("main", f"work{pod}{i}"), time_ns=NOW - day * DAY - i * 10**9, pod=pod)
                self.assertEqual(server.send(body).status, 200)
        server.flush()

    def post(self, server, path, **parameters):
        return http("POST", server.http + path + "?" + urllib.parse.urlencode(parameters), b"", timeout=300)

    def test_single_spans_traces_and_profiles_are_no_delete(self):
        with self.server() as server:
            server.send(one_profile("shop", 10))
            for name, value in (("span_id", "00" * 8), ("trace_id", "00" * 15 + "01"), ("profile_id", "00" * 16)):
                for query in (f'shop{{{name}="{value}"}}', f'{{{name}="{value}"}}'):
                    answer = self.post(server, "/api/v1/delete", query=query, **{"from": "-1d", "to": "now"})
                    self.assertEqual((answer.status, "cannot name spans" in answer.json["error"]["message"]), (400, True), answer.body)
                    pin = self.post(server, "/api/v1/pins", query=query, **{"from": "-1d", "to": "now"})
                    self.assertEqual(pin.status, 400, pin.body)
            self.assertEqual(server.total("shop"), 10)

    def test_senders_and_questions_do_not_wait_for_a_delete(self):
        with self.server() as server:
            self.fill(server)
            sends, asks, stop, sent = [], [], threading.Event(), 0

            def ask():
                while not stop.is_set():
                    begin = time.monotonic()
                    server.ask("services", since="1h")
                    asks.append(time.monotonic() - begin)
            asker = threading.Thread(target=ask)
            result = {}

            def delete():
                begin = time.monotonic()
                result["answer"] = self.post(server, "/api/v1/delete", query="shop{pod=bad}", **{"from": "-30d", "to": "now"})
                result["seconds"] = time.monotonic() - begin
            deleter = threading.Thread(target=delete)
            asker.start(), deleter.start()
            while deleter.is_alive():
                begin = time.monotonic()
                self.assertEqual(server.send(one_profile("other", 1, names=("main", f"f{sent}"))).status, 200)
                sends.append(time.monotonic() - begin)
                sent += 1
            stop.set(), asker.join()
            self.assertEqual(result["answer"].status, 200, result["answer"].body)
            self.assertEqual(result["answer"].json["profiles"], 100)
            print(f"\ndelete of 100 of 300 profiles over 10 days: {result['seconds']:.1f} s; meanwhile {sent} requests, "
                  f"p50 {percentile(sends, .5) * 1e3:.1f} ms, p99 {percentile(sends, .99) * 1e3:.1f} ms, longest {max(sends) * 1e3:.0f} ms; "
                  f"questions p99 {percentile(asks, .99) * 1e3:.0f} ms")
            self.assertLess(percentile(sends, .99), 0.5)
            self.assertLess(max(sends), 2)
            server.flush()
            self.assertEqual(server.total("shop"), 2000)
            self.assertEqual(server.total("other"), sent)
            self.assertEqual(server.total("shop{pod=fine}"), 2000)

    def test_a_start_after_kill_9_in_a_delete_is_ready_at_once_and_goes_on(self):
        server = self.server()
        self.fill(server)
        thread = threading.Thread(target=lambda: self.kill_is_fine(server))
        thread.start()
        wait_until(lambda: (server.data / "deleting").exists(), what="the delete did not begin")
        time.sleep(0.3)  # some way into it; whatever was done must do
        server.kill()
        thread.join()
        begin = time.monotonic()
        server.start()
        seconds = time.monotonic() - begin
        print(f"\nready {seconds:.2f} s after kill -9 in a delete")
        self.assertLess(seconds, 5)
        self.assertEqual(http("GET", server.http + "/ready").status, 200)
        wait_until(lambda: not (server.data / "deleting").exists(), seconds=120, what="it was not finished in the background")
        self.assertEqual(self.post(server, "/api/v1/delete", query="shop{pod=bad}", **{"from": "-30d", "to": "now"}).status, 200)
        self.assertEqual(server.total("shop"), 2000)
        server.stop()

    def kill_is_fine(self, server):
        try:
            self.post(server, "/api/v1/delete", query="shop{pod=bad}", **{"from": "-30d", "to": "now"})
        except OSError:
            pass

    def test_a_blank_selector_deletes_nothing(self):
        with self.server() as server:
            self.assertEqual(server.send(one_profile("shop", 7)).status, 200)
            server.flush()
            for blank in ("", " ", "\t", "\n \r"):
                answer = self.post(server, "/api/v1/delete", query=blank, **{"from": "-30d", "to": "now"})
                self.assertEqual(answer.status, 400, (blank, answer.body))
            for missing in ("from", "to"):
                times = {"from": "-30d", "to": "now", missing: " "}
                self.assertEqual(self.post(server, "/api/v1/delete", query="shop", **times).status, 400, missing)
            self.assertEqual(server.cli("delete", " ", "--from", "-30d", "--to", "now", "--yes", check=False).returncode, 2)
            self.assertEqual(server.total("shop"), 7)


if __name__ == "__main__":
    unittest.main()
