"""Pictures and clips of a request: data URL -> bytes; a picture's header is read, so that it is safe to decode.

The target decodes the pixels, and says what is wrong with a clip. It knows no chat and no model.
"""

import io
from base64 import b64decode
from warnings import catch_warnings, simplefilter

from PIL import Image

from flashbench.serve.refusal import Refusal
from specflash.data.media import DAMAGE, MAX_RATIO, too_thin

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")


def read_data_url(url: str, where: str, kind: str = "image") -> bytes:
    """The bytes a base64 data URL holds. Nothing is ever fetched or opened.

    where  the field, for the message
    kind   "image" or "video"

    Raises Refusal 400 (wrong URL) or 415 (of another kind).
    """
    scheme = url.partition(":")[0].lower()
    if scheme != "data":
        shown = f"`{scheme}:` URLs" if scheme in ("http", "https", "file", "ftp") else "plain strings"
        raise Refusal(400, f"`{where}`: {shown} are not accepted; send the {kind} itself as "
                           f"data:{kind}/…;base64,…", where, f"invalid_{kind}_url")
    header, comma, payload = url[len("data:"):].partition(",")
    media_type, *flags = header.split(";")
    if not comma or "base64" not in flags:
        raise Refusal(400, f"`{where}` is not of the form data:{kind}/…;base64,…", where, f"invalid_{kind}_url")
    if not media_type.lower().startswith(f"{kind}/"):
        raise Refusal(415, f"`{where}`: media type `{media_type}` is not of the form {kind}/…", where,
                      "unsupported_media_type")
    try:
        return b64decode(payload, validate=True)
    except ValueError as error:  # binascii.Error, and the plain one for what is not ASCII
        raise Refusal(400, f"`{where}` is not valid base64: {error}", where, "invalid_base64") from None


def count_pixels(picture: bytes, where: str) -> int:
    """Width × height as the header says; raises Refusal 400 where there is no known header,
    or one of a picture too thin to be scaled."""
    try:
        with catch_warnings():
            simplefilter("ignore", Image.DecompressionBombWarning)  # the caller has its own limit
            with Image.open(io.BytesIO(picture), formats=FORMATS) as image:
                if too_thin(image.size):
                    raise Refusal(400, f"`{where}`: one side of a picture may be at most {MAX_RATIO} times as long "
                                       "as the other", where, "image_too_thin")
                return image.width * image.height
    except Image.DecompressionBombError:
        raise Refusal(400, f"`{where}` says it has far more pixels than a picture may have; send a smaller one", where,
                      "image_too_large") from None
    except DAMAGE as error:
        raise Refusal(400, f"`{where}` is not a picture that can be read ({', '.join(FORMATS)})", where,
                      "invalid_image") from error
