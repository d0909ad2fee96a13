"""The page in a real browser, from drop to download."""

import csv
import io
import json
import os
import shlex
import shutil
import signal
from pathlib import Path

import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.report.answers import answer
from rumflow.report.take_away import tables_of
from tests.app.conftest import drinks
from tests.reference.systems import not_on_windows

PATIENCE = 240_000  # milliseconds: other work may keep the machine busy
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if binary is None:
        pytest.skip("no chromium is installed: the page is not tried in a browser")
    with playwright.sync_playwright() as tool:
        running = tool.chromium.launch(executable_path=binary, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def tab(browser, client):
    """One page for all tests, 390 pixels wide and dark, which must not complain, ask others or be wider than the screen."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark", locale="de-DE")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    said, others = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on(
        "request",
        lambda request: (
            others.append(request.url) if not request.url.startswith((client.server.address, "data:")) else None
        ),
    )
    page.goto(client.server.address)
    page.wait_for_selector("body[data-ready]")
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
    assert said == []
    assert others == []


def drop(tab, name, text):
    """Drop a file on the page, and wait until it was read."""
    throw(tab, name, text)
    wait_for_reading(tab, name)


def throw(tab, name, text):
    """Drop a file on the page."""
    tab.evaluate(
        """([name, text]) => {
            const held = new DataTransfer();
            held.items.add(new File([text], name));
            document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true }));
        }""",
        [name, text],
    )


def wait_for_reading(tab, name):
    """Until the file was read, or could not be."""
    tab.wait_for_selector(f"#read-title:has-text({json.dumps(name)})")
    tab.wait_for_selector("#status:not(:has-text('…'))")


def say(tab, roles):
    """Choose columns and settings, and read again."""
    tab.evaluate("document.getElementById('more').open = true")
    for role, value in roles.items():
        box = tab.locator(f"#role-{role}, #setting-{role}")
        if isinstance(value, list):
            box.select_option(label="several columns …")
            for column in value:
                tab.locator(f".field:has(#role-{role}) .ticks label:text-is('{column}') input").check()
        elif box.evaluate("box => box.tagName") == "SELECT":
            box.select_option(label=value)
        else:
            box.fill(value)
    before = tab.evaluate("document.getElementById('read-title').textContent")
    tab.evaluate("document.getElementById('read-title').textContent = ''")
    tab.click("#reading button")
    wait_for_reading(tab, before.partition(":")[0])


def ask(tab, question):
    """Ask, and wait for the answer: the newest card."""
    tab.check(f"input[value={question}]")
    tab.evaluate("document.getElementById('status').textContent = ''")
    tab.click("#question .main")
    tab.wait_for_selector("#status:has-text('The answer is here.')")
    return tab.locator("article").first


def test_titles_say_what_was_asked_about(tab):
    drop(tab, "drinks.csv", drinks())
    tab.check("input[value=leave]")
    tab.locator("#field-item").select_option("tea")
    card = ask(tab, "leave")
    assert card.locator("h3").inner_text() == "What if tea goes? (drinks.csv)"
    assert card.locator("p:text-is('What goes: tea')").count() == 1
    with tab.expect_download() as found:
        card.get_by_text("Page (HTML)", exact=True).click()
    assert found.value.suggested_filename == "What-if-tea-goes-drinks-csv.html"
    assert "<h1>What if tea goes? (drinks.csv)</h1>" in Path(found.value.path()).read_text(encoding="utf-8")
    assert tab.locator("#roles #role-subject, #roles #role-group").count() == 2


def take(tab, card, text):
    """Download a file of an answer, and read it."""
    with tab.expect_download() as found:
        card.get_by_text(text, exact=True).click()
    return Path(found.value.path()).read_bytes().decode()


ORDERS = "".join(f"# ALTERNATIVE NAME {k}: {name}\n" for k, name in enumerate("abc", 1)) + "3: 1,2,3\n2: 3,2,1\n"
LONG = "trip,mode,taken,person\n" + "".join(
    f"{k},{mode},{int(mode == offered[k % len(offered)])},{k % 4}\n"
    for k in range(12)
    for offered in [(("car", "bus"), ("car", "bus", "foot"), ("bus", "foot"))[k % 3]]
    for mode in offered
)
MATRIX = "tea,milk,juice\n10,0,0\n0,10,0\n6,4,0\n0,0,10\n5,0,5\n0,7,3\n2,5,3\n"
#: Every layout of docs/data-formats.md: the file, what is said on the page, and the same for Python.
LAYOUTS = {
    "choices": ("menu,choice\n" + "tea;milk,tea\ntea;milk;juice,milk\n" * 4, {}, {}),
    "places": ("a1,a2,a3,choice\n" + "tea,milk,,2\ntea,milk,juice,1\n" * 4, {"menu": ["a1", "a2", "a3"], "choice": "choice"},
               {"menu": ["a1", "a2", "a3"], "choice": "choice"}),
    "counts": ("menu,item,count\nab,a,30\nab,b,70\nabc,a,50\nabc,b,30\nabc,c,20\n", {}, {}),
    "counts by id": ("menu_id,item,count\n1,a,30\n1,b,70\n2,a,50\n2,b,30\n2,c,20\n", {}, {}),
    "bit masks": ("menu_mask,choice\n3,a\n3,b\n7,c\n7,a\n", {"items": "a,b,c"}, {"items": ["a", "b", "c"]}),
    "ids of menus": ("x1,x2\n1,a\n1,b\n2,a\n2,c\n", {"menu": "x1", "choice": "x2", "menus": "a,b; a,b,c"},
                     {"menu": "x1", "choice": "x2", "menus": [["a", "b"], ["a", "b", "c"]]}),
    "availability": ("tea_av,milk_av,juice_av,choice\n1,1,0,tea\n1,1,1,milk\n0,1,1,juice\n1,1,1,tea\n", {}, {}),
    "0/1 choices": ("av_tea,av_milk,choice_tea,choice_milk\n1,1,1,0\n1,1,0,1\n1,1,1,0\n", {}, {}),
    "winner and losers": ("winner,losers\na,b\nb,a|c\nc,a|b\na,b\n", {}, {}),
    "pairs": ("player1,player2,result\na,b,1\na,b,0\na,b,0.5\nb,c,1\na,c,0\n",
              {"ties": "half a choice for each"}, {"ties": "half"}),
    "wins": ("player1,player2,win1,win2\na,b,7,3\nb,c,6,4\na,c,2,8\n", {}, {}),
    "letters": ("A,B,choice\ntea,milk,A\ntea,juice,B\nmilk,juice,A\n", {}, {}),
    "best and worst": ("menu,best,worst\na|b|c,a,b\na|b|c,b,c\na|b,b,a\n", {"what": "the worst"}, {"what": "worst"}),
    "alternatives": (LONG, {"observation": "trip", "alternative": "mode", "choice": "taken", "subject": "there is none"},
                     {"observation": "trip", "alternative": "mode", "choice": "taken", "subject": False}),
    "matrix": (MATRIX, {}, {}),
    "rankings.soc": (ORDERS, {"menus": "all"}, {"menus": "all"}),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_from_drop_to_download(name, tab, tmp_path):
    text, said, options = LAYOUTS[name]
    file = name if "." in name else f"{name.replace('/', ' ')}.csv"
    drop(tab, file, text)
    if said:
        say(tab, said)
    assert tab.inner_text("#read-title").endswith("this is how it was read"), tab.inner_text("#data-error")
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    data = rf.ChoiceData.from_csv(path, **options)
    assert f"{data.n_observations:g}" in tab.inner_text("#facts").split()
    tab.check("input[value=conflicts]")
    tab.locator("#field-level").select_option(label="any difference, also by chance")
    card = ask(tab, "conflicts")
    rows = list(csv.reader(io.StringIO(take(tab, card, "Table (CSV)"))))
    (table,) = tables_of(answer(rf.explain(data, level=None, most=3, seed=0)).html())
    assert rows == [table.columns, *([cell.text for cell in row] for row in table.rows)]


def test_lines_commands_and_pages_of_an_answer(tab, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drinks.csv").write_text(drinks(), encoding="utf-8")
    drop(tab, "drinks.csv", drinks())
    tab.check("input[value=predict]")
    for label in ("tea", "milk", "juice"):
        tab.locator(f"#fields label:text-is('{label}') input").check()
    card = ask(tab, "predict")
    card.locator("> details summary").click()
    lines, command = card.locator("> details pre").all_inner_texts()
    names = {}
    exec(lines, names)
    assert card.locator("svg").count() == 1
    rows = list(csv.DictReader(io.StringIO(take(tab, card, "Table (CSV)"))))
    assert list(rows[0]) == ["item", "95 %: from", "to", "at least", "at most"]
    assert [row["at least"] for row in rows] == [f"{100 * low:.1f} %" for low in names["result"].lower]
    assert main([*shlex.split(command)[1:], "-q", "--out", "out.csv"]) == 0
    own = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    assert [float(row["lower"]) for row in own] == names["result"].lower.tolist()
    assert "tabular" in take(tab, card, "Table (LaTeX)")
    assert f"{names['result'].lower[0]:.4f}" in take(tab, card, "Page (HTML)")
    capsys.readouterr()


def test_a_wrong_role_a_panel_and_an_error_beside_its_field(tab):
    rows = "".join(
        f"{k % 6},a|b,{'ab'[k % 2]},{'ba'[k % 2]}\n{k % 6},a|b|c,{'abc'[k % 3]},{'bca'[k % 3]}\n" for k in range(24)
    )
    drop(tab, "panel.csv", "worker,menu,choice,pick\n" + rows)
    fault = tab.locator(".field:has(#role-choice) .error")
    assert "could be column 'choice' or 'pick'" in fault.inner_text()
    assert tab.locator("#role-choice").get_attribute("aria-invalid") == "true"
    say(tab, {"choice": "pick"})
    assert tab.locator(".field:has(#role-choice) .error").inner_text() == ""
    warning = tab.locator(".field:has(#role-subject) .caution").inner_text()
    assert "'worker' looks like persons with several choices each" in warning
    say(tab, {"subject": "worker"})
    assert "6 subjects made 48 choices" in tab.locator(".field:has(#role-subject) .caution").inner_text()
    assert "Not used: choice" in tab.inner_text("#about-columns")
    tab.check("input[value=predict]")
    tab.click("#question .main")
    tab.wait_for_selector("#fields .error:has-text('tick two items or more')")


def test_sales_by_week_in_a_workbook_and_entries_that_stay(tab, tmp_path):
    """Counts in a column for each item, visitors of whom some bought nothing, numbers pasted from a spreadsheet."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [[1, 30, 20, 10, 100], [2, None, 40, 22, 120], [3, 33, 19, None, 90], [4, 28, 22, 9, 95]]
    for row in [["Sales"], [], ["week", "tea", "milk", "juice", "visitors"], *rows]:
        book.active.append(row)
    book.save(tmp_path / "sales.xlsx")
    tab.set_input_files("#file", tmp_path / "sales.xlsx")
    wait_for_reading(tab, "sales.xlsx")
    assert "tick them" in tab.locator(".field:has(#role-count) .error").inner_text()
    assert tab.evaluate("document.activeElement.id") == "role-count"
    assert tab.locator("#roles #role-count, #roles #role-total, #roles #setting-outside_option").count() == 3
    say(tab, {"count": ["tea", "milk", "juice"], "total": "visitors", "outside_option": "nothing"})
    options = {"count": ["tea", "milk", "juice"], "total": "visitors", "outside_option": "nothing"}
    data = rf.ChoiceData.from_csv(tmp_path / "sales.xlsx", **options)
    assert str(int(data.n_observations)) in tab.inner_text("#facts").split()
    tab.check("input[value=assort]")
    assert tab.locator("#field-outside_option option:checked").inner_text() == "nothing"
    tab.locator("#fields .ticks input").first.focus()
    tab.evaluate(
        """() => {
            const held = new DataTransfer();
            held.setData("text", "tea\\t3\\nmilk\\t2,5\\njuice\\t1,25\\n");
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: held, cancelable: true }));
        }"""
    )
    values = "[...document.querySelectorAll('#fields .ticks label')].map(e => [e.textContent, e.querySelector('input').value])"
    pasted = [["nothing", ""], ["juice", "1,25"], ["milk", "2,5"], ["tea", "3"]]
    assert tab.evaluate(values) == pasted
    tab.check("input[value=conflicts]")
    tab.locator("#field-level").select_option(label="any difference, also by chance")
    drop(tab, "other.csv", "menu,choice\n" + "tea;milk,tea\ntea;milk;beer,milk\n" * 4)
    assert tab.locator("#field-level option:checked").inner_text() == "any difference, also by chance"
    tab.check("input[value=assort]")
    assert tab.evaluate(values) == [["beer", ""], ["milk", "2,5"], ["tea", "3"]]
    tab.locator("#set").select_option("sales.xlsx")  # as it was read before
    tab.click("#sets button")
    wait_for_reading(tab, "sales.xlsx")
    assert tab.locator("#field-confidence option:checked").inner_text() == "95 %"  # it is quick
    tab.locator("#field-confidence").select_option(label="do not allow for chance (quick)")
    card = ask(tab, "assort")
    best = rf.best_assortment(data, {"tea": 3, "milk": 2.5, "juice": 1.25}, "nothing")
    assert f"{best.lower:.4g}".replace(".", ",") in card.locator(".lead").inner_text()
    assert "few choices from 1 of 3 menus" in card.locator(".lead + p").inner_text()


