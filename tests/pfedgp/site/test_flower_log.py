"""Log lines of a SuperNode and its app: those that are read are those that are written."""

import logging
from pathlib import Path

import flwr.supernode.start_client_internal as supernode_loop
import pytest

from client import messages
from pfedgp.site import flower_log


def test_log_lines_that_are_read_are_those_that_flower_writes() -> None:
    from flwr.supercore.retry import grpc_retry

    loop, retry = (Path(module.__file__ or "").read_text() for module in (supernode_loop, grpc_retry))
    assert '"SuperNode ID: %s"' in loop
    assert '"Connection attempt failed, retrying in %.2f seconds"' in retry
    assert '"Connection successful after %.2f seconds and %s tries."' in retry
    assert flower_log.connected_as(flower_log.plain("\x1b[92mINFO \x1b[0m:      SuperNode ID: 123\n")) == "123"
    assert flower_log.is_lost("WARNING :   Connection attempt failed, retrying in 1.00 seconds")
    assert flower_log.is_recovered("INFO :      Connection successful after 3.00 seconds and 2 tries.")


def test_a_warning_of_the_app_is_known_by_the_form_of_its_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("pfedgp.client")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.delenv("PFEDGP_CLIENT_LOG", raising=False)
    messages._log_to_site()
    logger.warning("this site cannot take part: %s", "no")
    logger.info("all is well")
    lines = [flower_log.plain(line) for line in capsys.readouterr().err.splitlines()]
    assert [flower_log.warning_of_app(line) for line in lines] == ["this site cannot take part: no", ""]
