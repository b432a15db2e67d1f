"""The page in a real browser: it fits a phone and says nothing on the console."""

import re
import shutil
import subprocess

import pytest

from epir.reports.page import report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files"),
    *("--enable-logging=stderr", "--v=0", "--window-size=1500,1000"),
)

# A page of our own measures the report from outside, so that the report itself needs no script.
MEASURE = """<!doctype html><body>
<iframe src="report.html" width="{width}" height="900"></iframe><p id="found"></p>
<script>
document.querySelector("iframe").addEventListener("load", (event) => {{
  const page = event.target.contentDocument, root = page.documentElement;
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  const wide = [...page.querySelectorAll("body *")].filter((node) => !node.closest(".scroll, pre, svg"))
    .filter((node) => node.getBoundingClientRect().right > root.clientWidth + 1).length;
  const found = `width ${{root.clientWidth}} content ${{root.scrollWidth}} wide ${{wide}}`;
  document.getElementById("found").textContent = found;
}});
</script></body>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_fits_its_window_and_is_silent(with_faces, tmp_path, width):
    run, _ = with_faces
    report(run, tmp_path / "report.html")
    (tmp_path / "measure.html").write_text(MEASURE.format(width=width), encoding="utf-8")
    profile = tmp_path / "profile"
    ran = subprocess.run(
        [CHROMIUM, *QUIET, f"--user-data-dir={profile}", "--dump-dom", (tmp_path / "measure.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r"width (\d+) content (\d+) wide (\d+)", ran.stdout)
    assert found, ran.stderr[-2000:]
    inner, content, wide = map(int, found.groups())
    assert width - 30 <= inner <= width
    assert content <= inner
    assert wide == 0
    assert "CONSOLE" not in ran.stderr
