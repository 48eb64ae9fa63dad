// What the inbox gains with script: it follows what happens, answers without loading anew, and opens without a network. Without it
// the page is whole.

const prefix = document.body.dataset.prefix ?? "";
const home = `${prefix}/`;
const news = document.getElementById("news");

/** Says something to whoever does not see the page change. */
function say(text) {
  if (news && text) news.textContent = text;
}

/** Exchanges what differs in one list, and keeps the focus where it was. */
function exchange(section, fresh) {
  const list = section.querySelector("ol");
  const wanted = [...fresh.querySelectorAll("ol > li")];
  const known = new Map([...list.children].map((item) => [item.id, item]));
  const focused = document.activeElement?.closest?.("li")?.id;
  const items = wanted.map((item) => {
    const old = known.get(item.id);
    return old && old.dataset.digest === item.dataset.digest ? old : document.importNode(item, true);
  });
  const keep = new Set(items);
  for (const item of [...list.children]) if (!keep.has(item)) item.remove();
  items.forEach((item, index) => {
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
  });
  section.hidden = fresh.hidden;
  const none = section.querySelector(".none");
  if (none) none.hidden = items.length > 0;
  if (focused && known.has(focused) && document.activeElement === document.body) document.getElementById(focused)?.focus();
  return items.filter((item) => !known.has(item.id));
}

/** Brings the page to what a fresh one shows. */
function apply(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  if (!fresh.querySelector("[data-live]")) { location.replace(home); return; }
  const focused = document.activeElement?.closest?.("li")?.id;
  const notice = fresh.querySelector("main > .notice");
  document.querySelector("main > .notice")?.remove();
  if (notice) document.querySelector("h1").after(document.importNode(notice, true));
  for (const section of document.querySelectorAll("[data-live]")) {
    const other = fresh.querySelector(`[data-live="${section.dataset.live}"]`);
    if (!other) continue;
    const added = exchange(section, other);
    if (section.dataset.live === "waiting" && added.length > 0) {
      const question = added[added.length - 1].querySelector("h3");
      say(`${news?.dataset.new ?? ""} ${question?.textContent ?? ""}`);
    }
  }
  // An answered question moves down; whoever answered it hears how it stands.
  const moved = focused && document.getElementById(focused);
  if (moved) say(moved.querySelector(".notice")?.textContent);
}

let looking = false;
let again = false;

/** Looks what there is now. */
async function look() {
  if (looking) { again = true; return; }
  looking = true;
  try {
    const response = await fetch(home, { headers: { accept: "text/html" } });
    if (response.headers.get("x-askgate-old")) offline(true);
    else { offline(false); apply(await response.text()); }
  } catch { offline(true); }
  looking = false;
  if (again) { again = false; look(); }
}

/** Says that nothing can be reached, and offers nothing meanwhile. */
function offline(is) {
  document.body.classList.toggle("offline", is);
  const shown = document.querySelector("main > .notice.away");
  if (!is) { shown?.remove(); return; }
  if (shown) return;
  const note = document.createElement("p");
  note.className = "notice bad away";
  note.setAttribute("role", "alert");
  note.textContent = news?.dataset.offline ?? "";
  document.querySelector("h1").after(note);
}

/** Answers without leaving the page. */
function answerHere() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches(".answers")) return;
    event.preventDefault();
    if (form.dataset.sent) return;
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const buttons = [...form.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    try {
      const response = await fetch(form.action, { method: "POST", body });
      apply(await response.text());
    } catch { offline(true); }
    // What is still there can be pressed again: it was not taken.
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
    for (const button of buttons) button.disabled = false;
  });
}

/** Follows what happens, for as long as the page is looked at. */
function follow() {
  let stream;
  const begin = () => {
    if (stream || document.hidden) return;
    stream = new EventSource(`${prefix}/events`);
    stream.addEventListener("change", look);
    stream.addEventListener("error", () => {
      // A browser that gave up tries no more by itself.
      if (stream?.readyState === EventSource.CLOSED) { stream = undefined; setTimeout(() => { look(); begin(); }, 10_000); }
    });
  };
  const end = () => { stream?.close(); stream = undefined; };
  document.addEventListener("visibilitychange", () => { if (document.hidden) end(); else begin(); });
  window.addEventListener("pagehide", end);
  window.addEventListener("pageshow", begin);
  window.addEventListener("offline", () => offline(true));
  window.addEventListener("online", look);
  begin();
}

if (document.querySelector("[data-live]")) {
  answerHere();
  follow();
}
if ("serviceWorker" in navigator) navigator.serviceWorker.register(`${prefix}/sw.js`, { scope: home }).catch(() => {});
