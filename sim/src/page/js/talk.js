// The app pane: the conversation's rows, its asks, and what the visitor can say.

import { h, icon, ICONS, pin, post, sync, toEnd } from './dom.js';
import { asksOf, placeName, placeOf, turnOf, wordsOf } from './answers.js';
import { editor, heading } from './ask.js';

const pane = document.querySelector('[data-pane="app"]');
const find = (name) => pane.querySelector(name);
const [list, scroller, under, chips, opening, notice, which] = [
  '.rows',
  '.scroll',
  '.under',
  '.chips',
  '.start',
  '.notice',
  '.which',
].map(find);
const area = find('.compose textarea');

const IDEAS = [
  ['Plan a weekend trip', 'choice', 'a few options, one suggested'],
  ['Delete my finished todos', 'confirm', 'something that cannot be undone'],
  ['Order dinner', 'choice', 'more options than buttons'],
  ['Draft a reply', 'markdown', 'a text to read and change'],
  ['Book a room', 'form', 'a form with defaults'],
  ['Upload a receipt', 'files', 'files'],
];
const MORE = [
  ['Back up several regions', 'choice'],
  ['Try the unreliable service', 'confirm'],
];

let state = null;
let chosen = null;
let newest = null;

/** The conversation that is shown. */
export function current() {
  return state?.app.conversations.find((one) => one.historyId === chosen) ?? null;
}

export function start() {
  pin(scroller, list);
  const say = (text) =>
    h(
      'button',
      { type: 'button', 'data-button-label': text[0], onclick: () => prompt(text[0]) },
      icon(ICONS[text[1]]),
      text[0],
    );
  chips.append(...[...IDEAS, ...MORE].map(say));
  opening.append(
    h('h3', {}, 'What shall the agent do?'),
    h('p', {}, 'It will stop and ask you. Answer here, in Telegram or in Discord, and watch the other two follow.'),
    h(
      'div',
      { class: 'ideas' },
      IDEAS.map(([text, kind, about]) =>
        h(
          'button',
          { type: 'button', 'data-button-label': text, onclick: () => prompt(text) },
          h('span', { class: 'pic' }, icon(ICONS[kind])),
          h('span', {}, h('b', {}, text), h('small', {}, about)),
        ),
      ),
    ),
  );
  find('.compose').addEventListener('submit', (event) => {
    event.preventDefault();
    prompt(area.value);
  });
  area.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    prompt(area.value);
  });
  area.addEventListener('input', grow);
  find('.new').addEventListener('click', async () => {
    const reply = await post('/app/new', {});
    if (!reply.ok) return tell(reply.body.problem);
    area.focus();
  });
  which.querySelector('select').addEventListener('change', (event) => {
    chosen = event.target.value;
    show(state);
    end();
  });
}

export function show(next) {
  state = next;
  const { conversations } = state.app;
  const latest = conversations[0]?.historyId ?? null;
  if (latest !== newest) [newest, chosen] = [latest, latest];
  const conversation = current();
  const pending = conversation?.pendingAsk ?? null;
  const rows = rowsOf(conversation);
  const busy = conversation?.busy ?? false;
  under.textContent = busy ? 'thinking…' : pending ? 'waiting for your answer' : 'ready';
  pane.classList.toggle('empty', rows.length === 0 && !busy);
  pane.classList.toggle('asks', pending !== null || busy);
  if (list.dataset.history !== (conversation?.historyId ?? '')) {
    list.dataset.history = conversation?.historyId ?? '';
    list.replaceChildren();
    list.known = undefined;
  }
  sync(list, rows);
  choices(conversations);
}

export const end = () => toEnd(scroller, list);

/** Shows an ask wherever it is, and puts the keyboard there. */
export function open(id) {
  const holder = state?.app.conversations.find((one) => asksOf(one).some((ask) => ask.id === id));
  if (!holder) return false;
  chosen = holder.historyId;
  show(state);
  const card = [...list.querySelectorAll('[data-tool-call-id]')].find((node) => node.dataset.toolCallId === id);
  card?.scrollIntoView({ block: 'center' });
  card?.classList.add('pointed');
  setTimeout(() => card?.classList.remove('pointed'), 1600);
  card?.focus({ preventScroll: true });
  return true;
}

