// The Discord pane: grouped messages, components, private replies, "thinking".

import { h, icon, ICONS, pin, post, sync, target, toEnd } from './dom.js';
import { discord as markup } from './markdown.js';

const pane = document.querySelector('[data-pane="discord"]');
const [list, scroller] = ['.rows', '.scroll'].map((name) => pane.querySelector(name));
const STYLES = ['', 'primary', 'secondary', 'success', 'danger', 'link', 'premium'];
const EPOCH = 1420070400000n;
const APART = 7 * 60 * 1000;

const busy = new Set();
const dismissed = new Set();
let shown = null;
let openAsk = () => {};

export function start(open) {
  openAsk = open;
  pin(scroller, list);
}

export function show(state) {
  shown = state;
  pane.classList.toggle('online', state.online);
  const messages = state.messages.filter((message) => !dismissed.has(message.id));
  let before = null;
  const items = messages.map((message) => {
    const at = sentAt(message.id);
    // A card stands on its own, so that one question can be told from the next.
    const card = message.buttons.length > 0 || message.edited;
    const head =
      card ||
      !before ||
      before.author !== message.author ||
      before.private !== message.private ||
      at - sentAt(before.id) > APART;
    before = message;
    const pressed = message.buttons.find((button) => busy.has(`${message.id} ${button.label}`))?.label ?? null;
    return {
      key: message.id,
      sig: JSON.stringify([message, head, pressed]),
      settled: !message.buttons.some((button) => !button.url && !button.disabled),
      build: () => draw(message, head, at, pressed),
    };
  });
  sync(list, items);
  pane.classList.toggle('empty', messages.length === 0);
}

export const end = () => toEnd(scroller, list);

/** A snowflake carries its time. */
function sentAt(id) {
  return Number((BigInt(id) >> 22n) + EPOCH);
}

function when(ms) {
  const date = new Date(ms);
  const time = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  return date.toDateString() === new Date().toDateString()
    ? `Today at ${time}`
    : `${date.toLocaleDateString()} ${time}`;
}

function draw(message, head, at, pressed) {
  const name = h(
    'div',
    { class: 'head' },
    h('strong', {}, message.author),
    message.bot && h('span', { class: 'badge' }, 'APP'),
    h('time', {}, when(at)),
  );
  const face = message.bot
    ? h('img', { src: '/icon.svg', alt: '', width: 38, height: 38 })
    : h('span', { class: 'you', 'aria-hidden': 'true' }, message.author.slice(0, 1).toUpperCase());
  const body = message.thinking
    ? h(
        'p',
        { class: 'thinking' },
        h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i')),
        `${message.author} is thinking…`,
      )
    : h(
        'div',
        { class: 'content' },
        markup(message.content),
        message.edited && h('span', { class: 'edited' }, '(edited)'),
      );
  const parts = [head && name, body, message.embeds.map(embed)];
  if (message.buttons.length) {
    const rows = h(
      'div',
      { class: 'components', role: 'group', 'aria-label': 'Buttons' },
      message.buttons.map((button) => component(message, button, pressed)),
    );
    parts.push(rows);
  }
  if (message.failed) parts.push(h('p', { class: 'failed' }, 'This interaction failed'));
  if (message.private) {
    const dismiss = () => {
      dismissed.add(message.id);
      show(shown);
    };
    parts.push(
      h(
        'p',
        { class: 'private' },
        'Only you can see this · ',
        h('button', { type: 'button', onclick: dismiss }, 'Dismiss message'),
      ),
    );
  }
  const looks = ['msg', head && 'headed', message.private && 'whisper'].filter(Boolean).join(' ');
  return h(
    'li',
    { class: looks, 'data-message-id': message.id, 'data-live': String(message.buttons.length > 0) },
    h('div', { class: 'side' }, head && face),
    h('div', { class: 'main' }, parts),
  );
}

function component(message, button, pressed) {
  const look = `btn ${STYLES[button.style] ?? 'secondary'}`;
  if (button.url) {
    const to = target(button.url);
    const follow = (event) => {
      if (!to?.ask) return;
      event.preventDefault();
      openAsk(to.ask);
    };
    return h(
      'a',
      {
        class: look,
        href: to?.href ?? '#',
        target: to?.ask ? null : '_blank',
        rel: 'noopener noreferrer',
        'data-button-label': button.label,
        onclick: follow,
      },
      h('span', {}, button.label),
      icon(ICONS.out, 'out'),
    );
  }
  const waits = pressed === button.label;
  return h(
    'button',
    {
      type: 'button',
      class: waits ? `${look} busy` : look,
      disabled: button.disabled,
      'aria-busy': waits && 'true',
      'data-button-label': button.label,
      onclick: () => tap(message, button),
    },
    h('span', {}, button.label),
    waits && h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i')),
  );
}

async function tap(message, button) {
  const name = `${message.id} ${button.label}`;
  if ([...busy].some((known) => known.startsWith(`${message.id} `))) return;
  busy.add(name);
  show(shown);
  const started = Date.now();
  await post('/discord/tap', { channel: shown.channel, message: message.id, button: button.label });
  const free = () => {
    const waits = shown.messages.find((known) => known.id === message.id)?.waiting;
    if (waits && Date.now() - started < 3500) return setTimeout(free, 150);
    busy.delete(name);
    show(shown);
  };
  setTimeout(free, 250);
}

function embed(data) {
  const node = h(
    'div',
    { class: 'embed' },
    data.title && h('strong', {}, data.title),
    data.description && h('div', {}, markup(data.description)),
    (data.fields ?? []).map((field) =>
      h('div', { class: 'field' }, h('strong', {}, field.name), h('div', {}, markup(field.value ?? ''))),
    ),
    data.footer?.text && h('small', {}, data.footer.text),
  );
  if (Number.isInteger(data.color)) node.style.borderLeftColor = `#${data.color.toString(16).padStart(6, '0')}`;
  return node;
}
