"use strict";
// Three steps: read data, ask, keep the answers. All work is done by the server's worker; this asks, waits and shows.

const $ = (id) => document.getElementById(id);
const format = (value, digits = 0) => value.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });
let known = null; // roles, settings, questions and data sets of the package
let limit = Infinity; // bytes of a file
let source = null; // the data of step 1: {upload} or {dataset}, and options
let items = []; // their labels
let outside = null; // the number of the item that means buying nothing
const before = {}; // data that were read, by name: their sources
const typed = {}; // what was filled in, by question and field
let controls = {}; // the fields of step 1, by name
let asking = ""; // the question, by name
let asked = {}; // its fields, by name

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) name in element ? (element[name] = value) : element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function say(text) {
  $("status").textContent = text;
}

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

// ---- fields: each is {element, get, fail}

function field(one, id, input, get) {
  const group = input.tagName === "FIELDSET";
  const main = group ? input.querySelector("input, select") : input;
  const help = make("p", { id: `${id}-help`, className: "soft" }, one.text);
  const fault = make("p", { id: `${id}-error`, className: "error", role: "alert" });
  const element = make("div", { className: group ? "field wide" : "field" });
  if (group) input.prepend(make("legend", {}, one.label), help);
  else element.append(make("label", { htmlFor: (input.id = id) }, one.label), input, help);
  element.append(...(group ? [input] : []), fault);
  main.setAttribute("aria-describedby", `${id}-help ${id}-error`);
  const fail = (text) => {
    fault.textContent = text;
    text ? main.setAttribute("aria-invalid", "true") : main.removeAttribute("aria-invalid");
    if (text) main.focus();
  };
  return { element, get, fail };
}

function choose(choices, start) {
  return make("select", {}, ...choices.map(([value, text]) => make("option", { value: JSON.stringify(value), selected: value === start }, text)));
}

const chosen = (element) => JSON.parse(element.value);

// An input for each item, with what `start` says of its number.
function each(type, start) {
  const inputs = items.map((_, k) => make("input", type === "checkbox" ? { type, checked: start(k) } : { type, inputMode: "decimal", value: start(k) ?? "" }));
  const labels = inputs.map((input, k) => make("label", {}, ...(type === "checkbox" ? [input, items[k]] : [items[k], input])));
  return [make("fieldset", {}, make("div", { className: "ticks" }, ...labels)), inputs];
}

// A column of a spreadsheet fills the inputs from here on; beside labels each number finds its own.
function pasteColumn(event, inputs, from) {
  const rows = event.clipboardData.getData("text").trim().split(/\r?\n/).map((row) => row.split("\t").map((cell) => cell.trim()));
  if (rows.length < 2 && rows[0].length < 2) return;
  event.preventDefault();
  rows.forEach((row, k) => {
    const input = row.length > 1 ? inputs[items.indexOf(row[0])] : inputs[from + k];
    if (input) input.value = row.at(-1);
  });
}

