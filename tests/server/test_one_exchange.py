"""The evaluation in the exchange of the next round: the numbers of an exchange of its own, for fewer bytes."""

from pathlib import Path

import pytest

from tests.federation_run import federate
from tests.uninterrupted import SETTINGS, without_pictures

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_exchange_gives_the_numbers_of_two(task: str, tmp_path: Path) -> None:
    settings = SETTINGS.replace(evaluate_every=1)
    if task == "regression":
        from tests.server.test_regression_federation import SMALL as REGRESSION

        settings = REGRESSION.replace(evaluate_every=1)
    two, one = (federate(settings, tmp_path / str(deployed), deployed=deployed) for deployed in (False, True))
    without_bytes = [[{k: v for k, v in r.items() if k[:6] != "bytes_"} for r in run.lasting] for run in (two, one)]
    assert without_bytes[0] == without_bytes[1]
    assert any(record["best"] for record in one.records)
    assert one.model("best").tobytes() == two.model("best").tobytes()
    for name in ("best/meta.json", "final/meta.json", "clients.csv"):
        assert (one.path / name).read_text() == (two.path / name).read_text()
    # The vector travels once a round to each sampled client, and not a second time for the evaluation.
    assert sum(r["bytes_sent"] for r in one.records) < sum(r["bytes_sent"] for r in two.records)


def test_an_evaluation_that_fails_in_one_exchange_costs_no_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pfedgp_core.methods.pfedgp

    real = pfedgp_core.methods.pfedgp.evaluate_client

    def fails_for_one(state, train, test, settings, stream, **options):
        if "client-02" in stream.path and "validation" in stream.path:
            raise MemoryError("/data/ward-3")
        return real(state, train, test, settings, stream, **options)

    monkeypatch.setattr("pfedgp_core.methods.pfedgp.evaluate_client", fails_for_one)
    settings = SETTINGS.replace(clients_per_round=4, evaluate_every=1)
    two, one = (federate(settings, tmp_path / str(deployed), deployed=deployed) for deployed in (False, True))
    assert [r["validation_failed"] for r in one.records] == [{"client-02": "MemoryError"}] * 4
    assert [r["failed"] for r in one.records] == [{}] * 4
    assert one.model("final").tobytes() == two.model("final").tobytes()
    assert [r["validation_accuracy"] for r in one.records] == [r["validation_accuracy"] for r in two.records]
    assert one.summary["failures"] == {"client-02": {"MemoryError": 4}}
