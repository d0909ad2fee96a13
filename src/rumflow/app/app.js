"use strict";
// Three steps: read data, ask, keep the answers. All work is done by the server's worker; this asks, waits and shows.

const $ = (id) => document.getElementById(id);
const format = (value, digits = 0) => value.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });
const PASTED = "pasted.csv"; // what a table without a file is called
let known = null; // roles, settings, questions and data sets of the package
let limit = Infinity; // bytes of a file
let source = null; // the data of step 1: {upload} or {dataset}, and options
let items = []; // their labels
let outside = null; // the number of the item that means buying nothing
let starts = {}; // what stands first in fields, where the data decide
const usual = (one) => starts[one.name] ?? one.start;
const before = {}; // data that were read, by name: their sources
const typed = {}; // what was filled in, by question, field and item
let controls = {}; // the fields of step 1, by name
let asking = null; // the question
let asked = {}; // its fields, by name

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) name in element ? (element[name] = value) : element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const button = (text, onclick) => make("button", { type: "button", onclick }, text);
const count = (number, word) => `${format(number)} ${word}${number === 1 ? "" : "s"}`;
const time = (seconds) => (seconds < 100 ? count(Math.round(seconds), "second") : count(Math.round(seconds / 60), "minute"));

const say = (text) => ($("status").textContent = text);

