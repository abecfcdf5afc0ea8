"""The target's own answers to several samples: token for token what it says to each alone."""

from dataclasses import replace

import pytest
import torch

from specflash.answering import answer_together, converse
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.errors import UserError
from specflash.records import Turn
from specflash.sampling import Sampling
from tests.tiny import make_sample, picture, tiny_target

LIMIT = 12
QUESTIONS = (("What?",), ("Where is it, and how many of them are there?", "Why?"), ("Who?", "Which one?", "And?"),
             ("How big is it?",))


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """Its answers read as one letter a token, which come back as other tokens in the next prompt."""
    tiny = tiny_target(tmp_path_factory.mktemp("tiny"))
    tiny.decode = lambda ids: "".join(chr(ord("a") + token % 26) for token in ids)
    return tiny


@pytest.fixture(scope="module")
def samples():
    return [replace(make_sample(media=(picture((40 * number, 90, 200 - 30 * number)),)), id=f"s{number}",
                    turns=tuple(Turn(question, "somebody else's answer") for question in questions))
            for number, questions in enumerate(QUESTIONS)]


@pytest.fixture(scope="module")
def answered(target, samples):
    return answer_together(target, samples, LIMIT, max_length=512)


def alone(target, sample, limit=LIMIT):
    """(last prompt's ids, last answer's ids) of a conversation, each answer by the one decoding loop."""
    turns, draft = (), Vanilla(Vanilla.Config(width=target.width))
    for turn in sample.turns:
        prompt = target.encode(replace(sample, turns=(*turns, Turn(turn.question))))
        said = generate(target, draft, prompt, Sampling(max_new_tokens=limit)).ids
        turns += (Turn(turn.question, target.decode(said).strip()),)
    return prompt.ids[0].tolist(), said


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_answers_are_those_of_the_decoding_loop(target, samples, answered, number):
    prompt, said = alone(target, samples[number])
    assert answered[number].id == f"s{number}"
    assert answered[number].ids.tolist() == prompt + said
    assert answered[number].answer_mask[len(prompt):].all()


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_features_are_those_of_one_pass_over_the_whole(target, samples, answered, number):
    stored = answered[number]
    embeds = target.embed_prompt(replace(target.encode(samples[number]), ids=stored.ids[None]))
    with torch.inference_mode():
        output = target.forward(embeds, None, torch.arange(len(stored.ids))[None], None, keep=0)
    assert stored.features.dtype == torch.bfloat16
    torch.testing.assert_close(stored.features.float(), output.features[0], rtol=2 ** -7, atol=1e-4)


def test_only_answers_are_marked_as_answers(target, samples, answered):
    stored = answered[0]
    question = target.encode(replace(samples[0], turns=(Turn("What?"),)))
    assert stored.answer_mask.tolist() == [False] * question.length + [True] * (len(stored.ids) - question.length)
    assert stored.spans == question.spans


def test_answers_end_at_the_end_token_and_it_is_stored(target, samples, monkeypatch):
    _, said = alone(target, samples[0])
    place = next(place for place in range(1, len(said)) if said[place] not in said[:place])
    monkeypatch.setattr(target, "end_ids", frozenset([said[place]]))
    prompt, cut = alone(target, samples[0])
    assert cut == said[: place + 1]
    stored, = answer_together(target, samples[:1], LIMIT, 512)
    assert stored.ids.tolist() == prompt + cut
    assert len(stored.features) == len(stored.ids)


def test_a_conversation_ends_where_its_next_question_would_not_fit(target, samples):
    first = target.encode(replace(samples[2], turns=(Turn("Who?"),))).length
    stored, = answer_together(target, samples[2:3], LIMIT, max_length=first + 4)
    prompt, said = alone(target, replace(samples[2], turns=samples[2].turns[:1]), limit=4)
    assert stored.ids.tolist() == prompt + said


def test_bad_samples_say_why_and_the_others_are_answered(target, samples, answered):
    length = target.encode(replace(samples[1], turns=(Turn(QUESTIONS[1][0]),))).length
    broken = replace(samples[0], media=(b"not a picture",))
    results = answer_together(target, [broken, samples[0], samples[1]], LIMIT, max_length=length)
    assert isinstance(results[0], UserError)
    assert results[1].ids.tolist() == answered[0].ids.tolist()
    assert str(results[2]) == f"{length} tokens leave no room for an answer in dump.max_length={length}"


def test_samples_of_one_picture_look_at_it_once_and_answer_as_alone(target, samples, monkeypatch):
    same = [replace(sample, media=samples[0].media) for sample in samples]
    alone_each = [answer_together(target, [sample], LIMIT, 512)[0] for sample in same]
    looks, embed_prompt = [], target.embed_prompt
    monkeypatch.setattr(target, "embed_prompt", lambda prompt: looks.append(1) or embed_prompt(prompt))
    together = answer_together(target, same, LIMIT, 512)
    assert len(looks) == 1
    for mine, its in zip(together, alone_each, strict=True):
        assert torch.equal(mine.ids, its.ids)
        assert torch.equal(mine.features[: mine.prefix], together[0].features[: mine.prefix])


def test_each_sample_may_choose_its_tokens_in_its_own_way(target, samples, answered):
    talks = converse(target, samples[:2], LIMIT, 512, [None, lambda logits: int(logits.argmin())])
    assert talks[0].features().ids.tolist() == answered[0].ids.tolist()
    assert talks[1].features().ids.tolist() != answered[1].ids.tolist()
    assert [turn.question for turn in talks[1].turns] == list(QUESTIONS[1])
    assert talks[1].cut == [True, True]  # its least likely token never ends an answer


def test_inner_states_come_along_where_they_are_asked_for(target, samples, answered):
    for deep, plain in zip(answer_together(target, samples, LIMIT, 512, inner=0), answered, strict=True):
        assert torch.equal(deep.features, plain.features) and torch.equal(deep.ids, plain.ids)
        assert deep.inner.shape == deep.features.shape and plain.inner is None


def test_nothing_to_answer_is_no_answer(target):
    assert answer_together(target, [], LIMIT, 512) == []
