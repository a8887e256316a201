"""Frames between the fork server, its workers and the referee."""

from __future__ import annotations

import os
import socket

from passnet._worker import protocol


def test_a_frame_arrives_with_its_descriptor():
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull, "rb") as file:
        protocol.send(ours, {"type": "fork", "id": 7}, file.fileno())
        message, descriptor = protocol.receive(theirs)
        assert message == {"type": "fork", "id": 7}
        assert os.path.samestat(os.fstat(descriptor), os.fstat(file.fileno()))
        os.close(descriptor)
        ours.close()
        assert protocol.receive(theirs) is None


def test_who_reads_a_frame_may_close_at_once():
    """A spare worker closes the socket on which it was given its request: that is not a failure to send it."""
    ours, theirs = socket.socketpair()

    class Hasty(socket.socket):
        def sendmsg(self, *arguments):
            sent = super().sendmsg(*arguments)
            theirs.close()
            return sent

    with Hasty(fileno=ours.detach()) as hasty, open(os.devnull, "rb") as file:
        protocol.send(hasty, {"type": "fork", "id": 7}, file.fileno())
