"""The report: one file that needs nothing else, and whose digits are the records' own."""

import json
import re
from html.parser import HTMLParser

import pytest

from dashboards.report import render_report
from tests.flashbench.scripted import scripted_rows, scripted_run, scripted_summary

VOID = {"meta", "link", "img", "br", "input", "hr"}


class Page(HTMLParser):
    """Collects elements, text and the addresses a browser would load; fails on crossed tags."""

    def __init__(self, text: str):
        super().__init__()
        self.elements, self.loads, self._open = [], [], []
        self.feed(text)
        assert self._open == [], "unclosed elements"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "poster", "action")]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    summary = scripted_run(folder)
    render_report(folder, folder / "report.html")
    return folder, summary, (folder / "report.html").read_text()


def test_the_page_is_well_formed(rendered):
    Page(rendered[2])


def test_nothing_is_loaded_from_anywhere(rendered):
    page = Page(rendered[2])
    assert [address for address in page.loads if not address.startswith(("data:", "#"))] == []
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?!#)\S+", rendered[2]) == []
    assert not [tag for tag, attributes in page.elements if tag == "link" and attributes.get("rel") != "icon"]


def test_ids_are_unique_and_every_reference_within_figures_resolves(rendered):
    ids = [attributes["id"] for _, attributes in Page(rendered[2]).elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", rendered[2])) <= set(ids)
    assert {load[1:] for load in Page(rendered[2]).loads if load.startswith("#")} <= set(ids)


def test_every_method_has_its_figures_to_the_last_digit(rendered):
    _, summary, text = rendered
    for line in summary["rows"]:
        block = text[text.index(f'data-task="{line["task"]}"'):]
        block = block[block.index(f'data-method="{line["method"]}"'):].partition("</tr>")[0]
        shown = dict(re.findall(r'data-key="(\w+)" data-value="([^"]*)"', block))
        assert {key: float(value) for key, value in shown.items()} == {
            key: line[key] for key in ("speedup_decode", "speedup_e2e", "accept_length", "identical_share",
                                       "ttft_ms", "tpot_ms", "output_tps")}


def test_the_summary_is_inside(rendered):
    _, summary, text = rendered
    embedded = re.search(r'<script type="application/json" id="summary">(.*?)</script>', text, re.DOTALL)
    assert json.loads(embedded[1]) == summary


def test_figures_are_files_too(rendered):
    folder, _, text = rendered
    shown = re.findall(r'data-figure="(\w+)"', text)
    assert shown == ["speedup", "acceptance", "round", "yield", "prompts", "training"]
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"{name}.{kind}" for name in shown for kind in ("svg", "png")}


def test_model_output_is_shown_as_text_never_as_markup(rendered):
    assert "<i> " not in rendered[2].partition("See it happen")[2].partition("Losslessness")[0].replace('<i class', "")
    assert "&lt;i&gt;" in rendered[2]


def test_tokens_are_grouped_by_the_pass_that_committed_them(rendered):
    strip = rendered[2].partition('class="strip" data-method="drafty"')[2].partition("</div>\n</div>")[0]
    passes = re.findall(r'<span class="pass[^"]*" title="([^"]*)"', strip)
    assert passes == ["from the prefill", *(f"pass {i}: 1 of 2 drafted tokens kept" for i in (1, 2, 3))]
    assert re.findall(r'<span class="own">([^<]*)</span>', strip) == [" bo", " on", " sea"]


def test_without_a_verdict_the_page_says_so(rendered):
    assert "Not verified" in rendered[2]
    assert "every token is the target" not in rendered[2]


def test_a_broken_draft_is_named_and_a_short_run_is_not_for_quoting(tmp_path):
    summary = scripted_run(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps(summary | {"quotable": False}))
    failure = {"check": "float32", "task": "instruct", "sample": "p2", "method": "drafty", "tokens": 7,
               "position": 3, "gap": 0.25}
    (tmp_path / "verify.json").write_text(json.dumps({
        "lossless": False, "failures": [failure], "lines": [
            {"check": "float32", "what": "float32, token for token", "method": "drafty", "answers": 2,
             "tokens": 14, "equal": 1}]}))
    render_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Not for quoting" in text
    assert "differs at token 3" in text
    assert "1 of 2" in text
    assert "every token is the target" not in text


def test_a_refused_speed_up_is_a_dash_with_its_reason(tmp_path):
    rows = [{**one, "dtype": "float16"} if one["method"] == "drafty" else one for one in scripted_rows()]
    scripted_run(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps(scripted_summary(rows)))
    render_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    Page(text)
    shown = text.partition('<script type="application/json"')[0]
    assert "drafty used dtype float16 in 2 answers where vanilla used bfloat16" in shown
    assert "2.40×" not in shown
    assert "–×" not in shown


def test_a_run_without_a_benchmark_has_no_report(tmp_path):
    with pytest.raises(FileNotFoundError):
        render_report(tmp_path, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
