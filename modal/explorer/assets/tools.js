// Small helpers: unpacking, numbers, elements.

function bytesOf(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

function arrayOf(text, Kind) {
  return new Kind(bytesOf(text).buffer);
}

async function inflated(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

// Five digits without trailing zeros; a dash where there is no number.
function digits(value) {
  if (value === null || value === undefined) return "–";
  return String(Number(value.toPrecision(5))).replaceAll("-", "−");
}

function withUnits(value, units) {
  return value === null || value === undefined || !units ? digits(value) : `${digits(value)} ${units}`;
}

// An element with attributes and children; "on…" attributes are listeners.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function button(label, title, onclick, extra = {}) {
  return make("button", { type: "button", title, "aria-label": title, onclick, ...extra }, label);
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

// The colour of a mode: black is the colour of text, light on a dark page.
function inked(colour) {
  return colour === "#000000" ? "var(--fm-text)" : colour;
}

// A colour of the page's style sheet.
function styleColour(element, name) {
  return getComputedStyle(element).getPropertyValue(name).trim();
}
