"""The worker process: loads the installed ClientApp once, with torch, and then answers one message after the other.

Started as ``python -P -m pfedgp.site.worker SOCKET PARENT APP``. ``-P`` keeps the working directory off Python's path,
so that the app is the one that is installed.
"""

import importlib
import socket
import sys
import traceback
from typing import Any

from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode

from pfedgp.processes.parent import end_with_parent
from pfedgp.site.frames import receive, send
from pfedgp.site.task_name import TaskName

__all__ = ["READY", "answer", "main"]

READY = "ready"


def main(arguments: list[str]) -> int:
    """Load the app, say so, and answer until the other side closes the socket; 1 where the app cannot be loaded."""
    descriptor, parent, reference = arguments
    end_with_parent(int(parent))
    with socket.socket(fileno=int(descriptor)) as connection:
        try:
            app = _load(reference)
        except Exception as error:  # noqa: BLE001 (whatever the app raises when it loads)
            traceback.print_exc()
            send(connection, f"{type(error).__name__}: {error}")
            return 1
        send(connection, READY)
        while True:
            try:
                message, context, identity = receive(connection)
            except EOFError:
                return 0
            send(connection, answer(app, message, context, identity))


def answer(
    app: ClientApp, message: Message, context: Context, identity: tuple[int, int, int]
) -> tuple[Message, Context]:
    """Return the app's reply and the context that it left.

    Parameters
    ----------
    identity : tuple of int
        Task, run and node, without which Flower makes no message.
    """
    TaskName(identity).apply()
    try:
        return app(message=message, context=context), context
    except Exception as error:  # noqa: BLE001 (whatever the app raises)
        # The text of an exception may quote data or paths of the site: it stays in the site's log.
        traceback.print_exc()
        reason = Error(code=ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason=type(error).__name__)
        return Message(reason, reply_to=message), context


def _load(reference: str) -> Any:
    module, name = reference.split(":")
    return getattr(importlib.import_module(module), name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
