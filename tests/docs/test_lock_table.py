# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the published table of locks with the rules it is made of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import PROJECT
from writestall.log.holders import HOLDERS

PAGE = (PROJECT / "docs/locks.md").read_text()


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """One of the programs of docs/."""
    return subprocess.run(
        [sys.executable, PROJECT / "docs" / program, *words],
        env=os.environ | {"PYTHONPATH": f"{PROJECT / 'base'}:{PROJECT / 'analysis'}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_page_is_that_of_the_rules() -> None:
    done = run("render-locks.py", "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "rule", {id(r): r for rs in HOLDERS.values() for r in rs}.values()
)
def test_every_rule_names_its_lock(rule: object) -> None:
    lock = getattr(rule, "lock", "")
    assert lock and f"| {lock} | " in PAGE


def test_the_coverage_is_a_figure() -> None:
    assert re.search(
        r"^\| all \| 1\d{3} \| \d+ \| \d+ % \| \d+ \| \d+ % \|$", PAGE, re.M
    )


SOURCE = """\
static void quiet(void)
{
	mutex_lock_interruptible(&a); /* mutex_lock(&b) */
}

STATIC int
xfs_sleeps(
	struct xfs_mount	*mp)
{
	down_write(&mp->lock);
	wait_event(mp->wait, done(mp));
	return 0;
}
"""


def test_wait_sites_of_a_tree(tmp_path: Path) -> None:
    """Interruptible sleeps and comments are none."""
    (tmp_path / "fs/xfs").mkdir(parents=True)
    (tmp_path / "fs/xfs/a.c").write_text(SOURCE)
    done = run("find-wait-sites.py", str(tmp_path))
    assert done.stdout.splitlines() == [
        "fs/xfs/a.c xfs_sleeps down_write",
        "fs/xfs/a.c xfs_sleeps wait_event",
    ]
    assert run("find-wait-sites.py").returncode == 2


SECTIONS = """\
static int helper(struct dev *dev)
{
	return wait_for_completion(&dev->ready);
}

static void quiet(struct dev *dev)
{
	dev->count++;
}

int dev_open(struct dev *dev)
{
	mutex_lock(&dev->open_mutex);
	if (dev->gone) {
		mutex_unlock(&dev->open_mutex);
		dev->ops->forget(dev);
		return -ENODEV;
	}
	quiet(dev);
	helper(dev);
	dev->ops->start(dev);
	mutex_unlock(&dev->open_mutex);
	helper_after(dev);
	return 0;
}

void dev_close(struct dev *dev)
{
	mutex_lock(&dev->open_mutex);
	mutex_unlock(&dev->open_mutex);
	flush_work(&dev->scan_work);
}

void dev_init(struct dev *dev)
{
	INIT_WORK(&dev->scan_work, dev_scan);
}

void dev_enter(struct dev *dev)
{
	wait_event(dev->gate_wait, dev->is_open);
	wait_event(dev->room_wait, dev->room);
}

void dev_replace(struct dev *dev)
{
	while (1) {
		mutex_lock(&dev->list_mutex);
		if (dev->busy) {
			mutex_unlock(&dev->list_mutex);
		} else {
			break;
		}
	}
	helper(dev);
	mutex_unlock(&dev->list_mutex);
	wake_up(&dev->gate_wait);
	wake_up(&dev->room_wait);
}

void dev_shrink(struct dev *dev)
{
	helper(dev);
	wake_up(&dev->room_wait);
}

void dev_change(struct dev *dev)
{
	lockdep_assert_held(&dev->open_mutex);
	helper(dev);
	mutex_unlock(&dev->open_mutex);
	dev->ops->stop(dev);
}
"""


def test_lock_sections_of_a_tree(tmp_path: Path) -> None:
    """What is called with the lock held, and the function of a work."""
    (tmp_path / "fs/xfs").mkdir(parents=True)
    (tmp_path / "fs/xfs/a.c").write_text(SECTIONS)
    done = run("find-lock-sections.py", str(tmp_path))
    assert done.stdout.splitlines() == [
        "fs/xfs/a.c",
        # Called with the lock held, as it asserts, until it releases it.
        "\tdev_change\tm\tfs/xfs:open_mutex\t<q> helper",
        "\tdev_close\tk\tfs/xfs:scan_work\t-",
        "\tdev_close\tm\tfs/xfs:open_mutex\t-",
        "\tdev_enter\tq\tfs/xfs:gate_wait\t-",
        "\tdev_open\tm\tfs/xfs:open_mutex\t*_start <q> helper",
        # Of room_wait nobody knows which of two wakes it for what it waits for.
        "\tdev_replace\tm\tfs/xfs:list_mutex\t<q> helper",
        "\tdev_replace\tq\tfs/xfs:gate_wait\thelper",
        "\tdev_scan\tk\tfs/xfs:scan_work\tdev_scan",
    ]
    assert run("find-lock-sections.py", str(tmp_path / "fs")).returncode == 2
