// What every page may use. Pages work without it, as links and forms; with it they are quicker to use.
import { fillGrid } from "./grid.js";

export const token = document.querySelector("meta[name=page-token]").content;

/** Say something in the corner of the page; screen readers read it out. */
export function say(text) {
  const box = document.getElementById("said");
  box.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { box.textContent = ""; }, 6000);
}

/** Send a form's fields and get a piece of HTML; says what went wrong and gives null then. */
export async function send(address, fields) {
  const body = new URLSearchParams(fields);
  body.append("token", token);
  const answer = await fetch(address, { method: "POST", body, headers: { "X-Part": "1" } });
  const text = await answer.text();
  if (!answer.ok) { say(text); return null; }
  return text;
}

for (const select of document.querySelectorAll("select[data-submit]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// Arrow keys and single letters follow the links that name them, unless somebody is typing.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, video, audio, [contenteditable]")) return;
  const named = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
  if (named) { event.preventDefault(); named.click(); }
});

const size = document.querySelector("[data-size]");
if (size) {
  const kept = localStorage.getItem("tile");
  if (kept) size.value = kept;
  const apply = () => document.documentElement.style.setProperty("--tile", `${size.value}px`);
  size.addEventListener("input", () => { apply(); localStorage.setItem("tile", size.value); });
  apply();
}

// A file may be dropped on a form, or a picture pasted.
const drop = document.querySelector("[data-drop]");
if (drop) {
  const field = drop.querySelector("input[type=file]");
  const take = (files) => { if (files.length) { field.files = files; drop.requestSubmit(); } };
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files); });
  document.addEventListener("paste", (event) => take(event.clipboardData.files));
}

fillGrid(document.querySelector("[data-grid]"));

// A part of the page that follows something long.
const poll = document.querySelector("[data-poll][data-alive]");
if (poll) {
  const timer = setInterval(async () => {
    const answer = await fetch(poll.dataset.poll, { headers: { "X-Part": "1" } });
    if (!answer.ok) return;
    poll.innerHTML = await answer.text();
    if (!poll.textContent.includes("is running")) { clearInterval(timer); location.reload(); }
  }, 1500);
}
