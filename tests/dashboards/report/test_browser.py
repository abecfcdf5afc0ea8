"""The page in a real browser: quiet, narrow enough, and usable by mouse, keyboard and printer."""

import json
import re

import pytest

from dashboards.report import render_report
from tests.browser import DESKTOP, PHONE, opened
from tests.dashboards.report.contrast import contrast
from tests.dashboards.report.runs import change_rows, change_summary, refuse, run_folder, summary_of, verdict

SMALL_PHONE = (320, 640)
SECTIONS = ["leaderboard", "strips", "speed", "acceptance", "time", "training", "lossless", "measured"]
HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror="document.title = \'taken\'">'
SCROLLS = "[document.documentElement.scrollWidth, window.innerWidth]"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = run_folder(tmp_path_factory.mktemp("run"))
    (folder / "verify.json").write_text(json.dumps(verdict(summary_of(folder))))
    return written(folder)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Markup, formulas and very long words wherever text comes from outside."""
    folder = run_folder(tmp_path_factory.mktemp("hostile"))
    (folder / "bench" / "pictures.json").write_text(json.dumps({"instruct/p1": "https://example.org/x.png"}))
    change_rows(folder, lambda row: {"question": HOSTILE + "w" * 300, "task": f"$\\frac{{{HOSTILE}",
                                     "pieces": row["pieces"] and [HOSTILE, *row["pieces"][1:]]})
    text = json.dumps(summary_of(folder)).replace('"instruct"', json.dumps(f"$\\frac{{{HOSTILE}"))
    change_summary(folder, lambda summary: json.loads(text) | {"name": f"<!--<script>{HOSTILE}"})
    return written(folder)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = run_folder(tmp_path_factory.mktemp("many"))
    change_rows(folder, lambda row: {"pieces": None}, copies=150)
    refuse(folder, "300 planned answers, and this one long reason why there is no number in the table " * 3)
    return written(folder)


def written(folder):
    render_report(folder, folder / "report.html")
    return (folder / "report.html").as_uri()


def resources(page):
    return page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")


@pytest.mark.parametrize(("size", "scheme"), [
    (DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (SMALL_PHONE, "dark")])
@pytest.mark.parametrize("name", ["url", "hostile", "many"])
def test_it_is_quiet_and_fits(browser, request, name, size, scheme):
    with opened(browser, request.getfixturevalue(name), size, scheme) as shown:
        width, window = shown.page.evaluate(SCROLLS)
        assert width <= window
        assert [each for each in resources(shown.page) if not each.startswith("data:")] == []
        assert shown.complaints == []


def test_every_section_is_there_and_reached_from_the_bar(browser, url):
    with opened(browser, url) as shown:
        assert shown.page.eval_on_selector_all("main section[id]", "all => all.map((one) => one.id)") == SECTIONS
        for link in shown.page.query_selector_all(".bar a"):
            link.click()
            assert shown.page.url.endswith(link.get_attribute("href"))
        assert not shown.complaints


def test_numbers_on_the_screen_are_the_summarys(browser, url):
    with opened(browser, url) as shown:
        summary = json.loads(shown.page.text_content("#summary"))
        line = next(line for line in summary["overall"] if line["method"] == "drafty")
        assert shown.page.inner_text(".card .big").startswith(f"{line['speedup_decode']:.2f}")
        assert f"drafty decodes {line['speedup_decode']:.2f}× as fast" in shown.page.inner_text("h1")


def test_text_from_outside_stays_text(browser, hostile):
    with opened(browser, hostile) as shown:
        assert shown.page.title() != "taken"
        assert shown.page.query_selector_all("img[src='x']") == []
        assert shown.page.query_selector_all("img[src^='http']") == []
        assert HOSTILE in shown.page.inner_text(".example:not([hidden]) .question")
        assert HOSTILE in shown.page.inner_text(".example:not([hidden]) .tokens")
        assert json.loads(shown.page.text_content("#summary"))["name"].endswith(HOSTILE)


def test_a_method_comes_to_the_fore_and_goes_back(browser, url):
    with opened(browser, url) as shown:
        chip = shown.page.locator("[data-focus=drafty]")
        for use in (chip.click, lambda: (chip.focus(), shown.page.keyboard.press("Enter"))):
            use()
            assert chip.get_attribute("aria-pressed") == "true"
            faded = shown.page.eval_on_selector_all(".faded", "all => all.map((one) => one.dataset.method)")
            assert set(faded) == {"vanilla"}
            assert shown.page.query_selector("figure svg .faded[data-method=vanilla]")
            use()
            assert chip.get_attribute("aria-pressed") == "false"
            assert shown.page.query_selector(".faded") is None


def test_answers_are_picked_one_at_a_time(browser, url):
    with opened(browser, url) as shown:
        page, seen = shown.page, ".example:not([hidden])"
        assert [one.get_attribute("id") for one in page.query_selector_all(seen)] == ["example-1"]
        page.locator("[role=tab]").nth(1).click()
        assert page.get_attribute(seen, "id") == "example-2"
        page.keyboard.press("ArrowRight")
        assert page.get_attribute(seen, "id") == "example-1"
        assert page.evaluate("document.activeElement.getAttribute('aria-controls')") == "example-1"
        page.keyboard.press("End")
        assert page.get_attribute(seen, "id") == "example-2"


def test_passes_are_told_by_mouse_and_by_arrow_keys(browser, url):
    with opened(browser, url) as shown:
        strip = shown.page.locator(".example:not([hidden]) .strip[data-method=drafty]")
        strip.locator(".pass").nth(2).hover()
        assert strip.locator(".readout").inner_text() == "pass 2: 1 of 2 drafted tokens kept"
        strip.locator(".tokens").focus()
        shown.page.mouse.move(0, 0)
        for key, told in (("Home", "from the prefill"), ("ArrowRight", "pass 1: 1 of 2 drafted tokens kept"),
                          ("End", "pass 3: 1 of 2 drafted tokens kept"), ("Escape", "")):
            shown.page.keyboard.press(key)
            assert strip.locator(".readout").text_content() == told


def test_replay_shows_every_token_in_the_end(browser, url):
    with opened(browser, url) as shown:
        button = shown.page.locator(".example:not([hidden]) [data-replay]")
        button.focus()
        shown.page.keyboard.press("Enter")
        last = shown.page.locator(".example:not([hidden]) .strip[data-method=drafty] .pass").last
        assert last.evaluate("one => getComputedStyle(one).opacity") == "0"
        shown.page.evaluate("document.getAnimations().forEach((one) => one.finish())")
        assert last.evaluate("one => getComputedStyle(one).opacity") == "1"


def test_the_keyboard_reaches_everything_that_a_mouse_does(browser, url):
    """Tables that scroll, folded numbers, tabs, chips and answers are stops of the Tab key, each visibly so."""
    with opened(browser, url) as shown:
        stops = []
        for _ in range(60):
            shown.page.keyboard.press("Tab")
            stop = shown.page.evaluate("""[document.activeElement.className || document.activeElement.tagName,
                                           getComputedStyle(document.activeElement).outlineStyle]""")
            stops.append(stop)
        assert {"skip", "A", "BUTTON", "scroll", "tokens", "SUMMARY"} <= {name for name, _ in stops}
        assert {outline for name, outline in stops if name != "BODY"} == {"solid"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(browser, url, scheme):
    with opened(browser, url, scheme=scheme) as shown:
        colour = json.loads(shown.page.evaluate("""JSON.stringify(Object.fromEntries(
            "paper card ink soft accent good bad warn warn-ink".split(" ").map((name) => [
              name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim()])))"""))
        pairs = [(text, ground) for text in ("ink", "soft", "accent", "good", "bad") for ground in ("paper", "card")]
        for text, ground in [*pairs, ("warn-ink", "warn")]:
            assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)


def test_on_paper_every_answer_is_printed_and_no_control(browser, url):
    with opened(browser, url, scheme="dark") as shown:
        shown.page.emulate_media(media="print")
        assert all(one.is_visible() for one in shown.page.locator(".example").all())
        assert not any(one.is_visible() for one in shown.page.locator("button, .bar").all())
        assert shown.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_scripts_nothing_is_missing(browser, url):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    assert all(one.is_visible() for one in page.locator(".example").all())
    assert re.search(r"R decode", page.inner_text("#leaderboard"))
    context.close()


def test_a_refusal_is_read_where_the_number_would_be(browser, many):
    with opened(browser, many) as shown:
        assert shown.page.inner_text(".card .big") == "–"
        assert shown.page.locator("tr.why").first.is_visible()
