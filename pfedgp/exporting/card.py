"""The card of an exported classifier: what goes in, what comes out, what it was made from, and how it was checked."""

from typing import Any

from pfedgp import __version__
from pfedgp.exporting.onnx_file import TOLERANCE, Differences
from pfedgp_core.checks import printable
from pfedgp_core.data.value_range import range_text
from pfedgp_core.site.portable import from_bytes
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.words import counted, shape_text

__all__ = ["card", "card_text"]

LONGEST = 1_000  # characters of a name


def card(site: SavedSite, found: Differences, own_data: bool) -> dict[str, Any]:
    """The card as one object of JSON; ``docs/export.md`` lists its fields.

    Parameters
    ----------
    site : SavedSite
    found : Differences
    own_data : bool
        Whether the check was on samples that the operator gave.
    """
    model, gp = site.model, site.model.settings.gp
    names = site.class_names
    nodes = site.classifier.tree_.nodes
    return {
        "format": "pfedgp-export",
        "schema_version": 1,
        "pfedgp": __version__,
        "site": site.name,
        "class_names": list(names),
        "counts": site.samples.counts(model.class_names),
        "samples": len(site.samples),
        "model_sha256": model.sha256,
        "data_sha256": site.samples.sha256,
        "input": {
            "name": "inputs",
            "shape": ["samples", *model.input_shape],
            "values": "0..255" if from_bytes(site) else model.value_range,
            "columns": list(site.columns),
        },
        "nodes": [{"left": [names[c] for c in n.left], "right": [names[c] for c in n.right]} for n in nodes],
        "temperature": model.temperature,
        "network": model.settings.network,
        "variant": model.settings.variant,
        "kernel": gp.kernel,
        "prior_variance": float(site.classifier.kernel.output_scale) + gp.jitter,
        "took_part": site.took_part,
        "check": {**found._asdict(), "own_data": own_data, "tolerance": TOLERANCE},
    }


def card_text(about: dict[str, Any]) -> str:
    """The card for people, Markdown."""
    entry, check = about["input"], about["check"]
    values = f", {range_text(entry['values'])}" if entry["values"] else ""
    columns = ", ".join(map(_plain, entry["columns"]))
    counts = ", ".join(f"{_plain(name)}: {count}" for name, count in about["counts"].items())
    nodes = [f"| {i} | {_list(n['left'])} | {_list(n['right'])} |" for i, n in enumerate(about["nodes"])]
    on = "samples that the operator gave" if check["own_data"] else "random inputs and the site's training features"
    lines = [
        f"# Classifier of site {_plain(about['site'])}",
        "",
        (
            f"A classifier of {_list(about['class_names'])}, exported by pFedGP {about['pfedgp']}. It stands on "
            f"{counted(about['samples'], 'sample')} of the site ({counts}), data {about['data_sha256'][:12]}, and on "
            f"the shared model {about['model_sha256'][:12]} (network {_plain(about['network'])}, variant "
            f"{about['variant']}, kernel {about['kernel']})."
        ),
        "",
        "## Input",
        "",
        f"`{entry['name']}`: float32, samples x {shape_text(tuple(entry['shape'][1:]))}{values}. The file normalises.",
        *([f"Columns in this order: {columns}."] if columns else []),
        "",
        "## Output",
        "",
        "| name | shape | meaning |",
        "|---|---|---|",
        "| `features` | samples x d | what the Gaussian processes see, before the unit sphere |",
        "| `mean`, `variance` | samples x nodes | latent value of each node of the class tree, over all Gibbs chains |",
        (
            f"| `probabilities` | samples x {len(about['class_names'])} | of {_list(about['class_names'])}, at "
            f"temperature {about['temperature']:g} |"
        ),
        "",
        "A latent value above 0 speaks for the left classes of its node:",
        "",
        "| node | left | right |",
        "|---|---|---|",
        *nodes,
        "",
        f"A variance near the prior's, {about['prior_variance']:g}, means that no sample of the site is near.",
        "",
        "## Check",
        "",
        (
            f"On {counted(check['inputs'], 'input')} ({on}) the answers of onnxruntime differ from pFedGP's by at most "
            f"{check['probabilities']:.1e} in a probability, {check['mean']:.1e} prior deviations in a mean and "
            f"{check['variance']:.1e} prior variances in a variance; a file with more than {check['tolerance']:g} is "
            "not written."
        ),
        "",
        "## Limits",
        "",
        "* The file holds features of the site's training samples: guard it as the site's folder.",
        "* It is the classifier of one moment. What the site learns or forgets later is in a new export alone; after",
        "  `pfedgp forget`, delete files that were exported before.",
        "* It answers one of its classes for every input. It neither abstains nor watches for drift, and carries no",
        "  certificate: `pfedgp predict`, `watch` and `certify` do.",
        "* It was not evaluated here. It is no medical device.",
    ]
    return "\n".join(lines) + "\n"


def _list(names: list[str]) -> str:
    return ", ".join(map(_plain, names))


def _plain(name: str) -> str:
    """A name that is no markup in a table of Markdown."""
    return "".join("\\" + c if c in "\\`*_[]<>|#" else c for c in printable(name, LONGEST))
