"""The budget table: what is measured, the budget, and how both are printed."""
import datetime
import os
import platform
import subprocess


class Row:
    """One figure. `limit` is the budget; at most it, or with at_least at least it. None: for information."""

    def __init__(self, what, value, limit=None, unit="", at_least=False, note=""):
        self.what, self.value, self.limit, self.unit, self.at_least, self.note = what, value, limit, unit, at_least, note

    @property
    def verdict(self):
        if self.limit is None:
            return ""
        return "ok" if (self.value >= self.limit if self.at_least else self.value <= self.limit) else "MISS"

    @property
    def budget(self):
        return "" if self.limit is None else f"{'>=' if self.at_least else '<='} {number(self.limit)} {self.unit}".strip()

    @property
    def measured(self):
        return f"{number(self.value)} {self.unit}".strip()

    def as_json(self):
        return {"what": self.what, "value": self.value, "limit": self.limit, "unit": self.unit,
                "at_least": self.at_least, "verdict": self.verdict, "note": self.note}


def number(value):
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def text(rows):
    cells = [(r.what, r.budget, r.measured, r.verdict, r.note) for r in rows]
    widths = [max(len(c[i]) for c in [*cells, ("what", "budget", "measured", "", "")]) for i in range(5)]
    lines = []
    for c in [("what", "budget", "measured", "", ""), *cells]:
        lines.append("  ".join(t.ljust(w) for t, w in zip(c, widths)).rstrip())
    return "\n".join(lines)


def markdown(rows):
    lines = ["| what | budget | measured | |", "|---|---|---|---|"]
    for r in rows:
        what = f"{r.what} ({r.note})" if r.note else r.what
        verdict = "**MISS**" if r.verdict == "MISS" else r.verdict
        lines.append(f"| {what} | {r.budget} | {r.measured} | {verdict} |")
    return "\n".join(lines)


def machine(root):
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")

    def git(*words):
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(),
            "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": git("rev-parse", "--short", "HEAD") + ("+changes" if git("status", "--porcelain", "-uno") else "")}