// By kind: the element, and what it says. Items are named by their numbers.
const KINDS = {
  choice: (one) => [choose(one.choices, one.start), (input) => chosen(input)],
  text: (one) => [make("input", { type: "text", value: one.start ?? "" }), (input) => input.value],
  number: (one) => [
    make("input", { type: "number", min: one.least, max: one.most, step: 1, value: one.start ?? "" }),
    (input) => (input.value === "" ? null : input.valueAsNumber),
  ],
  item: (one) => [choose([[null, "–"], ...items.map((label, k) => [k, label])], one.start ?? null), (input) => chosen(input)],
  pair: (one) => {
    const two = ["the better item", "the worse item"].map((text, k) => {
      const input = KINDS.item({ start: one.start?.[k] })[0];
      input.setAttribute("aria-label", text);
      return input;
    });
    const box = make("fieldset", {}, make("div", { className: "two" }, two[0], "to", two[1]));
    return [box, () => two.map(chosen).filter((k) => k !== null)];
  },
  items: (one) => {
    const [box, inputs] = each("checkbox", (k) => Boolean(one.start?.includes(k)));
    return [box, () => inputs.flatMap((input, k) => (input.checked ? [k] : []))];
  },
  values: (one) => {
    const [box, inputs] = each("text", (k) => one.start?.[k]); // a browser drops what is no number in its own language, such as 2,19
    inputs.forEach((input, k) => (input.onpaste = (event) => pasteColumn(event, inputs, k)));
    return [box, () => Object.fromEntries(inputs.flatMap((input, k) => (input.value.trim() ? [[k, input.value.trim()]] : [])))];
  },
  order: (one) => {
    const [box, inputs] = each("number", (k) => (one.start?.includes(k) ? one.start.indexOf(k) + 1 : ""));
    const filled = () => inputs.flatMap((input, k) => (input.value === "" ? [] : [[k, input.valueAsNumber]]));
    return [box, () => filled().sort((a, b) => a[1] - b[1]).map(([k]) => k)];
  },
};

function control(one, id) {
  const [input, get] = KINDS[one.kind](one);
  return { ...field(one, id, input, () => get(input)), kind: one.kind };
}

// A role: found by the reader, none, a column, or several in the order in which they are ticked.
function roleControl(role, columns, found, said, good) {
  const several = Array.isArray(said);
  const choices = columns.map((name) => [`=${name}`, name]).concat(role.several ? [["several", "several columns …"]] : []);
  const auto = found ? `${[found].flat().join(", ")} (found)` : good ? "not in this table" : "find it";
  const input = choose([[null, auto], [false, "there is none"], ...choices], several ? "several" : said ? `=${said}` : said ?? null);
  let ticked = several ? [...said] : [];
  const box = make("div", { className: "ticks", role: "group", "aria-label": `Columns for ${role.name}, in order` });
  for (const name of columns) {
    const tick = make("input", { type: "checkbox", checked: ticked.includes(name) });
    tick.onchange = () => (ticked = ticked.filter((one) => one !== name).concat(tick.checked ? [name] : []));
    box.append(make("label", {}, tick, name));
  }
  (input.onchange = () => (box.hidden = chosen(input) !== "several"))();
  const label = role.name[0].toUpperCase() + role.name.slice(1).replace("_", " ");
  const one = field({ label, text: role.what }, `role-${role.name}`, input, () => {
    const value = chosen(input);
    return value === "several" ? ticked : value && value.slice(1);
  });
  one.element.append(box);
  return one;
}

// ---- step 1: data

async function attempt(work) {
  $("data-error").textContent = "";
  try {
    await work();
  } catch (fault) {
    $("data-error").textContent = fault.message;
    say("");
  }
}

async function read(from, options = {}) {
  say("Reading …");
  source = { ...from, options };
  const { job } = await post("job", { kind: "read", ...source });
  showData((await finish(job, (now) => say(now.progress || "Reading …"))).answer);
}

function upload(file, name) {
  return attempt(async () => {
    const most = `at most ${format(limit / 1e6)} MB can be read here, and more by the command line`;
    if (file.size > limit) throw new Error(`${name} has ${format(file.size / 1e6)} MB: ${most}.`);
    say(`Taking ${name} …`);
    await read(await call(`upload?name=${encodeURIComponent(name)}`, { method: "POST", body: file }));
  });
}

function takenAgain(name) {
  const { options, ...from } = before[name] || { dataset: name };
  return [from, options];
}

const cautions = (data, about) => (data.cautions || []).filter((one) => one.about === about).map((one) => make("p", { className: "caution" }, one.text));

