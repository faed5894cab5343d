"""What a site lets its server do: a policy that the site alone edits, its approvals, and what it has sent up to now."""
