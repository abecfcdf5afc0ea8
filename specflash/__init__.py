"""SpecFLASH: lossless speculative decoding for large multimodal models.

The algorithms, on torch and transformers alone: this package knows no Ray, no
MLflow and no DeepSpeed (they live in `platform/flashbench`).

Letters used in every shape comment of the project:

    B  batch            L  positions (prompt + answer tokens)
    N  visual tokens of one picture         C  latents they are compressed to
    K  drafted tokens (slots) per round     D  width of the target's features
    V  vocabulary       R  rows of one forward pass
"""

__version__ = "0.1.0"
