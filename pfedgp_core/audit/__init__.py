"""An audit log: lines of JSON that are only ever added, each bound to the one before it by its hash."""
