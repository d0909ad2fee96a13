"""Public files of others, which are not part of the package: downloaded once, from an address that fixes the version.

Where the environment variable RUMFLOW_DATA names a folder that has the file, it is taken from there. The checksum is compared in
either case.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from rumflow.check import check_option
from rumflow.data.choices import ChoiceData
from rumflow.data.description import Description
from rumflow.data.labels import all_subsets
from rumflow.errors import InputError
from rumflow.output.frames import optional

_ABKK = "https://raw.githubusercontent.com/nkashaev/Replication_RULC/0eb5a6f/data/"
_SF = "https://raw.githubusercontent.com/sragain/pcmc-nips/f5579d3eb95bb964109271ebda9672f23c8d0b64/"
_RANCH = "https://github.com/mccauslw/RanCh/tree/9c93c7f2a38898ccab399b6db52c80524937ceaa"

FRAMES = ("high", "medium", "low")


class PublicFile(NamedTuple):
    """A file, below RUMFLOW_DATA or at an address; the address is empty where the public file has another format."""

    path: str
    checksum: str
    address: str = ""


FILES = {
    "high": PublicFile(
        "abkk_lotteries/menu_choice_high.csv",
        "e9a4c1b86028920f7bd1f3c2ed842b8b4aaf678618e7cfa7ac41935546bf3c45",
        f"{_ABKK}menu_choice_high.csv",
    ),
    "medium": PublicFile(
        "abkk_lotteries/menu_choice_medium.csv",
        "a4ad25095cab49c00c9e27b1019b05f7910620c71c524c6fd362f63c83f7c12b",
        f"{_ABKK}menu_choice_medium.csv",
    ),
    "low": PublicFile(
        "abkk_lotteries/menu_choice_low.csv",
        "e2bd1cc52e8ee0a0947684c80b442f9b111ccfaa2fddd7780f04ca5e02d17988",
        f"{_ABKK}menu_choice_low.csv",
    ),
    "sfwork": PublicFile(
        "sfwork_sfshop/SFwork.csv",
        "80a6e41cb8f963bd0ab4c7a1d99faec18790372a03ca162f640cfe688a7338b7",
        f"{_SF}SFwork.csv",
    ),
    "sfshop": PublicFile(
        "sfwork_sfshop/SFshop.csv",
        "86bf1a332c255a4efd210b39f4352eb7182d84d9d9328987a1a7a0db8c7a3c64",
        f"{_SF}SFshop.csv",
    ),
    "mg_2019": PublicFile(
        "ranch/MG_2019_counts.csv", "2e659d8f44441517a71cd9a1b1d97097755fe1e48c6de2bc86fe7d3dffaeebe1"
    ),
}


def find_file(file: PublicFile) -> Path:
    """The file on this machine, downloaded where it is not there yet."""
    folder = os.environ.get("RUMFLOW_DATA")
    local = Path(folder) / file.path if folder else None
    if local is not None and local.exists():
        if sha256(local.read_bytes()).hexdigest() != file.checksum:
            raise InputError(f"{local}: this is not the published file: its checksum (SHA-256) must be {file.checksum}")
        return local
    if not file.address:
        raise InputError(
            f"{file.path}: its authors publish it as an R file only ({_RANCH}); write it as a table, as {_RANCH_LAYOUT}, and "
            "set RUMFLOW_DATA to the folder that contains it"
        )
    pooch = optional("pooch", "fetch")
    name = file.path.replace("/", "-")
    try:
        return Path(pooch.retrieve(file.address, f"sha256:{file.checksum}", fname=name, path=pooch.os_cache("rumflow")))
    except (OSError, ValueError) as error:  # no connection, no such file; another checksum
        raise InputError(
            f"{file.address} could not be fetched ({str(error).splitlines()[0][:200]}); download it by hand to "
            f"{file.path} in a folder, and set RUMFLOW_DATA to that folder"
        ) from None


_RANCH_LAYOUT = "domain,block,menu_mask,menu,alternative,count"


def read_abkk(frame: str | None) -> ChoiceData:
    """Choices of lotteries, in one of the frames, or in all with the frame as group."""
    check_option(frame, "frame", (None, *FRAMES))
    table: dict[str, list[object]] = {"menu": [], "choice": [], "frame": []}
    for name in FRAMES if frame is None else (frame,):
        with open(find_file(FILES[name]), newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                table["menu"].append(int(row["x1"]))
                table["choice"].append(int(row["x2"]))
                table["frame"].append(name)
    return ChoiceData.from_frame(
        table,
        menu="menu",
        choice="choice",
        menus=all_subsets(range(1, 6)),
        outside_option=0,
        group="frame" if frame is None else False,
    )


def read_modes(name: str) -> ChoiceData:
    """Modes of transport: the number of the mode chosen, counted from 1, and a 0/1 column for each mode."""
    path = find_file(FILES[name])
    with open(path, newline="", encoding="utf-8") as file:
        choice, *modes = next(csv.reader(file))
    return ChoiceData.from_csv(path, choice=choice, available=modes, base=1)


def read_mg_2019() -> ChoiceData:
    """Counts by domain and block."""
    path = find_file(FILES["mg_2019"])
    return ChoiceData.from_csv(path, menu="menu", alternative="alternative", count="count", group=["domain", "block"])


_KOPPELMAN = (
    "Koppelman, F. S. and Bhat, C. (2006). A self instructing course in mode choice modeling: multinomial and nested logit "
    "models; as prepared by Ragain, S. and Ugander, J. (2016). Pairwise choice Markov chains. NIPS 29."
)

SETS: dict[str, tuple[Callable[[], ChoiceData], Description]] = {
    "abkk": (
        lambda: read_abkk(None),
        Description(
            "abkk",
            "Lotteries from every menu, in three frames of attention",
            "Choices from all 31 menus of five lotteries with a default (0) that is always on offer, 4,099 in each of three "
            "frames (cost of attention high, medium, low), which are groups.",
            "Aguiar, V. H., Boccardi, M. J., Kashaev, N. and Kim, J. (2023). Random utility and limited consideration. "
            "Quantitative Economics 14, 71-116.",
            "MIT",
            _ABKK,
        ),
    ),
    "sfwork": (
        lambda: read_modes("sfwork"),
        Description(
            "sfwork",
            "How people in San Francisco go to work",
            "5,029 choices among six modes of transport, from twelve menus of those that a person had. Who has which modes is "
            "not random: a rejection may come from that.",
            _KOPPELMAN,
            "MIT",
            f"{_SF}SFwork.csv",
        ),
    ),
    "sfshop": (
        lambda: read_modes("sfshop"),
        Description(
            "sfshop",
            "How people in San Francisco go shopping",
            "3,157 choices among eight modes of transport, from ten menus of those that a person had. Who has which modes is not "
            "random: a rejection may come from that.",
            _KOPPELMAN,
            "MIT",
            f"{_SF}SFshop.csv",
        ),
    ),
    "mg_2019": (
        read_mg_2019,
        Description(
            "mg_2019",
            "Every menu of four objects, in sixteen domains",
            "160 choices from each of the eleven menus of four objects, in sixteen domains (drinks, phones, ...) and two blocks "
            "of each, which are groups.",
            "McCausland, W. J. and Gerringer (2019), as published in the R package RanCh.",
            "MIT",
            _RANCH,
        ),
    ),
}
