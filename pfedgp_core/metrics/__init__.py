"""What is measured, as sums that can be pooled over clients."""
