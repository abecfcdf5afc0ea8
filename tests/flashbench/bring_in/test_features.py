"""Feature files of FlashSD and EAGLE: into the store as exactly as bf16 can, or into quarantine with the reason."""

import pickle
from pathlib import Path

import pytest
import torch

from flashbench.bring_in.run import run_import
from flashbench.dump.manifest import Manifest
from flashbench.dump.quarantine import read_quarantine
from flashbench.dump.source import read_source
from flashbench.dump.store import FeatureStore
from flashbench.settings import Settings
from flashbench.verify_dump import run_verify_dump
from specflash.errors import UserError
from specflash.targets import load_ends
from tests.tiny import save_tiny_llava

WIDTH, IMAGE, END = 32, 3, 2
PROMPT = [1, IMAGE, IMAGE, IMAGE, IMAGE, 40, IMAGE, IMAGE, 50, 60]
ANSWER = [70, 80, 90, END]
IDS = torch.tensor(PROMPT + ANSWER)


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture
def settings(weights, tmp_path) -> Settings:
    source = {"dataset": "coco-captions"}
    return Settings.model_validate({
        "name": "tiny", "run": tmp_path / "run",
        "target": {"name": "llava-1.5", "weights": str(weights), "dtype": "float32", "device": "cpu"},
        "dump": {"source": source, "error_budget": 1.0, "max_length": 64},
        "bench": {"tasks": {"captions": {"source": source}}}})


@pytest.fixture(scope="module")
def table(weights):
    return load_ends("llava-1.5", str(weights)).embedding


def hidden(number: int = 0) -> torch.Tensor:
    return torch.randn(len(IDS), WIDTH, generator=torch.Generator().manual_seed(number)).half()


def mask() -> torch.Tensor:
    return (torch.arange(len(IDS)) >= len(PROMPT)).long()


def eagle(number: int = 0) -> dict:
    return {"input_ids": IDS, "hidden_state": hidden(number), "loss_mask": mask()}


def flashsd(table: torch.Tensor, number: int = 0) -> dict:
    """The visual rows are the vision tower's, so no embeddings of a token."""
    embeds = table[IDS].half()
    embeds[IDS == IMAGE] += 3
    return {**eagle(number), "inputs_embeds": embeds}


def clip(table: torch.Tensor) -> dict:
    whole = flashsd(table)
    return {"input_ids": IDS[None, :len(PROMPT)], "hidden_states": whole["hidden_state"][None],
            "input_emb": whole["inputs_embeds"][None], "prompt_len": len(PROMPT), "pixel_values": torch.zeros(1, 4)}


def save(settings: Settings, **files: object) -> Path:
    folder = settings.run.parent / "foreign"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        torch.save(content, folder / f"{name}.ckpt")
    return folder


@pytest.mark.parametrize("layout", ["eagle", "flashsd", "clip"])
def test_every_layout_comes_into_the_store(settings, table, layout):
    files = {"eagle": eagle(), "flashsd": flashsd(table), "clip": clip(table)}
    account, = run_import(settings, [save(settings, data_0=files[layout])])
    assert (account.total, account.written) == (1, 1)
    sample = FeatureStore(settings.dump_folder).read(0)
    assert sample.ids.tolist() == IDS.tolist()
    assert torch.equal(sample.features, hidden().bfloat16())
    assert sample.spans == ((1, 4), (6, 2))
    assert sample.answer_mask.tolist() == mask().bool().tolist()


def test_the_store_can_be_trained_on_with_the_same_settings(settings):
    run_import(settings, [save(settings, a=eagle(1), b=eagle(2))])
    dumped = read_source(settings.dump_folder)
    dumped.check_source(settings.dump.source)
    dumped.check_complete(dumped.store())
    assert len(dumped.store()) == 2
    assert Manifest.load(settings.dump_folder).origin == "import"
    assert run_verify_dump(settings)


def test_files_are_written_skipped_repeated_or_in_quarantine_and_nothing_else(settings):
    folder = save(settings, a=eagle(1), b=eagle(2), c=eagle(1), d={"nothing": 1})
    (folder / "notes.txt").write_text("left where it is")
    first, = run_import(settings, [folder])
    assert (first.total, first.written, first.skipped, first.duplicates, first.quarantined) == (4, 2, 0, 1, 1)
    shards = shards_of(settings)
    save(settings, e=eagle(5))
    again, = run_import(settings, [folder, folder / "a.ckpt"])
    assert (again.total, again.written, again.skipped, again.duplicates, again.quarantined) == (5, 1, 2, 1, 1)
    assert shards.items() <= shards_of(settings).items()
    assert len(read_source(settings.dump_folder).store()) == 3


