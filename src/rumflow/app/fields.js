"use strict";
// The fields of the page: each is {element, get, text, fail}; `text` is what it says for people. They know `items`, the labels of
// the data, and `outside`, the number of the one that means buying nothing.

function field(one, id, input, get, text) {
  const group = input.tagName === "FIELDSET";
  const main = group ? input.querySelector("input, select") : input;
  const help = make("p", { id: `${id}-help`, className: "soft" }, one.text);
  const fault = make("p", { id: `${id}-error`, className: "error", role: "alert" });
  const element = make("div", { className: group ? "field wide" : "field" });
  if (group) input.prepend(make("legend", {}, one.label), help);
  else element.append(make("label", { htmlFor: (input.id = id) }, one.label), input, help);
  element.append(...(group ? [input] : []), fault);
  main.setAttribute("aria-describedby", `${id}-help ${id}-error`);
  const fail = (reason) => {
    fault.textContent = reason;
    reason ? main.setAttribute("aria-invalid", "true") : main.removeAttribute("aria-invalid");
    if (reason) main.focus();
  };
  return { element, get, text, fail };
}

function choose(choices, start) {
  return make("select", {}, ...choices.map(([value, text]) => make("option", { value: JSON.stringify(value), selected: value === start }, text)));
}

const chosen = (element) => JSON.parse(element.value);
const selected = (element) => element.selectedOptions[0].text;

// What is filled in stays for the next time, also beside other data, where the label of an item names its input.
function remember(input, key) {
  const part = input.type === "checkbox" ? "checked" : "value";
  const start = input[part];
  if (key in typed) input[part] = typed[key];
  if (input.selectedIndex === -1) input.value = start; // an item that is not in these data
  input.addEventListener("input", () => (typed[key] = input[part]));
  return input;
}

// An input for each label.
function each(type, keep, labels = items) {
  const inputs = labels.map((label) => keep(make("input", { type, inputMode: "decimal" }), label));
  const lines = inputs.map((input, k) => make("label", {}, ...(type === "checkbox" ? [input, labels[k]] : [labels[k], input])));
  return [make("fieldset", {}, make("div", { className: "ticks" }, ...lines)), inputs];
}

// A column of a spreadsheet fills the inputs from here on; beside labels each number finds its own.
function pasteColumn(event, inputs, from) {
  const rows = event.clipboardData.getData("text").trim().split(/\r?\n/).map((row) => row.split("\t").map((cell) => cell.trim()));
  if (rows.length < 2 && rows[0].length < 2) return;
  event.preventDefault();
  rows.forEach((row, k) => {
    const input = row.length > 1 ? inputs[items.indexOf(row[0])] : inputs[from + k];
    if (!input) return;
    input.value = row.at(-1);
    input.dispatchEvent(new Event("input"));
  });
}

// By kind: the element, what it says, and the same for people. Items are named by their numbers.
const KINDS = {
  choice: (one, keep) => {
    const input = keep(choose(one.choices, one.start));
    return [input, () => chosen(input), () => selected(input)];
  },
  text: (one, keep) => {
    const input = keep(make("input", { type: "text", value: one.start ?? "", placeholder: one.placeholder ?? "" }));
    return [input, () => input.value, () => input.value];
  },
  number: (one, keep) => {
    const input = keep(make("input", { type: "number", min: one.least, max: one.most, step: 1, value: one.start ?? "" }));
    return [input, () => (input.value === "" ? null : input.valueAsNumber), () => input.value];
  },
  item: (one, keep) => {
    const start = one.name === "outside_option" ? items[outside] : null;
    const input = keep(make("select", {}, ...["–", ...items].map((label) => make("option", { selected: label === start }, label))));
    return [input, () => (input.selectedIndex ? input.selectedIndex - 1 : null), () => (input.selectedIndex ? selected(input) : "")];
  },
  items: (one, keep) => {
    const [box, inputs] = each("checkbox", keep);
    const ticked = () => inputs.flatMap((input, k) => (input.checked ? [k] : []));
    return [box, ticked, () => ticked().map((k) => items[k]).join(", ")];
  },
  values: (one, keep) => {
    const [box, inputs] = each("text", keep); // a browser drops what is no number in its own language, such as 2,19
    inputs.forEach((input, k) => (input.onpaste = (event) => pasteColumn(event, inputs, k)));
    const filled = () => inputs.flatMap((input, k) => (input.value.trim() ? [[k, input.value.trim()]] : []));
    return [box, () => Object.fromEntries(filled()), () => filled().map(([k, value]) => `${items[k]} ${value}`).join(", ")];
  },
};

function control(one, id, keep = (input) => input) {
  return field(one, id, ...KINDS[one.kind](one, keep));
}

// A role: found by the reader, none, a column, or several in the order in which they are ticked.
// Columns that a note on the role names come first.
function roleControl(role, columns, found, said, good, notes) {
  const several = Array.isArray(said);
  const hinted = columns.filter((name) => notes.some((note) => note.textContent.includes(`'${name}'`)));
  const choices = [...new Set([...hinted, ...columns])].map((name) => [`=${name}`, name]).concat(role.several ? [["several", "several columns …"]] : []);
  const auto = found ? `${[found].flat().join(", ")} (found)` : good ? "not found" : "found by itself";
  const input = choose([[null, auto], [false, "there is none"], ...choices], several ? "several" : said ? `=${said}` : said ?? null);
  let ticked = several ? [...said] : [];
  const [box] = each("checkbox", (tick, name) => {
    const onchange = () => (ticked = ticked.filter((one) => one !== name).concat(tick.checked ? [name] : []));
    return Object.assign(tick, { checked: ticked.includes(name), onchange });
  }, columns);
  box.setAttribute("aria-label", `Columns for ${role.name}, in order`);
  (input.onchange = () => (box.hidden = chosen(input) !== "several"))();
  const label = role.name[0].toUpperCase() + role.name.slice(1).replace("_", " ");
  const one = field({ label, text: role.what }, `role-${role.name}`, input, () => {
    const value = chosen(input);
    return value === "several" ? ticked : value && value.slice(1);
  });
  if (role.several) one.element.append(box);
  return one;
}
