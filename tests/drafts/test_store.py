import json
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from specflash.cache import HEADROOM
from specflash.drafts import DRAFTS
from specflash.drafts.store import check_settings, load_draft, make_draft, save_draft
from specflash.errors import UserError
from specflash.files import DiskFull
from specflash.sampling import Sampling
from tests.drafts.toy import SETTINGS, D, V, draft, ends, features, open_session

VOCABULARY = torch.tensor([5, 1, 30, 22])


def target(fingerprint: str = "abc", dtype: torch.dtype = torch.float32) -> SimpleNamespace:
    return SimpleNamespace(name="toy", fingerprint=fingerprint, width=D, ends=ends(), dtype=dtype,
                           device=torch.device("cpu"))


@pytest.fixture
def saved(tmp_path):
    save_draft(draft("specflash", VOCABULARY), tmp_path / "d", "toy", "abc", {"epochs": 3})
    return tmp_path / "d"


def refused(folder, words: str, by=None) -> None:
    with pytest.raises(UserError, match=words) as caught:
        load_draft(folder, by or target())
    assert "\n" not in str(caught.value)


def rounded(made):
    """The draft with weights that bf16 has."""
    for parameter in made.parameters():
        parameter.data = parameter.data.bfloat16().float()
    return made


def test_weights_are_stored_in_bf16_and_token_ids_as_they_are(tmp_path):
    made = draft("specflash", VOCABULARY)
    save_draft(made, tmp_path, "toy", "abc")
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        assert torch.equal(tensor, made.state_dict()[name] if name == "vocabulary_ids"
                           else made.state_dict()[name].bfloat16())


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("vocabulary_ids", [None, VOCABULARY])
def test_a_loaded_draft_drafts_like_the_saved_one(tmp_path, name, vocabulary_ids):
    made = rounded(draft(name, vocabulary_ids))
    save_draft(made, tmp_path, "toy", "abc")
    loaded = load_draft(tmp_path, target())
    assert loaded.config == made.config and not loaded.training
    for key, value in made.state_dict().items():
        assert torch.equal(loaded.state_dict()[key], value)
    with torch.inference_mode():
        tokens = [open_session(each, features(20), 15).propose(Sampling(), None, 4).tokens
                  for each in (made, loaded)]
    assert torch.equal(*tokens)


def test_it_computes_in_the_target_s_dtype_and_keeps_its_vocabulary(saved):
    loaded = load_draft(saved, target(dtype=torch.bfloat16))
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.bfloat16}
    assert torch.equal(loaded.vocabulary_ids, VOCABULARY)


def test_the_config_says_what_it_is(saved):
    config = json.loads((saved / "config.json").read_text())
    assert config["speculators_config"]["algorithm"] == config["speculators_model_type"] == "specflash"
    assert config["speculators_config"]["verifier"] == {"name_or_path": "toy", "fingerprint": "abc"}
    assert config["speculators_config"]["proposal_methods"][0]["speculative_tokens"] == 4
    assert config["draft_vocab_size"] == 4 and config["extra"] == {"epochs": 3}
    assert config["draft"]["latents"] == 3
    assert sorted(path.name for path in saved.iterdir()) == ["config.json", "model.safetensors"]


def test_no_table_of_the_target_is_stored(saved):
    tensors = load_file(saved / "model.safetensors")
    assert tensors and all(V not in tensor.shape for tensor in tensors.values())


def test_a_missing_folder_or_file(saved, tmp_path):
    refused(tmp_path / "nowhere", "config.json is missing; train one")
    (saved / "model.safetensors").rename(saved / "elsewhere")
    refused(saved, "model.safetensors is missing")


def test_another_target_s_draft(saved):
    refused(saved, "trained for the target `toy` with other weights", target("other"))


