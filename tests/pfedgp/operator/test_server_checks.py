"""Certificates that a server refuses to start with."""

from datetime import timedelta
from pathlib import Path

import pytest

from pfedgp.operator import authority
from pfedgp.operator.server_checks import check_certificates
from pfedgp_core.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def test_an_expired_certificate_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authority, "_CLOCKS_DIFFER", timedelta(days=10))
    authority.issue(tmp_path / "certs", ["localhost"], [], days=-1)

    with pytest.raises(ConfigError, match=r"server.crt .* not now: renew it with pfedgp certs --renew-server"):
        check_certificates(tmp_path / "certs")


def test_certificates_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        authority.issue(tmp_path / name, ["localhost"], [])
    check_certificates(tmp_path / "a")

    (tmp_path / "a/server.key").write_bytes((tmp_path / "b/server.key").read_bytes())
    with pytest.raises(ConfigError, match=r"server.key and server.crt .* do not belong together"):
        check_certificates(tmp_path / "a")
    (tmp_path / "a/server.crt").write_bytes((tmp_path / "b/server.crt").read_bytes())
    with pytest.raises(ConfigError, match=r"not signed by ca.crt"):
        check_certificates(tmp_path / "a")
    (tmp_path / "a/server.key").unlink()
    with pytest.raises(ConfigError, match=r"server.key"):
        check_certificates(tmp_path / "a")
