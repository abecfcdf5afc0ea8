"""The report: one file that needs nothing else, and whose digits are the records' own."""

import json
import re

import pytest

from dashboards.report import render_report
from dashboards.report.figures import draw_figures
from dashboards.report.plots import PLOTS
from dashboards.report.records import read_run
from dashboards.report.rounding import shown
from dashboards.report.svg import draw
from tests.dashboards.report.reading import Page, text_of
from tests.dashboards.report.runs import (
    CONTROL,
    change_rows,
    change_summary,
    every_line,
    refuse,
    run_folder,
    summary_of,
)
from tests.flashbench.scripted import scripted_run

FIGURES = ["speedup", "prompts", "acceptance", "given_previous", "yield", "round", "answer", "training_accuracy",
           "training_length", "training_loss"]
SHOWN = ("speedup_decode", "speedup_e2e", "accept_length", "identical_share", "ttft_ms", "tpot_ms", "output_tps",
         "prompts")


def figures_of(folder):
    run = read_run(folder)
    return [name for name, plot in PLOTS.items() if plot.applies(run)]


def value_at(summary, path):
    for step in path.split("."):
        summary = summary[int(step)] if isinstance(summary, list) else summary[step]
    return summary


def key_of(path):
    return next(step for step in reversed(path.split(".")) if not step.isdigit())


def assert_numbers_are_the_summarys(text, summary):
    numbers = Page(text).numbers
    assert len(numbers) > 50
    for path, exact, written in numbers:
        value = value_at(summary, path)
        assert exact == ("" if value is None else repr(value)), path
        assert written == shown(key_of(path), value), path


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    folder = run_folder(tmp_path_factory.mktemp("run"))
    render_report(folder, folder / "report.html")
    return folder, summary_of(folder), (folder / "report.html").read_text()


def test_the_page_is_well_formed(rendered):
    Page(rendered[2])


def test_nothing_is_loaded_from_anywhere(rendered):
    page = Page(rendered[2])
    assert [address for address in page.loads if not address.startswith(("data:", "#"))] == []
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?!#)\S+", rendered[2]) == []
    assert not [tag for tag, attributes in page.elements if tag == "link" and attributes.get("rel") != "icon"]


def test_ids_are_unique_and_every_reference_resolves(rendered):
    ids = [attributes["id"] for _, attributes in Page(rendered[2]).elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", rendered[2])) <= set(ids)
    assert {load[1:] for load in Page(rendered[2]).loads if load.startswith("#")} <= set(ids)


def test_every_number_is_the_summarys_to_the_last_digit_and_rounded_once(rendered):
    assert_numbers_are_the_summarys(rendered[2], rendered[1])


def test_every_line_of_the_summary_is_in_the_leaderboard(rendered):
    _, summary, text = rendered
    leaderboard = text.partition('id="leaderboard"')[2].partition("</section>")[0]
    paths = {path for path, _, _ in Page(f"<div>{leaderboard.partition('>')[2]}</div>").numbers}
    assert {f"{section}.{place}.{key}" for section in ("rows", "overall")
            for place in range(len(summary[section])) for key in SHOWN} <= paths


def test_the_outside_controls_stand_beside_it(rendered):
    text = rendered[2].partition('id="leaderboard"')[2].partition("</section>")[0]
    assert "prompt look-up" in text
    assert f'<data data-path="controls.1.speedup_e2e" value="{CONTROL["speedup_e2e"]!r}">1.33</data>×' in text


def test_the_summary_is_inside(rendered):
    _, summary, text = rendered
    embedded = re.search(r'<script type="application/json" id="summary">(.*?)</script>', text, re.DOTALL)
    assert json.loads(embedded[1]) == summary


def test_figures_are_files_too_and_are_told_in_words(rendered):
    folder, _, text = rendered
    assert re.findall(r'data-figure="(\w+)"', text) == FIGURES
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")}
    words = re.findall(r'role="img" aria-label="([^"]*)"', text)
    assert len(words) == len(FIGURES)
    assert "instruct, drafty: R 2.40 at A 2.40." in words[0]
    assert "drafty is faster than vanilla on 2 of 2 prompts." in words[1]


def test_the_roofline_states_what_a_round_costs(rendered):
    """Vanilla: 1 s a token. Five rounds: 1 s of drafts, 3.5 of passes, 0.5 of the rest; so 1 + c = 1."""
    costs = rendered[2].partition('class="costs"')[2].partition("</table>")[0]
    assert re.findall(r'<td>(?:<b>)?<data[^>]*>([^<]*)', costs) == [
        "2.40", "0.20", "-0.30", "0.10", "0.00", "2.40", "2.40"]


def test_model_output_is_shown_as_text_never_as_markup(rendered):
    assert "&lt;i&gt;" in rendered[2]
    assert "<i> " not in rendered[2].partition('id="strips"')[2].partition("</section>")[0]


def test_tokens_are_grouped_by_the_pass_that_committed_them(rendered):
    strip = rendered[2].partition('class="strip" data-method="drafty"')[2].partition('class="readout"')[0]
    passes = re.findall(r'<span class="pass[^"]*" data-about="([^"]*)"', strip)
    assert passes == ["from the prefill", *(f"pass {i}: 1 of 2 drafted tokens kept" for i in (1, 2, 3))]
    assert re.findall(r'<span class="own">([^<]*)</span>', strip) == ["A", " bo", " on", " sea"]
    assert re.findall(r'<span class="kept">([^<]*)</span>', strip) == [" red", "at", " &lt;i&gt;"]


def test_a_figure_of_a_short_run_says_so_itself_and_one_that_no_longer_applies_goes(tmp_path, monkeypatch):
    run_folder(tmp_path)
    change_summary(tmp_path, lambda summary: summary | {"quotable": False})
    (tmp_path / "drafts" / "drafty" / "training.json").unlink()
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "training_loss.svg").write_text("of an earlier run")
    monkeypatch.setattr("dashboards.report.figures.PLOTS", {name: PLOTS[name] for name in ("round", "training_loss")})
    draw_figures(read_run(tmp_path), tmp_path / "figures")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"round.svg", "round.png"}
    assert "not for quoting" in (tmp_path / "figures" / "round.svg").read_text()


