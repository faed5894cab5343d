"""The shared kernel network and all else that is one vector on the wire."""
