"""The report of one run: a single HTML file that needs nothing else. It reads finished records only."""

from dashboards.report.page import render_report

__all__ = ["render_report"]
