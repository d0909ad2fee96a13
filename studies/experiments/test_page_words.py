"""The words of docs/test.md and docs/results/test_rules.md, with places for the numbers and tables of `experiments.test_page`."""

PAGE = """# How far the test and the intervals can be trusted

Over {designs} kinds of simulated data the test rejects a true model in {mean} % of data sets on average, at the 5 % level. The
highest rate that was measured is {worst} % ({worst_count} data sets). {over} kinds are above the 5 % that are allowed, nearly all
of them populations of few rankings. For you this means: where the population may consist of a few rankings, read a p-value just
below 0.05 with care. How often a rejection is right depends on more than this: on how false a model would be, and on the
sample ([below](#does-it-find-false-models)).

This page is made by `python -m experiments.test_page` from the [raw results](results/README.md). What the test does is told in
[method](method.md#the-test); words are explained in the [glossary](glossary.md#inference).

A test at the 5 % level should reject a *true* model (choices that do come from a random utility model) in at most 5 % of data
sets. It should reject a *false* one as often as it can. No formula says whether it does, so it was tried on simulated data. A
*design* is one kind of data. It fixes five things, which are columns of the tables below:

* the number of *items*, 3 to 6;
* the *choices* from a menu: 5, 20, 50 or 200. By subject everybody makes three choices, so the numbers there are the next
  multiples of three: 6, 21, 51 and 201;
* how unequal the *samples* are: *equal*; *third*, *fifth* or *half* of the menus are tiny (see the first table); or *subjects*;
* whether *all* *menus* were offered, or *half* of them;
* the *truth*, who chooses. True models: *interior* (500 rankings), *facet* (every ranking that avoids one step), *6*, *3* or
  *2* rankings, *opposite* (a ranking and its reverse), and *one* ranking. Few rankings are the hard cases: the population is
  then on the boundary of the model, on many facets at once. (With one ranking nothing varies, and nothing is rejected.)
  False models: *noise* (6 rankings, and a fifth of the choices by a rule of each menu) and *irrational* (three choices in ten
  by a chooser who decides menu by menu).

## Does it reject true models?

Over {designs} designs the default rejects a true model in {mean} % of data sets on average, without those of one ranking in
{varied} %. The worst design has {worst} % ({worst_case}). Designs above 7.5 %: {above}. With a fifth or half of the menus tiny
the worst is {tiny} %. Mean / worst, in per cent, by the samples:

{sizes}

by the truth:

{truths}

and by the choices from a menu:

{choices}

The rules of the test were chosen by looking at designs of this kind ([how](results/test_rules.md)). Data that are very different
may be rejected more often. Tightening and its rate have a theory (Kitamura and Stoye 2018). Samples from the fit, and thinning,
have none that is published: what speaks for them are these measurements.

How these rates were measured:

* *Screen*: a quick and rough measurement of every design. It takes 400 data sets with one replicate each, and all replicates of
  a design together stand for the bootstrap of each data set (Giacomini, Politis and White 2013).
* *Screen again*: the same with 2,000 or 4,000 fresh data sets, for some designs.
* *Bootstrap*: what `rum_test` does, 99 replicates for each of 1,000 to 4,000 fresh data sets. {n_again} designs had one, all
  that the screens had above 7 % among them; {n_screen} have a screen only.
* *Bootstrap again*: the same on 4,000 or 10,000 other data sets. The hardest {n_last} had a second bootstrap. Nobody looked at
  these data sets before the rules for tau and thinning stood.

The tables of this page use the most reliable rate there is: the second bootstrap, else the first, else a screen. The standard
error of a bootstrap is 0.25 points with 10,000 data sets, 0.4 with 4,000, 0.8 with 1,000.

The screen errs both ways: of the designs with a bootstrap it has {too_high} more than two points too high and {too_low} more than
two points too low, most of them a ranking and its reverse. Therefore all designs of that population with three and four items had
a bootstrap, except those by subject. At worst it was {far_below} points too low, so among the designs that had no bootstrap
some may reject more than the screen says. These designs are above 7.5 % by some method (in per cent):

{doubtful}

## Other statistics, draws and tau

How often other tests reject true models (mean, worst, and designs above 7.5 %) and false ones, in per cent. Not every test was
tried on every design, so compare the last column with the figure in brackets: the default on the same false models.

{procedures}

* Recentred draws of the observed choices are wrong where menus are tiny: such a menu has hardly any noise in the replicates.
* Unit weights let the smallest menus speak as loudly as the largest: fewer false models are found.
* The likelihood ratio has no tightening: it finds more of some false models, and rejects true ones on the boundary of the model
  more often than it should. Trust `rum_test` for a p-value where the two differ.
* Pearson's statistic gives most weight to cells that are hardly ever chosen; few true models are rejected.

## Does it find false models?

That depends on how false they are and on the sample. A comparison says more than a rate: the test of version 0.1 has other
draws and weights, like those of published tests. It may be used only where it rejects true models seldom enough; there the new
default should find no fewer false ones.

{power}

{lost}

## Intervals

A 90 % interval should hold the truth in at least 90 % of data sets. Over {intervals} cases it does so in {least} to {most} %.
Populations inside the model are covered nearly always, because their sharp bounds are wide already.

Two thirds of the menus are offered, and the quantity is on a menu that was not: the probability of a *cell*, the *difference*
of two, or a *revenue* with prices 1, 2, 3, ... The table has the per cent of data sets in which the interval holds the truth,
on average over five populations of each kind (in brackets: the least of the five), and the mean width of an interval. A case
has 400 data sets, or 2,000 where the first 400 gave less than 89.25 %. The width is the mean of two intervals of each
population; a data set that leaves no value has no width.

{coverage}

Intervals use twice the tau that the test has where menus are alike (the mean of `a m^(-1/5)`), and no thinning. With once that
tau some populations of 6 and 3 rankings were covered too seldom.

## Tests that hold wherever the truth is

Two tests that theory calls uniformly valid, and one that imitates such a test, on {n_uniform} of the designs, all menus offered:

* *Linear programme*: the test of Fang, Santos, Shaikh and Torgovitsky (2023). It lists all rankings, which ends at six or seven
  items.
* *Every inequality binds*: least favourable critical values in the manner of Perlman (1969), Wolak (1991) and Andrews and
  Guggenberger (2009), the distance to the cone as if the truth were its apex.
* *Worst null point*: the largest 95 % quantile of the distance over 30 null points with the data's own sample sizes. (The largest
  over all null points would be valid; 30 of them need not be.)

All rates here are those of the rough screen, on the same data sets for all tests. Per cent rejected:

{verdict}

{rough}

None of the three finds more false models on average than the default, so none is offered; `experiments/uniform.py` has them, and
[the rates of each design](results/test_rules.md#tests-that-hold-wherever-the-truth-is) are stored.
"""

