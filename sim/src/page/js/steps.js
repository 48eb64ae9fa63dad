// The thin line that says what happens now, read out of the state. An ask is followed to its end before the next one is.

import { asksOf, cardIn, placeName, placeOf, turnOf } from './answers.js';

const line = document.querySelector('.steps');
const now = line.querySelector('.now');
const marks = [...line.querySelectorAll('li')];
const NAMES = marks.map((mark) => mark.dataset.name);
/** How long a step is seen at least, and the last one, in milliseconds. */
const STEP = 420;
const LAST = 1500;
/** After this a step that does not come is no longer waited for. */
const PATIENCE = 9000;

let following = null;
let reached = -1;
let since = 0;
let timer = 0;
let latest = { state: null, conversation: null };

export function show(state, conversation) {
  latest = { state, conversation };
  clearTimeout(timer);
  const time = Date.now();
  const asks = asksOf(conversation);
  const newest = asks.at(-1)?.id ?? null;
  if (!asks.some((ask) => ask.id === following)) follow(newest);
  let facts = factsOf(
    state,
    asks.find((ask) => ask.id === following),
  );
  const rest = reached >= NAMES.length - 1 ? LAST : PATIENCE;
  if (following !== newest && time - since >= rest) {
    follow(newest);
    facts = factsOf(state, asks.at(-1));
  }
  if (facts.level < reached && facts.pending) reached = facts.level;
  if (facts.level > reached && (reached < 0 || time - since >= STEP)) [reached, since] = [reached + 1, time];
  draw(facts, asks.length);
  const more = facts.level > reached || following !== newest;
  if (more) timer = setTimeout(() => show(latest.state, latest.conversation), 120);
}

function follow(id) {
  [following, reached, since] = [id, -1, Date.now()];
}

/** How far an ask has come: its level is the number of the last step that is done. */
function factsOf(state, ask) {
  if (!ask) return { level: -1 };
  const cards = {
    telegram: cardIn(state.telegram.messages, ask.args.prompt),
    discord: cardIn(state.discord.messages, ask.args.prompt),
  };
  const both = Object.values(cards);
  const turn = turnOf(state, ask.id);
  const undone = state.app.turns.findLast((one) => one.toolCallId === ask.id && one.outcome === 'undone')?.atMs ?? 0;
  const tap = state.taps.findLast((one) => cards[one.place]?.id === one.message && one.atMs > undone);
  const pending = ask.status === 'pending';
  const cancelled = ask.result?.action === 'cancel';
  const live = both.some((card) => card?.live);
  const place = placeOf(state, turn) ?? (pending && tap ? tap.place : null);
  let level = both.every(Boolean) && (live || !pending) ? 1 : 0;
  if (place) level = 2;
  if (turn || cancelled) level = 3;
  if (!pending && !live && turn?.outcome !== 'running') level = 4;
  return { level, pending, place, cancelled, label: tap?.label };
}

function draw({ place, cancelled, label }, asked) {
  line.dataset.step = NAMES[reached] ?? 'idle';
  marks.forEach((mark, at) => {
    mark.className = at < reached ? 'past' : at === reached ? 'here' : '';
    if (at === reached) mark.setAttribute('aria-current', 'step');
    else mark.removeAttribute('aria-current');
  });
  const answered =
    place && place !== 'app' ? `Tapped ${placeName(place)}` : place === 'app' ? 'Answered in the app' : 'Answered';
  marks[2].firstElementChild.textContent = reached >= 2 && !cancelled ? answered : 'Answered';
  const inChat =
    place && place !== 'app' && label
      ? `“${label}” was tapped ${placeName(place)}.`
      : 'The answer was given in the app.';
  const says = [
    'The agent asked. askgate carries it to the chats.',
    'The same question waits in three places.',
    inChat,
    cancelled ? 'The conversation went on without an answer.' : 'The answer is with the agent, exactly once.',
    cancelled ? 'Put aside, and every copy says so.' : 'Settled: every copy says so.',
  ];
  const text = says[reached] ?? (asked ? '' : 'Nothing is asked yet. Give the agent a task.');
  if (now.textContent !== text) now.textContent = text;
}
