# SPDX-License-Identifier: GPL-2.0-only
"""test_cxx_names: functions of C++ are named as their source names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from writestall.classify.cxx_names import source_name

NAMES = {
    "_Z15ha_commit_transP3THDb": "ha_commit_trans",
    "_ZL15log_write_up_toPv": "log_write_up_to",
    "_ZN7handler7ha_openEP5TABLEPKcij": "handler::ha_open",
    "_ZNK7handler5tableEv": "handler::table",
    "_ZN7handlerC2EP3THD": "handler::handler",
    "_ZN7handlerD0Ev": "handler::~handler",
    "_Z15ha_commit_transP3THDb.part.0": "ha_commit_trans",
    # templates, std, operators, lengths that are none: as they are
    "_ZN5tpool4workIiE3runEv": "_ZN5tpool4workIiE3runEv",
    "_Z3maxIiET_S0_S0_": "_Z3maxIiET_S0_S0_",
    "_ZNSt6thread4joinEv": "_ZNSt6thread4joinEv",
    "_ZN1aplERKS_": "_ZN1aplERKS_",
    "_Z99short": "_Z99short",
    "_Z": "_Z",
    "fsync": "fsync",
}


@pytest.mark.parametrize(("symbol", "name"), NAMES.items())
def test_the_name_of_the_source(symbol: str, name: str) -> None:
    assert source_name(symbol) == name


@given(st.text("_ZNLKEC1D203a9I", max_size=40))
def test_any_symbol_has_a_name(symbol: str) -> None:
    assert bool(source_name("_Z" + symbol)) and len(source_name(symbol)) <= len(symbol)
