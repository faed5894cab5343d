"""A worker process of the pool: it runs the ClientApp for one message after the other."""

import time

from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode

from pfedgp.local.pool.line import Line

__all__ = ["Answer", "serve"]

Answer = tuple[Message, Context, float]  # the reply, the client's context after it, and CPU seconds


def serve(line: Line, app: ClientApp) -> None:
    """Answer messages until the other end of the line is closed.

    Parameters
    ----------
    line : Line
        Brings pairs of a message and the context of the client that it is for; takes an `Answer` for each.
    app : ClientApp
        What it raises becomes an error reply with the code and the text that Flower gives it.
    """
    while True:
        try:
            message, context = line.recv()
        except (EOFError, ConnectionError):
            return
        began = time.process_time()
        try:
            reply = app(message, context)
        except Exception as error:  # noqa: BLE001 (whatever an app raises, the server gets a reply)
            reason = f"{type(error)}:<'{error}'>"
            reply = Message(Error(code=ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason=reason), reply_to=message)
        line.send((reply, context, time.process_time() - began))
