"""``pfedgp client``: one site of a federation, which answers every request of the server."""

import argparse
import logging
import os
from dataclasses import replace
from pathlib import Path

from pfedgp.layout_options import add_layout, layout_from
from pfedgp.operator.addresses import is_loopback, join, parse_address
from pfedgp.options import add_backbone, add_column_key, column_key
from pfedgp.path_arguments import path_text
from pfedgp.processes.limits import allow_files
from pfedgp.processes.proxies import keep_direct
from pfedgp.site.plan import SitePlan
from pfedgp.site.preflight import check_site
from pfedgp.site.state import SiteState
from pfedgp.site.supervisor import SiteSupervisor
from pfedgp.table_options import add_table_options
from pfedgp_core.errors import ConfigError, DataError, UnreadableFileError
from pfedgp_core.files.keys import read_site_key
from pfedgp_core.files.private import as_private
from pfedgp_core.memory import MemoryLimit
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.policy.site_policy import FOLDER as POLICY_FOLDER
from pfedgp_core.site.withdrawal import withdrawn

__all__ = ["add_arguments", "main"]

FILES = 256  # open at once: connections, pipes, libraries, and some of the site's own


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--name", metavar="NAME", help="name of the site, as the server shows it")
    parser.add_argument("--superlink", metavar="HOST:PORT", help="the server's fleet port")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="ca.crt of the server")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the site's private key, whose .pub the server knows")
    parser.add_argument("--data", metavar="PATH", help="the site's labelled data, as for check-data")
    parser.add_argument(
        "--data-root", type=path_text, metavar="FOLDER", help="folder of a built-in data set that has files"
    )
    parser.add_argument(
        "--label-column", default="label", metavar="NAME", help="column of a table with the class (default: label)"
    )
    add_layout(parser)
    add_table_options(parser)
    add_column_key(parser)
    parser.add_argument(
        "--hide-columns", action="store_true", help="give the server no names of columns: they go by their position"
    )
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="where the site keeps what it must not lose")
    parser.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu, cuda or cuda:1 (default: auto)")
    parser.add_argument(
        "--max-memory",
        metavar="GB",
        help="gigabytes that a run may need here, else it is refused (default: 80 %% of the machine's)",
    )
    for kind, form in (("method", "Class"), ("network", "function")):
        parser.add_argument(
            f"--allow-{kind}",
            action="append",
            default=[],
            metavar="PATH",
            help=f"code that the server may name as its {kind}: package.module:{form}, installed here (repeatable)",
        )
    add_backbone(parser)
    parser.add_argument("--stock", action="store_true", help="run Flower's own SuperNode: slower, and runs any app")
    parser.add_argument("--insecure", action="store_true", help="plaintext, to a server on this machine only")
    parser.add_argument(
        "--partition-id", type=int, metavar="I", help="in place of --data: this part of the run's simulated data set"
    )
    parser.add_argument("--num-partitions", type=int, metavar="N", help="parts of the simulated data set")


def main(args: argparse.Namespace) -> int:
    """Run the site until it is stopped; 0 after SIGTERM."""
    plan = _plan(args)
    allow_files(FILES, "A site")
    folder = SiteState(Path(plan.state))
    with as_private(), folder.locked(), folder.logs() as logger:
        logger.info("pfedgp client %s: checking data, device and server ...", plan.name)
        return SiteSupervisor(_checked(plan, logger), folder, logger).run()


