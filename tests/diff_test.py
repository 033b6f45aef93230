#!/usr/bin/env python3
"""Differences that say whether they are more than chance, by the command people have from the articles."""
import json
import unittest

from harness import Case, Profiles

# As the article has it, but for the program's name.
COMMAND = ["diff", "--baseline", "my-service{commit=abc123}", "--comparison", "my-service{commit=def456}", "--time-range", "1h"]


class Diff(Case):
    def send(self, server, commit, shares):
        """One profile of each instance: that many of 1,000 samples in parse."""
        for number, share in enumerate(shares):
            p = Profiles("my-service", commit=commit, pod=f"{commit}-{number}")
            p.profile([(p.stack("main", "parse"), share), (p.stack("main", "render"), 1000 - share)])
            self.assertEqual(server.send(p.encode()).status, 200)

    def row(self, done, name):
        return next(row for row in json.loads(done.stdout)["rows"] if row["name"] == name)

    def test_the_command_of_the_article_names_what_changed(self):
        server = self.server()
        self.send(server, "abc123", [100, 130, 85, 95, 110])
        self.send(server, "def456", [190, 215, 180, 205, 210])
        text = server.cli(*COMMAND).stdout
        self.assertRegex(text, r"\+9\.\d +\d+\.\d % +20\.0 % +\+9\.\d +\+\d\.\d to \+1\d\.\d  more  more  parse")
        self.assertIn("compared by instances (5 and 5)", text)
        parse = self.row(server.cli(*COMMAND, "--json"), "parse")
        self.assertEqual(parse["self"]["verdict"], "more")
        self.assertLess(parse["self"]["low"], parse["self"]["high"])

    def test_one_odd_instance_is_not_called_a_change(self):
        server = self.server()
        self.send(server, "abc123", [100, 130, 85, 95, 110])
        self.send(server, "def456", [105, 90, 120, 100, 500])
        self.assertEqual(self.row(server.cli(*COMMAND, "--json"), "parse")["self"]["verdict"], "undecided")

    def test_the_sides_have_two_names_or_none(self):
        done = self.server().cli("diff", "--baseline", "a", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--baseline and --comparison go together", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
