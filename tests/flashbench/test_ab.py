"""`specflash ab` against a small HTTP server: what it asks, what it shows, what it says where that fails."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from flashbench.cli import main
from flashbench.serve.ab.campaign import Campaign
from flashbench.serve.ab.pairs import Pairs
from flashbench.serve.ab.rule import Rule
from flashbench.serve.ab.stats import told
from tests.flashbench.serve.ab.decoders import pair

CONFIG = "jobs/configs/demo.yaml"


@pytest.fixture
def server():
    """Answers what `answers` holds by (method, path); `asked` is what came."""
    class Handler(BaseHTTPRequestHandler):
        def reply(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.asked.append((self.command, self.path, json.loads(body) if body else None))
            status, content = self.answers[self.command, self.path]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        do_GET = do_PUT = do_DELETE = reply

        def log_message(self, *_):
            pass

    Handler.answers, Handler.asked = {}, []
    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    Handler.url = f"http://127.0.0.1:{httpd.server_port}"
    yield Handler
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def campaign(pairs: int = 8):
    some = Campaign("first", ("vanilla", "specflash"), Rule(), started_at=1000.0)
    for number in range(pairs):
        some.add(pair(number, seconds=0.5, kind="real" if number == 1 else None, identical=number != 1), 1000.0)
    return some.told() | {"untold": []}


def live():
    some = Pairs(10)
    for number in range(4):
        some.add(pair(number))
    return {"pairs": told(some), "shadows": {"paired": 4, "gave_way": 2}}


def run(*argv):
    with pytest.raises(SystemExit) as caught:
        main(["ab", *argv, "--config", CONFIG])
    return caught.value.code


def test_start_asks_for_what_was_wanted(server, capsys):
    server.answers["PUT", "/ab/campaign"] = 200, campaign(0)
    assert run("start", "first", "--url", server.url, "--methods", "vanilla, specflash", "--width", "0.05",
               "--max-minutes", "2") == 0
    assert server.asked == [("PUT", "/ab/campaign", {"name": "first", "methods": ["vanilla", "specflash"],
                                                     "width": 0.05, "max_pairs": 2000, "max_seconds": 120.0})]
    assert "campaign first: specflash against vanilla" in capsys.readouterr().out


def test_status_shows_the_campaign_and_every_two_methods(server, capsys):
    server.answers |= {("GET", "/ab/campaign"): (200, campaign()), ("GET", "/ab/stats"): (200, live())}
    assert run("status", "--url", server.url) == 0
    shown = capsys.readouterr().out
    assert "campaign first: going on; 8 pairs, interval 0 % wide, 10 % wanted, about 20 prompts in all" in shown
    assert "2 more needed" in shown
    assert "shadows: 4 paired, 2 gave way" in shown


def test_status_without_a_campaign_still_shows_the_pairs(server, capsys):
    server.answers |= {("GET", "/ab/campaign"): (404, {"error": {"message": "there is no campaign"}}),
                       ("GET", "/ab/stats"): (200, live())}
    assert run("status", "--url", server.url) == 0
    shown = capsys.readouterr()
    assert shown.err == "there is no campaign\n"
    assert "specflash" in shown.out


def test_stop_shows_the_end_and_what_mlflow_did_not_take(server, capsys):
    ended = campaign() | {"ended": "stopped by hand", "untold": ["1 run (away)"]}
    server.answers["GET", "/ab/campaign"] = 200, campaign()
    server.answers["DELETE", "/ab/campaign"] = 200, ended
    assert run("stop", "--url", server.url) == 0
    shown = capsys.readouterr()
    assert "campaign first: over: stopped by hand; 8 pairs" in shown.out
    assert shown.err == "1 run (away)\n"


def test_what_is_over_is_said_to_be(server, capsys):
    ended = campaign() | {"ended": "stopped"}
    server.answers |= {("GET", "/ab/campaign"): (200, ended), ("DELETE", "/ab/campaign"): (200, ended)}
    assert run("stop", "--url", server.url) == 0
    assert "campaign first was over already" in capsys.readouterr().err


def test_what_the_server_refuses_is_one_line_and_exit_code_2(server, capsys):
    server.answers["PUT", "/ab/campaign"] = 409, {"error": {"message": "the campaign `x` is going on"}}
    assert run("start", "first", "--url", server.url) == 2
    assert capsys.readouterr().err == "error: the campaign `x` is going on\n"


def test_no_server_is_one_line_that_says_how_to_start_one(capsys):
    assert run("status", "--url", "http://127.0.0.1:9") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: no server answers at http://127.0.0.1:9 (")
    assert "specflash serve" in error


@pytest.mark.parametrize("verb", ["start", "status", "stop"])
def test_help_has_an_example_and_says_what_is_written(verb, capsys):
    assert run(verb, "--help") == 0
    shown = capsys.readouterr().out
    assert f"Example:  specflash ab {verb}" in shown
    assert "Writes:  " in shown
