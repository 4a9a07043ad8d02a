# SPDX-License-Identifier: GPL-2.0-only
"""starting: put the parts of a watch together, in the order that threads allow."""

from __future__ import annotations

import argparse
import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from recorder.engines import Engine
from recorder.guard import Guard
from recorder.run_folder import check_kept
from recorder.targets import unfit
from watcher import replay as replaying
from watcher import trap
from watcher.clocks import Clocks
from watcher.journal import Journal, is_output
from watcher.live import Live, host
from watcher.names import Names
from watcher.output import WARNING, Output
from watcher.own import missing_probes
from watcher.presence import Presence
from watcher.stream import Watched
from writestall.chain.cgroups import labels_of
from writestall.common.compressed import Bound
from writestall.watch.ring import Bounds
from writestall_base.errors import EXIT_FAILED
from writestall_base.progress import say
from writestall_base.steps import describe
from writestall_base.stop import Stop
from writestall_base.units import many

OPEN_TO_OTHERS = (
    "other hosts may read the metrics, without a password and unencrypted: listen on"
    " 127.0.0.1 behind a proxy, or let a firewall choose who may (docs/watch.md)"
)


def replay(args: argparse.Namespace) -> int:
    """Tell the stalls of a run as if they came now."""
    run = replaying.manifest_of(args.replay, Bound.of(args.unpack_mib))
    stop = _stop()
    output = Output(as_json=args.json, patient=True, failed=_unprinted(args))
    clocks = replaying.clocks_of(run)
    name = labels_of(run)
    watched = Watched(run, _bounds(args), clocks, output, name, tree=args.tree)
    with closing(output), _published(args, watched):
        status = replaying.replay(run, watched, lambda: stop.requested)
    whole = output.failure is None or isinstance(output.failure, BrokenPipeError)
    return status if whole else EXIT_FAILED


def live(args: argparse.Namespace, engine: Engine, which: str) -> int:
    """Watch this host."""
    gc.enable()  # commands that end soon do without: cli/main.py
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until it is handled
    there = Presence(args.run_dir)
    try:
        guard = Guard()  # before any thread
        stop = _stop()
        output = Output(_journal(), as_json=args.json, failed=_unprinted(args))
        watched = Watched(
            host(), _bounds(args), Clocks(), output, Names(), tree=args.tree
        )
        watched.say(which)
        if there.killed is not None:
            watched.say(
                f"the last watch {there.killed}: stalls between are not known", WARNING
            )
        with _published(args, watched) as publish:
            watched.trap = _trap(args, watched)
            if watched.metrics:
                watched.metrics.missing(missing_probes())
            status = Live(args, watched, stop, guard, publish).run(engine, there)
        output.close()
        guard.dismiss()
        return status
    finally:
        there.leave()


def _stop() -> Stop:
    stop = Stop("")
    stop.install()
    return stop


def _unprinted(args: argparse.Namespace) -> Callable[[Exception], None]:
    """What hears that a line was not printed: without a reader, it ends in order."""

    def hear(error: Exception) -> None:
        if not isinstance(error, BrokenPipeError):
            say(f"watch: the output: {describe(error)}; lines are left out and counted")
        elif args.listen or args.textfile:
            say("watch: nobody reads the output any more; the metrics continue")
        else:
            os.kill(os.getpid(), signal.SIGTERM)

    return hear


def _journal() -> Journal | None:
    """The journal, where it is what stderr goes to."""
    with suppress(OSError):
        return Journal() if is_output() else None
    return None


def _bounds(args: argparse.Namespace) -> Bounds:
    return Bounds(age_ns=args.keep_ns, events=args.most_events)


@contextmanager
def _published(
    args: argparse.Namespace, watched: Watched
) -> Iterator[Callable[[], None]]:
    """Give the metrics, where that is wanted; yield what is to be called at times."""
    if not (args.listen or args.textfile):
        yield lambda: None
        return
    from watcher import scrapes
    from writestall.watch.metrics import Metrics

    metrics = watched.metrics = Metrics()
    if args.textfile:

        def report(text: str) -> None:
            watched.say(text, WARNING)

        file = scrapes.Textfile(metrics.registry, args.textfile, report)
        with closing(file):
            yield file.write
        return
    port = scrapes.serve(metrics.registry, args.listen)
    place = scrapes.written(args.listen[0], port)
    watched.say(f"metrics: http://{place}/metrics")
    if not scrapes.is_loopback(args.listen[0]):
        watched.say(OPEN_TO_OTHERS, WARNING)
    yield lambda: None


def _trap(args: argparse.Namespace, watched: Watched) -> trap.Trap:
    bounds = trap.Bounds(
        args.dump_dir,
        args.dump_stall,
        float(args.dump_pressure),
        args.dumps_a_day,
        args.dump_mib << 20,
    )
    try:
        args.dump_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_kept("--dump-dir", args.dump_dir)
    except OSError as error:
        raise unfit("--dump-dir", args.dump_dir, error) from None
    kept = len(trap.dumps(args.dump_dir))
    if kept:
        watched.say(f"{args.dump_dir} holds {many(kept, 'run')} of earlier triggers")
    return trap.Trap(bounds, watched.undumped)
