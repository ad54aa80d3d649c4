// What is wrong with the page at hand, a sentence each: names, labels, headings, contrast, width.
const found = [];
const shown = (element) => element.getClientRects().length > 0;
const name = (element) => `${element.tagName.toLowerCase()} "${(element.textContent || element.value || "").trim().slice(0, 40)}"`;

if (!document.documentElement.lang) found.push("the document has no language");
if (!document.title.includes("evstore")) found.push("the document has no title of its own");
if (document.querySelectorAll("h1").length !== 1) found.push("there is not one first heading");
if (document.querySelectorAll("main").length !== 1) found.push("there is not one main part");
let level = 0;
for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
  const next = Number(heading.tagName[1]);
  if (level && next > level + 1) found.push(`${name(heading)} skips a level`);
  level = next;
}
for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea, meter, progress")) {
  if (!shown(field) || field.tagName === "METER" || field.tagName === "PROGRESS") continue;
  if (!field.labels?.length && !field.ariaLabel) found.push(`${name(field)} ${field.name} has no label`);
}
for (const element of document.querySelectorAll("a, button")) {
  if (shown(element) && !element.textContent.trim() && !element.ariaLabel) found.push(`a ${element.tagName} has no name`);
}
for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) found.push("an image has no text");
for (const table of document.querySelectorAll("table")) {
  if (!table.caption?.textContent.trim()) found.push("a table has no caption");
  if (![...table.querySelectorAll("thead th")].every((cell) => cell.scope === "col")) found.push("a column has no heading");
}
const identities = [...document.querySelectorAll("[id]")].map((element) => element.id);
if (new Set(identities).size !== identities.length) found.push("two elements have one id");
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide, and the window ${width}`);
// A text that has no room breaks within its words: so few letters a line over several lines are no words any more.
for (const element of document.querySelectorAll("main *, header *")) {
  for (const node of element.childNodes) {
    const text = node.nodeType === 3 ? node.data.trim() : "";
    const letters = text.length;
    if (letters < 12 || !shown(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = new Set([...range.getClientRects()].filter((line) => line.width > 0).map((line) => Math.round(line.top))).size;
    // Lines that the text has of its own are no breaks.
    if (lines > 2 && lines > 2 * text.split("\n").length && letters / lines < 9) found.push(`${name(element)} has ${(letters / lines).toFixed(1)} letters a line`);
  }
}
const foreign = performance.getEntriesByType("resource").map((entry) => entry.name)
  .filter((address) => !address.startsWith(location.origin) && !address.startsWith("data:"));
if (foreign.length) found.push(`it loads ${foreign[0]}`);
if (document.querySelectorAll("script").length !== 1) found.push("there is a script that is not the page's");

// Contrast as WCAG 2.2, 1.4.3, reckons it; colours as the browser paints them.
const canvas = document.createElement("canvas");
canvas.width = canvas.height = 1;
const paint = canvas.getContext("2d", { willReadFrequently: true });
const known = new Map();
const rgba = (colour) => {
  if (!known.has(colour)) {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    known.set(colour, [...paint.getImageData(0, 0, 1, 1).data]);
  }
  return known.get(colour);
};
const light = ([red, green, blue]) => {
  const [r, g, b] = [red, green, blue].map((part) => part / 255).map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = rgba(getComputedStyle(at).backgroundColor);
    if (colour[3] > 250) return colour;
  }
  return [255, 255, 255, 255];
};
const seen = new Set();
for (const element of document.querySelectorAll("main *, header *")) {
  if (!shown(element) || ![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
  const style = getComputedStyle(element);
  const [a, b] = [light(rgba(style.color)), light(ground(element))].sort((x, y) => y - x);
  const contrast = (a + 0.05) / (b + 0.05);
  if (contrast < 4.5) seen.add(`${element.tagName.toLowerCase()} has a contrast of ${contrast.toFixed(1)}`);
}
found.push(...seen);
return found;
