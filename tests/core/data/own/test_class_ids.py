"""Labels as class ids: by name, or by position where they are integers."""

import pytest

from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.errors import DataError


def test_integers_are_positions_unless_classes_are_called_so() -> None:
    assert map_classes(["1", "0", "01"], ("cat", "dog")).tolist() == [1, 0, 1]
    assert map_classes(["7", "8"], ("8", "7")).tolist() == [1, 0]
    assert map_classes(["Be\u0301nin"], ("B\u00e9nin",)).tolist() == [0]
    for names, expected in ((["2"], "'2' is none of"), (["dgo"], "did you mean 'dog'"), (["-1"], "none of")):
        with pytest.raises(DataError, match=expected):
            map_classes(names, ("cat", "dog"))


@pytest.mark.parametrize(
    ("unknown", "known"), [("sepsis", "no sepsis"), ("abnormal", "normal"), ("Typical", "atypical")]
)
def test_a_class_is_not_taken_for_its_opposite(unknown: str, known: str) -> None:
    with pytest.raises(DataError, match=r"rename it, or leave its samples out\.$"):
        map_classes([unknown], (known, "other"))


@pytest.mark.parametrize("name", ["Ill", "ILL"])
def test_a_short_name_in_other_case_is_told_that_case_counts(name: str) -> None:
    with pytest.raises(DataError, match=r"did you mean 'ill'\? In names this short capitals count\."):
        map_classes([name, "well"], ["critical", "ill", "well"])
