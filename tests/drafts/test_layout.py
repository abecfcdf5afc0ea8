import torch

from specflash.drafts.layout import lay_out


def test_the_toy_of_the_docstring():
    layout = lay_out(torch.tensor([8]), [((2, 4),)], latents=2)
    assert layout.places.tolist() == [[0, 1, -1, -1, -1, -1, 4, 5]]
    assert layout.latent_places.tolist() == [[2, 3]]
    assert layout.before.tolist() == [[True, True] + [False] * 6]
    assert layout.width == 6


def test_several_pictures_with_text_between_and_samples_of_different_length():
    """Places are contiguous: text and latents together fill 0 … L'-1 once, in order."""
    lengths, spans, latents = torch.tensor([14, 9, 5]), [((2, 5), (8, 2)), ((0, 4),), ()], 3
    layout = lay_out(lengths, spans, latents)
    widths = [14 - 5 - 2 + 6, 9 - 4 + 3, 5]
    assert layout.width == max(widths)
    for b, width in enumerate(widths):
        own = layout.latent_places[layout.owner == b].flatten().tolist()
        text = [place for place in layout.places[b].tolist() if place >= 0]
        assert text == sorted(text) and sorted(text + own) == list(range(width))
    assert layout.places[0].tolist() == [0, 1] + [-1] * 5 + [5] + [-1] * 2 + [9, 10, 11, 12]
    assert layout.span.tolist() == [[2, 3, 4, 5, 6], [8, 9, 9, 9, 9], [0, 1, 2, 3, 3]]
    assert layout.span_padding.sum(1).tolist() == [0, 3, 1]


def test_without_pictures_nothing_moves():
    layout = lay_out(torch.tensor([4, 3]), [(), ()], latents=7)
    assert layout.places.tolist() == [[0, 1, 2, 3], [0, 1, 2, -1]]
    assert layout.latent_places.shape == (0, 7) and not layout.before.any()