async function prompt(text) {
  const said = text.trim();
  if (!said) return;
  area.value = '';
  grow();
  tell('');
  const reply = await post('/app/prompt', { text: said, history: chosen ?? undefined });
  const error = reply.ok ? reply.body.body?.data?.error : reply.body.problem;
  if (error) tell(reply.ok ? `The agent failed: ${error}` : error);
  else if (reply.body.status !== 200) tell(reply.body.body?.title ?? 'The app did not take this.');
}

function tell(text) {
  notice.textContent = text ?? '';
  notice.hidden = !text;
}

function grow() {
  area.style.height = 'auto';
  area.style.height = `${Math.min(area.scrollHeight, 140)}px`;
}

function choices(conversations) {
  which.hidden = conversations.length < 2;
  const options = conversations.map((one, at) => ({
    key: one.historyId,
    sig: `${one.title} ${Boolean(one.pendingAsk)} ${conversations.length - at}`,
    build: () =>
      h(
        'option',
        { value: one.historyId },
        `${one.title ?? `Conversation ${conversations.length - at}`}${one.pendingAsk ? ' (waits)' : ''}`,
      ),
  }));
  const select = which.querySelector('select');
  sync(select, options);
  select.value = chosen ?? '';
}

/** The rows to show, with a message whose turn still runs at their end. */
function rowsOf(conversation) {
  if (!conversation) return [];
  const asks = new Map(asksOf(conversation).map((ask) => [ask.id, ask]));
  const running = state.app.turns.filter(
    (turn) => turn.outcome === 'running' && turn.historyId === conversation.historyId && turn.prompt,
  );
  const all = [...conversation.rows, ...running.map((turn) => ({ type: 'user', text: turn.prompt }))];
  const items = all.map((row, at) => item(row, at, asks, conversation)).filter(Boolean);
  if (conversation.busy)
    items.push({
      key: 'busy',
      sig: '',
      build: () =>
        h(
          'li',
          { class: 'busy' },
          h('span', { class: 'dots' }, h('i'), h('i'), h('i')),
          h('span', { class: 'sr' }, 'The agent is thinking'),
        ),
    });
  return items;
}

function item(row, at, asks, conversation) {
  const key = `row ${at}`;
  if (row.type === 'user')
    return {
      key,
      sig: row.text,
      build: () => h('li', { class: 'said mine', 'data-message-id': at }, h('p', {}, row.text)),
    };
  if (row.type === 'assistant')
    return { key, sig: row.text, build: () => h('li', { class: 'said', 'data-message-id': at }, h('p', {}, row.text)) };
  if (row.ask) return ask(asks.get(row.toolCallId), at, conversation);
  if (row.type === 'tool-result' && !asks.has(row.toolCallId)) {
    return {
      key,
      sig: row.toolName,
      build: () =>
        h(
          'li',
          { class: 'tool', 'data-message-id': at },
          icon(ICONS.check),
          h('code', {}, row.toolName ?? 'tool'),
          ' ran',
        ),
    };
  }
  return null;
}

function ask(one, at, conversation) {
  const pending = conversation.pendingAsk?.toolCallId === one.id ? conversation.pendingAsk : null;
  const key = `ask ${one.id}`;
  if (pending) {
    const undone = state.app.turns.some((turn) => turn.toolCallId === one.id && turn.outcome === 'undone');
    return {
      key,
      sig: 'pending',
      build: () => h('li', { 'data-message-id': at }, editor(conversation.historyId, pending, undone)),
    };
  }
  const turn = turnOf(state, one.id);
  const aside = one.result?.action === 'cancel';
  const where = aside ? 'Put aside' : `Answered ${placeName(placeOf(state, turn))}`;
  const words = wordsOf(one);
  return {
    key,
    sig: `${where} ${words}`,
    settled: true,
    build: () =>
      h(
        'li',
        { 'data-message-id': at },
        h(
          'div',
          { class: 'ask done', 'data-ask-state': 'settled', 'data-tool-call-id': one.id, tabindex: '-1' },
          heading(one.kind, where.trim(), aside ? 'aside' : 'done'),
          one.args.title && h('h3', {}, one.args.title),
          h('p', { class: 'prompt' }, one.args.prompt ?? ''),
          h('p', { class: 'answer' }, aside ? null : icon(ICONS.check), words),
        ),
      ),
  };
}
