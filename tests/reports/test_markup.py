from hypothesis import given
from hypothesis import strategies as st

from epir.reports.markup import Markup, data_url, element, join


def test_text_is_escaped_and_markup_is_not():
    inner = element("b", "<script>")
    assert inner == "<b>&lt;script&gt;</b>"
    assert element("p", "a & b ", inner) == "<p>a &amp; b <b>&lt;script&gt;</b></p>"
    assert isinstance(join("<", inner), Markup)


def test_attributes_are_escaped_renamed_and_left_out():
    link = element("a", "x", href='"><script>', class_="k", aria_label="l", title=None, hidden=False, open=True)
    assert link == '<a href="&quot;&gt;&lt;script&gt;" class="k" aria-label="l" open>x</a>'


@given(st.text())
def test_no_text_can_open_an_element(text):
    assert join(text).count("<") == 0
    assert element("p", title=text).count("<") == 2  # its own two tags


def test_a_void_element_is_not_closed():
    assert element("img", src="a") == '<img src="a">'


def test_a_picture_becomes_its_own_address():
    assert data_url(b"abc", "image/png") == "data:image/png;base64,YWJj"
