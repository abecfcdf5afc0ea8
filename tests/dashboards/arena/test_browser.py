"""The arena in a real browser: a race from the question to the table, and whatever can go wrong on the way."""

import json
import subprocess

import pytest

from flashbench.settings import ServeSettings
from specflash.records import Clip
from tests.browser import DESKTOP, PHONE, opened
from tests.dashboards.arena.racing import PATTERNS, TEXT, served
from tests.flashbench.serve.running import wait_until
from tests.tiny import picture
from tests.videos import write_video

METHODS = list(PATTERNS)
READY, OVER = "#go:enabled", "#summary tbody tr"
FITS = "[document.documentElement.scrollWidth, window.innerWidth]"


@pytest.fixture(scope="module")
def serving():
    with served() as both:
        yield both


@pytest.fixture
def arena(browser, serving):
    with opened(browser, serving[0]) as shown:
        shown.page.wait_for_selector(READY)
        yield shown


def ask(page, prompt="What is it?"):
    page.fill("#prompt", prompt)
    page.click("#go")


def cells(page, title):
    """Of the table, the column under `title`."""
    titles = page.locator("#summary thead th").all_inner_texts()
    return [row.locator("th, td").nth(titles.index(title)).inner_text() for row in page.locator(OVER).all()]


def test_a_race_ends_with_the_same_text_in_every_column_and_a_quiet_console(arena, serving):
    page = arena.page
    assert page.url.endswith("/arena")
    ask(page)
    page.wait_for_selector(OVER)
    texts = page.locator(".column .tokens").all_text_contents()
    assert texts == [TEXT] * 3
    assert cells(page, "method") == METHODS
    assert cells(page, "same text") == ["–", "yes", "yes"]
    assert cells(page, "tokens") == [str(len(TEXT.split()))] * 3
    assert cells(page, "passes") == ["38", "12", "9"]
    assert cells(page, "A") == ["1.00", "3.17", "4.22"]
    assert cells(page, "R decode") == ["1", "3.17", "4.22"]  # a pass takes each of them the same time
    assert page.inner_text("#status") == "specflash decoded 4.22 times as fast as vanilla on this one prompt."
    assert "not for quoting" in page.inner_text("#summary caption")
    sample = {order.sample.media for reciter in serving[1].values() for order in reciter.orders[-1:]}
    assert len(sample) == 1  # and all of them saw the same picture
    assert arena.complaints == []


def test_every_token_bears_the_mark_of_what_became_of_it(arena):
    page = arena.page
    ask(page)
    page.wait_for_selector(OVER)
    marks = page.eval_on_selector_all(".column[data-method=eagle] .round", "all => all.slice(0, 4).map("
                                      "(one) => [...one.querySelectorAll('span')].map((token) => token.className))")
    assert marks == [["own"], ["kept", "kept", "corrected"], ["kept"] * 4 + ["bonus"], ["corrected"]]
    borders = {page.evaluate(f"getComputedStyle(document.querySelector('.round .{kind}')).borderBottomStyle")
               for kind in ("kept", "corrected", "bonus")}
    assert borders == {"none", "dashed", "double"}  # to be told apart without seeing colours
    assert set(page.locator(".column[data-method=vanilla] .round span").evaluate_all(
        "all => all.map((one) => one.className)")) == {"own"}


def test_passes_are_told_to_the_arrow_keys(arena):
    page = arena.page
    ask(page)
    page.wait_for_selector(OVER)
    column = page.locator(".column[data-method=eagle]")
    column.locator(".tokens").focus()
    for key, told in (("Home", "the first token, from reading the prompt"),
                      ("ArrowRight", "pass 1: 2 of 4 drafted tokens kept, then one corrected"),
                      ("ArrowRight", "pass 2: 4 of 4 drafted tokens kept, then one as a bonus"), ("Escape", "")):
        page.keyboard.press(key)
        assert column.locator(".readout").text_content() == told


