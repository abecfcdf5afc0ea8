"""How an experiment looks in MLflow's UI: it opens on its runs, and has a view with the methods side by side.

`…/#/experiments/ID/runs?viewStateShareKey=specflash` is that view. It is stored as the UI's own *Share* stores one,
in a tag of the experiment; a UI that does not know it shows its ordinary table.
"""

import json

VIEW = "specflash"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
KIND_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""Without it the UI takes the experiment for one about prompts and opens on empty usage charts."""

SHOWN = ("metrics.`accept_length`", "metrics.`speedup_decode`", "metrics.`speedup_e2e`", "metrics.`identical_share`",
         "metrics.`output_tps`", "metrics.`tpot_ms`", "metrics.`ttft_ms`",
         "params.`method`", "params.`task`", "params.`temperature`", "tags.`claim_level`")


def view_of(comparison: str) -> str:
    """What VIEW_TAG of the experiment holds: the view, with this comparison's children open.

    comparison  id of its run
    """
    return json.dumps({
        "orderByKey": "attributes.start_time", "orderByAsc": False, "searchFilter": "", "startTime": "ALL",
        "lifecycleFilter": "Active", "modelVersionFilter": "All Runs", "datasetsFilter": [],
        "selectedColumns": SHOWN, "runsExpanded": {comparison: True}})


def view_link(experiment_id: str) -> str:
    """Where the view is, from within the UI."""
    return f"#/experiments/{experiment_id}/runs?viewStateShareKey={VIEW}"