def test_cancel_and_two_pages_at_once(tab, browser, client):
    """A long question is cancelled on one page; the other one, which has other data, goes on."""
    tab.locator("#set").select_option("stock_outs")
    tab.click("#sets button")
    wait_for_reading(tab, "stock_outs")
    other = browser.new_page()
    other.set_default_timeout(PATIENCE)
    other.goto(client.server.address)
    other.wait_for_selector("body[data-ready]")
    other.fill("#text", "menu,choice\na;b,a\na;b,b\na;b;c,c\n")
    other.click("#paste button")
    wait_for_reading(other, "pasted.csv")
    tab.check("input[value=chance]")
    tab.fill("#field-n_boot", "100000")
    tab.click("#question .main")
    tab.wait_for_selector("article p:text-matches('^[1-9][0-9.]* of 100.000 samples drawn, [0-9]+ seconds? so far')")
    tab.check("input[value=distance]")
    tab.wait_for_selector("#cost:has-text('It will wait for 1 question asked before.')")
    tab.click("#question .main")
    second = tab.locator("article:has(h3:has-text('How far'))").first
    second.locator("p:has-text('Waits for 1 question asked before.')").wait_for()
    second.get_by_text("Cancel", exact=True).click()
    second.locator("p:has-text('Cancelled after 0 seconds.')").wait_for()
    second.get_by_text("Close", exact=True).click()
    other.check("input[value=distance]")
    other.click("#question .main")
    other.wait_for_selector("article p:has-text('Waits for 1 question asked before.')")
    tab.click("article button:text-is('Cancel')")
    tab.wait_for_selector("#status:has-text('Cancelled after')")
    again = tab.locator("article").first
    assert again.locator("h3").inner_text() == "Could it be chance? (stock_outs)"
    again.get_by_text("Ask again", exact=True).click()
    tab.wait_for_selector("article p:has-text('samples drawn')")
    tab.click("article button:text-is('Cancel')")
    tab.wait_for_selector("article p:has-text('Cancelled after')")
    tab.locator("article").first.get_by_text("Close", exact=True).click()
    other.wait_for_selector("article h3:text-is('How far are they from rational? (pasted.csv)') ~ .tools a")
    other.reload()
    other.wait_for_selector("body[data-ready]")
    other.wait_for_selector("article h3:text-is('How far are they from rational? (pasted.csv)')")
    titles = other.locator("article h3").all_inner_texts()
    assert titles[0] == "How far are they from rational? (pasted.csv)"  # the newest first, as before
    other.select_option("#set", label="pasted.csv, as read before")
    other.click("#sets button")
    wait_for_reading(other, "pasted.csv")
    other.wait_for_selector(
        "article h3:text-is('How far are they from rational? (pasted.csv)') ~ .tools a"
    )  # kept in the session
    other.close()


