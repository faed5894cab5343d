"""The folder of a run: artefacts, checkpoints, models, settings, and who may write it."""
