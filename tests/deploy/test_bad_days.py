"""The environment on a bad day: each case is survived, or refused in one sentence before the work begins."""

import sys
from pathlib import Path

import pytest

from tests.deploy import bad_days

pytestmark = pytest.mark.slow


def test_loopback_goes_through_no_proxy(tmp_path: Path) -> None:
    bad_days.dead_proxies(tmp_path)


def test_a_site_names_the_proxy_on_its_way(tmp_path: Path) -> None:
    bad_days.proxy_of_a_remote_server(tmp_path)


def test_a_folder_with_a_client_py_runs_ours(tmp_path: Path) -> None:
    bad_days.folder_of_another_app(tmp_path, packages=False)


def test_a_folder_with_a_package_client_runs_ours(tmp_path: Path) -> None:
    bad_days.folder_of_another_app(tmp_path, packages=True, program=(sys.executable, "-m", "pfedgp"))


def test_a_server_app_that_starts_slowly_is_started_once(tmp_path: Path) -> None:
    bad_days.app_that_starts_slowly(tmp_path)


def test_a_server_app_that_never_starts_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    bad_days.app_that_never_starts(tmp_path)


def test_a_long_name_of_tmpdir(tmp_path: Path) -> None:
    bad_days.long_tmpdir(tmp_path)


def test_an_engine_that_starts_late(tmp_path: Path) -> None:
    bad_days.late_node(tmp_path)


def test_a_class_name_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    bad_days.emoji_on_a_small_terminal(tmp_path)


def test_addresses_of_ipv6_alone(tmp_path: Path) -> None:
    bad_days.address_of_ipv6(tmp_path)


def test_certificates_and_keys_in_other_forms(tmp_path: Path) -> None:
    bad_days.certificates_in_other_forms(tmp_path)
