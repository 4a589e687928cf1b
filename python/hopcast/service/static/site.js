// What the pages of hopcast add to htmx: uploads in pieces, questions before deletions, and the end of live pages.
"use strict";

const PIECE_B = 8 * 1024 * 1024;
const TRIES = 5;

async function api(method, path, body, headers) {
  const answer = await fetch("/api/v1" + path, { method, body, headers });
  if (!answer.ok) {
    const text = await answer.text();
    throw Object.assign(new Error(text), { status: answer.status });
  }
  return answer.json();
}

// An upload that was broken off goes on where it was: its id is remembered by the file's name, size and date.
async function begin(file) {
  const key = `upload:${file.name}:${file.size}:${file.lastModified}`;
  const known = localStorage.getItem(key);
  if (known) {
    try {
      return await api("GET", `/uploads/${known}`);
    } catch (error) {
      localStorage.removeItem(key);
    }
  }
  const body = JSON.stringify({ name: file.name, size_B: file.size });
  const upload = await api("POST", "/uploads", body, { "Content-Type": "application/json" });
  localStorage.setItem(key, upload.id);
  return upload;
}

async function send(file, say) {
  let upload = await begin(file);
  let failures = 0;
  while (upload.received_B < file.size) {
    const piece = file.slice(upload.received_B, upload.received_B + PIECE_B);
    try {
      upload = await api("PATCH", `/uploads/${upload.id}`, piece, { "Upload-Offset": String(upload.received_B) });
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures > TRIES || error.status === 413 || error.status === 404) throw error;
      await new Promise((done) => setTimeout(done, 500 * failures));
      upload = await api("GET", `/uploads/${upload.id}`);
    }
    say(`${file.name}: ${Math.floor((100 * upload.received_B) / Math.max(1, file.size))} %`);
  }
  return upload;
}

function list(upload) {
  const entry = document.createElement("li");
  entry.textContent = upload.name;
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "file" });
  field.value = `${upload.name}=${upload.id}`;
  entry.append(field);
  document.getElementById("uploads").append(entry);
  document.getElementById("uploaded").append(Object.assign(document.createElement("option"), { value: upload.name }));
  const trace = document.getElementById("trace");
  if (!trace) return;
  if (!trace.value && !upload.name.endsWith(".toml")) trace.value = upload.name;
  const platform = document.getElementById("platform");
  if (upload.name.endsWith(".toml")) platform.value = upload.name;
}

document.addEventListener("change", async (event) => {
  if (!event.target.matches("[data-upload]")) return;
  const state = document.getElementById("upload-state");
  const say = (text) => { state.textContent = text; };
  for (const file of event.target.files) {
    try {
      list(await send(file, say));
      say(`${file.name} has come.`);
    } catch (error) {
      say(`${file.name}: ${error.message}`);
      break;
    }
  }
});

// A text file of this machine becomes the text of a field.
document.addEventListener("change", async (event) => {
  const name = event.target.getAttribute("data-read-into");
  if (name && event.target.files.length) document.getElementById(name).value = await event.target.files[0].text();
});

document.addEventListener("submit", (event) => {
  const question = event.submitter?.getAttribute("data-confirm") || event.target.getAttribute("data-confirm");
  if (question && !window.confirm(question)) event.preventDefault();
});

// A form that was checked shows its error or its estimate, for those who see it and those who hear it.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "form") return;
  const wrong = event.target.querySelector("[aria-invalid], .bad textarea, .wrong");
  const shown = wrong || document.getElementById("estimate");
  if (!shown) return;
  if (!shown.matches("input, select, textarea")) shown.tabIndex = -1;
  shown.focus();
  shown.scrollIntoView({ block: "center" });
});

document.addEventListener("htmx:sseClose", (event) => {
  if (event.target.closest("[data-reload-when-over]")) window.location.reload();
});

// The editor of platform files offers the keys of the section in which the cursor is, and the sections.
let sections = null;

function sectionAt(text, place) {
  const heads = [...text.slice(0, place).matchAll(/^\s*\[\[?\s*([\w.]+)\s*\]\]?/gm)];
  return heads.length ? heads[heads.length - 1][1] : "";
}

function insert(area, text) {
  const begin = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
  const typed = area.value.slice(begin, area.selectionStart);
  const from = /^\s*[\w.[]*$/.test(typed) ? begin : area.selectionStart;
  area.setRangeText(text, from, area.selectionStart, "end");
  area.focus();
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

async function offerKeys(area) {
  const keys = document.getElementById("keys");
  sections = sections || (await (await fetch(keys.dataset.keys)).json());
  const section = sectionAt(area.value, area.selectionStart);
  const begin = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
  const typed = area.value.slice(begin, area.selectionStart).trim().replace(/^\[+/, "");
  const own = Object.entries(sections[section] || {}).map(([key, meaning]) => [key, `${key} = `, meaning]);
  const others = Object.keys(sections).filter(Boolean).map((name) => [`[${name}]`, `[${name}]\n`, "a section"]);
  const offered = [...own, ...others].filter(([name]) => name.replace("[", "").startsWith(typed));
  keys.replaceChildren(...offered.slice(0, 40).map(([name, text, meaning]) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name, title: meaning });
    button.addEventListener("click", () => insert(area, text));
    return button;
  }));
}

for (const kind of ["input", "keyup", "click", "focusin"]) {
  document.addEventListener(kind, (event) => {
    if (event.target.id === "platform_text") offerKeys(event.target);
  });
}
