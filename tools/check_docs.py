#!/usr/bin/env python3
"""Fail when a path named in the documentation does not exist, or a module's README is missing a file."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
bad = 0
pages = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "src").rglob("README.md"))]
for page in pages:
    for number, line in enumerate(page.read_text().splitlines(), 1):
        named = re.findall(r"`((?:src|docs|tools|tests|bench|fuzz|proto|ui|cmake|changes|examples)/[A-Za-z0-9_./*-]*)`", line)
        named += [link for link in re.findall(r"\]\(([^)#:]+)\)", line)]
        for path in named:
            base = root if path.split("/")[0] in ("src", "docs", "tools", "tests", "bench", "fuzz", "proto", "ui", "cmake", "changes", "examples") else page.parent
            found = list(base.glob(path.rstrip("/"))) if "*" in path else [base / path] if (base / path).exists() else []
            if not found:
                print(f"{page.relative_to(root)}:{number}: {path} does not exist")
                bad += 1
print(f"docs: {len(pages)} pages, {bad} dead paths")
sys.exit(bool(bad))
