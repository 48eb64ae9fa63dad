// The Telegram pane: bubbles, keyboards, the sentence that answers a tap, and "typing".

import { clock, h, icon, ICONS, pin, post, sync, target, toEnd } from './dom.js';

const pane = document.querySelector('[data-pane="telegram"]');
const [list, scroller, under, toast] = ['.rows', '.scroll', '.under', '.toast'].map((name) => pane.querySelector(name));
const LOOKS = {
  bold: 'b',
  italic: 'i',
  underline: 'u',
  strikethrough: 's',
  code: 'code',
  pre: 'code',
  spoiler: 'spoiler',
  blockquote: 'quote',
};

/** Buttons that were tapped and wait for an answer, by message and label; the value is the callback, once known. */
const busy = new Map();
let answered = null;
let typed = null;
let typingUntil = 0;
let newest = 0;
let shown = '';
let openAsk = () => {};

export function start(open) {
  openAsk = open;
  pin(scroller, list);
  const input = pane.querySelector('input');
  pane.querySelector('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return;
    input.value = '';
    const reply = await post('/telegram/send', { text });
    if (!reply.ok) say(reply.body.problem ?? 'That did not work.');
  });
}

export function show(state) {
  const { messages, answers, bot, typing } = state;
  pane.querySelector('.name').textContent = bot.first_name;
  hear(answers);
  const last = messages.findLast((message) => !message.mine)?.id ?? 0;
  if (last > newest) typingUntil = 0;
  else if (typed !== null && typing > typed) typingUntil = Date.now() + 5000;
  typed = typing;
  newest = last;
  mood();
  const items = messages.map((message) => {
    const waits = message.keyboard.flat().map((button) => busy.has(`${message.id} ${button.text}`));
    return {
      key: message.id,
      sig: JSON.stringify([message, waits]),
      settled: !message.keyboard.flat().some((button) => !button.url),
      build: () => draw(message),
    };
  });
  shown = state;
  sync(list, items);
  pane.classList.toggle('empty', messages.length === 0);
}

export const end = () => toEnd(scroller, list);

function mood() {
  const types = Date.now() < typingUntil;
  under.textContent = types ? 'typing…' : 'bot';
  under.classList.toggle('typing', types);
  if (types) setTimeout(mood, Math.max(100, typingUntil - Date.now() + 20));
}

function draw(message) {
  const time = h('span', { class: 'time' }, message.edited ? 'edited ' : '', clock(message.sent));
  const bubble = h(
    'div',
    { class: 'bubble' },
    h('div', { class: 'text' }, styled(message.text, message.entities), time),
  );
  const rows = message.keyboard.map((row) =>
    h(
      'div',
      { class: 'keys' },
      row.map((button) => key(message, button)),
    ),
  );
  return h(
    'li',
    { class: message.mine ? 'msg mine' : 'msg', 'data-message-id': message.id, 'data-live': String(rows.length > 0) },
    bubble,
    rows.length > 0 && h('div', { class: 'keyboard', role: 'group', 'aria-label': 'Buttons' }, rows),
  );
}

function key(message, button) {
  const look = `key ${button.style ?? ''}`;
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
        'data-button-label': button.text,
        onclick: follow,
      },
      h('span', {}, button.text),
      icon(ICONS.out, 'out'),
    );
  }
  const name = `${message.id} ${button.text}`;
  const waits = busy.has(name);
  return h(
    'button',
    {
      type: 'button',
      class: waits ? `${look} busy` : look,
      'aria-busy': waits && 'true',
      'data-button-label': button.text,
      onclick: () => tap(message, button),
    },
    h('span', {}, button.text),
  );
}

async function tap(message, button) {
  const name = `${message.id} ${button.text}`;
  if (busy.has(name)) return;
  busy.set(name, null);
  show(shown);
  const free = () => {
    if (busy.delete(name)) show(shown);
  };
  setTimeout(free, 15000);
  const reply = await post('/telegram/tap', { message_id: message.id, button: button.text });
  if (!reply.ok) return free();
  busy.set(name, reply.body.callback);
  if (answered?.has(reply.body.callback)) free();
}

/** Shows the sentences of answers that are new. */
function hear(answers) {
  const first = answered === null;
  answered ??= new Set();
  for (const answer of [...answers].reverse()) {
    if (answered.has(answer.callback)) continue;
    answered.add(answer.callback);
    for (const [name, callback] of busy) if (callback === answer.callback) busy.delete(name);
    if (!first && answer.text) say(answer.text, answer.alert);
  }
}

let hush;
function say(text, alert = false) {
  toast.replaceChildren(
    h('span', {}, text),
    alert
      ? h(
          'button',
          {
            type: 'button',
            onclick: () => {
              toast.hidden = true;
            },
          },
          'OK',
        )
      : '',
  );
  toast.classList.toggle('alert', alert);
  toast.hidden = false;
  clearTimeout(hush);
  if (!alert)
    hush = setTimeout(() => {
      toast.hidden = true;
    }, 4500);
}

/** Text with its entities, whose offsets count UTF-16 units as JavaScript does. */
function styled(text, entities) {
  const cuts = new Set([0, text.length]);
  for (const { offset, length } of entities)
    cuts.add(Math.min(offset, text.length)).add(Math.min(offset + length, text.length));
  const edges = [...cuts].sort((one, other) => one - other);
  return edges.slice(0, -1).map((from, at) => {
    const part = text.slice(from, edges[at + 1]);
    const over = entities.filter(({ offset, length }) => offset <= from && from < offset + length);
    const looks = over.map(({ type }) => LOOKS[type]).filter(Boolean);
    const link = over.find(({ type }) => type === 'text_link' || type === 'url');
    const to = link && target(link.url ?? part);
    if (to)
      return h('a', { href: to.href, target: '_blank', rel: 'noopener noreferrer', class: looks.join(' ') }, part);
    return looks.length ? h('span', { class: looks.join(' ') }, part) : part;
  });
}
