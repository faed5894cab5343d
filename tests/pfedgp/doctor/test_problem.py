"""The lines of a check, and errors of the product as problems."""

from pfedgp.doctor.problem import Check, Problem, checked
from pfedgp_core.errors import DataError


def test_lines() -> None:
    problem = Problem("x", "It is broken.", "Mend it.", lasting=True)
    assert Check("port", "open").line == "ok       port: open"
    assert Check("port", "open", problem).line == "problem  port: It is broken. Mend it."
    assert Check("port", "open", problem._replace(warning=True)).line == "warning  port: It is broken. Mend it."


def test_errors_of_the_product_become_problems() -> None:
    def look() -> Check:
        raise DataError("No data: give some.")

    check = checked("data", look)
    assert check.status == "problem"
    assert check.line == "problem  data: No data: give some."
