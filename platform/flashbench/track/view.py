"""A comparison as a table in MLflow's UI: all its methods with their headlines, the fastest first.

The view is stored as the UI's own *Share* stores one, in a tag of the experiment, and the comparison's note leads to
it. A UI that does not know it shows its ordinary table of runs.
"""

import json

TAG = "mlflow.sharedViewState."

SHOWN = ("metrics.`accept_length`", "metrics.`speedup_decode`", "metrics.`speedup_e2e`", "metrics.`identical_share`",
         "metrics.`output_tps`", "metrics.`tpot_ms`", "metrics.`ttft_ms`",
         "params.`method`", "params.`task`", "params.`temperature`", "tags.`claim_level`")


def view_of(comparison: str) -> dict[str, str]:
    """The tag of the experiment that holds the view.

    comparison  key of its entry
    """
    state = {"searchFilter": f"tags.comparison = '{comparison}'", "orderByKey": "metrics.`speedup_decode`",
             "orderByAsc": False, "startTime": "ALL", "lifecycleFilter": "Active", "modelVersionFilter": "All Runs",
             "datasetsFilter": [], "selectedColumns": SHOWN}
    return {TAG + comparison: json.dumps(state)}


def view_link(experiment_id: str, comparison: str) -> str:
    """Where the view is, from within the UI."""
    return f"#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={comparison}"
