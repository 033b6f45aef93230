#!/usr/bin/env python3
"""Alerts in a real browser (ui/e2e/alerts.mjs): pending, firing, silenced, resolved, over profiles that really arrive."""
import os
import threading
import unittest

from alerts_test import Load, hot, rules
from ui_test import WithBrowser


class AlertsPage(WithBrowser):
    def test_an_alert_through_its_states(self):
        file, calm = self.folder / "alerts.yaml", self.folder / "calm"
        file.write_text(rules(hot(over="10s", **{"for": "8s"})))
        with self.server("--alerts", str(file), "--evidence", "0") as server:
            load = Load(server, shop=0.6, calm=0.1)
            self.addCleanup(load.stop)
            threading.Thread(target=self.calm_down, args=(load, calm), daemon=True).start()
            self.browse(server, "alerts.mjs", 240, CALM=str(calm))

    def calm_down(self, load, file):
        """The browser's script says when."""
        while not load.stopped.wait(0.2):
            if os.path.exists(file):
                load.shares["shop"] = 0.1
                return


if __name__ == "__main__":
    unittest.main(verbosity=1)
