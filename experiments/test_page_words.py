"""The words of the page docs/test.md, with places for the numbers and tables of `experiments.test_page`."""

PAGE = """# How far the test and the intervals can be trusted

This page is made by `python -m experiments.test_page` from the [raw results](results/README.md). What the test does is told in
[method](method.md#the-test).

A test at the 5 % level should reject a *true* model (choices that do come from a random utility model) in 5 % of data sets at
most, whatever the model, and a *false* one as often as it can. No formula says whether it does: it was tried on simulated data. A
*design* fixes the number of items, the choices from a menu (5, 20, 50 or 200), how unequal the samples are, whether all menus
were offered or half of them, and the population. True populations are *interior* (500 rankings), *facet* (every ranking that
avoids one step), *6*, *3* or *2* rankings, *opposite* (a ranking and its reverse), and *one*. Few rankings are the hard cases:
the population is then at the edge of the model. False ones are *noise* (6 rankings, and a fifth of the choices by a rule of each
menu) and *irrational* (three choices in ten by a chooser who decides menu by menu).

## Does it reject true models?

Over {designs} designs the default rejects a true model in {mean} % of data sets on average. The worst design has {worst} %
({worst_case}). Designs above 7.5 %: {above}. With a fifth or half of the menus tiny the worst is {tiny} %. Mean / worst,
in per cent:

{sizes}

Every design was screened with 400 data sets and one replicate each, all replicates of a design together being its null
distribution. That is rough, so {n_again} designs, all above 7 % among them, were run again with a bootstrap of 99 replicates
for each of 1,000 to 4,000 fresh data sets, which is what `rum_test` does; some others were screened again with 2,000 or 4,000.
The hardest {n_last} had a second bootstrap ("bootstrap again"), on 4,000 or 10,000 data sets that were not looked at before the
rules for tau and thinning stood. The tables of this page use the most reliable rate there is, the second bootstrap before the
first; its standard error is 0.25 points with 10,000 data sets, 0.4 with 4,000, 0.8 with 1,000.

The screen errs both ways: of the designs with a bootstrap it has {too_high} more than two points too high and {too_low} more than
two points too low, most of them a ranking and its reverse. All designs of that population with three and four items (but not by
subject) had a bootstrap, therefore; among the others some may reject a little more than the screen says. Those above 7.5 % by
some method:

{doubtful}

What remains above 5 % comes from facets: the centre of the replicates is not on every facet that the population is on. An oracle
who knows the truth can give replicates its facets (they are drawn around the tightened truth), its noise (the deviations of
samples from the truth), or both; per cent rejected, of 4,000 data sets each (`python -m experiments.oracles`):

{oracles}

With the facets of the truth the test keeps its level, whatever the noise; the noise of small menus is no part of the excess.
The default was chosen on such data sets; on others it rejects {first} % in the first of these designs.

## Other statistics, draws and tau

Per cent of true models rejected over the designs tried, and of false ones. Designs differ from line to line; the figure in
brackets is the default on the same false models.

{procedures}

* Recentred draws of the observed choices are wrong where menus are tiny: such a menu has hardly any noise in the replicates.
* Unit weights let the smallest menus speak as loudly as the largest: fewer false models are found.
* The likelihood ratio has no tightening: it finds more of some false models, and rejects true ones at the edge of the model more
  often than it should. Trust `rum_test` for a p-value where the two differ.
* Pearson's statistic gives most weight to cells that are hardly ever chosen; few true models are rejected.

## Does it find false models?

{power}

{lost}

Tau is a trade. With equal menus it is the mean over them of `a m^(-1/5)`, m being a menu's choices and `a = 3.2 / s^2` between
0.4 and 0.525, s the mean number of items of a menu. Tried beside it for three items, with a bootstrap of each of 4,000 data sets:
up to 0.6, the default finds 3.3 points less than version 0.1 with 200 choices (noise); up to 0.5, a ranking and its reverse are
rejected in 7.5 % of data sets (20 choices, a third of the menus with 2 to 8, half of the menus, tau from their mean size).

Where menus are unequal, one mean of their sizes might stand for all; or tau is made smaller, by 1 - u/2 with u the inequality of
the menus, and types that the sample cannot tell from none leave the centre ([thinning](method.md#the-test)). Per cent rejected on
the same data sets (true models: a ranking and its reverse, four items, by bootstrap; false ones: three to five items, a third or
half of the menus tiny, by the screen):

{rules}

Without thinning no mean brings the worst of these below 7.5 %, and the harmonic one costs most power. Four upper limits (0.6,
0.55, 0.525, 0.5), three constants (3, 3.1, 3.2), these means, the mean of `m^(-1/2)` and the smallest menu were tried, and the
rule was chosen by looking at the hardest of these very designs: what is close to a limit here may be beyond it on new ones. With
0.55 the second measurement of 50 choices (irrational) lost 3.2 points, the first 2.3.

Thinning was chosen in the same way, on some of the hardest designs with unequal menus: beside 0.6 u, the distance that types may
move the centre, 0.1 to 1; beside 1 - u/2 for tau, 1 and 1 - u/3. Tried in its place, on the worst design and a few others: the
centre moved against the mean of its own bootstrap fits (a correction of its bias, as good in power, 0.8 points less for the worst
design), that with the noise of small menus alone (0.3 points less), replicates around many centres (more true models rejected).
With equal menus thinning would cost the default four points of power in a design where it has none to lose (three items, 50
choices, irrational), so it is not used there; nor is it with other weights: with unit weights true models were rejected in 2.6 %
of data sets on average instead of 1.9 %. By subject it was not measured: in the designs above menus have equal numbers of them.

## Intervals

90 % intervals for a quantity on a menu that was not offered, two thirds of the menus being offered: the probability of a cell,
the difference of two, a revenue with prices 1, 2, 3, ... Per cent of data sets in which the interval holds the truth, on average
over five populations of each kind (in brackets: the least), and the mean width of two intervals of one population
(some data sets leave no value), from 400 data sets a case, or 2,000 where coverage was below 89.25 % at first. Over {intervals}
cases it is {least} to {most} %. Populations inside the model are covered nearly always: their sharp bounds are wide already.

{coverage}

Intervals use twice the mean of `a m^(-1/5)`, the tau of the test where menus are alike, and no thinning. With that tau itself
coverage fell to 82 to 86 % in some cases of 6 and 3 rankings.

## Tests that theory calls uniformly valid

Three of them on {n_uniform} of the designs, all menus offered:

* *Linear programme*: the test of Fang, Santos, Shaikh and Torgovitsky (2023). It lists all rankings, which ends at six or seven
  items.
* *Every inequality binds*: least favourable critical values in the manner of Perlman (1969), Wolak (1991) and Andrews and
  Guggenberger (2009), the distance to the cone as if the truth were its apex.
* *Worst null point*: the largest 95 % quantile of the distance over 30 null points with the data's own sample sizes.

All in the rough screen, on the same data sets. Per cent rejected:

{verdict}

In detail, mean / largest:

{uniform}

{rough}

None of the three finds more false models on average than the default, so none is offered; `experiments/uniform.py` has them.
"""
