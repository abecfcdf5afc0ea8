"""What goes to MLflow: a run per training, per live campaign, and per comparison with a child per method and task."""

from flashbench.track.campaign import log_campaign
from flashbench.track.comparison import HEADLINES, log_comparison
from flashbench.track.store import tracking_uri
from flashbench.track.training import log_training

__all__ = ["HEADLINES", "log_campaign", "log_comparison", "log_training", "tracking_uri"]
