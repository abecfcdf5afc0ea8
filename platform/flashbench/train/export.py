"""A trained draft on disk: config.json, model.safetensors and training.json. It knows no training."""

import json

from flashbench.settings import Settings
from flashbench.train.engine import import_deepspeed
from flashbench.train.recipe import RECORD
from flashbench.train.step import Run
from specflash.drafts.store import save_draft
from specflash.files import write_whole


def export(run: Run, settings: Settings, recipe: dict[str, str], curves: list[dict]) -> None:
    """Rank 0 writes; every rank must call, because with ZeRO 3 each holds a part of the weights.

    training.json comes last: a folder that has it is finished.
    """
    folder = settings.draft_folder(run.draft.name)
    parameters = list(run.draft.parameters())
    deepspeed = import_deepspeed(run.train.gpu)
    with deepspeed.zero.GatheredParameters(parameters, enabled=run.train.zero_stage == 3):
        if run.rank == 0:
            save_draft(run.draft, folder, settings.target.name, run.target_fingerprint, {"recipe": recipe})
            record = {
                "draft": run.draft.name,
                "recipe": recipe,
                "parameters": sum(parameter.numel() for parameter in parameters),
                "samples": len(run.plan.lengths),
                "held_out": len(run.held_out_plan.lengths),
                "steps": run.engine.global_steps,
                "seconds": sum(curve["seconds"] for curve in curves),
                "curves": curves,
            }
            write_whole(folder / RECORD, json.dumps(record, indent=1).encode())
