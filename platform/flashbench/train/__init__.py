"""Training drafts on stored features with Ray Train and DeepSpeed: same recipe for every draft."""

from flashbench.train.run import TrainSummary, run_train

__all__ = ["TrainSummary", "run_train"]
