#!/usr/bin/env python3
"""Checks the documentation: every .md file of the repository except CHANGELOG.md.

Fails when
- a path of this repository that a page names, anywhere in its text, does not exist;
- a link leads to a file, or to a heading of a page, that does not exist;
- a module has no README, or its README names a file that is not in the module;
- a line of prose is longer than 100 columns (tables, code, pictures, change notes and the modules'
  READMEs may be wider).
"""
import pathlib
import re
import sys

ROOTS = "src|docs|tools|tests|bench|fuzz|proto|ui|cmake|changes|examples|include|packaging"
PATH = re.compile(rf"(?<![\w/.@-])(?:{ROOTS})/[A-Za-z0-9_./*-]*[A-Za-z0-9_/*]")
FILE = re.compile(r"`([A-Za-z0-9_/*]+\.(?:h|cc|txt|cmake|py|md))`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
WIDTH = 100
root = pathlib.Path(__file__).resolve().parent.parent
bad = 0


def complain(page, number, text):
    global bad
    bad += 1
    print(f"{page.relative_to(root)}:{number}: {text}")


def exists(base, path):
    return any(base.glob(path.rstrip("/"))) if "*" in path else (base / path).exists()


def lines_of(page):
    """(number, line, is code) of every line of a page."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = line.lstrip().startswith("```")
        yield number, line, fenced or fence or line.startswith("    ")
        fenced ^= fence


def anchors(page):
    """The headings of a page as links name them."""
    for _, line, code in lines_of(page):
        if line.startswith("#") and not code:
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip().lower())
            yield re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def check_link(page, number, target):
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    if not file.exists():
        complain(page, number, f"the link {target} leads nowhere")
    elif anchor and file.suffix == ".md" and anchor not in anchors(file):
        complain(page, number, f"the link {target}: there is no such heading")


def check_page(page):
    module = root / "src" in page.parents and page.name == "README.md"
    wide = root / "src" in page.parents or root / "changes" in page.parents
    for number, line, code in lines_of(page):
        for path in PATH.findall(re.sub(r"\w+://\S+", "", line)):
            if not exists(root, path):
                complain(page, number, f"{path} does not exist")
        for target in LINK.findall(line):
            if "://" not in target:
                check_link(page, number, target)
        for path in FILE.findall(line) if module else ():
            if re.match(rf"(?:{ROOTS})/", path) or any(page.parent.rglob(path)):
                continue
            if not any(exists(base, path) for base in (root, root / "src")):
                complain(page, number, f"this module has no {path}")
        if len(line) > WIDTH and not wide and not code and not line.startswith(("|", "![")):
            complain(page, number, f"{len(line)} columns, {WIDTH} is the limit")


def known_pages():
    folders = [root / name for name in ROOTS.split("|")]
    pages = [*root.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]
    return [page for page in sorted(pages) if page.name != "CHANGELOG.md" and "node_modules" not in page.parts]


pages = known_pages()
for each in pages:
    check_page(each)
for each in sorted((root / "src").iterdir()):
    if each.is_dir() and not (each / "README.md").exists():
        complain(each / "README.md", 1, "every module has a README of a page")
print(f"docs: {len(pages)} pages, {bad} findings")
sys.exit(bool(bad))
