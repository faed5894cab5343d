"""Names in messages: kinds of message, their fields, and the possible outcomes of an update.

A message is up to three groups of fields: arrays (the one flat float32 vector `SHARED`), config (texts and numbers) and
metrics (numbers and lists of numbers only). The records that fill them are in `hello`, `replies` and `publication`.
Each turns itself into a config and a metrics group and back; ``from_wire`` raises DataError with the reason, and never
trusts the sender. Nothing here knows Flower.
"""

from typing import Any

__all__ = [
    "ACCEPTED",
    "ARRAYS",
    "BEST",
    "CLASSES",
    "CLIENT",
    "CONFIG",
    "EVALUATE",
    "HELLO",
    "INITIAL",
    "LEFT_OUT",
    "METRICS",
    "MODEL",
    "MODEL_HASH",
    "NOTICE",
    "OK",
    "ONBOARD",
    "ONBOARDED",
    "PAUSE",
    "PERSONAL",
    "REFUSED",
    "ROUND",
    "RULES",
    "RUN",
    "SCALE",
    "SCALES",
    "SETTINGS",
    "SHARED",
    "SPEC",
    "SPLIT",
    "SPLITS",
    "STATUS",
    "STATUSES",
    "TRAIN",
    "WORDS",
    "Fields",
]

ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"  # the groups of a message
SHARED = "shared"  # arrays: the flat vector
SETTINGS, ROUND, SPLIT, SPEC = "settings", "round", "split", "spec"  # config of a request
# Config of a request to a client that keeps a state of its own: the run, the same over resumes; the last round, up to
# that of the model in the request, in which this client's update was accepted (0: none); the round of the best model.
RUN, ACCEPTED, BEST = "run", "accepted", "best"
RULES = "rules"  # config of a greeting: the rules of columns on which sites have agreed, before the data are fixed
# Config of a test request whose model is the network before round 1: sums over the test data are all that is wanted.
INITIAL = "initial"
LEFT_OUT = "left_out"  # config of an evaluation request: whether sums of the training data are wanted, each left out
CLASSES = "classes"  # config of a request whose vector has only what a client with these class ids needs
CLIENT, STATUS = "client", "status"  # config of a reply
MODEL, MODEL_HASH, ONBOARDED = "model", "model_sha256", "onboarded"  # config of a publication and of its reply
WORDS, REFUSED = "words", "refused"  # config of a notice
HELLO, TRAIN, EVALUATE, ONBOARD = "query.hello", "train", "evaluate", "query.onboard"  # kinds of message
NOTICE = "query.notice"  # the same, which wants no answer
PAUSE = "pfedgp-pause"  # what follows an answer of the Fleet port: seconds until a site should look for messages again
SPLITS = ("validation", "test")
SCALE = "scale"  # config of an evaluation request: at which output scale to predict; without it at that of the settings
SCALES = "scales"  # in the place of a split: likelihoods of own data at every output scale, and no metrics
OK, PERSONAL = "ok", "personal"
STATUSES = {  # the outcome of a local update, and its text in the log
    OK: "updated",
    PERSONAL: "trained what stays with the client",
    "no-step": "no update (every step skipped)",
    "single-class": "no update (single class)",
    "no-data": "no update (no training data)",
}

Fields = dict[str, Any]
