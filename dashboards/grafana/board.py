"""What is on the board: rows of panels, each a title, a query or two, a unit, and what to make of it.

It is built with Grafana's own library and is a file only: nothing here talks to a Grafana.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import common, dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement, TooltipDisplayMode
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    DynamicConfigValue,
    VariableRefresh,
)

from dashboards.colours import METHODS

FILE = Path(__file__).with_name("specflash.json")
SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
HEIGHT, WHOLE = 8, 24  # units of Grafana's grid
CHOSEN = 'target=~"$target", method=~"$method"'


def rate(name: str, by: str = "method", also: str = "") -> str:
    """Sum over replicas of the increase per second, by these labels."""
    return f"sum by ({by}) (rate(ray_specflash_{name}{{{CHOSEN}{also}}}[$__rate_interval]))"


def quantile(share: float, name: str) -> str:
    return f"histogram_quantile({share}, {rate(f'{name}_bucket', 'le, method')})"


DRAFTS = rate("spec_decode_num_drafts_total")
ACCEPTED = f"({rate('spec_decode_num_accepted_tokens_total')} or 0 * {DRAFTS})"
"""A counter has no series before it first counts: without the second part a useless draft would be no draft."""
DECODE_SECONDS = rate("phase_seconds_total", also=', phase=~"draft|verify|other"')
TOKENS_A_SECOND = f"{rate('decode_tokens_total')} / {DECODE_SECONDS}"
VANILLA = TOKENS_A_SECOND.replace(CHOSEN, 'target=~"$target", method="vanilla"').replace("by (method)", "by ()")


@dataclass(frozen=True)
class Panel:
    """queries: PromQL -> how a line of its result is named."""

    title: str
    queries: dict[str, str]
    unit: str
    about: str


ROWS: dict[str, tuple[Panel, ...]] = {
    "Are the drafts worth it?": (
        Panel("Accepted length A",
              {f"1 + {ACCEPTED} / {DRAFTS}": "{{method}}"},
              "short", "1 + accepted / drafts: tokens of a pass in which something was drafted."),
        Panel("Decoding, tokens a second", {TOKENS_A_SECOND: "{{method}}"}, "short",
              "Behind the first token, by the replicas' own clocks: waiting and the network are not in it."),
        Panel("Times as fast as vanilla, unpaired", {f"({TOKENS_A_SECOND}) / scalar({VANILLA})": "{{method}}"}, "short",
              "Of whatever requests came. The methods answered different ones, so this is no R: that needs pairs."),
        Panel("Acceptance by position",
              {f"{rate('spec_decode_num_accepted_tokens_per_pos_total', 'method, position')} "
               f"/ on (method) group_left () {DRAFTS}": "{{method}}, {{position}}"},
              "percentunit", "Share of the drafts whose token at this place, and all before it, were accepted."),
    ),
    "How long do clients wait?": (
        Panel("Time to the first token", {quantile(.5, "time_to_first_token_seconds"): "{{method}}, median",
                                          quantile(.95, "time_to_first_token_seconds"): "{{method}}, 95 %"},
              "s", "Waiting for a replica included."),
        Panel("Time for each further token", {quantile(.5, "time_per_output_token_seconds"): "{{method}}, median",
                                              quantile(.95, "time_per_output_token_seconds"): "{{method}}, 95 %"},
              "s", "Mean of an answer, behind its first token."),
        Panel("Time to the whole answer", {quantile(.5, "e2e_request_latency_seconds"): "{{method}}, median",
                                           quantile(.95, "e2e_request_latency_seconds"): "{{method}}, 95 %"},
              "s", "Finished answers only."),
    ),
    "What is going on?": (
        Panel("Requests, by how they ended", {rate("requests_total", "method, outcome"): "{{method}}, {{outcome}}"},
              "reqps", "finished, refused (the client's mistake), busy (429), failed (ours), disconnected."),
        Panel("Running and waiting",
              {f"sum by (method) (ray_specflash_num_requests_running{{{CHOSEN}}})": "{{method}}, running",
               f"sum by (method) (ray_specflash_num_requests_waiting{{{CHOSEN}}})": "{{method}}, waiting"},
              "short", "Running: taken by a replica."),
        Panel("Tokens a second", {rate("generation_tokens_total"): "{{method}}, answers",
                                  rate("prompt_tokens_total"): "{{method}}, prompts"},
              "short", "Of all replicas together. A picture is hundreds of the prompts' tokens."),
        Panel("Where the time goes", {rate("phase_seconds_total", "method, phase"): "{{method}}, {{phase}}"},
              "percentunit", "Seconds of a phase in a second, of finished answers."),
        Panel("Verification passes a second",
              {rate("rounds_total"): "{{method}}, passes",
               rate("spec_decode_num_draft_tokens_total"): "{{method}}, drafted tokens"},
              "short", "What the target and the drafts do for it."),
    ),
}


def board_json() -> str:
    board = (dashboard.Dashboard("SpecFLASH: decoders side by side").uid("specflash").tags(["specflash", "ray"])
             .refresh("15s").time("now-1h", "now").timezone("browser").tooltip(DashboardCursorSync.CROSSHAIR))
    for variable in _variables():
        board = board.with_variable(variable)
    for title, panels in ROWS.items():
        board = board.with_row(dashboard.Row(title))
        for panel in panels:
            board = board.with_panel(_drawn(panel, WHOLE // min(len(panels), 3)))
    return JSONEncoder(sort_keys=True, indent=2).encode(board.build()) + "\n"


def _variables() -> Iterable[dashboard.DatasourceVariable | dashboard.QueryVariable]:
    yield dashboard.DatasourceVariable("source").label("Prometheus").type("prometheus")
    for name in ("target", "method"):
        yield (dashboard.QueryVariable(name).datasource(SOURCE).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
               .query(f"label_values(ray_specflash_num_requests_running, {name})").multi(True).include_all(True)
               .all_value(".*"))


def _drawn(panel: Panel, width: int) -> timeseries.Panel:
    drawn = (timeseries.Panel().title(panel.title).description(panel.about).unit(panel.unit).min(0).datasource(SOURCE)
             .height(HEIGHT).span(width).fill_opacity(4).line_width(2)
             .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI))
             .legend(common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
                     .show_legend(True)))
    for letter, (query, legend) in zip("ABC", panel.queries.items(), strict=False):
        drawn = drawn.with_target(prometheus.Dataquery().expr(query).legend_format(legend).ref_id(letter).range())
    for method, colour in METHODS.items():
        drawn = drawn.override_by_regexp(f"/^{method}(,|$)/", [
            DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})])
    return drawn
