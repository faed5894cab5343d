"""A run that shares a softmax head, at sites whose policy says so, forbids it, or was written before there was one."""

from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import PolicyError
from pfedgp_core.files.toml_file import parse_toml
from pfedgp_core.policy.requests import require_run
from pfedgp_core.policy.runs import Runs, run_hash
from pfedgp_core.policy.site_policy import SitePolicy
from pfedgp_core.prior_choice import SHARED_HEAD

HEAD = Settings.from_run_config(SHARED_HEAD)
ANY = 'runs = "any"\n'


def refusal(folder: Path, policy: str, settings: Settings) -> str:
    approved = Runs(folder, approved={run_hash(settings): {}})
    try:
        require_run(SitePolicy.of(parse_toml(policy)), settings, approved, "7")
    except PolicyError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("policy", "head"),
    [
        ("", True),
        ('methods = ["pfedgp"]\n', True),
        (ANY, True),
        (ANY + 'methods = ["pfedgp", "whitened"]\n', False),
        (ANY + 'methods = ["pfedgp", "fedavg"]\n', True),
        (ANY + 'methods = ["pfedgp"]\nshared-head = true\n', True),
        (ANY + "shared-head = false\n", False),
        ("shared-head = false\n", False),
    ],
)
def test_a_head_is_refused_where_the_policy_forbids_it_or_names_methods_without(
    tmp_path: Path, policy: str, head: bool
) -> None:
    said = refusal(tmp_path, policy, HEAD)
    assert said.endswith("set shared-head = true in it, or ask for a run with --preset zero-mean." if not head else "")
    assert bool(said) is not head
    assert refusal(tmp_path, policy, Settings()) == ""
