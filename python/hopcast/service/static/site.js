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

document.addEventListener("submit", (event) => {
  const question = event.target.getAttribute("data-confirm");
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
