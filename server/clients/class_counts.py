"""Bounds on the classes that sites bring: every one of them costs each other site, the report and the log.

With the setting ``class-names`` the operator has named them all, and no number is too many.
"""

from collections import Counter
from collections.abc import Sequence

from pfedgp_core.config import Settings
from pfedgp_core.data.spec import CLASSES_OF_A_SITE, class_list, normal_class
from pfedgp_core.registry import TASKS
from pfedgp_core.wire.hello import Hello

__all__ = ["MOST_CLASSES", "crowding", "too_many_classes"]

MOST_CLASSES = 2_000  # of all sites together
_REMEDY = "look whether its labels are classes at all, or name the classes of the federation in class-names"


def too_many_classes(hello: Hello, settings: Settings) -> str:
    """Say why a site with data of its own has too many classes; empty where it has not."""
    n, samples = len(hello.class_names), hello.n_train + hello.n_validation + hello.n_test
    if n > samples:
        return f"{hello.name} names {n:,} classes and has {samples:,} samples: a class needs at least one."
    if n > CLASSES_OF_A_SITE and not class_list(settings.class_names):
        return f"{hello.name} names {n:,} classes, more than {CLASSES_OF_A_SITE:,}: {_REMEDY}."
    return ""


def crowding(hellos: Sequence[Hello], settings: Settings) -> dict[str, str]:
    """Find sites without which all sites together have few enough classes, before the federation's data are fixed.

    Those go first that bring the most classes which no other site has.

    Returns
    -------
    dict of str to str
        A reason by the site's name.
    """
    if not TASKS[settings.task].classes or class_list(settings.class_names):
        return {}
    classes = {hello.name: set(map(normal_class, hello.class_names)) for hello in hellos if hello.own_data}
    holders, refused = Counter(name for names in classes.values() for name in names), dict[str, str]()
    while sum(n > 0 for n in holders.values()) > MOST_CLASSES:
        alone = {site: sum(holders[name] == 1 for name in names) for site, names in classes.items()}
        site = max(sorted(alone), key=alone.__getitem__)
        holders.subtract(classes.pop(site))
        refused[site] = (
            f"{site} brings {alone[site]:,} classes that no other site has, and all sites together have more than "
            f"{MOST_CLASSES:,}: {_REMEDY}."
        )
    return refused
