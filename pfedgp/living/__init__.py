"""Verbs for a site that lives on after its onboarding: its samples change, and nothing of them leaves."""