function showData(data) {
  const good = data.error === undefined;
  const understood = data.understood || { roles: {}, coding: {}, notes: [], layout: "" };
  $("read").hidden = false;
  $("ask").hidden = $("menus").hidden = !good;
  $("read-title").textContent = `${data.name}: ${good ? "this is how it was read" : "it could not be read yet"}`;
  const facts = good ? { items: data.items.length, menus: data.n_menus, choices: data.choices, people: data.subjects, groups: data.groups } : {};
  const shown = Object.entries(facts).filter(([, count]) => count);
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
    const left = data.n_menus - data.menus.length;
    $("bars").replaceChildren(...data.menus.map(bars), ...(left ? [make("p", { className: "soft" }, `and ${format(left)} more menus`)] : []));
    keepTyped();
    [items, outside] = [data.items, data.outside];
    if (!source.dataset && !(data.name in before)) $("set").append(make("option", { value: data.name }, `${data.name}, as read before`));
    if (!source.dataset) before[data.name] = source;
    showQuestions(data.questions);
    say(`${data.name} was read.`);
    $("read-title").focus();
  } else {
    say("");
    controls[data.field] ? controls[data.field].fail(data.error) : ($("data-error").textContent = data.error);
  }
}

function showRoles(data, found, good) {
  const file = !source.dataset;
  for (const element of [$("more"), ...$("reading").querySelectorAll("button, h4")]) element.hidden = !file;
  controls = {};
  for (const id of ["roles", "settings"]) $(id).replaceChildren();
  const named = data.named || []; // by an error
  if (found.count || named.includes("count")) named.push("total"); // people do not look for it
  const add = (name, one, first) => {
    controls[name] = one;
    $(first || name === data.field || source.options[name] !== undefined ? "roles" : "settings").append(one.element);
  };
  for (const role of data.columns.length ? known.roles : []) {
    const one = roleControl(role, data.columns, found[role.name], source.options[role.name], good);
    const notes = cautions(data, role.name);
    one.element.append(...notes);
    add(role.name, one, found[role.name] || notes.length || named.includes(role.name));
  }
  for (const one of file ? known.settings : []) {
    add(one.name, control({ ...one, start: source.options[one.name] ?? one.start }, `setting-${one.name}`), one.name === "outside_option");
  }
  $("more").open = !good && !controls[data.field];
}

function readAgain() {
  for (const one of Object.values(controls)) one.fail("");
  const starts = Object.fromEntries(known.settings.map((one) => [one.name, one.start]));
  const given = Object.entries(controls).map(([name, one]) => [name, one.get()]);
  const { options, ...from } = source;
  return read(from, Object.fromEntries(given.filter(([name, value]) => value !== (starts[name] ?? null) && value !== "")));
}

function bars(menu) {
  const rows = menu.shares.flatMap(([label, share]) => {
    const bar = make("i", { style: `width: ${75 * (share ?? 0)}%` });
    const text = share?.toLocaleString(undefined, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }) ?? "?";
    return [make("dt", {}, label), make("dd", {}, bar, text)];
  });
  const more = menu.more ? [make("p", { className: "soft" }, `and ${format(menu.more)} more items`)] : [];
  const size = `${menu.total.toLocaleString()} ${menu.total === 1 ? "choice" : "choices"} from this menu`;
  return make("div", {}, make("p", { className: "soft" }, size), make("dl", {}, ...rows), ...more);
}

// ---- step 2: a question

function showQuestions(reasons) {
  const labels = known.questions.map((one) => {
    const input = make("input", { type: "radio", name: "question", value: one.name, disabled: Boolean(reasons[one.name]) });
    input.onchange = () => showFields(one);
    return make("label", {}, input, make("span", {}, one.title, ...(reasons[one.name] ? [make("small", {}, reasons[one.name])] : [])));
  });
  $("questions").replaceChildren($("questions").firstElementChild, ...labels);
  asked = {};
  const start = $("questions").querySelector(`input[value="${asking}"]:enabled`) || $("questions").querySelector("input:enabled");
  start.checked = true;
  start.onchange();
}