def fresh(browser, address):
    """Another page."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    return page


def begin_long(page):
    """Ask something that takes minutes."""
    page.check("input[value=chance]")
    page.fill("#field-n_boot", "100000")
    page.click("#question .main")
    page.wait_for_selector("article p:has-text('samples drawn')")


OTHER = "menu,choice\n" + "ale;beer,ale\nale;beer;cider,cider\n" * 6


def test_a_new_file_changes_nothing_until_it_was_read(browser, client):
    """While a long question is answered a file waits: what is asked meanwhile is about the data on the page."""
    page = fresh(browser, client.server.address)
    drop(page, "drinks.csv", drinks())
    begin_long(page)
    throw(page, "other.csv", OTHER)
    page.wait_for_selector("#status:has-text('Waiting until the question')")
    page.check("input[value=leave]")
    page.locator("#field-item").select_option("milk")
    page.click("#question .main")
    card = page.locator("article:has(h3:text-is('What if milk goes? (drinks.csv)'))")
    card.wait_for()
    page.locator("article:has(progress)", has_text="Could it be chance").get_by_text("Cancel", exact=True).click()
    card.locator(".tools a").first.wait_for()
    assert "Without milk" in card.locator(".lead").inner_text()
    wait_for_reading(page, "other.csv")
    assert page.locator("#bars dt").all_inner_texts()[:2] == ["ale", "beer"]
    throw(page, "drinks.csv", drinks() * 2)  # two at once: the last one counts
    throw(page, "last.csv", OTHER)
    wait_for_reading(page, "last.csv")
    page.wait_for_timeout(500)
    assert page.inner_text("#read-title").startswith("last.csv")
    page.close()


def test_an_answer_does_not_take_the_keyboard_from_who_types(browser, client):
    page = fresh(browser, client.server.address)
    drop(page, "drinks.csv", drinks())
    page.check("input[value=distance]")
    page.click("#question .main")
    page.check("input[value=chance]")
    page.fill("#field-n_boot", "7")
    page.wait_for_selector("#status:has-text('The answer is here.')")
    assert page.evaluate("document.activeElement.id") == "field-n_boot"
    page.check("input[value=predict]")
    page.click("#question .main")
    page.wait_for_selector("#fields .error:has-text('tick two items or more')")
    page.wait_for_selector("#status:text-is('')", state="attached")  # nothing is being answered
    page.close()


def test_a_server_that_has_ended_is_said_on_the_card(browser, client):
    page = fresh(browser, client.server.address)
    page.fill("#text", drinks())
    page.click("#paste button")
    wait_for_reading(page, "pasted.csv")
    card = ask(page, "distance")
    card.locator("> details summary").click()
    assert "Save the table that you pasted as pasted.csv" in card.locator("> details").inner_text()
    begin_long(page)
    page.context.set_offline(True)
    card = page.locator("article").first
    card.locator(".error:has-text('Start rumflow app again')").wait_for()
    assert card.locator("progress, button:text-is('Cancel')").count() == 0
    card.get_by_text("Close", exact=True).click()
    assert page.locator("article .error").count() == 0
    page.close()
    for name, job in list(client.server.jobs.all.items()):
        if job.state == "running":
            client.server.jobs.forget(name)


def findings(tab):
    """What axe-core has to say against the page as it is, but for trifles."""
    found = os.environ.get("RUMFLOW_AXE")
    if found is None:
        pytest.skip("RUMFLOW_AXE is not set: axe-core, a package of npm, is not here")
    tab.evaluate(Path(found).read_text(encoding="utf-8"))
    violations = tab.evaluate("axe.run(document).then((found) => found.violations)")
    serious = [one for one in violations if one["impact"] in ("serious", "critical")]
    return [(one["id"], [node["target"] for node in one["nodes"]]) for one in serious]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_serious_against_the_page(scheme, width, browser, client):
    """Data with a warning, an error beside a field, an answer with pictures, one that was cancelled."""
    tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab.set_default_timeout(PATIENCE)
    tab.goto(client.server.address)
    tab.wait_for_selector("body[data-ready]")
    assert findings(tab) == []
    drop(tab, "drinks.csv", drinks())
    ask(tab, "distance")
    tab.check("input[value=chance]")
    tab.fill("#field-n_boot", "100000")
    tab.click("#question .main")
    tab.wait_for_selector("article progress")
    assert findings(tab) == []
    tab.click("article button:text-is('Cancel')")
    tab.wait_for_selector("article .error:has-text('Cancelled')")
    for question in known_questions(tab):
        tab.check(f"input[value={question}]")
        assert findings(tab) == []
    tab.check("input[value=predict]")
    tab.click("#question .main")
    tab.wait_for_selector("#fields .error:has-text('tick two items or more')")
    assert findings(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.close()


def known_questions(tab):
    """Those that can be asked of these data."""
    return tab.evaluate("[...document.querySelectorAll('#questions input:enabled')].map((one) => one.value)")


@not_on_windows
def test_a_killed_worker_is_survived(tab, client):
    drop(tab, "drinks.csv", drinks())
    tab.check("input[value=chance]")
    tab.fill("#field-n_boot", "100000")
    tab.click("#question .main")
    tab.wait_for_selector("article p:has-text('samples drawn')")
    os.kill(client.server.jobs._process.pid, signal.SIGKILL)
    tab.wait_for_selector("article .error:has-text('nothing else is lost')")
    ask(tab, "distance")
    tab.locator("article").nth(1).get_by_text("Close", exact=True).click()


def test_keyboard_only_scripts_in_labels_and_local_numbers(tab):
    evil = "<img src=x onerror=alert(1)>"
    rows = f"{evil};b,{evil}\n{evil};b;c,b\nb;c,c\n" * 1234
    tab.check("input[value=rational]")  # and stays so
    drop(tab, f"{evil}.csv", "menu,choice\n" + rows)
    assert tab.locator("img").count() == 0
    assert evil in tab.inner_text("#bars")
    assert "3.702" in tab.inner_text("#facts")  # German
    assert "100,0" in tab.inner_text("#bars")
    assert tab.evaluate("document.activeElement.id") == "read-title"
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.name") == "question":
            break
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.value") == "distance"
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Ask"
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#status:has-text('The answer is here.')")
    assert tab.evaluate("document.activeElement.tagName") == "H3"
    tab.check("input[value=predict]")
    for box in tab.locator("#fields input[type=checkbox]").all():
        box.check()
    assert tab.locator("article").first.locator("svg").count() == 2
    ask(tab, "next")
    cells = (
        "[...document.querySelector('article div').shadowRoot.querySelectorAll('td.number')].map(e => e.textContent)"
    )
    assert any("," in cell for cell in tab.evaluate(cells))
