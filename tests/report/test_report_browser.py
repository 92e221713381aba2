"""The page in a browser, offline: its numbers, its tooltips, its switches, light and dark, and a silent console."""

import json
from shutil import which

import polars as pl
import pytest
import recorded_by_hand as by_hand
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from federage import report
from federage.report import palette, tables

CHROMIUM, DRIVER = which("chromium") or which("google-chrome"), which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run --window-size=1100,900"
)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no Chromium with its driver on this machine"
)


@pytest.fixture(scope="module")
def recorded():
    return by_hand.recorded()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(browser, recorded, tmp_path_factory):
    path = report.write([recorded], tmp_path_factory.mktemp("page") / "report.html")
    browser.get_log("performance")  # what the browser did to start is not ours
    browser.get(path.as_uri())
    until(browser, lambda: browser.execute_script("return document.documentElement.dataset.figures") == "live")
    yield browser
    assert browser.get_log("browser") == [], "the console is silent after all that was done"


def until(browser, condition):
    WebDriverWait(browser, 20).until(lambda _: condition())


def marks(page, figure, kind="line"):
    return page.find_elements(By.CSS_SELECTOR, f"#{figure} .mark-{kind} path")


def button(page, label):
    [found] = [b for b in page.find_elements(By.CSS_SELECTOR, "button[data-method]") if b.text == label]
    return found


def test_every_figure_is_live_and_nothing_was_fetched(page):
    assert len(page.find_elements(By.CSS_SELECTOR, "figure")) == 9
    assert len(page.find_elements(By.CSS_SELECTOR, ".drawing > div svg.marks")) == 9
    sent = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = [event["params"]["request"]["url"] for event in sent if event["method"] == "Network.requestWillBeSent"]
    assert len(urls) == 1, "the page itself"
    assert urls[0].startswith("file:")


def test_the_table_s_numbers_are_the_record_s(page, recorded):
    table = page.find_element(By.XPATH, "//table[.//th[text()='last checkpoint']]")
    columns = [head.text for head in table.find_elements(By.CSS_SELECTOR, "thead th")]
    shown = {}
    for row in table.find_elements(By.CSS_SELECTOR, "tbody:first-of-type tr")[1:]:
        cells = [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")]
        shown[cells[0]] = dict(zip(columns[1:], cells[1:], strict=True))
    results = tables.results(recorded).filter(pl.col("checkpoint") == "last", pl.col("metric") == "accuracy")
    for label, mean, std in results["method", "mean", "std"].rows():
        assert shown[label]["all clients"].replace("†", "") == f"{100 * mean:.1f} ± {100 * std:.1f}"
    assert shown["SCAFFOLD"]["all clients"] == "83.0 ± 1.2"
    assert shown["FedeRage <κ>"]["rare group"] == "67.5† ± 2.5"


def test_a_point_tells_its_numbers_to_who_hovers_over_it(page):
    figure = page.find_element(By.ID, "beta")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    data = "return [arguments[0].__data__.datum.round, arguments[0].__data__.datum.mean]"
    points = {tuple(page.execute_script(data, point)): point for point in marks(page, "beta", "symbol")}
    [middle] = [point for (at, mean), point in points.items() if at == 100 and mean is not None]
    ActionChains(page).move_to_element(middle).perform()
    until(page, lambda: page.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element.visible"))
    cells = [cell.text for cell in page.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element td")]
    told = dict(zip(cells[::2], cells[1::2], strict=True))
    assert told == {"method": "FedeRage <κ>", "round": "100", "mean": "0.2", "low": "0.2", "high": "0.2"}


def test_a_method_is_hidden_everywhere_by_the_keyboard_and_comes_back(page):
    before = len(marks(page, "accuracy"))
    assert before == 9, "three methods, three checkpoints"
    glance = len(marks(page, "glance", "symbol"))
    chosen = button(page, "SCAFFOLD")
    page.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(20):
        ActionChains(page).send_keys(Keys.TAB).perform()
        if page.switch_to.active_element == chosen:
            break
    assert page.switch_to.active_element == chosen, "reached by the tabulator alone"
    assert chosen.value_of_css_property("outline-style") == "solid", "and it shows"
    chosen.send_keys(Keys.SPACE)
    until(page, lambda: len(marks(page, "accuracy")) == 6)
    assert chosen.get_attribute("aria-pressed") == "false"
    until(page, lambda: len(marks(page, "glance", "symbol")) == glance - 4)
    chosen.send_keys(Keys.ENTER)
    until(page, lambda: len(marks(page, "accuracy")) == 9)
    assert chosen.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_light_and_dark_follow_the_reader(page, mode):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": mode}]})
    paper = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == rgb(getattr(palette.PAPER, mode))
    line = marks(page, "accuracy")[0]
    assert page.execute_script("return getComputedStyle(arguments[0]).stroke", line) == rgb(
        getattr(palette.SERIES[0], mode)
    )


def test_on_printed_paper_it_is_light(page):
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    assert page.execute_script("return getComputedStyle(document.body).color") == rgb(palette.INK.light)
    assert not page.find_element(By.CSS_SELECTOR, ".switches").is_displayed()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_numbers_open_by_the_keyboard(page):
    summary = page.find_element(By.CSS_SELECTOR, "#glance summary")
    summary.send_keys(Keys.ENTER)
    until(page, lambda: page.find_element(By.CSS_SELECTOR, "#glance details").get_attribute("open"))
    assert "0.83" in page.find_element(By.CSS_SELECTOR, "#glance details table").text


def test_without_scripts_the_still_drawings_stay(browser, page, recorded):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.refresh()
        assert len(browser.find_elements(By.CSS_SELECTOR, ".drawing > svg[role=img]")) == 9
        assert not any(b.is_enabled() for b in browser.find_elements(By.CSS_SELECTOR, "button[data-method]"))
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))})"