// What is filled in stays for the next time, also beside other data: items are kept by their labels.
function keepTyped() {
  for (const [name, one] of Object.entries(asked)) {
    const [key, value] = [`${asking} ${name}`, one.get()];
    const labelled = Object.fromEntries(items.map((label, k) => [label, value?.[k]]));
    const by = { item: () => items[value], values: () => ({ ...typed[key], ...labelled }), number: () => value, choice: () => value };
    typed[key] = (by[one.kind] || (() => value.map((k) => items[k])))();
  }
}

function startOf(question, one) {
  const kept = typed[`${question.name} ${one.name}`];
  const here = (label) => (items.includes(label) ? items.indexOf(label) : null);
  if (one.kind === "item") return here(kept) ?? (one.name === "outside_option" ? outside : null);
  if (kept === undefined || ["number", "choice"].includes(one.kind)) return kept === undefined ? one.start : kept;
  return one.kind === "values" ? items.map((label) => kept[label]) : kept.map(here).filter((k) => k !== null);
}

function showFields(question) {
  keepTyped();
  asking = question.name;
  $("ask-error").textContent = "";
  $("about-question").textContent = question.text;
  asked = Object.fromEntries(question.fields.map((one) => [one.name, control({ ...one, start: startOf(question, one) }, `field-${one.name}`)]));
  $("fields").replaceChildren(...Object.values(asked).map((one) => one.element));
  estimate();
}

function questioned(kind) {
  const values = Object.fromEntries(Object.entries(asked).map(([name, one]) => [name, one.get()]));
  return { kind, ...source, question: asking, values };
}

let estimates = 0;

async function estimate() {
  const mine = ++estimates;
  $("cost").textContent = "";
  await pause(300);
  if (mine !== estimates) return;
  const now = await post("job", questioned("cost")).then(({ job }) => finish(job)).catch(() => ({})); // faults are said when it is asked
  if (mine === estimates) $("cost").textContent = now.answer?.cost ?? "";
}

async function ask() {
  $("ask-error").textContent = "";
  for (const one of Object.values(asked)) one.fail("");
  try {
    const { job } = await post("job", questioned("ask"));
    await showAnswer(job, asked);
  } catch (fault) {
    $("ask-error").textContent = fault.message;
  }
}

// ---- step 3: answers

function remove(card) {
  card.remove();
  $("answered").hidden = !$("answers").children.length;
}

// `fields` are those of the question that was just asked; an answer from before has none, and is shown in silence.
async function showAnswer(job, fields) {
  const first = await call(`job/${job}`);
  const question = known.questions.find((one) => one.name === first.question)?.title;
  const title = make("h3", { tabIndex: -1 }, `${question} (${first.name})`);
  const bar = make("progress", { "aria-label": `${question}: progress` });
  const progress = make("p", { className: "soft" });
  const cancel = make("button", { type: "button", onclick: () => post(`cancel/${job}`, {}) }, "Cancel");
  const card = make("article", {}, title, bar, progress, cancel);
  $("answered").hidden = false;
  $("answers").prepend(card);
  if (fields) {
    say(`${question} This is being answered.`);
    card.scrollIntoView({ block: "nearest" });
  }
  const now = await finish(job, ({ state, progress: news }) => {
    const working = news || "Working. The first answers after installation take a minute or two.";
    progress.textContent = state === "waiting" ? "Waiting for what was asked before." : working;
    const [, done, all] = /^(\d+) of (\d+)/.exec(news) || [];
    all ? Object.assign(bar, { max: Number(all), value: Number(done) }) : bar.removeAttribute("value");
  });
  if (now.state === "cancelled" || now.answer.error !== undefined) {
    remove(card);
    say(now.state === "cancelled" ? `${question} Cancelled.` : "");
    if (now.state === "cancelled") return;
    fields[now.answer.field] ? fields[now.answer.field].fail(now.answer.error) : ($("ask-error").textContent = now.answer.error);
    return;
  }
  fill(card, title, job, now.answer);
  if (!fields) return;
  say(`${question} The answer is here.`);
  title.focus();
}

