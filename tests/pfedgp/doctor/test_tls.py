"""TLS of a server that is wrong in one way."""

from pathlib import Path

import pytest

from pfedgp.doctor.site import diagnose
from tests.deploy.mis_setups import Authority, listening, only, over_tls, says


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def test_tls_against_plaintext_and_the_other_way_round(authority: Authority) -> None:
    settings_frame = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    for answer in (settings_frame, b"HTTP/1.1 400 Bad Request\r\n\r\n"):
        with listening(says(answer)) as address:
            assert only(address, authority.path, None).code == "no-tls"
    with listening(says(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as address:
        assert only(address, None, None).code == "not-fleet"
    with listening(over_tls(authority.server("127.0.0.1"))) as address:
        assert only(address, None, None).code == "tls-wanted"


def test_dates_of_certificates(authority: Authority, tmp_path: Path) -> None:
    with listening(over_tls(authority.server("127.0.0.1", begin=3))) as address:
        future = only(address, authority.path, None)
    assert future.code == "not-yet-valid"
    assert "clock" in future.remedy

    old = Authority(tmp_path / "old", begin=-20, end=-3)
    with listening(over_tls(old.server("127.0.0.1"))) as address:
        expired = only(address, old.path, None)
    assert expired.code == "expired"
    assert str(old.path) in expired.sentence
    assert "ca.crt" in expired.remedy

    with listening(over_tls(authority.server("127.0.0.1", end=9))) as address:
        warning = diagnose(address, authority.path, None)[-1]
    assert warning.code == "expires-soon"
    assert warning.warning
    assert "expires in 9 days" in warning.sentence


def test_certificate_for_a_name_of_this_host_passes(authority: Authority) -> None:
    with listening(over_tls(authority.server("localhost"))) as address:
        port = address.rpartition(":")[2]
        codes = [problem.code for problem in diagnose(f"localhost:{port}", authority.path, None)]
    assert "wrong-name" not in codes