def _plan(args: argparse.Namespace) -> SitePlan:
    simulated = args.partition_id is not None or args.num_partitions is not None
    if simulated and args.data is not None:
        raise ConfigError("Give the site's data with --data, or a part of a simulated data set with --partition-id.")
    if simulated and (args.partition_id is None or args.num_partitions is None):
        raise ConfigError("--partition-id and --num-partitions go together: give both.")
    if missing := _missing(args, simulated):
        from pfedgp.verbs import VERBS

        raise ConfigError(f"Missing: {', '.join(missing)}. A whole command: {VERBS['client'].example}")
    if args.name is not None and (fault := name_fault(args.name, NAME_LIMIT) or ("has a slash" * ("/" in args.name))):
        raise ConfigError(f"--name {args.name!r} is not a name, as it {fault}: give printable text without a slash.")
    host, port = parse_address(args.superlink, "--superlink")
    _check_security(args, host)
    if is_loopback(host):
        keep_direct(host)
    _check_path(args.data or "")
    name = args.name or f"client-{args.partition_id}"
    state = (args.state.expanduser() if args.state else _default_state(name)).absolute()
    if args.stock and (state / POLICY_FOLDER).exists():
        raise ConfigError(
            f"{state / POLICY_FOLDER} holds this site's policy, which Flower's own SuperNode does not obey: leave out "
            "--stock."
        )
    if (left := withdrawn(state)) is not None:
        raise ConfigError(
            f"This site has withdrawn from its federation, {left.get('when', 'not to the end')}: give another --state "
            "to take part again, or end it with pfedgp withdraw."
        )
    config: dict[str, str | int] = {"device": args.device, "state": str(state), "site": str(state / "site")}
    if args.name is not None:
        config["client-name"] = args.name
    if simulated:
        config |= {"partition-id": args.partition_id, "num-partitions": args.num_partitions}
    else:
        config |= {"data-path": args.data, "label-column": args.label_column}
    config |= _column_config(args) | layout_from(args).to_config()
    if args.data_root is not None:
        config["data-root"] = str(Path(args.data_root).expanduser().absolute())
    if args.max_memory is not None:
        MemoryLimit.given(args.max_memory)
        config["max-memory"] = args.max_memory
    config["allow-code"] = ",".join([*args.allow_method, *args.allow_network])
    ca, key = ("" if file is None else str(file.expanduser().absolute()) for file in (args.ca, args.key))
    return SitePlan(join(host, port), ca, key, config, str(state), name, args.stock)


def _column_config(args: argparse.Namespace) -> dict[str, str]:
    """What the server gets to know of the names of columns, in the node config."""
    if args.column_key is None:
        return {"column-names": "none"} if args.hide_columns else {}
    if args.hide_columns:
        raise ConfigError("--column-key has names hashed, and --hide-columns gives none: leave out one of them.")
    column_key(args)  # refuses what is no key
    return {"column-key": str(args.column_key.expanduser().absolute())}


def _missing(args: argparse.Namespace, simulated: bool) -> list[str]:
    """Every option that the site lacks."""
    needed = {
        "--name": args.name is None and not simulated,
        "--superlink": args.superlink is None,
        "--ca": args.ca is None and not args.insecure,
        "--key": args.key is None and not args.insecure,
        "--data": not (args.data or "").strip() and not simulated,
    }
    return [option for option, lacks in needed.items() if lacks]


def _check_security(args: argparse.Namespace, host: str) -> None:
    if args.insecure:
        if args.ca is not None or args.key is not None:
            raise ConfigError("--insecure uses neither --ca nor --key: leave out the one or the others.")
        if not is_loopback(host):
            raise ConfigError(f"--insecure is for a server on this machine, not for {host}: give --ca and --key.")
        return
    for option, file in (("--ca", args.ca), ("--key", args.key)):
        if not os.access(file.expanduser(), os.R_OK) or not file.expanduser().is_file():
            raise ConfigError(f"{option} {file} cannot be read: give the path of a file that this user may read.")
    try:
        read_site_key(args.key.expanduser())
    except UnreadableFileError as error:
        raise ConfigError(
            f"--key {args.key} is none that Flower takes ({error.reason}): give the private key that pfedgp key made "
            "for this site, the file NAME without .pub."
        ) from error


def _check_path(data: str) -> None:
    """Refuse at once a path with nothing at it; what may be a built-in data set's name is looked at later."""
    if Path(data).name != data and not Path(data).expanduser().exists():
        raise DataError(f"There is nothing at {data}: give --data the path of the site's data, see pfedgp check-data.")


def _default_state(name: str) -> Path:
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "pfedgp" / "clients" / name


def _checked(plan: SitePlan, logger: logging.Logger) -> SitePlan:
    """The plan of a site whose data and device can be used, with the path of its data absolute; logs notes on them."""
    config = {key: str(value) for key, value in plan.node_config.items()}
    data, device = config.get("data-path", ""), config["device"]
    if not data and device in ("auto", "cpu"):
        return plan
    found = check_site(config)
    for note in found.notes:
        logger.info("data: %s", note)
    if found.builtin or not data:
        return plan
    return replace(plan, node_config={**plan.node_config, "data-path": str(Path(data).expanduser().absolute())})
