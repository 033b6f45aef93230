"""Calls every function of the C ABI with NULL for each of its pointers, and for all of them.

    LD_PRELOAD=libwherefore.so null_arguments.py wherefore.h LOG

LOG gets a line before each call, so that the one that crashed is the last. The functions are those the header declares.
"""
import ctypes
import re
import sys

library = ctypes.CDLL(None)
library.wherefore_span_start.restype = ctypes.c_void_p
log = open(sys.argv[2], "w", buffering=1)
kept = []  # what pointers lead to
TRACEPARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def kind_of(parameter):
    if re.search(r"wherefore_span\*", parameter):
        return "span"
    if "const char*" in parameter:
        return "text"
    if "*" in parameter or "[" in parameter:
        return "pointer"
    return "double" if "double" in parameter else "number"


def declared(header):
    """name, whether it gives a pointer, kinds of its parameters"""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    pattern = r"WHEREFORE_API\s+([\w\s]+?[\s*]+)(wherefore_\w+)\((.*?)\)\s*WHEREFORE_NOEXCEPT"
    for result, name, parameters in re.findall(pattern, text, re.S):
        yield name, "*" in result, [kind_of(p) for p in parameters.split(",") if p.strip() != "void"]


def something(kind, function):
    """An argument that makes sense."""
    if kind == "span":
        return ctypes.c_void_p(library.wherefore_span_start(b"real", 1, None))
    if kind == "text":
        return ctypes.c_char_p(b"/dev/null" if function == "wherefore_operation_end" else TRACEPARENT)
    if kind == "pointer":
        kept.append(ctypes.create_string_buffer(1024))
        return ctypes.byref(kept[-1])
    return ctypes.c_double(1) if kind == "double" else ctypes.c_uint64(1)


def call(name, gives_pointer, kinds, nulls):
    log.write(f"{name} {sorted(nulls)}\n")
    function = getattr(library, name)
    function.restype = ctypes.c_void_p if gives_pointer else ctypes.c_int
    arguments = [None if i in nulls else something(kind, name) for i, kind in enumerate(kinds)]
    function(*arguments)
    for kind, argument in zip(kinds, arguments):
        if kind == "span" and argument and name != "wherefore_span_end":
            library.wherefore_span_end(argument)


def walk(functions):
    for name, gives_pointer, kinds in functions:
        pointers = [i for i, kind in enumerate(kinds) if kind in ("span", "text", "pointer")]
        for nulls in [set(pointers)] + [{i} for i in pointers]:
            call(name, gives_pointer, kinds, nulls)


everything = list(declared(open(sys.argv[1]).read()))
walk(f for f in everything if f[0] != "wherefore_stop")  # running
walk(f for f in everything if f[0] == "wherefore_stop")
walk(f for f in everything if f[0] not in ("wherefore_start", "wherefore_stop"))