def test_one_after_another_nobody_waits_beside_another_and_side_by_side_all_do(arena):
    page = arena.page
    ask(page, "take your time")
    page.wait_for_selector(".column[data-method=vanilla][data-state=decoding]")
    assert page.locator(".column[data-state=waiting]").count() == 2
    assert page.evaluate("document.activeElement.id") == "stop"
    page.keyboard.press("Enter")
    page.wait_for_selector(READY)
    assert page.evaluate("document.activeElement.id") == "go"
    assert page.inner_text("#status") == "Stopped."
    assert page.locator(".column[data-state=stopped]").count() == 3
    page.check("[value=together]")
    page.click("#go")
    page.locator(".column[data-state=decoding]").nth(2).wait_for()
    page.keyboard.press("Escape")
    page.wait_for_selector(READY)
    assert arena.complaints == [] or all("request failed" in one for one in arena.complaints)  # those that were stopped


def test_side_by_side_is_labelled_as_what_it_is(arena):
    page = arena.page
    page.check("[value=together]")
    ask(page)
    page.wait_for_selector(OVER)
    assert "took the machine’s cores from each other" in page.inner_text("#caveat")


def test_a_picture_of_ones_own_is_uploaded_and_reaches_every_method(arena, serving, tmp_path):
    page = arena.page
    page.set_input_files("#file", {"name": "mine.png", "mimeType": "image/png", "buffer": picture()})
    page.wait_for_selector("#samples input[value=own]:checked", state="attached")
    ask(page)
    page.wait_for_selector(OVER)
    assert all(reciter.orders[-1].sample.media == (picture(),) for reciter in serving[1].values())
    assert "Run this where mine.png lies" in page.inner_text("#curl-note")
    (tmp_path / "mine.png").write_bytes(picture())
    assert said_by(page.inner_text("#curl"), tmp_path) == TEXT


def test_a_clip_is_shown_and_reaches_every_method_as_it_is(arena, serving, tmp_path):
    page, clip = arena.page, write_video(tmp_path / "mine.mp4").read_bytes()
    page.set_input_files("#file", {"name": "mine.mp4", "mimeType": "video/mp4", "buffer": clip})
    page.wait_for_selector("#chosen video[controls]")
    assert page.inner_text(".sample:has(input[value=own])") == "clip"
    ask(page)
    page.wait_for_selector(OVER)
    shown = Clip(clip, ServeSettings().clip_frames)
    assert all(reciter.orders[-1].sample.media == (shown,) for reciter in serving[1].values())
    assert said_by(page.inner_text("#curl"), tmp_path) == TEXT
    assert arena.complaints == []


def test_pictures_are_dropped_and_pasted_too(arena, serving):
    page, orders = arena.page, serving[1]["vanilla"].orders
    for event in ("drop", "paste"):
        asked = len(orders)
        page.evaluate("""([kind, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], "one.png", {type: "image/png"}));
            document.dispatchEvent(kind === "drop" ? new DragEvent("drop", {dataTransfer: data})
                                                   : new ClipboardEvent("paste", {clipboardData: data}));
        }""", [event, list(picture((0, 0, 200) if event == "drop" else (0, 200, 0)))])
        ask(page)  # at once, before the picture is read
        wait_until(lambda seen=asked: len(orders) > seen)
        page.wait_for_selector(READY)
    first, second = (order.sample.media for order in orders[-2:])
    assert (first, second) == ((picture((0, 0, 200)),), (picture((0, 200, 0)),))


def test_what_is_no_picture_is_told_at_once(arena):
    page = arena.page
    page.set_input_files("#file", {"name": "notes.png", "mimeType": "image/png", "buffer": b"not a picture"})
    page.wait_for_selector("#picture-problem:not([hidden])")
    assert page.inner_text("#picture-problem").startswith("notes.png is neither a clip nor a picture")
    assert page.locator("#samples input[value=own]").is_hidden()


