"""The report's figures from finished records, by the name of their files. They know no page."""

from dashboards.report.plots import acceptance, pace, speed, training

PLOTS = {**speed.PLOTS, **acceptance.PLOTS, **pace.PLOTS, **training.PLOTS}

__all__ = ["PLOTS"]
