"""Requests and answers of the panel's views."""
