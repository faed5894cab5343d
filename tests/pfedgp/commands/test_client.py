"""``pfedgp client``: mistakes in its options, and data that cannot be used."""

import subprocess
import sys
from pathlib import Path

import pytest

from pfedgp.cli import main


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "Missing: --name, --ca, --key, --data. A whole command: pfedgp client --name"),
        (["--data", "x", "--partition-id", "1", "--num-partitions", "2"], "Give the site's data with --data"),
        (["--partition-id", "1"], "--partition-id and --num-partitions go together"),
        (["--data", "x"], "Missing: --name, --ca, --key. A"),
        (["--data", "", "--name", "a", "--insecure"], "Missing: --data. A"),
        (["--data", " ", "--name", "a", "--insecure"], "Missing: --data. A"),
        (
            ["--partition-id", "0", "--num-partitions", "2", "--insecure", "--superlink", "h"],
            "not of the form HOST:PORT",
        ),
        (["--data", "x", "--name", "a/b", "--insecure"], "is not a name"),
        (["--data", "x", "--name", "a", "--insecure", "--superlink", "host"], "not of the form HOST:PORT"),
        (["--data", "x", "--name", "a", "--insecure", "--superlink", "host:70000"], "not of the form HOST:PORT"),
        (["--data", "x", "--name", "a", "--superlink", "10.0.0.1:9092", "--insecure"], "a server on this machine"),
        (["--data", "x", "--name", "a", "--insecure", "--key", "k"], "uses neither --ca nor --key"),
        (["--data", "x", "--name", "a", "--ca", "no-such-file"], "Missing: --key. A"),
        (["--data", "no/such/data", "--name", "a", "--insecure"], "nothing at no/such/data"),
        (["--data", "x", "--name", "a", "--ca", "no-such-file", "--key", "k"], "--ca no-such-file cannot be read"),
    ],
)
def test_a_mistake_in_the_command_is_one_sentence(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["client", "--superlink", "localhost:9092", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_without_any_option_all_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["client"]) == 2
    assert "Missing: --name, --superlink, --ca, --key, --data. " in capsys.readouterr().err


@pytest.mark.slow
def test_a_site_without_usable_data_does_not_start(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pfedgp", "client", "--insecure", "--superlink", "localhost:9"),
            *("--name", "x", "--data", str(data), "--state", str(tmp_path / "state")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pfedgp client x: checking data, device and server ..." in done.stdout
    assert "label" in done.stderr
    assert f"See all problems with: pfedgp check-data {data}" in done.stderr
