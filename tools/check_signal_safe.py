#!/usr/bin/env python3
"""Fail when an object file that runs in signal handlers calls anything outside the allow-list.

Arguments: object files. What one of them defines, the others may call. Indirect calls could go
anywhere, so the functions that make one are listed too (tools/signal_safe.txt).
"""
import pathlib
import re
import subprocess
import sys

rules = {"call": set(), "indirect": set()}
for line in (pathlib.Path(__file__).parent / "signal_safe.txt").read_text().splitlines():
    line = line.split("#")[0].split()
    if line:
        rules[line[0]].add(line[1])


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


objects = sys.argv[1:]
if not objects:
    sys.exit("usage: check_signal_safe.py OBJECT...")
defined = set(run("nm", "-j", "--defined-only", *objects).split())
bad = 0
for name in objects:
    for symbol in run("nm", "-j", "-u", name).split():
        if symbol not in defined and symbol not in rules["call"] and symbol != "_GLOBAL_OFFSET_TABLE_":
            bad += 1
            print(f"{name}: needs {symbol}, which is not known to be safe in a signal handler")
    function = ""
    for line in run("objdump", "-d", "--no-show-raw-insn", name).splitlines():
        if match := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = match[1]
        if re.search(r"\t(call|jmp)\s+\*", line) and "rip" not in line and function not in rules["indirect"]:
            bad += 1
            print(f"{name}: {function} calls through a pointer: {line.strip()}")
print(f"signal safety: {len(objects)} object files, {bad} violations")
sys.exit(bool(bad))
