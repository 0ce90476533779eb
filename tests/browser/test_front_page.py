"""The front page: alive and light, honest without scripts; what a reader has read stays with the reader."""

import time
from pathlib import Path

import pytest
from browser_tools import barriers, until
from notebook_tools import NOTEBOOKS

from tools.served import served

pytestmark = pytest.mark.browser

NAMES = [path.stem for path in NOTEBOOKS]
MOST_KIB, MOST_SECONDS = 300, 1.0  # of the front page, all that is loaded; and until its words can be read
MOST_KIB_BEFORE_WORDS = 75  # the page itself and its style sheets
# A telephone on a slow line, as Lighthouse throttles it.
SLOW_LINE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1.6e6 / 8,
    "uploadThroughput": 0.75e6 / 8,
}
SLOW_CPU = 4
TRIES = 5  # other programs may disturb one


@pytest.fixture(scope="module")
def address(site):
    """The book's address on a web server that packs text."""
    with served(site) as address:
        yield address


@pytest.fixture
def front(site, watched):
    """The front page, loaded; no error in its console at the end."""
    one = watched(width=1400)
    one.page.goto((site / "index.html").as_uri())
    yield one.page
    assert one.errors == []


def read_to_the_end(page):
    """Go on until the end: what is far away has no height yet, so it is not reached in one leap."""
    for _ in range(40):
        page.keyboard.press("End")
        page.wait_for_timeout(100)
        if page.locator(".bd-sidebar-primary .read-mark").count():
            return
    pytest.fail("the end of the page was not reached")


def crowded() -> float:
    """Return how many times as long as alone a program takes here just now, with what else runs."""
    wall, used = time.perf_counter(), time.process_time()
    while time.process_time() - used < 0.2:
        sum(range(10_000))
    return (time.perf_counter() - wall) / (time.process_time() - used)


def opened_slowly(browser, url):
    """Open a page as on a slow telephone; return KiB, KiB before words, and seconds until then."""
    context = browser.new_context(viewport={"width": 412, "height": 823})
    page = context.new_page()
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", SLOW_LINE)
    line.send("Emulation.setCPUThrottlingRate", {"rate": SLOW_CPU})
    loaded = []
    line.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    page.goto(url)
    page.locator(".convlab .cl-title").wait_for()
    page.wait_for_load_state("networkidle")
    told = page.evaluate(
        """() => [
          performance.getEntriesByName("first-contentful-paint")[0].startTime,
          [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
            .filter((one) => one.renderBlockingStatus === "blocking" || one.entryType === "navigation")
            .reduce((sum, one) => sum + one.transferSize, 0),
        ]"""
    )
    context.close()
    return sum(loaded) / 1024, told[1] / 1024, told[0] / 1000


def test_it_is_light_and_quick_on_a_slow_line(address, browser, capsys):
    tries = []
    for _ in range(TRIES):
        share = crowded()
        weight, first, seconds = opened_slowly(browser, f"{address}/index.html")
        tries.append((seconds / share, seconds, share))
        if tries[-1][0] <= MOST_SECONDS:
            break
    alone, seconds, share = min(tries)
    with capsys.disabled():
        print(
            f" [front page: {weight:.0f} KiB, {first:.0f} of them before the first words, which stood ",
            end="",
        )
        print(f"after {seconds:.2f} s on a machine that was {share:.1f} times as slow as alone] ", end="")
    assert 20 < weight <= MOST_KIB
    assert 10 < first <= MOST_KIB_BEFORE_WORDS
    assert alone <= MOST_SECONDS


def test_the_figure_is_alive_and_its_steps_lead(front):
    figure = front.locator(".opening .convlab")
    figure.wait_for()
    before = figure.locator(".cl-title").inner_text()
    assert "9.0×" in before
    assert "9.0×" in front.locator(".bd-article section", has_text="Press 1, 2").last.inner_text()
    figure.get_by_role("button", name="step 2 of 3").press("Enter")
    assert figure.locator(".cl-title").inner_text() != before


def test_cards_lead_to_every_notebook(front):
    cards = front.locator(".course li")
    assert cards.locator(".number").all_inner_texts() == [name[:2] for name in NAMES]
    assert "**" not in front.locator("article").first.inner_text()
    for index, name in enumerate(NAMES):
        card = cards.nth(index)
        question = card.locator("p").last.inner_text()
        assert question[-1] in ".?", question
        assert card.locator(".minutes").inner_text().endswith(" min")
        assert card.get_by_role("link").get_attribute("href") == f"{name}.html"
    title = cards.nth(3).get_by_role("link").inner_text()
    cards.nth(3).click(position={"x": 5, "y": 5})  # anywhere on the card
    front.wait_for_url(f"**/{NAMES[3]}.html")
    assert front.locator("h1:visible").inner_text().startswith(title)


