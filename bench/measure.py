"""What the benchmark reads from outside: a process's CPU and memory, and answers with the time they took.

CPU seconds come from /proc/PID/stat, so other programs on the machine do not count; wall times are wall times.
"""
import http.client
import json
import math
import os
import struct
import threading
import time
import urllib.parse

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    # The command's name may contain spaces and brackets: count from the last one.
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid):
    """(resident, anonymous) in MB."""
    found = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    return tuple(int(found[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon"))


class PeakMemory:
    """The largest anonymous memory of a process while the block runs."""

    def __init__(self, pid):
        self.pid, self.resident, self.anonymous, self.done = pid, 0, 0, threading.Event()

    def _watch(self):
        while True:
            resident, anonymous = memory_mb(self.pid)
            self.resident, self.anonymous = max(self.resident, resident), max(self.anonymous, anonymous)
            if self.done.wait(0.2):
                return

    def __enter__(self):
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.done.set()
        self.thread.join()


def settle(pid, share=0.04, window=3.0, limit=300):
    """Waits until the process used less than `share` of a core for two windows in a row: its merges are done."""
    quiet, end = 0, time.monotonic() + limit
    while quiet < 2:
        before, begin = cpu_seconds(pid), time.monotonic()
        time.sleep(window)
        used = (cpu_seconds(pid) - before) / (time.monotonic() - begin)
        quiet = quiet + 1 if used < share else 0
        if time.monotonic() > end:
            raise SystemExit(f"the server did not come to rest within {limit} s")


def percentile(values, share):
    """The smallest value that at least `share` of all do not exceed."""
    return sorted(values)[max(math.ceil(len(values) * share - 1e-9) - 1, 0)]


def folder_bytes(folder, leave_out=None):
    """What a file, or the files below a folder, take on the disk; `leave_out` names folders that do not count."""
    if os.path.isfile(folder):
        return os.lstat(folder).st_blocks * 512
    total = 0
    for here, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != leave_out]
        for name in files:
            try:
                total += os.lstat(os.path.join(here, name)).st_blocks * 512
            except FileNotFoundError:  # merged meanwhile
                pass
    return total


class Client:
    """One keep-alive connection to the API."""

    def __init__(self, url):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=120)

    def get(self, path, **parameters):
        """(body, milliseconds); anything but 200 ends the benchmark."""
        target = "/api/v1/" + path + "?" + urllib.parse.urlencode(parameters)
        begin = time.monotonic()
        self.connection.request("GET", target)
        answer = self.connection.getresponse()
        body = answer.read()
        milliseconds = (time.monotonic() - begin) * 1000
        if answer.status != 200:
            raise SystemExit(f"{target}: {answer.status} {body[:500]!r}")
        return body, milliseconds

    def select_merge(self, service, from_ms, to_ms):
        """(flame graph, milliseconds) as Grafana asks for it: Connect with JSON."""
        question = {"profileTypeID": "process_cpu:samples:count:cpu:nanoseconds", "start": str(from_ms), "end": str(to_ms),
                    "labelSelector": f'{{service_name="{service}"}}' if service else "{}", "maxNodes": "8192"}
        begin = time.monotonic()
        self.connection.request("POST", "/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(question),
                                {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        body = answer.read()
        milliseconds = (time.monotonic() - begin) * 1000
        if answer.status != 200:
            raise SystemExit(f"SelectMergeStacktraces: {answer.status} {body[:500]!r}")
        return json.loads(body)["flamegraph"], milliseconds

    def ask(self, path, **parameters):
        return json.loads(self.get(path, **parameters)[0])


def flame_total(body):
    """(total said, total of the nodes' own values) of a flame graph in binary form (docs/format.md)."""
    assert body[:4] == b"FG1\0", body[:100]
    sections = {}
    for i in range(struct.unpack_from("<H", body, 6)[0]):
        kind, _, count, offset, size = struct.unpack_from("<HHIII", body, 8 + 16 * i)
        sections.setdefault(kind, (count, body[offset:offset + size]))
    said = int(json.loads(sections[1][1])["total"])
    total, value, shift = 0, 0, 0
    for byte in sections[6][1]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            total += (value >> 1) ^ -(value & 1)
            value = shift = 0
    return said, total
