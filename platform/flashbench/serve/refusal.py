"""A request that is answered with an error, in OpenAI's shape. It knows no route and no model."""

from dataclasses import dataclass

KINDS = {429: "rate_limit_error"}


@dataclass
class Refusal(Exception):
    """Why a request is refused: one line that says what is wrong with which part of it.

    status  HTTP status
    param   the wrong field, as a path (`messages.0.content`), or None
    code    a short name that a program can test
    retry_after   seconds after which the same request may be taken, or None
    """

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    retry_after: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    def body(self) -> dict[str, dict[str, str | None]]:
        kind = KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": self.message, "type": kind,
                          "param": self.param, "code": self.code}}
