"""Own data that leave nothing for the test are refused with the remedy: their run would measure nothing."""

from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.data.sets.own_data import OwnData, own_data
from pfedgp_core.errors import DataError


def table(path: Path, n: int = 60) -> str:
    rows = (f"{i},{i % 3},h{i % 3},{'yn'[i % 2]}\n" for i in range(n))
    path.write_text("value,code,hospital,label\n" + "".join(rows))
    return str(path)


@pytest.mark.parametrize("group", ["hospital", "code"])
def test_sites_that_are_one_group_each_are_refused(tmp_path: Path, group: str) -> None:
    source = OwnData(table(tmp_path / "a.csv"), group_column=group, partition_by="hospital")
    with pytest.raises(DataError, match=r"no test sample, as each hospital is one group.*partition-by = 'group'"):
        own_data(source)


def test_the_remedy_for_such_sites_leaves_test_samples(tmp_path: Path) -> None:
    dataset = own_data(OwnData(table(tmp_path / "a.csv"), group_column="hospital", partition_by="group"))
    assert dataset.sites is not None
    assert min(dataset.sites.counts("test")) > 0


def test_one_group_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no test sample, as groups stay together.*\(1 with training samples\)"):
        own_data(OwnData(table(tmp_path / "a.csv", n=1), group_column="hospital"))


@pytest.mark.parametrize(("by", "where"), [("", "class, or"), ("hospital", "class at each hospital, or")])
def test_equal_rows_are_refused(tmp_path: Path, by: str, where: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text("value,hospital,label\n" + "3,1,y\n" * 40)
    with pytest.raises(DataError, match=f"no test sample, as equal samples.*four different samples of a {where}"):
        own_data(OwnData(str(file), partition_by=by))


def test_an_option_that_a_simulation_lacks_is_said_as_a_key(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("value,hospital,label\n3,1,y\n,1,n\n")
    with pytest.raises(DataError, match=r"with --drop, .* A simulation has no option --drop: write drop = "):
        own_data(OwnData(str(file)))
    with pytest.raises(DataError, match=r"name one of these with --label-column\.$"):
        own_data(OwnData(str(file), label_column="lable"))


def test_simulate_refuses_them_before_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = table(tmp_path / "a.csv")
    assert main(["simulate", "--dataset", data, "--partition-by", "hospital", "--group-column", "hospital"]) == 2
    assert "has no test sample" in capsys.readouterr().err