RULES_PAGE = """# How the rules of the test were chosen

For developers. [How far the test can be trusted](../test.md) explains the designs, the methods and the words; this page is made
with it.

## Size, power and tau

**Where the excess comes from.** What remains above 5 % comes from facets: the centre of the replicates is not on every facet
that the population is on. This was shown with an *oracle*, who knows the truth. Replicates can get from it the facets of the
truth (they are drawn around the tightened truth), the noise of the truth (the deviations of samples from the truth), or both.
Per cent rejected, with a bootstrap of 99 replicates for each of 4,000 data sets (`python -m experiments.oracles`):

{oracles}

All columns have the same data sets, so compare the columns. The default is computed as for that page, but on other data
sets. Its rates differ from those there by sampling error (0.4 points here); trust those there, which rest on as many data sets
or more.

With the facets of the truth the test keeps its level, whatever the noise. So the noise of small menus is no part of the excess.
The default was chosen on data sets like these; on others it rejects {first} % in the first of these designs.

**Tau** is a trade between size and power. With equal menus it is the mean over them of `a m^(-1/5)`. Here m is the number of
choices from a menu, and `a = 3.2 / s^2`, but at least 0.4 and at most 0.525, with s the mean number of items of a menu. Other
upper limits were tried for three items. Larger ones find fewer false models than version 0.1 in some design, smaller ones reject
a ranking and its reverse more often.

**Unequal menus.** One way is to put one mean of the menus' sizes in the place of m. The way that was taken makes tau smaller,
by 1 - u/2 with u the inequality of the menus, and lets types leave the centre that the sample cannot tell from none
([thinning](../method.md#tau-and-thinning)). Per cent rejected, all rules on the same data sets. The true models are a ranking and
its reverse with four items, by bootstrap. The false ones have three to five items and a third or half of the menus tiny, by the
screen:

{rules}

Without thinning no mean brings the worst of these below 7.5 %, and the harmonic mean costs most power.

**What was tried.** Four upper limits for a (0.6, 0.55, 0.525, 0.5), three constants in place of 3.2 (3, 3.1, 3.2), these means,
the mean of `m^(-1/2)`, and the smallest menu. The rule was chosen by looking at the hardest of these very designs. So what is
close to a limit here may be beyond it on new designs.

Thinning was chosen in the same way, on some of the hardest designs with unequal menus. For the distance that types may move the
centre, values from 0.1 u to 1 u were tried beside 0.6 u; for tau, the factors 1 and 1 - u/3 beside 1 - u/2. Other ideas were
tried on the worst design and a few others, and gave less: to move the centre against the mean of its own bootstrap fits, which
corrects its bias; the same with the noise of small menus alone; replicates around many centres.

Thinning is not used with equal menus: it would cost power in designs where the default has none to lose. It is not used with
other weights: with unit weights true models were rejected more often with it than without. By subject it was not measured:
there all menus of a design have equally many subjects. No results of these trials were kept, so no figures are given.

## Tests that hold wherever the truth is

Rejected by the screen, in per cent, mean / largest:

{uniform}
"""
