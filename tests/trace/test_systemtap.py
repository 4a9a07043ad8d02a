# SPDX-License-Identifier: GPL-2.0-only
"""This test will stop the launcher of SystemTap at any time by a signal, in order and
with nothing left running: a stub simulates staprun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from launcher import systemtap
from launcher.cli import parser
from launcher.errors import TraceError
from support import PROJECT

# Arms at once, and ends in order when told to.
STAND_IN = """#!{python}
import os, signal

def end(number, frame):
    os.write(1, b'{{"ev":"end"}}\\n')
    os._exit(0)

signal.signal(signal.SIGINT, end)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
os.write(1, b'{{"ev":"begin"}}\\n')
while True:
    signal.pause()
"""

# The launcher, as root or not. Signals go to a second thread, so that none interrupts
# the read of the first one, like a signal that arrives just before it: the first one
# does not let them through, as it does otherwise.
LAUNCHER = """
import os, signal, sys, threading
from launcher import cli
os.geteuid = lambda: 0
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
signal.pthread_sigmask = lambda *_: None
sys.exit(cli.main(sys.argv[1:]))
"""

ENVIRONMENT = os.environ | {"PYTHONPATH": f"{PROJECT}/base:{PROJECT}/trace"}


def start(folder: Path, output: Path) -> subprocess.Popen[str]:
    stand_in = folder / "staprun"
    stand_in.write_text(STAND_IN.format(python=sys.executable))
    stand_in.chmod(0o755)
    module = folder / "slow_writes.ko"
    module.touch()
    command = [sys.executable, "-c", LAUNCHER]
    command += ["slow_writes", "--module", str(module), "--output", str(output)]
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.Popen(
        command, env=ENVIRONMENT | path, stderr=subprocess.PIPE, text=True
    )


def test_a_signal_that_interrupts_no_read_ends_it(tmp_path: Path) -> None:
    output = tmp_path / "events.jsonl"
    process = start(tmp_path, output)
    while not (output.exists() and output.read_bytes().count(b"\n")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert output.read_text().splitlines() == ['{"ev":"begin"}', '{"ev":"end"}']


def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    _, said = start(tmp_path, Path("/dev/full")).communicate(timeout=30)
    assert "No space left on device" in said.splitlines()[-1]


def test_arguments_are_compiled_in(tmp_path: Path) -> None:
    module = tmp_path / "drilldown.ko"
    module.touch()
    command = [sys.executable, "-c", LAUNCHER]
    command += ["drilldown", "--functions", "vfs_write", "--arguments", "f"]
    command += ["--module", str(module)]
    done = subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    said = "trace: --arguments is compiled in: leave out --module\n"
    assert done.stderr == said


def test_a_kernel_without_the_functions_of_a_script_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text("0000000000000000 T vfs_write\n")
    monkeypatch.setattr(systemtap, "SYMBOLS", symbols)
    options = parser().parse_args(["page_locks"])
    with pytest.raises(TraceError, match="page_locks needs a probe on folio_wait_bit"):
        systemtap.check(options)
    symbols.write_text("0000000000000000 t __lock_page\n")
    systemtap.check(options)
