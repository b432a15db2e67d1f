"""The page in a real browser: it fits a phone and says nothing on the console."""

import re
import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files"),
    *("--enable-logging=stderr", "--v=0", "--window-size=1500,1000"),
)

# A page of our own measures the report from outside, so that the report itself needs no script.
MEASURE = """<!doctype html><body>
<iframe src="report.html" width="390" height="900"></iframe>
<iframe src="report.html" width="1400" height="900"></iframe>
<p id="measured"></p>
<script>
for (const frame of document.querySelectorAll("iframe")) frame.addEventListener("load", () => {
  const page = frame.contentDocument, root = page.documentElement;
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  const wide = [...page.querySelectorAll("body *")].filter((node) => !node.closest(".scroll, pre, svg"))
    .filter((node) => node.getBoundingClientRect().right > root.clientWidth + 1).length;
  const words = `frame ${frame.width} width ${root.clientWidth} content ${root.scrollWidth} wide ${wide};`;
  document.getElementById("measured").textContent += words;
});
</script></body>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_the_page_fits_a_phone_and_a_desktop_and_is_silent(with_faces, render, tmp_path):
    (tmp_path / "report.html").write_text(render(with_faces[0]), encoding="utf-8")
    (tmp_path / "measure.html").write_text(MEASURE, encoding="utf-8")
    profile = tmp_path / "profile"
    ran = subprocess.run(
        [CHROMIUM, *QUIET, f"--user-data-dir={profile}", "--dump-dom", (tmp_path / "measure.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    measured = re.findall(r"frame (\d+) width (\d+) content (\d+) wide (\d+);", ran.stdout)
    assert sorted(int(frame) for frame, *_ in measured) == [390, 1400], ran.stderr[-2000:]
    for frame, inner, content, wide in (map(int, each) for each in measured):
        assert frame - 30 <= inner <= frame
        assert content <= inner
        assert wide == 0
    assert "CONSOLE" not in ran.stderr
