"""What a site decides for itself: its policy, approvals, audit log, key, and its leaving."""
