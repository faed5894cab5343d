"""A site's own temperature: by leave-one-out on its samples, from the temperature that came with the model."""

from pfedgp_core.errors import ConfigError
from pfedgp_core.metrics.leave_one_out import leave_one_out_temperature
from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.site.saved import SavedSite

__all__ = ["own_temperature"]


def own_temperature(site: SavedSite) -> float:
    """Return the temperature that the site's samples choose; nothing is fitted again.

    Its logarithm has a prior around that of the model's, with the spread that log T has among the federation's clients.

    Raises
    ------
    ConfigError
        The site took part in the training. Features that were trained on a sample predict it better than new ones, so
        that leave-one-out would choose probabilities that are too sure.
    """
    if site.took_part:
        raise ConfigError(
            f"The site {site.name!r} took part in the training of its model, whose features know its samples, so these "
            "cannot choose a temperature: leave out --temperature for the model's."
        )
    log_probabilities = site.classifier.leave_one_out_log_proba()
    columns = label_columns(site.classifier.classes_, site.samples.labels)
    model = site.model
    return leave_one_out_temperature(log_probabilities, columns, model.temperature, model.temperature_spread)
