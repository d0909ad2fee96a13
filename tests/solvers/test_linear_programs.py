"""Linear programmes are counted while they run."""

import rumflow as rf


def test_linear_programmes_are_counted(capsys):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("b", "c"): {"b": 6, "c": 4}})
    rf.bounds(data, ("a", "b", "c"), confidence=None, progress=True)
    assert "\rrumflow: 6 of 6 linear programmes, 0 s to go   \n" in capsys.readouterr().err  # both ends of three shares
