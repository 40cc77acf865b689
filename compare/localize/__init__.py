"""Localization: services and functions ranked as suspects by evidence."""
