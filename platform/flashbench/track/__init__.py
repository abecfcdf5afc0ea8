"""What goes to MLflow: one run per training, one per comparison with a child per method, task, target, temperature."""

from flashbench.track.comparison import HEADLINES, log_comparison
from flashbench.track.store import tracking_uri
from flashbench.track.training import log_training

__all__ = ["HEADLINES", "log_comparison", "log_training", "tracking_uri"]
