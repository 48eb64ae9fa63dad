// What the answer page gains with script: drafts that survive a reload, the device's own offset, files that are checked before they
// are sent, and one answer for one press. Without it the page is whole.

const form = document.querySelector("form[data-draft]");

/** Keeps what is typed in this browser until it is sent. */
function keepDraft() {
  const key = `draft:${form.dataset.draft}`;
  const fields = () => [...form.elements].filter((field) => field.name && field.type !== "file" && field.type !== "submit");
  const refused = document.querySelector("[data-code]");
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "null");
    // What the service has drawn after a refusal is newer.
    if (kept && !refused) {
      for (const field of fields()) {
        const values = kept[field.name];
        if (!values) continue;
        if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
        else if (values.length > 0) field.value = values[0];
      }
    }
  } catch { /* a browser that keeps nothing loses nothing else */ }
  const keep = () => {
    const now = {};
    for (const field of fields()) {
      const list = (now[field.name] ??= []);
      if (field.type === "checkbox" || field.type === "radio") { if (field.checked) list.push(field.value); }
      else list.push(field.value);
    }
    try { localStorage.setItem(key, JSON.stringify(now)); } catch { /* full, or not allowed */ }
  };
  form.addEventListener("input", keep);
  // Gone once the service has taken it: the next page has no form of this ask.
  window.addEventListener("pagehide", keep);
}

/** A point in time means the device's own zone, unless somebody says otherwise. */
function fillOffsets() {
  for (const offset of form.querySelectorAll("[data-offset-of]")) {
    const local = document.getElementById(offset.dataset.offsetOf);
    const set = () => {
      const when = local.value ? new Date(local.value) : new Date();
      const minutes = -when.getTimezoneOffset();
      const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
      offset.value = `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
    };
    if (!offset.value) set();
    let touched = false;
    offset.addEventListener("input", () => { touched = true; });
    local.addEventListener("input", () => { if (!touched) set(); });
  }
}

/** One press, one answer; the button says that it is on its way. */
function sendOnce() {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
    // A disabled button is not sent along, so it is disabled after the browser has read the form.
    setTimeout(() => { for (const button of form.querySelectorAll("button")) button.disabled = true; }, 0);
  });
  window.addEventListener("pageshow", () => {
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  });
}

/** Brings whoever has to correct something to the first mistake. */
function findMistake() {
  const wrong = form.querySelector("[aria-invalid=true]");
  if (wrong) wrong.focus();
}

/** Follows an answer that is on its way. */
function follow() {
  setTimeout(async () => {
    try {
      const text = await (await fetch(location.pathname)).text();
      const fresh = new DOMParser().parseFromString(text, "text/html");
      if (fresh.querySelector("[data-follow]")) follow();
      else document.querySelector("main").replaceWith(document.importNode(fresh.querySelector("main"), true));
    } catch { follow(); }
  }, 1_500);
}

if (document.querySelector("[data-follow]")) follow();
if (form) {
  keepDraft();
  fillOffsets();
  sendOnce();
  findMistake();
}
