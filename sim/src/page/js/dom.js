// Making and updating elements. Every text from outside becomes a text node, never markup.

const SVG = 'http://www.w3.org/2000/svg';

/** An element. Properties that start with `on` are listeners; `data-` and `aria-` ones and unknown ones are attributes. */
export function h(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'class') node.className = value;
    else if (key === 'value' || key === 'checked') node[key] = value;
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A line icon from one path. */
export function icon(path, name = '') {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', `icon ${name}`);
  const line = document.createElementNS(SVG, 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  out: 'M8 16 16.5 7.5M9 7h8v8',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  file: 'M7 3.5h7l4 4v13H7zM14 3.5v4h4',
  choice: 'M5 7h.01M5 12h.01M5 17h.01M9.5 7H19M9.5 12H19M9.5 17H19',
  confirm: 'M12 4.5l8.5 15h-17zM12 10v4.5M12 17v.01',
  markdown: 'M5 19h14M14.5 5.5l3 3L9 17l-3.5.5L6 14z',
  form: 'M5 5h14v5H5zM5 14h14v5H5z',
  files: 'M12 16V5m0 0L8 9m4-4 4 4M5 19h14',
};

/**
 * Makes a list show these items: `{key, sig, build, settled}`. An item keeps its element until its `sig` changes, so that
 * focus, half-written text and running animations survive.
 */
export function sync(list, items) {
  const first = !list.known;
  const known = (list.known ??= new Map());
  const keys = new Set(items.map((item) => item.key));
  for (const [key, entry] of known) {
    if (keys.has(key)) continue;
    entry.node.remove();
    known.delete(key);
  }
  let changed = false;
  items.forEach((item, at) => {
    let entry = known.get(item.key);
    if (!entry || entry.sig !== item.sig) {
      const node = item.build();
      if (!entry && !first) node.classList.add('enter');
      if (entry) {
        if (item.settled && !entry.settled) node.classList.add('settling');
        const held = entry.node.contains(document.activeElement) ? document.activeElement : null;
        const label = held?.dataset?.buttonLabel;
        entry.node.replaceWith(node);
        if (held) refocus(node, label);
      }
      entry = { node, sig: item.sig, settled: item.settled };
      known.set(item.key, entry);
      changed = true;
    }
    const there = list.children[at];
    if (there !== entry.node) list.insertBefore(entry.node, there ?? null);
  });
  return changed;
}

function refocus(node, label) {
  const buttons = [...node.querySelectorAll('button, a[href]')];
  const same = buttons.find((button) => button.dataset.buttonLabel === label && !button.disabled);
  const target = same ?? node;
  if (target === node) node.tabIndex = -1;
  target.focus({ preventScroll: true });
}

/** Keeps a scroller at its end while it is there, whatever grows, shrinks or arrives. */
export function pin(scroller, rows) {
  let near = true;
  scroller.addEventListener('scroll', () => {
    near = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
  });
  const watch = new ResizeObserver(() => near && toEnd(scroller, rows));
  watch.observe(scroller);
  watch.observe(rows);
}

/** Goes to the last item: to its end, or to its beginning where it is taller than what can be seen. */
export function toEnd(scroller, rows) {
  const last = rows.lastElementChild;
  scroller.scrollTop = scroller.scrollHeight;
  if (last && last.offsetHeight > scroller.clientHeight) last.scrollIntoView({ block: 'start' });
}

/** Posts JSON; gives `{ok, status, body}`, also when nobody answers. */
export async function post(path, body) {
  try {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await reply.text();
    let told = {};
    try {
      told = JSON.parse(text);
    } catch {
      told = { problem: text.trim() };
    }
    return { ok: reply.ok, status: reply.status, body: told };
  } catch {
    return { ok: false, status: 0, body: { problem: 'The demo does not answer. Is it still running?' } };
  }
}

export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

/** Where a link of a message leads: `{href, ask}`; `ask` when it is a hand-off to this page; null when it is no web link. */
export function target(url) {
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    return null;
  }
  if (!/^https?:$/.test(parsed.protocol)) return null;
  const here = parsed.port === location.port && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(parsed.hostname);
  const ask = (here || parsed.origin === location.origin) && askOf(parsed.hash);
  return { href: parsed.href, ask: ask || null };
}

/** The ask a fragment names. */
export function askOf(hash) {
  const named = /^#ask=(.+)$/.exec(hash);
  if (!named) return null;
  try {
    return decodeURIComponent(named[1]);
  } catch {
    return named[1];
  }
}
