"""What is stored of one sample, and which samples are refused."""

from dataclasses import replace

import pytest
import torch

from flashbench.data_settings import SourceSettings
from flashbench.dump.extract import extract
from flashbench.dump.read import open_source
from flashbench.dump.rows import READ_SCHEMA, to_row, to_sample
from flashbench.settings import DumpSettings
from specflash.errors import UserError
from specflash.prefix import FeaturePasses
from specflash.records import Clip, Turn, sample_id
from tests.flashbench.dump.source import exchange, write_rows, write_source
from tests.tiny import VISUAL_TOKENS, make_sample, picture, tiny_target

EXACTLY = {"rtol": 0.0, "atol": 0.0}


@pytest.fixture(scope="module")
def target(weights):
    return tiny_target(weights)


@pytest.fixture
def passes(target):
    return FeaturePasses(target)


@pytest.mark.parametrize("images", [(), (picture(),)])
def test_features_are_the_input_of_the_lm_head(target, passes, images):
    """To the last bit where the model, too, sees the whole in one pass: without a picture."""
    sample = make_sample(answer="A red thing.", media=images)
    prompt = target.encode(sample)
    seen = []
    hook = target.model.lm_head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    with torch.inference_mode():
        target.model(input_ids=prompt.ids, **prompt.pixels)
    hook.remove()
    stored = extract(passes, sample, 512).features
    torch.testing.assert_close(stored, seen[0][0].bfloat16(), **({"rtol": 2**-7, "atol": 1e-4} if images else EXACTLY))


def test_tokens_spans_and_answer_are_those_of_the_prompt(target, passes):
    sample = make_sample(answer="A red thing.")
    prompt, stored = target.encode(sample), extract(passes, sample, 512)
    assert stored.id == sample.id
    assert stored.spans == prompt.spans
    assert stored.spans[0][1] == VISUAL_TOKENS
    assert torch.equal(stored.ids, prompt.ids[0])
    assert torch.equal(stored.answer_mask, prompt.answer_mask[0])
    assert stored.features.dtype == torch.bfloat16


def test_max_length_itself_is_allowed_and_one_more_is_not(target, passes):
    sample = make_sample(answer="A red thing.")
    length = target.encode(sample).length
    assert len(extract(passes, sample, length).ids) == length
    with pytest.raises(UserError, match=f"{length} tokens are more than dump.max_length={length - 1}"):
        extract(passes, sample, length - 1)


def test_a_sample_without_an_answer_is_refused(passes):
    with pytest.raises(UserError, match="no answer token"):
        extract(passes, make_sample(answer=None), 512)


def test_questions_alone_are_one_sample_whatever_was_answered(tmp_path):
    folder = write_source(tmp_path / "data", 1)
    write_rows(folder, [exchange(0), exchange(0, "another answer")])
    dump = DumpSettings(source=SourceSettings(dataset="llava-instruct", path=folder), answers="target")
    first, second = open_source(dump)[0], open_source(dump)[1]
    assert first.id == second.id == sample_id(first.media, (Turn("What is picture 0?"),))
    answered = open_source(dump.model_copy(update={"answers": "dataset"}))
    assert len({answered[0].id, answered[1].id, first.id}) == 3


def test_a_sample_survives_its_row():
    sample = make_sample(question="¿Qué es?", answer="'quoted' \n two lines")
    row = to_row(3, sample)
    assert set(row) | {"reason"} == set(READ_SCHEMA.names)
    assert to_sample(row) == sample
    clip = replace(sample, media=(Clip(b"video", 4, start=1.5), *sample.media))
    assert to_sample(to_row(0, clip)) == clip
    unanswered = replace(sample, turns=make_sample().turns)
    assert to_sample(to_row(0, unanswered)).turns[0].answer is None
