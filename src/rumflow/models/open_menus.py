"""The graph of open menus: random utility at the cost of what was observed.

Read a ranking from its best item down. All that matters is which observed menus are still *open*: item x decides every open
menu that contains x. So

    nodes   the sets U of open menus that can occur, from all of them to none
    arcs    (U, x) to U minus menus(x), for items x of an open menu; it fills the cells (D, x), D in U and in menus(x)

*Known preferences.* Where everybody prefers a to b, b may be taken only when no open menu contains a.

*Groups.* Where the open menus fall apart into groups without a common item (and without a known preference between their
items), the order between groups decides nothing: the group of the first open menu goes first.

A set of menus is a row of 64-bit words. Nodes are found by hashing and expanded in the order of how many menus are open, most
first: an arc leads to fewer open menus, so this order is that of the graph. The result is a graph of rows
(`rumflow.core.graph`): the base of a node is where its arc with the fewest cells leads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Ints, Mask
from rumflow.core.compile import clock, kernel, leaf, popcount
from rumflow.core.graph import NO_INDEX, Graph, GraphTooLargeError, Index
from rumflow.core.graph_cells import Cells
from rumflow.core.memory import available_memory
from rumflow.core.patience import check_interrupt
from rumflow.core.patience import deadline as call_deadline
from rumflow.core.preferences import Preferences

_WORDS_A_CALL = 1 << 25  # looked at between two checks of limits and clock, some tenths of a second
_BYTES_A_SECOND = 1e9  # memory that a graph fills at best, on pages that nobody has used
MOST_NODES = 5_000_000
MOST_WORDS = 2e10  # looked at while a graph is built, some minutes
# From so many nodes, or bytes, on a graph is given up where less than this share of the nodes have their arcs: graphs of random
# menus that ended below the limit had 0.2 and more at this point (22 to 24 items, 50 to 60 menus of 2 to 4), those far above it
# 0.07 to 0.13.
_JUDGED, _JUDGED_BYTES, _HOPELESS = 500_000, 1e9, 0.14
_MOST_ARCS = 2**31 - 2**24  # arcs are numbered by 32-bit integers

Words = NDArray[np.uint64]


class MenuWords(NamedTuple):
    """The observed menus as the kernel sees them: rows of words, one bit per menu."""

    having: Words  # (n, W): the menus that contain item x
    blocking: (
        Words  # (n, W): the menus that contain an item everybody prefers to x; (0, W) where no preferences are known
    )
    near: Words  # (n, W): the menus that contain x or an item of which everybody prefers one to the other
    first: Ints  # (m + 1,): the items of menu j are items[first[j] .. first[j + 1] - 1]
    items: Index


class Growing(NamedTuple):
    """Nodes and arcs found so far; each array is replaced by a longer one when it is full."""

    used: Ints  # (5,): nodes, arcs, menus added, nodes expanded, open menus of the nodes that are being expanded
    words: Words  # (nodes, W)
    link: Index  # (nodes,): the next node with as many open menus
    top: Index  # (m + 1,): the first node with that many open menus, -1 for none
    table: Index  # hash table of nodes, -1 where free
    order: Index  # (nodes,): nodes in the order in which they were expanded
    head: Index  # (nodes, n): where each arc leads, -1 for none
    base: Index  # (nodes,)
    added_first: Ints  # (nodes + 1,)
    added: Index


@leaf
def hash_words(key):
    """A number for a set of menus."""
    value = np.uint64(1)
    for w in range(key.shape[0]):
        value = (value ^ key[w]) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(32)
    return value


@leaf
def same_words(a, b):
    """Are two sets of menus equal?"""
    different = np.uint64(0)
    for w in range(a.shape[0]):
        different |= a[w] ^ b[w]
    return different == np.uint64(0)


@leaf
def find(g, key, at):
    """Where the set `key` is, or would go, in the hash table; it is sought from `at` on."""
    last = g.table.shape[0] - 1
    while g.table[at] >= 0 and not same_words(g.words[g.table[at]], key):
        at = (at + 1) & last
    return at


@leaf
def count_menus(key):
    """How many menus are in a set."""
    bits = np.uint64(0)
    for w in range(key.shape[0]):
        bits += popcount(key[w])
    return np.int64(bits)


@leaf
def number_node(g, key, at):
    """The number of a node, new or old; it is sought from place `at` of the hash table on."""
    at = find(g, key, at)
    if g.table[at] < 0:
        i = g.used[0]
        g.table[at] = i
        for w in range(key.shape[0]):
            g.words[i, w] = key[w]
        size = count_menus(key)
        g.link[i] = g.top[size]
        g.top[size] = i
        g.used[0] = i + 1
    return g.table[at]


@leaf
def first_menu(key):
    """The lowest menu of a set that is not empty."""
    w = 0
    while key[w] == np.uint64(0):
        w += 1
    return 64 * w + np.int64(popcount((key[w] & (~key[w] + np.uint64(1))) - np.uint64(1)))


@leaf
def first_group(menus, here, group, rest, seen):
    """The open menus of the group of the first one. `rest`, and `seen` by item: scratch."""
    words = here.shape[0]
    first = first_menu(here)
    for w in range(words):
        group[w] = np.uint64(0)
        rest[w] = np.uint64(0)
    for x in range(seen.shape[0]):
        seen[x] = False
    group[first >> 6] = rest[first >> 6] = np.uint64(1) << np.uint64(first & 63)
    while True:
        # `rest` are the menus of the group whose items have not been followed.
        some = missing = np.uint64(0)
        for w in range(words):
            some |= rest[w]
            missing |= here[w] ^ group[w]
        if some == np.uint64(0) or missing == np.uint64(0):
            return
        menu = first_menu(rest)
        rest[menu >> 6] ^= np.uint64(1) << np.uint64(menu & 63)
        for i in range(menus.first[menu], menus.first[menu + 1]):
            x = menus.items[i]
            if not seen[x]:
                seen[x] = True
                for w in range(words):
                    new = menus.near[x, w] & here[w] & ~group[w]
                    group[w] |= new
                    rest[w] |= new


@leaf
def list_arcs(menus, here, group, items, keys):
    """The items that may be taken where the menus `here` are open, and the menus they leave open; how many."""
    n, words = menus.having.shape
    known = menus.blocking.shape[0] > 0
    count = 0
    for x in range(n):
        some = blocked = np.uint64(0)
        for w in range(words):
            some |= group[w] & menus.having[x, w]
            keys[count, w] = here[w] & ~menus.having[x, w]
        if known:
            for w in range(words):
                blocked |= here[w] & menus.blocking[x, w]
        if some != np.uint64(0) and blocked == np.uint64(0):
            items[count] = x
            count += 1
    return count


@kernel
def expand(menus, g, most_nodes):
    """Expand nodes until `most_nodes` more have their arcs or an array may be full; True when all is done."""
    n, words = menus.having.shape
    m = menus.first.shape[0] - 1
    group, rest = np.empty(words, np.uint64), np.empty(words, np.uint64)
    seen = np.empty(n, np.bool_)
    keys = np.empty((n + 1, words), np.uint64)
    items, place, found = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    last = np.uint64(g.table.shape[0] - 1)
    end = g.used[3] + most_nodes
    while g.used[3] < end:
        if g.used[0] + n > g.link.shape[0] or g.used[3] >= g.head.shape[0] or g.used[2] + m > g.added.shape[0]:
            return False
        while g.top[g.used[4]] < 0:
            g.used[4] -= 1
        size = g.used[4]
        node = g.top[size]
        g.top[size] = g.link[node]
        here = g.words[node]
        at = g.used[3]
        g.order[at] = node
        g.used[3] = at + 1
        if size == 0:
            g.base[at] = node
            g.added_first[at + 1] = g.used[2]
            return True
        first_group(menus, here, group, rest, seen)
        count = list_arcs(menus, here, group, items, keys)
        # Three loops, so that the look-ups of many arcs wait for memory together.
        for t in range(count):
            place[t] = np.int64(hash_words(keys[t]) & last)
        for t in range(count):
            found[t] = g.table[place[t]]
        for t in range(count):
            if found[t] < 0 or not same_words(g.words[found[t]], keys[t]):
                found[t] = -1
        row = g.head[at]
        for x in range(n):
            row[x] = -1
        best = np.int64(-1)
        for t in range(count):
            row[items[t]] = found[t] if found[t] >= 0 else number_node(g, keys[t], place[t])
            left = count_menus(keys[t])
            if left > best:
                best = left
                g.base[at] = row[items[t]]
        other = g.words[g.base[at]]
        for w in range(words):
            new = here[w] ^ other[w]
            while new:
                low = new & (~new + np.uint64(1))
                g.added[g.used[2]] = 64 * w + np.int64(popcount(low - np.uint64(1)))
                g.used[2] += 1
                new ^= low
        g.added_first[at + 1] = g.used[2]
        g.used[1] += count
    return False


@kernel
def hash_again(g):
    """Fill a longer hash table."""
    g.table[:] = -1
    last = np.uint64(g.table.shape[0] - 1)
    for i in range(g.used[0]):
        g.table[find(g, g.words[i], np.int64(hash_words(g.words[i]) & last))] = i


@kernel
def renumber(head, rank):
    """Arcs by the final numbers of nodes, in place; the arcs that are not there lead beyond the sink."""
    for i in range(head.shape[0]):
        for x in range(head.shape[1]):
            head[i, x] = rank[head[i, x]] if head[i, x] >= 0 else rank.shape[0]


class Limit(NamedTuple):
    """What a graph may take while it is built."""

    nodes: int = MOST_NODES
    bytes: float | None = None  # None: half of the memory that is free
    deadline: float | None = None  # on the clock of `rumflow.core.compile.clock`

    @property
    def most_bytes(self) -> float:
        """Memory that may be taken."""
        return self.bytes if self.bytes is not None else 0.5 * (available_memory() or 2**34)

    def late(self, more: float = 0.0) -> bool:
        """Is the time over, or will it be after so many seconds more?"""
        return clock() + more > (call_deadline() if self.deadline is None else min(self.deadline, call_deadline()))


DEFAULT_LIMIT = Limit()


def as_words(rows: Mask) -> Words:
    """Rows of truth values as rows of 64-bit words."""
    k, count = rows.shape
    padded = np.zeros((k, 64 * max(1, -(-count // 64))), np.bool_)
    padded[:, :count] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _menu_words(cells: Cells, items: Ints, known: Preferences) -> MenuWords:
    """The menus for the kernel; `items`: those that are offered, `known`: who is preferred among them."""
    place = np.empty(cells.n_items, np.int32)
    place[items] = np.arange(len(items), dtype=np.int32)
    own = place[cells.offered.item]
    having = np.zeros((len(items), max(1, -(-len(cells) // 64))), np.uint64)
    menu = cells.offered.menu.astype(np.uint64)
    np.bitwise_or.at(having, (own, menu >> np.uint64(6)), np.uint64(1) << (menu & np.uint64(63)))
    blocking, near = having[:0], having
    if known.over.any():
        blocking, near = np.zeros_like(having), having.copy()
        for i, x in enumerate(known.named):
            better, worse = known.named[known.over[:, i]], known.named[known.over[i]]
            blocking[x] = np.bitwise_or.reduce(having[better], axis=0)
            near[x] |= blocking[x] | np.bitwise_or.reduce(having[worse], axis=0)
    return MenuWords(having, blocking, near, cells.offered.start, own)


def build(cells: Cells, known: Preferences, limit: Limit = DEFAULT_LIMIT) -> Graph:
    """The graph of open menus for the observed cells, and what is known of the types.

    Counts while it builds, and stops with a `GraphTooLargeError` at the limit.
    """
    items: Ints = np.unique(cells.offered.item).astype(np.int64)  # the others have no arcs
    m, n, words = len(cells), len(items), -(-len(cells) // 64)
    most_bytes, begin = limit.most_bytes, clock()

    def refuse(what: str, nodes: int, arcs: int, taken: float, done: int, late: bool = False) -> GraphTooLargeError:
        return GraphTooLargeError(
            f"the graph of {m:,} menus over {n:,} items is larger than {what}: {nodes:,} nodes and {arcs:,} arcs "
            f"after {clock() - begin:.1f} s, {done:,} of the nodes expanded",
            nodes,
            arcs,
            int(taken),
            done,
            late or limit.late(),
        )

    # Where no preferences are known every menu has a node of its own: that at which it holds all items of the first group.
    nodes = 1 if len(known.named) else m
    least = nodes * (8.0 * words + 12 * n) + 13.0 * m * n  # nodes, arcs and their prices; tables over menus and items
    if nodes > limit.nodes or least > most_bytes:
        what = f"{limit.nodes:,} nodes" if nodes > limit.nodes else f"{most_bytes / 2**20:,.0f} MiB"
        raise refuse(what, nodes, 0, least, 0)
    if limit.late(least / _BYTES_A_SECOND):
        raise refuse("can be built in the time that is left of max_seconds", nodes, 0, least, 0, late=True)
    menus = _menu_words(cells, items, known.cut(items))
    g = _start(menus, m)
    step = max(1, min(limit.nodes, _WORDS_A_CALL // ((8 + words) * n)))
    while not expand(menus, g, step):
        check_interrupt()
        nodes, arcs, _, done, _ = map(int, g.used)
        taken = sum(array.nbytes for array in g) + 8.0 * n * nodes
        hopeless = (nodes > _JUDGED or taken > _JUDGED_BYTES) and done < _HOPELESS * nodes
        reached = [
            (hopeless and nodes <= limit.nodes, f"{limit.nodes:,} nodes, as far as can be seen"),
            (nodes > limit.nodes, f"{limit.nodes:,} nodes"),
            (taken > most_bytes, f"{most_bytes / 2**20:,.0f} MiB"),
            (nodes * n > _MOST_ARCS, f"{_MOST_ARCS:,} arcs"),
            (float(done) * n * words > MOST_WORDS, "is worth the time"),
            (limit.late(), "can be built in the time that is left of max_seconds"),
        ]
        for over, what in reached:
            if over:
                raise refuse(what, nodes, arcs, taken, done)
        g = _grow(g, m, n)
    column = np.full((m, n), -1, np.int32)
    column[cells.offered.menu, menus.items] = cells.place
    return _finish(g, cells.shape, column)


def _start(menus: MenuWords, m: int) -> Growing:
    n, words = menus.having.shape
    size = 1 << 10
    g = Growing(
        used=np.array([0, 0, 0, 0, m], np.int64),
        words=np.empty((size, words), np.uint64),
        link=np.empty(size, np.int32),
        top=np.full(m + 1, -1, np.int32),
        table=np.full(2 * size, -1, np.int32),
        order=np.empty(size, np.int32),
        head=np.empty((size, n), np.int32),
        base=np.empty(size, np.int32),
        added_first=np.zeros(size + 1, np.int64),
        added=np.empty(size, np.int32),
    )
    number_node(g, as_words(np.ones((1, m), np.bool_))[0], 0)
    return g


def _grow(g: Growing, m: int, n: int) -> Growing:
    """Longer arrays where the next node might not fit."""
    nodes, _, added, done, _ = (int(count) for count in g.used)
    new: dict[str, NDArray[Any]] = {}
    if nodes + n > len(g.link):
        new["words"], new["link"] = (_longer(array, 2 * (nodes + n)) for array in (g.words, g.link))
        new["table"] = np.empty(1 << (4 * (nodes + n)).bit_length(), np.int32)
    if done >= len(g.head):
        for name in ("order", "head", "base", "added_first"):
            new[name] = _longer(getattr(g, name), 2 * done + (name == "added_first"))
    if added + m > len(g.added):
        new["added"] = _longer(g.added, 2 * (added + m))
    g = g._replace(**new)
    if "table" in new:
        hash_again(g)
    return g


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    new = np.empty((length, *array.shape[1:]), array.dtype)
    new[: len(array)] = array
    return new


def _finish(g: Growing, shape: tuple[int, int], column: Index) -> Graph:
    """Renumber the nodes in the order in which they were expanded."""
    nodes, arcs, added, _, _ = map(int, g.used)
    n = column.shape[1]
    rank = np.empty(nodes, np.int32)
    rank[g.order[:nodes]] = np.arange(nodes, dtype=np.int32)
    head = g.head[: nodes - 1].copy()
    renumber(head, rank)
    first = n * np.arange(nodes + 1)
    first[-1] = first[-2]
    return Graph(
        shape=shape,
        n_arcs=arcs,
        first=first,
        head=head.reshape(-1),
        label=NO_INDEX,
        parent=NO_INDEX,
        cell=NO_INDEX,
        base=rank[g.base[:nodes]],
        added_first=g.added_first[: nodes + 1].copy(),
        added=g.added[:added].copy(),
        column=column,
    )
