#!/usr/bin/env python3
"""`serve --profile-self`: the server's own profile in its own store, by names that people know, and without feedback."""
import unittest

from harness import Case, Server, http, one_profile


class SelfProfile(Case):
    def test_the_server_is_a_service_of_its_own(self):
        token = self.folder / "token"
        token.write_text("secret-of-this-test")
        bearer = {"Authorization": "Bearer secret-of-this-test"}
        with self.server("--profile-self", "--token-file", str(token)) as server:
            for i in range(3000):  # something to do
                answer = server.send(one_profile(f"shop-{i % 50}", 1, ("main", f"f{i}")), headers=bearer)
                self.assertEqual(answer.status, 200, answer.body)
            metrics = http("GET", server.http + "/metrics", headers=bearer).body.decode()
            received = sum(float(line.rsplit(" ", 1)[1]) for line in metrics.splitlines() if line.startswith("wherefore_received_requests_total"))
            # Ours, and of itself at most one in ten seconds.
            self.assertLessEqual(received, 3000 + 12, metrics)
        with Server(server.data) as again:
            top = again.ask("top", query="wherefore", type="cpu", since="1h", limit=5000)
            self.assertGreater(int(top["total"]), 100_000_000)
            names = " ".join(row["name"] for row in top["rows"])
            self.assertIn("wherefore::", names)
            self.assertEqual(again.total("shop-0"), 60)

    def test_without_the_option_there_is_no_such_service(self):
        with self.server() as server:
            server.send(one_profile("shop", 1))
        with Server(server.data) as again:
            self.assertEqual([s["name"] for s in again.ask("services", since="1h")["services"]], ["shop"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
