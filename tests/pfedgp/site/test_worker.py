"""The worker's answer: what a handler raises leaves the site as a type."""

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from pfedgp.site.worker import answer


def test_what_a_handler_raises_leaves_the_site_as_a_type() -> None:
    app = ClientApp()

    @app.query()
    def query(message: Message, context: Context) -> Message:
        raise RuntimeError("patient 17")

    context = Context(1, 2, {}, RecordDict(), {})
    message = Message(RecordDict({"config": ConfigRecord({})}), dst_node_id=2, message_type="query")
    reply, kept = answer(app, message, context, (1, 1, 2))
    assert kept is context
    assert (reply.error.code, reply.error.reason) == (2, "RuntimeError")