function fill(card, title, job, answer) {
  const content = make("div");
  const inside = content.attachShadow({ mode: "open" }); // several pages with the same ids stand side by side
  inside.innerHTML = `<link rel="stylesheet" href="report.css"><link rel="stylesheet" href="app.css">${answer.html}`;
  for (const table of inside.querySelectorAll("table")) {
    const around = make("div", { className: "table" });
    if (!table.closest(".table")) table.replaceWith(around), around.append(table);
  }
  for (const wide of inside.querySelectorAll(".table, .picture")) {
    for (const [name, value] of Object.entries({ tabindex: 0, role: "group", "aria-label": wide.className })) wide.setAttribute(name, value);
  }
  localise(inside);
  sortTables(inside);
  const forms = { html: "Page (HTML)", csv: "Table (CSV)", tex: "Table (LaTeX)" };
  const links = Object.entries(forms).map(([ending, text]) => make("a", { href: `file/${job}/${ending}`, className: "button", download: "" }, text));
  const away = make("button", { type: "button", onclick: () => remove(card) }, "Put away");
  const command = answer.commands.length ? copied(answer.commands.join("\n")) : make("p", {}, `There is none: ${answer.unsaid}.`);
  const same = make("details", {}, make("summary", {}, "The same answer in Python and from the command line"));
  same.append(make("p", {}, "Lines of Python:"), copied(answer.python), make("p", {}, answer.commands.length > 1 ? "Commands:" : "Command:"), command);
  card.replaceChildren(title, content, make("div", { className: "tools" }, ...links, away), same);
}

function copied(text) {
  const copy = () => navigator.clipboard.writeText(text).then(() => say("Copied."));
  return make("div", {}, make("pre", { tabIndex: 0 }, text), make("button", { type: "button", onclick: copy }, "Copy"));
}

// Numbers of tables as local readers expect them, with the digits that they have.
function localise(root) {
  for (const cell of root.querySelectorAll("td.number")) {
    const [, sign, whole, part = "", end] = /^([-+]?)(\d[\d,]*)(?:\.(\d+))?( ?%?)$/.exec(cell.textContent.trim()) || [];
    if (whole) cell.textContent = sign + format(Number(`${whole.replaceAll(",", "")}.${part || 0}`), part.length) + end;
  }
}

// ---- begin

async function begin() {
  const listen = (target, names, work) => names.forEach((name) => target.addEventListener(name, (event) => (event.preventDefault(), work(event))));
  listen(document, ["dragenter", "dragover"], () => $("drop").classList.add("over"));
  listen(document, ["dragleave", "drop"], () => $("drop").classList.remove("over"));
  const take = ([file]) => file && upload(file, file.name);
  listen(document, ["drop"], (event) => take(event.dataTransfer.files));
  listen($("file"), ["change"], () => (take($("file").files), ($("file").value = "")));
  listen($("paste"), ["submit"], () => $("text").value.trim() && upload(new Blob([$("text").value]), "pasted.csv"));
  listen($("sets"), ["submit"], () => attempt(() => read(...takenAgain($("set").value))));
  listen($("reading"), ["submit"], () => attempt(readAgain));
  listen($("question"), ["submit"], ask);
  listen($("fields"), ["change"], estimate);
  try {
    const { job } = await post("job", { kind: "start" });
    const session = await call("answers");
    limit = session.most_bytes;
    $("version").textContent = session.version;
    known = (await finish(job)).answer;
    $("set").append(...known.datasets.map((one) => make("option", { value: one.name }, one.title)));
    say("");
    for (const one of session.answers) await showAnswer(one);
    document.body.dataset.ready = "yes";
  } catch (fault) {
    say(fault.message);
  }
}

begin();
