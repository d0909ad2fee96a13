import pytest

from rumflow.app.describe import describe, explain_fault, page_words
from rumflow.data.calls import Reading


def described(tmp_path, text, **options):
    path = tmp_path / "0.csv"
    path.write_text(text, encoding="utf-8")
    return describe(Reading(str(path), "mine.csv", options), Reading.load)


def test_a_panel_is_warned_of_beside_the_people(tmp_path):
    rows = "".join(f"{k % 5},a|b,{'ab'[k % 2]}\n{k % 5},a|b|c,{'abc'[k % 3]}\n" for k in range(30))
    found = described(tmp_path, "person,menu,choice\n" + rows)
    assert found["understood"]["source"] == "mine.csv"
    about = {one["about"]: one["text"] for one in found["cautions"]}
    assert "5 subjects made 60 choices" in about["subject"]
    assert about["subject"].endswith(
        "To take choices as independent, say “People who chose several times”: count as one choice after the other "
        "(in “Could it be chance?”)."
    )
    assert found["facts"]["subjects"] == 5
    shares = found["menus"][0]["shares"]
    assert sum(share for _, share in shares) == pytest.approx(1)


def test_no_words_of_programmers(tmp_path):
    rows = "".join(f"{'xyz'[k % 3]},a|b,{'ab'[k % 2]}\n{'xyz'[k % 3]},a|b|c,{'abc'[k % 3]}\n" for k in range(30))
    found = described(tmp_path, "group,menu,choice\n" + rows, group="group")
    said = [*found["understood"]["notes"], *(one["text"] for one in found["cautions"])]
    assert found["facts"]["groups"] == 3
    assert "3 groups" not in said  # nothing twice
    assert not any(word in text for text in said for word in ("--", "()", "="))


def test_tiny_menus_one_menu_and_unused_columns(tmp_path):
    found = described(tmp_path, "menu,choice,price\na|b,a,3\na|b,b,4\n")
    texts = {
        about: " ".join(one["text"] for one in found["cautions"] if one["about"] == about)
        for about in ("menus", "columns")
    }
    assert "only one menu" in texts["menus"]
    assert "fewer than 5 choices" in texts["menus"]
    assert "Not used: price" in texts["columns"]
    assert found["rows"] == [["a|b", "a", "3"], ["a|b", "b", "4"]]


def test_an_error_stands_beside_its_field(tmp_path):
    found = described(tmp_path, "menu,choice,pick\na|b,a,b\na|c,c,a\n")
    assert found["field"] == "choice"
    assert found["columns"] == ["menu", "choice", "pick"]
    assert "--choice" not in found["error"]
    assert described(tmp_path, "player1,player2,result\na,b,1\na,c,0.5\n")["field"] == "ties"
    assert explain_fault("nothing of ours", ["choice"])["field"] == ""
    assert explain_fault("menu: tick two", ["menu"]) == {"error": "tick two", "field": "menu", "named": ["menu"]}
    wide = described(tmp_path, "week,tea,milk\n1,3,4\n2,,5\n")
    assert (wide["field"], wide["named"]) == ("count", ["menu", "count"])
    assert "choose “several columns …” here and tick them" in wide["error"]


def test_buying_nothing_that_some_menus_lacked(tmp_path):
    text = "menu,choice,Age group\n" + "a;b;none,a,old\na;b,b,young\na;c;none,none,old\n" * 4
    found = described(tmp_path, text, outside_option="none")
    about = {one["about"]: one["text"] for one in found["cautions"]}
    assert (
        about["outside_option"]
        == "'none' was not on 1 of 3 menus and has been put there by “Buying nothing”. Is that right?"
    )
    assert "“Group”: 'Age group' keeps the groups apart" in about["group"]
    assert (found["outside"], found["starts"]) == (0, {"confidence": 0.95})


def test_a_wrong_column_stands_beside_its_field(tmp_path):
    text = "shown,product,price\n" + "a;b,a,1.99\na;b;c,b,2.5\nb;c,c,1.99\n" * 3
    wrong = described(tmp_path, text, menu="shown", choice="price")
    assert wrong["field"] == "choice"
    assert "'price', with '1.99', '2.5', has no label of the menus" in wrong["error"]
    assert "Buying nothing" not in wrong["error"]
    assert described(tmp_path, text, menu="price", choice="product")["field"] == "menu"


def test_the_file_is_called_as_people_call_it(tmp_path):
    for text in ("", "x,y\n1,2\n", "menu,choice\n"):
        fault = described(tmp_path, text)["error"]
        assert "mine.csv" in fault
        assert str(tmp_path) not in fault


def test_words():
    assert page_words("say count='n' (--count) or clean=True") == "say “Count”: 'n' or “Sloppy spelling”: yes"
    assert page_words("n_boot=2.5: no") == "“Simulated samples”: 2.5: no"
    assert (
        page_words("say cluster=True")
        == "say “People who chose several times”: are drawn whole where they are known (in “Could it be chance?”)"
    )
    assert page_words("few from {tea, milk}: 3") == "few from tea, milk: 3"
    assert page_words("weights='counts'") == "“Menus count”: by their number of choices"


def test_labels_are_shown_as_they_are_and_control_characters_are_not(tmp_path):
    found = described(tmp_path, "menu,choice\n<b>x</b>|y\x1b[2J,y\x1b[2J\n")
    assert "<b>x</b>" in found["items"]
    assert not any("\x1b" in label for label in found["items"])


def test_orders(tmp_path):
    path = tmp_path / "0.soc"
    path.write_text(
        "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n3: 1,2,3\n2: 3,2,1\n",
        encoding="utf-8",
    )
    found = describe(Reading(str(path), "votes.soc", {}), Reading.load)
    assert found["columns"] == []
    assert found["items"] == ["a", "b", "c"]