async function call(address, options) {
  const answer = await fetch(address, options).catch(() => {
    throw new Error("The page's server does not answer. Was it ended? Start rumflow app again.");
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

const post = (address, content) => call(address, { method: "POST", body: JSON.stringify(content) });
const pause = (time) => new Promise((done) => setTimeout(done, time));

// Wait for a job; `tell` hears of its state and progress.
async function finish(job, tell = () => {}) {
  for (;;) {
    const now = await call(`job/${job}`);
    if (now.state === "done" || now.state === "cancelled") return now;
    tell(now);
    await pause(200);
  }
}

// ---- step 1: data

async function attempt(work, place = $("data-error")) {
  place.textContent = "";
  await work().catch((fault) => {
    place.textContent = fault.message;
    say("");
  });
}

let readings = 0;

// Until the data are there, questions are about those that are shown; what was given last is what counts.
async function read(find) {
  const mine = ++readings;
  say("Reading …");
  const next = { options: {}, ...(await find()) };
  const { job } = await post("job", { kind: "read", ...next });
  const waiting = "Waiting until the question that is being answered is done or cancelled …";
  const now = await finish(job, ({ state, before: ahead }) => mine === readings && say(state === "waiting" && ahead ? waiting : "Reading …"));
  const empty = { name: next.name ?? "The table", columns: [], rows: [] }; // where the worker came to nothing
  if (mine === readings) showData({ ...empty, ...now.answer }, next);
}

function upload(file, name) {
  return attempt(() => read(() => {
    const most = `at most ${format(limit / 1e6)} MB can be read here, and more by the command line`;
    if (file.size > limit) throw new Error(`${name} has ${format(file.size / 1e6)} MB: ${most}.`);
    say(`Taking ${name} …`);
    return call(`upload?name=${encodeURIComponent(name)}`, { method: "POST", body: file });
  }));
}

const cautions = (data, about) => (data.cautions || []).filter((one) => one.about === about).map((one) => make("p", { className: "caution" }, one.text));

function showData(data, next) {
  source = { ...next, name: data.name };
  const good = data.error === undefined;
  const understood = data.understood || { roles: {}, coding: {}, notes: [], layout: "" };
  $("read").hidden = false;
  $("ask").hidden = $("menus").hidden = !good;
  $("read-title").textContent = `${data.name}: ${good ? "this is how it was read" : "it could not be read yet"}`;
  const shown = Object.entries(data.facts ?? {}).filter(([, count]) => count);
  $("facts").replaceChildren(...shown.map(([name, count]) => make("div", {}, make("dt", {}, name), make("dd", {}, count.toLocaleString()))));
  const codes = Object.entries(understood.coding).map(([code, label]) => `${code} = ${label}`);
  const notes = [understood.layout, ...understood.notes, codes.length ? `Codes: ${codes.join(", ")}` : ""].filter(Boolean);
  $("layout").replaceChildren(...notes.map((text) => make("li", {}, text)));
  showRoles(data, understood.roles, good);
  $("about-columns").replaceChildren(...cautions(data, "columns"));
  $("about-menus").replaceChildren(...cautions(data, "menus"));
  $("rows").hidden = !data.rows.length;
  const row = (tag, cells) => make("tr", {}, ...cells.map((text) => make(tag, {}, text)));
  const head = make("thead", {}, row("th", data.columns.slice(0, data.rows[0]?.length)));
  $("rows").lastElementChild.replaceChildren(make("table", {}, head, make("tbody", {}, ...data.rows.map((cells) => row("td", cells)))));
  if (good) {
    const left = data.facts.menus - data.menus.length;
    $("bars").replaceChildren(...data.menus.map(bars), ...(left ? [make("p", { className: "soft" }, `and ${format(left)} more menus`)] : []));
    [items, outside, starts] = [data.items, data.outside, data.starts];
    if (!source.dataset) keep(source);
    showQuestions(data.questions);
    say(`${data.name} was read.`);
    $("read-title").focus();
  } else {
    say("");
    controls[data.field] ? controls[data.field].fail(data.error) : ($("data-error").textContent = data.error);
  }
}

// Data that were read can be taken again.
function keep(one) {
  if (!(one.name in before)) $("set").append(make("option", { value: one.name }, `${one.name}, as read before`));
  before[one.name] = one;
}

function showRoles(data, found, good) {
  const file = !source.dataset;
  for (const element of [$("more"), ...$("reading").querySelectorAll("button, h4")]) element.hidden = !file;
  controls = {};
  for (const id of ["roles", "settings"]) $(id).replaceChildren();
  const named = ["subject", "group", ...(data.named || [])]; // by an error
  if (found.count || named.includes("count")) named.push("total"); // people do not look for it
  const add = (name, one, first, start = null) => {
    controls[name] = one;
    $(first || name === data.field || (source.options[name] ?? start) !== start ? "roles" : "settings").append(one.element);
  };
  for (const role of data.columns.length ? known.roles : []) {
    const notes = cautions(data, role.name);
    const one = roleControl(role, data.columns, found[role.name], source.options[role.name], good, notes);
    one.element.append(...notes);
    add(role.name, one, found[role.name] || notes.length || named.includes(role.name));
  }
  for (const one of file ? known.settings : []) {
    const buys = one.name === "outside_option"; // nothing: what the data call it, where they have it
    const placeholder = buys && data.items?.[data.outside] !== undefined ? `${data.items[data.outside]} (found)` : "";
    const now = { ...one, placeholder, start: source.options[one.name] ?? one.start };
    const made = control(now, `setting-${one.name}`);
    made.element.append(...cautions(data, one.name));
    add(one.name, made, buys, one.kind === "text" ? "" : one.start);
  }
  $("more").open = !good && !controls[data.field];
}

function readAgain() {
  for (const one of Object.values(controls)) one.fail("");
  const options = Object.fromEntries(Object.entries(controls).map(([name, one]) => [name, one.get()]));
  return read(() => ({ ...source, options }));
}

function bars(menu) {
  const rows = menu.shares.flatMap(([label, share]) => {
    const bar = make("i", { style: `width: ${75 * (share ?? 0)}%` });
    const text = share?.toLocaleString(undefined, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }) ?? "?";
    return [make("dt", {}, label), make("dd", {}, bar, text)];
  });
  const left = menu.items - menu.shares.length;
  const more = left ? [make("p", { className: "soft" }, `and ${format(left)} more items`)] : [];
  return make("div", {}, make("p", { className: "soft" }, `${count(menu.total, "choice")} from this menu`), make("dl", {}, ...rows), ...more);
}

// ---- step 2: a question

function showQuestions(reasons) {
  const labels = known.questions.map((one) => {
    const input = make("input", { type: "radio", name: "question", value: one.name, disabled: Boolean(reasons[one.name]) });
    input.onchange = () => showFields(one);
    return make("label", {}, input, make("span", {}, one.title, ...(reasons[one.name] ? [make("small", {}, reasons[one.name])] : [])));
  });
  $("questions").replaceChildren($("questions").firstElementChild, ...labels);
  const start = $("questions").querySelector(`input[value="${asking?.name}"]:enabled`) || $("questions").querySelector("input:enabled");
  start.checked = true;
  start.onchange();
}

function showFields(question) {
  asking = question;
  $("ask-error").textContent = "";
  $("about-question").textContent = question.text;
  const made = (one) => control({ ...one, start: usual(one) }, `field-${one.name}`, (input, item = "") => remember(input, [question.name, one.name, item].join("\n")));
  asked = Object.fromEntries(question.fields.map((one) => [one.name, made(one)]));
  $("fields").replaceChildren(...Object.values(asked).map((one) => one.element));
  estimate();
}

function questioned(kind) {
  const values = Object.fromEntries(Object.entries(asked).map(([name, one]) => [name, one.get()]));
  const texts = Object.fromEntries(Object.entries(asked).map(([name, one]) => [name, one.text()]));
  const about = asking.about.replace(/{(\w+)}/g, (_, name) => texts[name] || "\n"); // what is not filled in has no place there
  const own = (one) => texts[one.name] && (one.kind === "items" || values[one.name] !== usual(one)); // not what is usual
  const said = asking.fields.filter(own).map((one) => `${one.label}: ${texts[one.name]}`);
  const title = `${about && !about.includes("\n") ? about : asking.title} (${source.name})`;
  return { kind, ...source, question: asking.name, values, title, said: said.join("; ") };
}

let estimates = 0;

async function estimate() {
  const mine = ++estimates;
  const running = document.querySelectorAll("article progress").length;
  $("cost").textContent = running ? `It will wait for ${count(running, "question")} asked before.` : "";
  await pause(300);
  if (running || !asking || mine !== estimates) return;
  const now = await post("job", questioned("cost")).then(({ job }) => finish(job)).catch(() => ({})); // faults are said when it is asked
  if (mine === estimates) $("cost").textContent = now.answer?.cost ?? "";
}

function ask(question, card, fields) {
  for (const one of Object.values(fields)) one.fail("");
  const work = async () => showAnswer((await post("job", question)).job, card, question, fields);
  return attempt(work, $("ask-error"));
}

// ---- step 3: answers

function remove(card, job) {
  card.remove();
  $("answered").hidden = !$("answers").children.length;
  post(`forget/${job}`, {}).catch(() => {}); // a server that has ended has forgotten it
}

function showProgress({ state, before: ahead, seconds, progress }, bar, news) {
  const { done, all, words } = progress;
  const counted = done == null ? words : `${format(done)}${all ? ` of ${format(all)}` : ""} ${words}`;
  const first = "Getting ready; the first answers after installation take a minute or two";
  const waiting = ahead ? `Waits for ${count(ahead, "question")} asked before.` : "Waits for its turn.";
  news.textContent = state === "waiting" ? waiting : `${counted || first}, ${time(seconds)} so far.`;
  all ? Object.assign(bar, { max: all, value: done }) : bar.removeAttribute("value");
}

// `question` and its `fields` were just asked; an answer from before has none, and is shown in silence.
async function showAnswer(job, card, question, fields = {}) {
  $("answers").prepend(card); // at once, so that answers from before keep their order
  const name = (await call(`job/${job}`)).title;
  const title = make("h3", { tabIndex: -1 }, name);
  const bar = make("progress", { "aria-label": `${name}: progress` });
  const news = make("p", { className: "soft" });
  card.replaceChildren(title, bar, news, button("Cancel", () => post(`cancel/${job}`, {})));
  $("answered").hidden = false;
  if (question) {
    say(`${name} This is being answered.`);
    card.scrollIntoView({ block: "nearest" });
    estimate();
  }
  const lost = (fault) => ({ state: "done", answer: { error: fault.message } });
  const now = await finish(job, (state) => showProgress(state, bar, news)).catch(lost);
  const fault = fields[now.answer.field];
  if (now.answer.html !== undefined) fill(card, title, job, now.answer);
  else if (fault?.element.isConnected) {
    remove(card, job);
    fault.fail(now.answer.error);
  } else {
    const reason = now.state === "cancelled" ? `Cancelled after ${time(now.seconds)}.` : now.answer.error;
    const again = question ? [button("Ask again", () => ask(question, card, {}))] : [];
    const away = button("Close", () => remove(card, job));
    card.replaceChildren(title, make("p", { className: "error" }, reason), make("div", { className: "tools" }, ...again, away));
  }
  estimate();
  if (!question) return;
  say(card.isConnected ? `${name} ${card.querySelector(".error")?.textContent ?? "The answer is here."}` : "");
  const idle = [document.body, $("question").querySelector(".main")].includes(document.activeElement); // nothing is being typed
  if (card.isConnected && idle) title.focus();
}

function fill(card, title, job, answer) {
  const content = make("div");
  const inside = content.attachShadow({ mode: "open" }); // several pages with the same ids stand side by side
  inside.innerHTML = `<link rel="stylesheet" href="report.css"><link rel="stylesheet" href="app.css">${answer.html}`;
  const rest = inside.querySelectorAll("section:not(#verdict, #explanation, #distance)"); // of a report
  if (rest.length) inside.append(make("details", {}, make("summary", {}, "The rest of the report"), ...rest));
  localise(inside, answer.labels);
  sortTables(inside);
  const forms = { html: "Page (HTML)", csv: "Table (CSV)", tex: "Table (LaTeX)" };
  const links = Object.entries(forms).map(([ending, text]) => make("a", { href: `file/${job}/${ending}`, className: "button", download: "" }, text));
  const away = button("Close", () => remove(card, job));
  const command = answer.commands.length ? copied(answer.commands.join("\n")) : make("p", {}, `There is none: ${answer.unsaid}.`);
  const same = make("details", {}, make("summary", {}, "The same answer in Python and from the command line"));
  const where = answer.file === PASTED ? `Save the table that you pasted as ${PASTED}, in the folder where you run this.` : `${answer.file} is read in the folder where you run this.`;
  if (answer.file) same.append(make("p", {}, where));
  same.append(make("p", {}, "Lines of Python:"), copied(answer.python), make("p", {}, answer.commands.length > 1 ? "Commands:" : "Command:"), command);
  card.replaceChildren(title, content, make("div", { className: "tools" }, ...links, away), same);
}

function copied(text) {
  return make("div", {}, make("pre", { tabIndex: 0 }, text), button("Copy", () => navigator.clipboard.writeText(text).then(() => say("Copied."))));
}

// ---- begin

async function begin() {
  const listen = (target, names, work) => names.forEach((name) => target.addEventListener(name, (event) => (event.preventDefault(), work(event))));
  listen(document, ["dragenter", "dragover"], () => $("drop").classList.add("over"));
  listen(document, ["dragleave", "drop"], () => $("drop").classList.remove("over"));
  const take = ([file]) => file && upload(file, file.name);
  listen(document, ["drop"], (event) => take(event.dataTransfer.files));
  listen($("file"), ["change"], () => (take($("file").files), ($("file").value = "")));
  listen($("paste"), ["submit"], () => $("text").value.trim() && upload(new Blob([$("text").value]), PASTED));
  listen($("sets"), ["submit"], () => attempt(() => read(() => before[$("set").value] ?? { dataset: $("set").value })));
  listen($("reading"), ["submit"], () => attempt(readAgain));
  listen($("question"), ["submit"], () => ask(questioned("ask"), make("article"), asked));
  listen($("fields"), ["change"], estimate);
  try {
    const { job } = await post("job", { kind: "start" });
    const session = await call("answers");
    limit = session.most_bytes;
    $("version").textContent = session.version;
    known = (await finish(job)).answer;
    $("set").append(...known.datasets.map((one) => make("option", { value: one.name }, one.title)));
    say("");
    document.body.dataset.ready = "yes";
    session.read.forEach(keep);
    for (const one of session.answers) showAnswer(one, make("article"));
  } catch (fault) {
    say(fault.message);
  }
}

begin();
