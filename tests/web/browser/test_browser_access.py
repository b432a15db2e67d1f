"""Accessibility: keyboard only, small screens, dark mode, contrast, screen readers."""

import pytest

pytestmark = pytest.mark.slow  # a real browser

SECTIONS = {"/": "#start", "/r/several": "#result", "/r/nothing": "#problem", "/#camera": "#camera"}
SIZES = [(360, 740), (768, 1024), (1400, 900)]
WIDE = """() => [...document.querySelectorAll('body *')]
  .filter((node) => !node.closest('svg, .visually-hidden, .skip') && node.checkVisibility())
  .filter((node) => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((node) => node.outerHTML.slice(0, 90))"""
CONTRAST = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (/^rgb\\(/.test(colour)) return colour;
    }
  };
  const own = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
  return [...document.querySelectorAll('main *, header *, footer *')]
    .filter((node) => !node.closest('svg, .visually-hidden, .keyframe') && node.checkVisibility() && own(node))
    .map((node) => {
      const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), node.textContent.trim().slice(0, 40)];
    })
    .filter(([ratio]) => ratio < 4.5);
}"""


def press_until(page, key, reached, most=40):
    """Press a key until an expression about the focused element holds."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate(f"((node) => {reached})(document.activeElement)"):
            return
    pytest.fail(f"{key} never reaches: {reached}")


def test_the_page_works_with_the_keyboard_only(open_page, instantly):
    page = open_page()
    instantly(page)
    page.wait_for_selector(".example")
    press_until(page, "Tab", "node.id === 'files'")
    assert page.locator("label[for=files]").evaluate("(node) => getComputedStyle(node).outlineStyle") == "solid"
    press_until(page, "Tab", "node.classList.contains('example')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#result:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "result-title"
    assert "this synthetic face shows positive" in page.locator(".truth").inner_text()
    press_until(page, "Tab", "node.type === 'radio' && node.value === 'why'")
    page.keyboard.press("ArrowRight")
    assert page.locator(".overlay img").get_attribute("alt").startswith("Flow on the face: ")
    press_until(page, "Tab", "node.textContent === 'Another clip'")
    page.keyboard.press("Enter")
    assert page.locator("#start").is_visible()


def test_movements_are_chosen_by_arrow_keys_and_by_a_click_on_the_timeline(open_page, server, several):
    page = open_page()
    page.route("**/api/results/*", lambda route: route.fulfill(json=several))
    page.goto(server + "/r/several")
    page.wait_for_selector("#result:not([hidden])")
    assert page.locator(".which").inner_text() == "Strongest of 3 movements"
    assert page.locator(".label").inner_text() == "Surprise"
    page.locator(".movements input:checked").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".label").inner_text() == "Uncertain"
    assert page.locator(".certainty").inner_text() == (
        "A micro-expression with a probability of 0.93; if it is one, most likely negative, but its score is only 0.40."
    )
    assert page.locator(".which").inner_text() == "Number 3 of 3 movements"
    page.locator(".timeline .event").first.click(force=True)
    assert page.locator(".label").inner_text() == "Positive"
    assert page.locator(".movements input").first.is_checked()
    assert page.locator(".timeline .event.chosen").count() == 1


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_sticks_out_sideways(open_page, server, several, width, height):
    page = open_page(width=width, height=height)
    page.route("**/api/results/*", lambda route: route.fulfill(json=several))
    page.wait_for_selector(".example")
    page.locator(".options summary").click()
    for path in ("/", "/r/several", "/#camera", "/static/responsible-use.html"):
        page.goto(server + path)
        page.wait_for_selector(f"{SECTIONS.get(path, 'article')}:visible h1")
        assert page.evaluate(WIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast_and_axe_finds_no_violation(open_page, server, several, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = open_page(color_scheme=scheme, bypass_csp=True)
    page.route("**/api/results/several", lambda route: route.fulfill(json=several))
    page.wait_for_selector(".example")
    page.locator(".options summary").click()
    rows = [{"name": "a.mp4", "state": "failed", "text": "No face was found."}]
    page.evaluate("(rows) => sessionStorage.setItem('epir-batch', JSON.stringify(rows))", rows)
    for path in ("/", "/r/several", "/r/nothing", "/#batch", "/#camera"):
        page.goto(server + path)
        page.wait_for_selector(f"{SECTIONS.get(path, path[1:])}:visible h1")
        page.locator("details").evaluate_all("(all) => all.forEach((each) => (each.open = true))")
        assert page.evaluate(CONTRAST) == []
        violations = axe.Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(16, 21, 27)")


def test_screen_readers_get_names_and_announcements(open_page):
    page = open_page()
    assert page.locator("#working-text").get_attribute("role") == "status"
    assert page.locator("#problem [role=alert]").count() == 1
    assert page.locator("#start-problem").get_attribute("role") == "alert"
    unnamed = (
        "(all) => all.filter((node) => !node.labels?.length && !node.textContent.trim() && !node.ariaLabel).length"
    )
    assert page.locator("button, input, a").evaluate_all(unnamed) == 0
    assert page.locator("img:not([alt])").count() == 0
    assert page.locator("html").get_attribute("lang") == "en"


def test_reduced_motion_is_respected(open_page):
    page = open_page(reduced_motion="reduce")
    page.locator(".example").first.hover()
    assert page.locator(".example video").first.evaluate("(video) => video.paused")
    assert page.locator("#working-bar").evaluate("(bar) => getComputedStyle(bar).animationName") == "none"


def test_nothing_comes_from_elsewhere(open_page, server):
    asked = []
    page = open_page("/static/responsible-use.html")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server)
    page.wait_for_selector(".example")
    assert asked
    assert [url for url in asked if not url.startswith((server, "blob:", "data:"))] == []
