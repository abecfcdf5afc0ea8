"""Clip parts of a request (`video_url`). No target takes clips yet, so they are refused here, and nowhere else.

A target that does gets a `read_clips` in this place, which reads data URLs as pictures.py does.
"""

from flashbench.serve.refusal import Refusal
from flashbench.serve.schema import Message


def refuse_clips(messages: list[Message]) -> None:
    for place, message in enumerate(messages):
        if message.clip_urls:
            where = f"messages.{place}.content"
            raise Refusal(400, f"`{where}`: this target takes pictures and no clips; send frames as `image_url` parts",
                          where, "unsupported_media")
