"""The clients of a run: who is there, how they presented themselves, who answers."""