def test_half_a_file(saved):
    content = (saved / "model.safetensors").read_bytes()
    (saved / "model.safetensors").write_bytes(content[: len(content) // 2])
    refused(saved, "damaged or does not belong")


def test_weights_of_another_export(saved):
    save_file({"x": torch.zeros(1)}, saved / "model.safetensors")
    refused(saved, "damaged or does not belong")


def edit(folder, change) -> None:
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("change", [{"latents": 5}, {"vocabulary": 0}, {"vocabulary": 5}])
def test_tensors_that_do_not_fit_the_config(saved, change):
    edit(saved, lambda config: config["draft"].update(change))
    refused(saved, "does not hold this draft's tensors")
    edit(saved, lambda config: config["draft"].update(latents=3, layers=2))
    refused(saved, "does not hold this draft's tensors")


def test_an_unknown_draft(saved):
    edit(saved, lambda config: config.update(speculators_model_type="eagel"))
    refused(saved, "unknown draft `eagel` \\(did you mean `eagle`\\?\\)")


@pytest.mark.parametrize("key", ["speculators_config", "draft", "speculators_model_type", "weights_sha256"])
@pytest.mark.parametrize("value", [None, 3])
def test_a_config_that_lacks_an_entry(saved, key, value):
    edit(saved, lambda config: config.update({key: value}) if value else config.pop(key))
    refused(saved, "config.json was not written by `specflash train`")


def test_settings_other_than_the_saved_ones_are_told(saved):
    asked = {**SETTINGS["specflash"], "vocabulary": len(VOCABULARY)}
    check_settings(saved, asked)
    with pytest.raises(UserError, match=r"other settings than drafts.specflash \(k 4 → 2\).*change them back"):
        check_settings(saved, {**asked, "k": 2})


def test_a_full_disk_leaves_the_draft_before_and_no_half_file(saved):
    (saved / "model.safetensors.tmp").symlink_to("/dev/full")
    with pytest.raises(DiskFull, match="no space left"):
        save_draft(draft("specflash", VOCABULARY), saved, "toy", "abc")
    assert sorted(path.name for path in saved.iterdir()) == ["config.json", "model.safetensors"]
    load_draft(saved, target())


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_config_of_something_else(saved, content):
    (saved / "config.json").write_text(content)
    refused(saved, "config.json (is not valid JSON|was not written by)")


def test_saving_again_replaces(saved):
    other = draft("specflash", VOCABULARY)
    other.head.residual.data += 1
    rounded(other)
    save_draft(other, saved, "toy", "abc")
    assert torch.equal(load_draft(saved, target()).head.residual, other.head.residual)


def test_wrong_settings_name_the_nearest():
    with pytest.raises(UserError, match=r"draft `specflash`: `latent`: .* \(did you mean `latents`\?\)"):
        make_draft("specflash", {"latent": 3}, D)
    with pytest.raises(UserError, match="unknown draft `specflahs`"):
        make_draft("specflahs", {}, D)


@pytest.mark.parametrize(("name", "wrong"), [
    *((name, wrong) for name in SETTINGS for wrong in ({"k": 0}, {"k": -1}, {"k": HEADROOM}, {"vocabulary": -1})),
    *((name, wrong) for name in ("specflash", "eagle", "text-only") for wrong in (
        {"heads": -1}, {"head_dim": 0}, {"head_dim": 15})),
    ("specflash", {"latents": -1}), ("specflash", {"latents": 0}), ("specflash", {"layers": 0}),
    ("specflash", {"dropout": 2}), ("specflash", {"dropout": float("nan")}), ("eagle", {"inner": -5}),
    ("specflash", {"own_words": -0.1}), ("specflash", {"own_words": 1.1}), ("specflash", {"own_words_after": 1}),
    ("text-only", {"inner": -5}), ("medusa", {"layers": 0}), ("medusa", {"decay": float("nan")}),
    ("ngram", {"k": 0}), ("ngram", {"k": HEADROOM}), ("ngram", {"max_ngram": 0}), ("vanilla", {"k": HEADROOM})])
def test_settings_that_no_draft_can_have_are_refused(name, wrong):
    (key,) = wrong
    with pytest.raises(UserError, match=f"draft `{name}`: `{key}`: ") as caught:
        make_draft(name, wrong, 64)
    assert "\n" not in str(caught.value)


def test_the_longest_draft_still_fits_the_cache_behind_the_answer():
    assert make_draft("eagle", {"k": HEADROOM - 1}, 64).config.k == HEADROOM - 1


@pytest.mark.parametrize("name", DRAFTS)
def test_every_draft_of_the_catalogue_can_be_made_from_nothing_but_a_width(name):
    assert make_draft(name, {}, 128).config.width == 128
