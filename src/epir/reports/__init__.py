"""Runs -> tables, figures and one page of HTML."""
