"""A rendered page, as a test reads it."""

from html.parser import HTMLParser

from dashboards.report.page import page_of
from dashboards.report.records import read_run

VOID = {"meta", "link", "img", "br", "input", "hr"}


class Page(HTMLParser):
    """Collects elements, numbers, text and the addresses a browser would load; fails on crossed tags.

    numbers  (place in the summary, exact value, text) of every number that says where it is from
    """

    def __init__(self, text: str):
        super().__init__()
        self.elements, self.loads, self.numbers, self._open = [], [], [], []
        self.feed(text)
        assert self._open == [], "unclosed elements"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "poster", "action")]
        if tag not in VOID:
            self._open.append(tag)
        if tag == "data":
            self._number = [attributes.get("data-path"), attributes["value"], ""]
            if "data-path" in attributes:
                self.numbers.append(self._number)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_data(self, data):
        if self._open[-1:] == ["data"]:
            self._number[2] += data

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


def text_of(folder):
    """The page without its figures, which take longer than all the rest."""
    return page_of(read_run(folder), {})
