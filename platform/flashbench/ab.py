"""`specflash ab`: begin, watch and end a campaign on a running server, through its HTTP API. It loads no model."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from flashbench.console import clock, coloured, note, say, table
from flashbench.serve.api_key import read_key
from flashbench.settings import Settings
from flashbench.shown import number, share
from specflash.errors import UserError, one_line

Told = Mapping[str, Any]
CAMPAIGN = "/ab/campaign"
SECONDS_TO_ANSWER = 150.0
"""To stop a campaign is to wait for MLflow, whose own patience is a minute."""


class Server:
    """The running server: where the settings say, or at `url`."""

    def __init__(self, settings: Settings, url: str | None = None):
        host, port = settings.serve.host, settings.serve.port
        self._key = read_key(settings.serve.api_key_env)
        self.url = (url or f"http://{f'[{host}]' if ':' in host else host}:{port}").rstrip("/")

    def ask(self, method: str, path: str, body: Told | None = None) -> Any:
        """Raises UserError with what the server says against it, or where none answers."""
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(self.url + path, data, self._headers(), method=method)
            with urllib.request.urlopen(request, timeout=SECONDS_TO_ANSWER) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise UserError(_refusal(error)) from None
        except (OSError, ValueError) as error:
            raise UserError(f"no server answers at {self.url} ({one_line(error)}); start one with `specflash serve`, "
                            "or name it with --url") from None

    def _headers(self) -> dict[str, str]:
        key = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        return {"Content-Type": "application/json"} | key


def start_campaign(server: Server, name: str, methods: Sequence[str], wanted: Told) -> None:
    """wanted  width, max_pairs and max_seconds, as far as they are given"""
    told = server.ask("PUT", CAMPAIGN, {"name": name, "methods": list(methods), **wanted})
    say(f"campaign {told['name']}: {told['method']} against {told['baseline']} on {server.url}")
    note("what either answers is decoded by the other too, as far as no client is in the way; "
         "`specflash ab status` shows how far it is")


def show_status(server: Server) -> None:
    """The campaign, where there is one, and every pair of methods that the server has compared."""
    stats = server.ask("GET", "/ab/stats")
    try:
        _show_campaign(server.ask("GET", CAMPAIGN))
    except UserError as error:
        note(str(error))
    _show_pairs("Live pairs, the latest of each two methods", stats["pairs"])
    say("shadows: " + ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in stats["shadows"].items()))


def stop_campaign(server: Server) -> None:
    before = server.ask("GET", CAMPAIGN)
    if before["ended"]:
        note(f"campaign {before['name']} was over already")
    told = server.ask("DELETE", CAMPAIGN)
    _show_campaign(told)
    for line in told["untold"]:
        note(line)


def _show_campaign(told: Told) -> None:
    wanted, result = told["wanted"], told["result"]
    state = f"over: {told['ended']}" if told["ended"] else "going on"
    width = "no interval yet" if told["width"] is None else f"interval {share(told['width'])} wide"
    needed = f", about {told['prompts_wanted']} prompts in all" if told["prompts_wanted"] else ""
    say(f"campaign {told['name']}: {state}; {told['pairs']} pairs, {width}, {share(wanted['width'])} wanted{needed}; "
        f"at most {wanted['max_pairs']} pairs and {clock(wanted['max_seconds'])}")
    if result is not None:
        _show_pairs(f"Campaign {told['name']}: 95 % intervals over prompts", [result])


def _show_pairs(title: str, lines: Sequence[Told]) -> None:
    if lines:
        table(title, ("method", "over", "pairs (timed)", "prompts", "R decode", "R e2e", "A", "same text", "real"),
              [(line["method"], line["baseline"], f"{line['pairs']} ({line['timed']})", line["prompts"],
                *(_figure(each) for each in (line["speedup_decode"], line["speedup_e2e"],
                                             line["accept_length"][line["method"]], line["identical_share"])),
                _real(line["differences"].get("real", 0))) for line in lines])


def _figure(figure: Told) -> str:
    if figure["value"] is None:
        return f"{figure['more']} more needed"
    return f"{number(figure['value'])} [{number(figure['interval'][0])}, {number(figure['interval'][1])}]"


def _real(count: int) -> Text:
    """Differing texts at temperature 0 that rounding does not explain: a lossless method has none."""
    return coloured(str(count), "red" if count else "green")


def _refusal(error: urllib.error.HTTPError) -> str:
    try:
        return json.load(error)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return f"the server answers {error.code} {error.reason}"
