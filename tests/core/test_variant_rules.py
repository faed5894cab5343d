"""Which variant goes with which task, objective and classes; the remedies name what the registry has."""

import pytest

from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import VARIANTS, VariantEntry
from pfedgp_core.variant_rules import check_variant

PLAIN = {"task": "classification", "objective": "predictive", "classes": "own", "personal_data": True}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_goes_with_the_defaults(name: str) -> None:
    check_variant(name, **PLAIN)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "change", "remedy"),
    [
        ("ip-data", {"objective": "marginal"}, "variant = 'full' or 'ip-compute'"),
        ("ip-data", {"objective": "loo"}, "variant = 'full' or 'ip-compute'"),
        ("full", {"task": "regression", "objective": "loo"}, "set objective = 'predictive' or 'marginal'"),
        ("full", {"classes": "all"}, "variant = 'ip-data' or 'ip-compute'"),
        ("ip-compute", {"task": "regression", "classes": "all"}, "which has no classes: set classes = 'own'"),
        ("full", {"personal_data": False}, "set variant = 'ip-data'"),
    ],
)
def test_the_remedy_is_named(name: str, change: dict[str, object], remedy: str) -> None:
    with pytest.raises(ConfigError, match=remedy):
        check_variant(name, **PLAIN | change)  # type: ignore[arg-type]


def test_a_variant_is_for_classification_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VARIANTS, "new", VariantEntry("package.module:Class", "new"))
    with pytest.raises(ConfigError, match="variant = 'new' does not go with task = 'regression': set variant = 'full'"):
        check_variant("new", **PLAIN | {"task": "regression"})  # type: ignore[arg-type]


def test_a_new_variant_is_named_where_it_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VARIANTS, "new", VariantEntry("package.module:Class", "new", needs_inducing=True))
    with pytest.raises(ConfigError, match="'ip-compute' or 'new'"):
        check_variant("full", **PLAIN | {"classes": "all"})  # type: ignore[arg-type]


def test_a_variant_has_no_certificate_unless_it_says_otherwise() -> None:
    assert VariantEntry("package.module:Class", "new").no_certificate
