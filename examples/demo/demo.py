#!/usr/bin/env python3
"""The demo's supervisor: three C++ services and their customers, profiled and traced.

    demo.py record --build build/release --history DIR [--seconds 60]
        Runs release v1 for a minute, then v2, and keeps what their profilers sent as files. Does nothing when DIR
        already holds a recording of these very programs.
    demo.py live --build build/release --history DIR --server http://127.0.0.1:4040 [--rate 12]
        Shows the recording as if it had just happened, then goes on with v2 until it is told to stop
        (SIGTERM, SIGINT, or the end of its standard input's writer with --while PID).
"""
import argparse
import contextlib
import ctypes
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

SERVICES = ("storefront", "orders", "inventory")


def end_with_parent():
    """In the child: whatever ends the supervisor ends its services too."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Release:
    """One release of all three services, running."""

    def __init__(self, program, environment):
        self.ports = free_ports(len(SERVICES))
        self.program = program
        # Uploads every 5 s instead of 10: a minute is short, and each is one more to compare versions by.
        mine = {"WHEREFORE_UPLOAD_INTERVAL": "5s", **environment}
        self.children = [self._start(name, {**os.environ, **mine}) for name in SERVICES]
        self._wait_until_listening()

    def _start(self, part, environment, *arguments):
        ports = ",".join(map(str, self.ports))
        return subprocess.Popen([self.program, part, "--ports", ports, *arguments], env=environment,
                                stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)

    def _wait_until_listening(self):
        deadline = time.monotonic() + 30
        for port in self.ports:
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                if time.monotonic() > deadline or any(child.poll() is not None for child in self.children):
                    self.stop()
                    sys.exit("demo: a service did not start")
                time.sleep(0.05)

    def load(self, rate, seconds=0):
        """The customers: a process that ends by itself after `seconds`, or never."""
        self.children.insert(0, self._start("load", dict(os.environ), "--rate", str(rate), "--seconds", str(seconds)))
        return self.children[0]

    def stop(self):
        # Customers first, then from the front to the back: nobody is left without an answer.
        for child in self.children:
            child.terminate()
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def fingerprint(build, seconds):
    digest = hashlib.sha256(str(seconds).encode())
    for name in ("demo/v1/demo", "demo/v2/demo", "libwherefore.so"):
        digest.update((build / name).read_bytes())
    return digest.hexdigest()


def record(arguments):
    history = arguments.history
    stamp = history / "fingerprint"
    mine = fingerprint(arguments.build, arguments.seconds)
    if stamp.exists() and stamp.read_text() == mine:
        return
    shutil.rmtree(history, ignore_errors=True)
    history.mkdir(parents=True)
    print(f"demo: recording two minutes of history, once per build ({2 * arguments.seconds} s)", file=sys.stderr)
    for version in (1, 2):
        release = Release(str(arguments.build / f"demo/v{version}/demo"),
                          {"WHEREFORE_OUTPUT": str(history / f"v{version}"), "WHEREFORE_LOG": "warn"})
        release.load(arguments.rate, arguments.seconds).wait()
        release.stop()
    stamp.write_text(mine)


def otlp_endpoint(server):
    """4040 takes OTLP too, so the page's own address is all anybody needs to know."""
    return server.rstrip("/")


def show_history(arguments):
    files = sorted(str(file) for file in arguments.history.glob("*.otlp"))
    if not files:
        sys.exit(f"demo: no recording in {arguments.history}")
    pushed = subprocess.run([str(arguments.build / "wherefore"), "push", "--replay", "--server", arguments.server, *files],
                            stdout=subprocess.DEVNULL)
    if pushed.returncode != 0:
        sys.exit(f"demo: the history could not be sent to {arguments.server}")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def live(arguments):
    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    show_history(arguments)
    release = Release(str(arguments.build / "demo/v2/demo"),
                      {"OTEL_EXPORTER_OTLP_ENDPOINT": otlp_endpoint(arguments.server), "WHEREFORE_LOG": "warn"})
    try:
        load = release.load(arguments.rate)
        while not stopping and load.poll() is None:
            if arguments.while_pid and not alive(arguments.while_pid):
                break
            time.sleep(0.2)
    finally:
        release.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, action in (("record", record), ("live", live)):
        command = commands.add_parser(name)
        command.set_defaults(action=action)
        command.add_argument("--build", type=pathlib.Path, required=True)
        command.add_argument("--history", type=pathlib.Path, required=True)
        command.add_argument("--rate", type=float, default=12)
        if name == "record":
            command.add_argument("--seconds", type=int, default=60)
        else:
            command.add_argument("--server", default="http://127.0.0.1:4040")
            command.add_argument("--while", dest="while_pid", type=int, default=0)
    arguments = parser.parse_args()
    arguments.action(arguments)


if __name__ == "__main__":
    main()
