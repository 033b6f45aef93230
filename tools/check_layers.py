#!/usr/bin/env python3
"""Fail when a source file includes, or names the namespace of, a module that its own module may not use
(tools/layers.txt), or when that file lists a module that does not exist.

Also keeps two third-party borders: Boost.Asio/Beast, gRPC and OpenSSL only in src/net, and the
engine's C interface (chdb) only in src/store.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
allowed = {}
for line in (root / "tools/layers.txt").read_text().splitlines():
    line = line.split("#")[0].strip()
    if line:
        name, deps = line.split(":")
        allowed[name.strip()] = set(deps.split()) | {name.strip()}

divided = {name.split("/")[0] for name in allowed if "/" in name}  # modules with rules for their subfolders
borders = {r"<(boost/(asio|beast)|grpc|openssl)": {"net"}, r'"store/engine/chdb': {"store"}}
bad = 0


def complain(path, number, text):
    global bad
    bad += 1
    print(f"{path.relative_to(root)}:{number}: {text}")


for module in allowed:
    if not (root / "src" / module).is_dir():
        complain(root / "tools/layers.txt", 1, f"there is no module {module}")

for path in sorted((root / "src").rglob("*")):
    if path.suffix not in (".h", ".cc"):
        continue
    module = path.relative_to(root / "src").parts[0]
    if module not in allowed:
        complain(path, 1, f"module {module} is not in tools/layers.txt")
        continue
    folder = "/".join(path.relative_to(root / "src").parts[:2])
    if module in divided and folder not in allowed:
        complain(path, 1, f"{module} is divided into subfolders (tools/layers.txt); this file is in none of them")
        continue
    for number, text in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#include "([a-z_]+)/', text)
        if match and match[1] in allowed and match[1] not in allowed[module]:
            complain(path, number, f"{module} may not include {match[1]}")
        for name in re.findall(r"\b([a-z]+)(?=::\w)|(?<=\bwherefore::)([a-z]+)\b", text.split("//")[0]):
            name = name[0] or name[1]
            if name in allowed and name not in allowed[module]:
                complain(path, number, f"{module} may not name anything of {name}")
        match = re.match(r'\s*#include "([a-z_]+/[a-z_]+)/', text)
        if match and module in divided and match[1] in allowed and match[1] not in allowed[folder]:
            complain(path, number, f"{folder} may not include {match[1]}")
        if text.lstrip().startswith("#include"):
            for pattern, homes in borders.items():
                if re.search(pattern, text) and module not in homes:
                    complain(path, number, f"only {', '.join(sorted(homes))} may include this")
print(f"layers: {len(allowed)} modules, {bad} violations")
sys.exit(bool(bad))
