"""Steps and averages that every method uses: SGD, aggregation, privacy, timing."""
