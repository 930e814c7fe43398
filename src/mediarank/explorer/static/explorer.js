// What every page may use. Pages work without it, as links and forms; with it they are quicker to use.
import { fillGrid } from "./grid.js";
import { inTurn, isBusy, sendForm, swap } from "./swap.js";

/** Say something in the corner of the page; screen readers read it out. */
function say(text) {
  const box = document.getElementById("said");
  box.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { box.textContent = ""; }, 6000);
}

const plain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) && !event.button;

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.busy) say(form.dataset.busy);
  if (!form.dataset.swap) return;
  event.preventDefault();
  inTurn(() => sendForm(form, event.submitter, say));
});

document.addEventListener("click", (event) => {
  const followed = event.target.closest("a[data-swap]");
  if (followed && plain(event)) {
    event.preventDefault();
    inTurn(() => swap(followed.href, {}, followed.dataset.swap, say));
  }
  const seek = event.target.closest("[data-seek]");
  const clip = document.querySelector("video");
  if (seek && clip) { clip.currentTime = Number(seek.dataset.seek); clip.play(); }
  if (event.target.closest("[data-tick-all]")) {
    for (const box of document.querySelectorAll("input[name=pick][type=checkbox]:not([data-decided])")) box.checked = true;
  }
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

// Keys press the buttons, follow the links and enter the fields that name them, unless somebody is typing.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, video, audio")) return;
  const wanted = () => [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key && !one.disabled);
  if (wanted()) event.preventDefault(); else if (!isBusy()) return;
  inTurn(() => {
    const named = wanted();
    if (!named) return undefined;
    if (named.form?.dataset.swap && named.type === "submit") {
      if (!named.formNoValidate && !named.form.reportValidity()) return undefined;
      return sendForm(named.form, named, say);
    }
    if (named.dataset.swap) return swap(named.href, {}, named.dataset.swap, say);
    if (named.matches("input")) named.focus(); else named.click();
    return undefined;
  });
});

// Folded parts that are fetched when they are first opened.
document.addEventListener("toggle", async (event) => {
  const part = event.target;
  if (!part.open || !part.dataset.load) return;
  const box = part.querySelector("div"), address = part.dataset.load;
  delete part.dataset.load;
  box.textContent = "Looking…";
  const answer = await fetch(address, { headers: { "X-Part": "1" } });
  const text = await answer.text();
  if (answer.ok) box.innerHTML = text; else box.textContent = text;
}, true);

const size = document.querySelector("[data-size]");
if (size) {
  const kept = localStorage.getItem("tile");
  if (kept) size.value = kept;
  const apply = () => document.documentElement.style.setProperty("--tile", `${size.value}px`);
  size.addEventListener("input", () => { apply(); localStorage.setItem("tile", size.value); });
  apply();
}

// On a narrow screen the filters are folded at first.
const fold = document.querySelector("[data-fold]");
if (fold && window.matchMedia("(max-width: 800px)").matches) fold.open = false;

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
    if (!poll.querySelector("[data-running]")) { clearInterval(timer); location.reload(); }
  }, 1500);
}