def test_the_sidebar_has_parts_and_numbers(front):
    captions = front.locator(".bd-sidebar-primary .caption-text").all_inner_texts()
    stages = front.locator(".way li a")
    assert captions == stages.all_inner_texts()
    links = front.locator(".bd-sidebar-primary li a").all_inner_texts()
    assert [link[:2] for link in links] == [name[:2] for name in NAMES]
    for place in [stage.get_attribute("href") for stage in stages.all()]:
        assert front.locator(place).count() == 1


def test_what_was_read_is_marked_and_can_be_forgotten(site, watched):
    page = watched().page
    page.goto((site / f"{NAMES[0]}.html").as_uri())
    assert page.locator(".read-mark").count() == 0
    read_to_the_end(page)
    words = page.locator(".reader")
    until(lambda: words.inner_text() != "", lambda: page.goto((site / "index.html").as_uri()))
    assert words.inner_text().startswith(f"You have read 1 of {len(NAMES)} notebooks to the end.")
    assert words.get_by_role("link").get_attribute("href").endswith(f"{NAMES[1]}.html")
    assert page.locator(".course .read-mark").count() == 1
    assert page.context.cookies() == []
    page.get_by_role("button", name="Forget this").click()
    assert page.locator(".read-mark").count() == 0
    assert page.evaluate("localStorage.getItem('convlab-read')") is None
    until(lambda: words.inner_text() == "", page.reload)
    assert words.inner_text() == ""


WITHHELD = """Object.defineProperty(window, "localStorage", {
  configurable: true, get() { throw new DOMException("withheld", "SecurityError"); } })"""


def test_it_works_where_storage_is_withheld(site, watched):
    one = watched()
    one.page.add_init_script(WITHHELD)
    one.page.goto((site / f"{NAMES[0]}.html").as_uri())
    read_to_the_end(one.page)
    assert one.page.locator(".bd-sidebar-primary .read-mark").count() == 1
    one.page.get_by_role("button", name="Color mode").click()  # the theme remembers that
    one.page.locator("button[data-mode=dark]").click()
    assert one.page.locator("html").get_attribute("data-theme") == "dark"
    assert one.errors == []


def no_scripts(browser):
    return browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})


def no_modules(browser):
    """A browser from before 2018: it ignores scripts of a type that it does not know."""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    context.add_init_script("delete HTMLScriptElement.prototype.noModule")

    def old(route):
        text = Path(route.request.url.removeprefix("file://")).read_text("utf-8")
        route.fulfill(body=text.replace('type="module"', 'type="unknown"'), content_type="text/html")

    context.route("**/*.html", old)
    return context


@pytest.mark.parametrize("opened", [no_scripts, no_modules])
@pytest.mark.parametrize("name", ["index", NAMES[2]])
def test_without_scripts_or_modules_all_is_readable(site, browser, opened, name):
    """Figures stand still and say so, and the contents are there to go on with."""
    context = opened(browser)
    page = context.new_page()
    page.goto((site / f"{name}.html").as_uri())
    assert page.get_by_text("Figures stand still here.").is_visible()
    still = page.locator("[id^=convlab-] img").first
    still.scroll_into_view_if_needed()
    assert still.bounding_box()["width"] > 300
    assert len(still.get_attribute("alt")) > 40
    assert page.locator(".bd-sidebar-primary li a", has_text="05 Implicit GEMM").is_visible()
    context.close()


def test_a_modern_browser_is_told_nothing_of_that(front):
    assert not front.get_by_text("Figures stand still here.").is_visible()


def test_nothing_in_sight_jumps(front):
    """When the figure comes, what was there stays where it was."""
    front.locator(".opening .convlab").wait_for()
    shift = """() => new Promise((done) => {
      const told = (list) => done(list.getEntries().reduce((sum, one) => sum + one.value, 0));
      new PerformanceObserver(told).observe({ type: "layout-shift", buffered: true });
      setTimeout(() => done(0), 500);
    })"""
    assert front.evaluate(shift) < 0.05


def test_a_wrong_address_gets_a_page_that_leads_back(site, watched):
    one = watched(width=360)
    one.page.goto((site / "404.html").as_uri())
    assert barriers(one.page, colours=True) == []
    one.errors.clear()  # axe
    one.page.get_by_role("link", name="front page").click()
    one.page.wait_for_url("**/index.html")
