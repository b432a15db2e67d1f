import platform
import subprocess
import sys

import pytest

from epir.training import memory

NEW_PAGES = """
import ctypes, resource, sys
from epir.training.memory import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory() is True
library = ctypes.CDLL(None)
library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = library.malloc(64 << 20)
    ctypes.memset(block, 1, 64 << 20)
    library.free(block)
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(pages)
"""


def new_pages(mode):
    """How many pages the system had to find for the third block of 64 MiB in a row."""
    done = subprocess.run([sys.executable, "-c", NEW_PAGES, mode], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked to keep freed memory")
def test_what_was_freed_is_had_again_without_new_pages():
    assert new_pages("kept") < 100
    assert new_pages("given back") > 1000  # otherwise there would be nothing to gain


def test_another_c_library_is_left_alone(monkeypatch):
    memory.keep_freed_memory.cache_clear()
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(memory.ctypes, "CDLL", None)  # would fail if it were called
    assert memory.keep_freed_memory() is False
    memory.keep_freed_memory.cache_clear()
