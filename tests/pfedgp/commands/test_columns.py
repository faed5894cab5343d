"""Columns by name in ``check-data --model``, ``onboard`` and ``predict``: another order, other names, other units."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.data.column_names import hashed_columns
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.saved import SavedSite
from server.run.artefacts import RunFolder
from tests.ordered_tables import NAMES, ordered_table

OTHER = ("bmi", "age", "crp")
KEY = "0123456789abcdef0123456789abcdef"


def save_model(run: Path, **meta: Any) -> None:
    """An untrained model of tables with these columns."""
    settings = Settings(network="mlp", feature_dim=4)
    about = {
        "settings": settings.to_run_config(),
        "class_names": ["ill", "well"],
        "input_shape": [3],
        "normalisation": {"mean": [61.0, 0.6, 25.5], "std": [9.0, 0.5, 3.0]},
        **meta,
    }
    run.mkdir()
    RunFolder(run, {}).save_model("best", SharedState.initial(settings, (3,), 2).to_vector(), about)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    save_model(Path("run"), columns=list(NAMES))
    ordered_table(Path("a.csv"), 1)
    ordered_table(Path("b.csv"), 1, OTHER)
    ordered_table(Path("new.csv"), 2)
    ordered_table(Path("new_b.csv"), 2, OTHER, labels=False)
    return tmp_path


def onboard(data: str, out: str, *more: str) -> int:
    return main(["onboard", "--model", "run/best", "--data", data, "--out", out, "--name", "ward", *more])


def predict(site: str, data: str, out: str) -> bytes:
    assert main(["predict", "--site", site, "--data", data, "--out", out]) == 0
    return Path(out).read_bytes()


def test_another_order_makes_the_same_site_and_the_same_predictions(here: Path) -> None:
    assert onboard("a.csv", "sa") == onboard("b.csv", "sb") == 0
    for name in ("site.safetensors", "site.json"):
        assert Path("sa", name).read_bytes() == Path("sb", name).read_bytes()
    assert SavedSite.load("sb").columns == NAMES
    wanted = predict("sa", "new.csv", "p.csv")
    assert predict("sb", "new_b.csv", "q.csv") == wanted


def test_a_site_takes_more_data_in_another_order(here: Path) -> None:
    ordered_table(Path("more.csv"), 5, OTHER)
    ordered_table(Path("more_a.csv"), 5)
    assert onboard("a.csv", "sa", "--add", "more_a.csv") == onboard("b.csv", "sb", "--add", "more.csv") == 0
    assert SavedSite.load("sa").samples.sha256 == SavedSite.load("sb").samples.sha256


def test_other_names_are_refused_with_those_of_both_sides(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ordered_table(Path("c.csv"), 1, names={"crp": "CRP", "age": "alter"})
    said = "lacks the columns 'age', 'crp' and has the columns 'alter', 'CRP' beside the expected ones (did you mean "
    assert onboard("c.csv", "sc") == 2
    assert said in capsys.readouterr().err
    assert main(["check-data", "c.csv", "--model", "run/best"]) == 2
    assert said in capsys.readouterr().out
    assert main(["check-data", "b.csv", "--model", "run/best"]) == 0


def test_the_remedy_for_another_column_names_the_options_that_are_left(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert onboard("a.csv", "site") == 0
    head, *rows = Path("a.csv").read_text().splitlines()
    assert head.endswith("label")
    lines = [f"{head.removesuffix('label')}outcome,ward", *(f"{row},{i}" for i, row in enumerate(rows))]
    Path("more.csv").write_text("\n".join(lines) + "\n")
    capsys.readouterr()
    named = ["check-data", "more.csv", "--label-column", "outcome", "--model", "run/best"]
    left = "has the column 'ward' beside the expected ones; rename or remove columns, or name what is no feature with "
    assert main(named) == 2
    assert f"{left}--drop, --id-column or --group-column.\n" in capsys.readouterr().out
    assert main([*named, "--drop", "ward"]) == main([*named, "--id-column", "ward"]) == 0
    assert main([*named, "--group-column", "ward"]) == 0
    capsys.readouterr()
    new = ["predict", "--site", "site", "--data", "more.csv", "--out", "p.csv"]
    assert main(new) == 2
    assert "with --drop or --id-column, and the column of the class with --label-column." in capsys.readouterr().err
    assert main([*new, "--label-column", "outcome", "--id-column", "ward"]) == 0


def test_a_site_named_site_is_quoted_in_sentences(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["onboard", "--model", "run/best", "--data", "a.csv", "--out", "site"]) == 0
    assert "\nSite 'site': " in "\n" + capsys.readouterr().out
    ordered_table(Path("c.csv"), 1, names={"crp": "CRP"})
    assert main(["predict", "--site", "site", "--data", "c.csv", "--out", "p.csv"]) == 2
    assert "other columns than the site 'site': it lacks" in capsys.readouterr().err


def test_another_unit_is_noted_with_its_column(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, factor in (("large", 1000.0), ("small", 0.001)):
        ordered_table(Path(f"{name}.csv"), 1, OTHER, scale={"crp": factor})
        assert onboard(f"{name}.csv", name) == 0
        assert "The column 'crp' is on another scale than in the model's data" in capsys.readouterr().out
        assert main(["check-data", f"{name}.csv", "--model", "run/best"]) == 0
        assert "note: The column 'crp' is on another scale" in capsys.readouterr().out
    assert main(["check-data", "b.csv", "--model", "run/best"]) == 0
    assert "scale" not in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["learn", "watch", "suggest"])
def test_verbs_of_a_living_site_note_another_unit(verb: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard("a.csv", "sa") == 0
    ordered_table(Path("large.csv"), 1, OTHER, scale={"crp": 1000.0})
    main([verb, "--site", "sa", "--pool" if verb == "suggest" else "--data", "large.csv"])
    said = capsys.readouterr().err
    assert "by all 40 samples: The column 'crp' is on another scale than in the model's data" in said


@pytest.mark.parametrize("argv", [["learn", "--site", "sa", "--data"], ["onboard", "--out", "sa", "--add"]])
def test_further_samples_without_names_are_noted(
    argv: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert onboard("a.csv", "sa") == 0
    capsys.readouterr()
    values = np.loadtxt("a.csv", delimiter=",", skiprows=1, usecols=(0, 1, 2))
    np.savez("more.npz", x=values + 0.01, y=np.array(["well", "ill"])[np.arange(len(values)) % 2])
    assert main([*argv, "more.npz"]) == 0
    found = capsys.readouterr()
    assert "The data have no names of columns, so features are taken by position" in found.out + found.err


def test_arrays_go_by_position_and_are_compared_by_their_moments(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = np.loadtxt("a.csv", delimiter=",", skiprows=1, usecols=(0, 1, 2))
    labels = np.array(["well", "ill"])[np.arange(len(values)) % 2]
    np.savez("right.npz", x=values, y=labels)
    np.savez("wrong.npz", x=values[:, [1, 0, 2]], y=labels)
    assert onboard("right.npz", "right") == 0
    said = capsys.readouterr().out
    assert "no names of columns, so features are taken by position" in said
    assert "scale" not in said
    assert onboard("wrong.npz", "wrong") == 0
    assert "Column 2 is on another scale" in capsys.readouterr().out
    assert main(["check-data", "wrong.npz", "--model", "run/best"]) == 0
    assert "note: Column 2 is on another scale" in capsys.readouterr().out


def test_hashed_names_of_a_model_need_the_key_and_give_the_same_predictions(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert onboard("a.csv", "sa") == 0
    wanted = predict("sa", "new.csv", "p.csv")
    (here / "run").rename("plain")
    save_model(Path("run"), columns=list(hashed_columns(NAMES, KEY.encode())))
    assert onboard("b.csv", "sb") == 2
    assert "The model knows its columns by hashes" in capsys.readouterr().err
    Path("key").write_text(KEY + "\n")
    Path("other").write_text(KEY[::-1])
    assert onboard("b.csv", "sb", "--column-key", "other") == 2
    assert "has the columns 'bmi', 'age', 'crp' beside the expected ones" in capsys.readouterr().err
    assert onboard("b.csv", "sb", "--column-key", "key") == 0
    assert predict("sb", "new_b.csv", "q.csv") == wanted
    assert main(["check-data", "b.csv", "--model", "run/best", "--column-key", "key"]) == 0


def test_a_model_without_names_takes_columns_by_position_and_says_so(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_model(Path("former"))
    assert main(["onboard", "--model", "former/best", "--data", "b.csv", "--out", "sb"]) == 0
    assert "The model has no names of columns" in capsys.readouterr().out
    assert SavedSite.load("sb").columns == OTHER


def test_inverted_grey_values_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pfedgp_core.data.own.model_scale import scale_notes

    dark = np.random.default_rng(0).integers(0, 60, (9, 1, 4, 4), dtype=np.uint8)
    mean, std = np.array([dark.mean() / 255]), np.array([0.1])
    assert scale_notes(dark, (), mean, std) == []
    assert "grey values are inverted" in scale_notes(255 - dark, (), mean, std)[0]


@pytest.mark.parametrize(("content", "said"), [("short", "fewer than 16 bytes"), (None, "cannot be read")])
def test_what_is_no_key_is_refused(
    content: str | None, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content:
        Path("key").write_text(content)
    assert onboard("a.csv", "sa", "--column-key", "key") == 2
    assert said in capsys.readouterr().err
