"""Enough of HTTP/2 and gRPC to read what a client sent, and a proxy that records it."""

import socket
import struct
import threading
from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, SETTINGS = 0, 4
PADDED = 0x8


class RecordingProxy:
    """Forwards connections from a port of its own to `target` on the loopback interface and keeps all bytes."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.sent: list[bytearray] = []  # by connection, from the client
        self.received: list[bytearray] = []  # by connection, from the server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            self.sent.append(bytearray())
            self.received.append(bytearray())
            for source, sink, record in ((near, far, self.sent[-1]), (far, near, self.received[-1])):
                threading.Thread(target=_pump, args=(source, sink, record), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, record: bytearray) -> None:
    try:
        while block := source.recv(65536):
            record += block
            sink.sendall(block)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        sink.close()


def frames(stream: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield (type, flags, stream id, payload) of each whole HTTP/2 frame."""
    position = 0
    while position + 9 <= len(stream):
        length = int.from_bytes(stream[position : position + 3], "big")
        kind, flags, number = struct.unpack(">BBI", stream[position + 3 : position + 9])
        payload = stream[position + 9 : position + 9 + length]
        if len(payload) < length:
            return
        yield kind, flags, number & 0x7FFFFFFF, payload
        position += 9 + length


def grpc_messages(connection: bytes) -> Iterator[bytes]:
    """Yield the uncompressed gRPC messages that a client sent on one connection, in the order of their streams."""
    assert connection.startswith(PREFACE), "the connection does not speak HTTP/2"
    bodies: dict[int, bytearray] = {}
    for kind, flags, number, payload in frames(connection[len(PREFACE) :]):
        if kind == DATA:
            data = payload[1 : len(payload) - payload[0]] if flags & PADDED else payload
            bodies.setdefault(number, bytearray()).extend(data)
    for number in sorted(bodies):
        body, position = bytes(bodies[number]), 0
        while position + 5 <= len(body):
            compressed, length = struct.unpack(">BI", body[position : position + 5])
            assert not compressed
            yield body[position + 5 : position + 5 + length]
            position += 5 + length
