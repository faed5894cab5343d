"""Names in the header Host of a request to a command that answers on loopback."""

__all__ = ["FOREIGN", "OWN"]

FOREIGN = (
    "evil.example",
    "evil.example:8788",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "",
    "[::2]:8788",
)
OWN = ("localhost:8788", "LOCALHOST", "[::1]:8788", "127.0.0.1")