def test_the_command_gives_the_same_answer_and_the_link_the_same_form(arena, browser, tmp_path):
    page = arena.page
    page.check("#samples input[value='park.jpg']", force=True)
    page.fill("#seed", "7")
    page.uncheck("[name=method][value=eagle]")
    ask(page, "What's in it?")
    page.wait_for_selector(OVER)
    assert said_by(page.inner_text("#curl"), tmp_path) == TEXT
    with opened(browser, page.get_attribute("[data-copy=link]", "data-link")) as again:
        again.page.wait_for_selector(READY)
        assert again.page.input_value("#prompt") == "What's in it?"
        assert again.page.input_value("#seed") == "7"
        assert again.page.input_value("#samples input:checked") == "park.jpg"
        assert again.page.locator("[name=method]:checked").evaluate_all("all => all.map((one) => one.value)") == [
            "vanilla", "specflash"]


def said_by(command, folder):
    done = subprocess.run(["bash", "-ec", command], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["choices"][0]["message"]["content"]


@pytest.mark.parametrize(("prompt", "problem"), [
    ("be busy", "The server is busy: 8 requests wait already. Try again in a moment."),
    ("break", "`eagle` failed to answer"),
    ("vanish", "The connection was lost before the answer was complete. Is the server still running?"),
])
def test_what_went_wrong_is_told_in_the_column_it_went_wrong_in(arena, prompt, problem):
    page = arena.page
    ask(page, prompt)
    page.wait_for_selector(READY)
    assert page.locator(".column[data-method=eagle] .problem").inner_text() == problem
    assert page.inner_text("#status") == "3 of 3 methods failed; each says why."


def test_a_server_that_is_gone_is_told(browser):
    with served() as (url, _), opened(browser, url) as shown:
        page = shown.page
        page.wait_for_selector(READY)
        page.check("#samples input[value=none]", force=True)
        page.route("**/v1/chat/completions", lambda route: route.abort())
        ask(page)
        page.wait_for_selector(READY)
        assert "The server cannot be reached" in page.inner_text(".column[data-method=vanilla] .problem")


def test_it_is_used_by_keyboard_alone(arena):
    """Tab reaches everything in the order of the page, visibly; arrows choose; Ctrl+Enter goes."""
    page = arena.page
    stops = []
    for _ in range(14):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("(({id, name, className}) => id || name || className)(document.activeElement)"))
    assert stops == ["skip", "picture", "file", "prompt", "method", "method", "method", "order", "tokens",
                     "temperature", "seed", "go", *stops[12:]]
    page.focus("#samples input:checked")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#samples input:checked") == "park.jpg"
    page.focus("#prompt")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(OVER)
    assert page.evaluate("document.activeElement.id") == "prompt"  # nobody took the focus away
    later = page.evaluate("""() => {  // both at once, for a replay may be over before it is asked again
        document.querySelector("#replay").click();
        return document.querySelectorAll(".round.later").length;
    }""")
    assert later > 0
    page.locator(".round.later").first.wait_for(state="detached")
    assert arena.complaints == []


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "dark"), (PHONE, "light"), ((320, 640), "dark")])
def test_it_fits_and_is_quiet(browser, serving, size, scheme):
    with opened(browser, serving[0], size, scheme) as shown:
        shown.page.wait_for_selector(READY)
        ask(shown.page)
        shown.page.wait_for_selector(OVER)
        width, window = shown.page.evaluate(FITS)
        assert width <= window
        narrowest = shown.page.locator(".column, .track, #prompt").evaluate_all(
            "all => Math.min(...all.map((one) => one.getBoundingClientRect().width))")
        assert narrowest > min(size[0] - 80, 250)
        assert shown.complaints == []
        outside = shown.page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
        assert [one for one in outside if not one.startswith((serving[0], "blob:", "data:"))] == []