def test_where_a_speed_up_is_refused_there_is_a_dash_and_the_reason(tmp_path):
    refuse(run_folder(tmp_path), "1 of 2 answers of drafty differ & <no rounding> explains it")
    text, summary = text_of(tmp_path), summary_of(tmp_path)
    assert_numbers_are_the_summarys(text, summary)
    assert "No speed-up is claimed." in text
    assert "differ &amp; &lt;no rounding&gt; explains it" in text.partition("<h1>")[2].partition("</header>")[0]
    assert "<b>No speed-up:</b> 1 of 2 answers" in text
    assert "2.40×" not in text
    assert "costs" not in re.findall(r'<table class="(\w+)"', text), "A / (1 + c) would be the speed-up"
    assert not {"speedup", "prompts"} & set(figures_of(tmp_path)), "they would show it"


def test_a_run_of_vanilla_alone(tmp_path):
    run_folder(tmp_path)
    alone = {name: [line for line in summary_of(tmp_path)[name] if line["method"] == "vanilla"]
             for name in ("rows", "overall")}
    change_summary(tmp_path, lambda summary: summary | alone | {"controls": []})
    text = text_of(tmp_path)
    Page(text)
    assert "Ordinary decoding, measured." in text
    assert figures_of(tmp_path) == ["round", "answer"]


def test_without_training_curves_nothing_is_said_about_training(tmp_path):
    run_folder(tmp_path)
    (tmp_path / "drafts" / "drafty" / "training.json").unlink()
    text = text_of(tmp_path)
    assert "How the drafts learned" not in text
    assert 'href="#training"' not in text


def test_sampled_answers_are_not_said_to_differ(tmp_path):
    run_folder(tmp_path)
    change_summary(tmp_path, lambda summary: every_line(
        summary, lambda line: line.update(identical_share=None, temperature=0.8)) | {"controls": []})
    change_rows(tmp_path, lambda row: {"identical": None, "temperature": 0.8})
    text = text_of(tmp_path)
    assert "sampled answers are not compared" in text
    assert "not vanilla’s answer" not in text
    assert "this run samples" in text


def test_two_temperatures_are_told_apart(tmp_path):
    run_folder(tmp_path)

    def twice(summary):
        for name in ("rows", "overall"):
            summary[name] = [line | {"temperature": warm, "label": f"{line['task']} · T = {warm:g}"}
                             for warm in (0.0, 1.0) for line in summary[name]]
        return summary
    change_summary(tmp_path, twice)
    change_rows(tmp_path, lambda row: {}, copies=2)
    change_rows(tmp_path, lambda row: {"temperature": float(row["sample"].endswith("-1"))})
    text = text_of(tmp_path)
    assert_numbers_are_the_summarys(text, summary_of(tmp_path))
    assert {"instruct · T = 0", "instruct · T = 1"} <= set(re.findall(r'data-task="([^"]*)"', text))
    assert "drafty, T = 1" in text.partition('class="cards"')[2].partition("</section>")[0]


def test_results_of_the_first_format_stay_readable(tmp_path):
    scripted_run(tmp_path)
    change_summary(tmp_path, lambda summary: {
        key: value for key, value in summary.items() if key not in ("controls", "noise")} | {
        "format": 1, "conditions": summary["conditions"] | {"temperature": 0.0}, "control": [{
            "task": "instruct", "vanilla_over_hf": 1.5, "vanilla_over_hf_interval": [1.0, 2.0],
            "identical_share": 0.5, "answers": 2}]})
    text = text_of(tmp_path)
    assert_numbers_are_the_summarys(text, summary_of(tmp_path))
    assert '<data data-path="control.0.vanilla_over_hf" value="1.5">1.50</data>' in text


def test_hundreds_of_prompts_stay_one_small_file(tmp_path):
    run_folder(tmp_path)
    change_rows(tmp_path, lambda row: {"pieces": None}, copies=150)
    run = read_run(tmp_path)
    drawn = draw("prompts", PLOTS["prompts"].size, lambda figure: PLOTS["prompts"].paint(figure, run), tmp_path)
    assert drawn.count("<use ") > 300
    assert len(text_of(tmp_path) + drawn) < 500_000


def test_a_run_without_a_benchmark_has_no_report(tmp_path):
    with pytest.raises(FileNotFoundError):
        render_report(tmp_path, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
