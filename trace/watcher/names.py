# SPDX-License-Identifier: GPL-2.0-only
"""names: name cgroups by their container and pod, without waiting for a disk.

Names are in files of the runtimes (recorder/runtimes.py). A thread reads them; until it
has, the cgroup's path says what it can.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from pathlib import Path

from recorder.files import ROOT
from recorder.runtimes import named
from writestall.chain.cgroups import label
from writestall.common.containers import container_of

MOST_KNOWN = 2000


class Names:
    """The names so far, by the cgroups' paths."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._known: OrderedDict[str, str] = OrderedDict()
        self._asked: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="names", daemon=True).start()

    def __call__(self, path: str) -> str:
        """The name of a cgroup as it is known now."""
        name = self._known.get(path)
        if name is None:
            name = self._known[path] = label(path)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
            if container_of(path):
                self._asked.put(path)
        return name

    def _read(self) -> None:
        while True:
            path = self._asked.get()
            container = container_of(path)
            if container and path in self._known:
                self._known[path] = str(named(container, self._root))