def shards_of(settings: Settings) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in settings.dump_folder.glob("shard-*")}


class Program:
    def __reduce__(self):
        return Path.touch, (Path("a-program-ran"),)


def test_a_clip_of_other_weights_is_found_by_its_answers_embeddings(settings, table):
    other = clip(table)
    other["input_emb"] = other["input_emb"] + 1
    account, = run_import(settings, [save(settings, a=other)])
    assert account.quarantined == 1
    assert "none of the target's tokens" in read_quarantine(settings.dump_folder)[0].reason


def without(name: str, **changed: object) -> dict:
    return {key: value for key, value in (eagle() | changed).items() if key != name}


@pytest.mark.parametrize(("content", "reason"), [
    (without("hidden_state"), "no hidden_state or hidden_states in it; it has input_ids, loss_mask"),
    (without("input_ids"), "no `input_ids` in it"),
    (without("loss_mask"), "neither `loss_mask` nor `prompt_len` in it"),
    (without("", hidden_state=torch.zeros(len(IDS), 8)), "features of width 8, and the target's are 32 wide"),
    (without("", hidden_state=hidden() / 0), "not finite"),
    (without("", hidden_state=[1, 2]), "`hidden_state` is not a table of numbers"),
    (without("", hidden_state=torch.zeros(2, 5, WIDTH)), "`hidden_state` is not a table of numbers"),
    (without("", input_ids=IDS[:-1]), f"{len(IDS) - 1} token ids for {len(IDS)} rows"),
    (without("", input_ids=IDS + 290), "outside the target's vocabulary of 300"),
    (without("", input_ids="text"), "`input_ids` is not a row of numbers"),
    (without("", loss_mask=mask() * 0), "no answer token"),
    (without("", loss_mask=mask()[:-2]), f"a loss mask of {len(IDS) - 2} for {len(IDS)} tokens"),
    (without("", inputs_embeds=torch.ones(len(IDS), WIDTH)), "not the target's: dumped from other weights"),
    (without("", inputs_embeds=torch.ones(3, WIDTH)), "embeddings of shape [3, 32]"),
    ([1, 2], "a list, not a dictionary"),
    (Program(), "not a file of tensors alone"),
])
def test_a_foreign_file_is_quarantined_with_the_reason(settings, content, reason):
    account, = run_import(settings, [save(settings, good=eagle(), odd=content)])
    assert (account.written, account.quarantined) == (1, 1)
    (entry,) = read_quarantine(settings.dump_folder)
    assert "odd.ckpt" in entry.reason
    assert reason in entry.reason
    assert not Path("a-program-ran").exists()


def test_damaged_and_overlong_files_are_quarantined(settings):
    folder = save(settings, good=eagle(), cut=eagle())
    (folder / "cut.ckpt").write_bytes((folder / "cut.ckpt").read_bytes()[:-300])
    (folder / "empty.pt").write_bytes(b"")
    (folder / "pickle.pt").write_bytes(pickle.dumps(Program()))
    run_import(settings, [folder])
    assert len(read_quarantine(settings.dump_folder)) == 3
    with pytest.raises(UserError, match=r"max_length 64 → 10"):
        run_import(settings.model_copy(update={"dump": settings.dump.model_copy(update={"max_length": 10})}), [folder])


def test_too_many_bad_files_are_an_error_and_the_good_ones_stay(settings):
    strict = settings.model_copy(update={"dump": settings.dump.model_copy(update={"error_budget": 0.1})})
    with pytest.raises(UserError, match=r"1 of 2 samples are bad, .*no hidden_state"):
        run_import(strict, [save(settings, a=eagle(), b={})])
    assert len(FeatureStore(settings.dump_folder)) == 1


def test_what_was_dumped_here_and_there_does_not_mix(settings, table):
    run_import(settings, [save(settings, a=eagle())])
    manifest = Manifest.load(settings.dump_folder)
    with pytest.raises(UserError, match="origin import → dump"):
        Manifest(target=manifest.target, fingerprint=manifest.fingerprint, dtype=manifest.dtype,
                 max_length=manifest.max_length, width=manifest.width).claim(settings.dump_folder)


@pytest.mark.parametrize(("sources", "said"), [
    ([], "--from"), (["nowhere"], "nothing at"), (["."], "nothing to import")])
def test_nothing_to_import_is_said(settings, tmp_path, sources, said):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=said):
        run_import(settings, [tmp_path / "empty" / source for source in sources])
