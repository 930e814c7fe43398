// Links and forms that change one part of the page: the server sends the whole page, and only that part is replaced.
// They work without this script as well, by loading the page.

let waiting = Promise.resolve(), count = 0;

/** Do one thing after the other: a key that is pressed while an answer is on its way counts for what comes next. */
export function inTurn(action) {
  count += 1;
  waiting = waiting.then(action, action).finally(() => { count -= 1; });
  return waiting;
}

/** Whether an answer is on its way, so that the page may soon offer what it does not offer yet. */
export const isBusy = () => count > 0;

/** Fetch an address and replace the element with this id. Says what went wrong in the corner of the page. */
export async function swap(address, options, id, say) {
  const old = document.getElementById(id);
  old.setAttribute("aria-busy", "true");
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    old.removeAttribute("aria-busy");
    say("The explorer does not answer. Is it still running?");
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = answer.ok && page.getElementById(id);
  if (!fresh) {
    old.removeAttribute("aria-busy");
    say((page.querySelector("[data-message]") || page.body).textContent.trim() || "That did not work.");
    return;
  }
  const focus = remember(old);
  old.replaceWith(document.adoptNode(fresh));
  document.title = page.title;
  history.replaceState(null, "", answer.url);
  const words = fresh.querySelector("[data-say]");
  if (words) say(words.textContent.trim().replace(/\s+/g, " "));
  if (focus) document.getElementById(id).querySelector(focus)?.focus({ preventScroll: true });
}

/** A selector of the focused element, if it is inside and can be found again. */
function remember(old) {
  const here = document.activeElement;
  if (!here || !old.contains(here)) return null;
  if (here.dataset.key) return `[data-key="${CSS.escape(here.dataset.key)}"]`;
  if (here.getAttribute("aria-label")) return `[aria-label="${CSS.escape(here.getAttribute("aria-label"))}"]`;
  if (here.name) return `[name="${CSS.escape(here.name)}"]`;
  return null;
}

/** Send a form, with the button that was pressed, and replace its part of the page. */
export function sendForm(form, button, say) {
  const fields = new FormData(form, button);
  // A field may be called "method", and would then be what form.method gives.
  const address = new URL(form.getAttribute("action"), location.href);
  if (form.getAttribute("method") === "get") {
    address.search = new URLSearchParams(fields).toString();
    return swap(address, {}, form.dataset.swap, say);
  }
  return swap(address, { method: "POST", body: new URLSearchParams(fields) }, form.dataset.swap, say);
}
