// The page's beginning: follows the state, hands it to the panes, and keeps tabs and hand-off links together.

import { askOf } from './js/dom.js';
import * as talk from './js/talk.js';
import * as telegram from './js/telegram.js';
import * as discord from './js/discord.js';
import * as steps from './js/steps.js';

const panes = { app: talk, telegram, discord };
const tabs = [...document.querySelectorAll('.tabs button')];
const link = document.querySelector('.link-state');
const narrow = matchMedia('(max-width: 999px)');

let state = null;
/** The ask an address named before the state was there. */
let wanted = askOf(location.hash);
/** What each tab showed when it was last looked at. */
const seen = {};

function show(next) {
  state = next;
  talk.show(state);
  telegram.show(state.telegram);
  discord.show(state.discord);
  steps.show(state, talk.current());
  if (wanted && talk.open(wanted)) wanted = null;
  marks();
}

function turn(tab) {
  if (document.body.dataset.tab !== tab) {
    document.body.dataset.tab = tab;
    tabs.forEach((button) =>
      button.dataset.tab === tab ? button.setAttribute('aria-current', 'page') : button.removeAttribute('aria-current'),
    );
    panes[tab].end();
  }
  marks();
}

/** A dot on each tab that has something its visitor has not seen. */
function marks() {
  if (!state) return;
  const pictures = {
    app: JSON.stringify(talk.current()?.rows ?? []),
    telegram: JSON.stringify(state.telegram.messages),
    discord: JSON.stringify(state.discord.messages),
  };
  for (const button of tabs) {
    const { tab } = button.dataset;
    if (!narrow.matches || document.body.dataset.tab === tab || seen[tab] === undefined) seen[tab] = pictures[tab];
    button.classList.toggle('news', seen[tab] !== pictures[tab]);
  }
}

/** Follows a hand-off link to its ask in the app pane. */
function openAsk(id) {
  const hash = `#ask=${encodeURIComponent(id)}`;
  if (location.hash !== hash) history.pushState(null, '', hash);
  turn('app');
  if (!talk.open(id)) wanted = id;
}

function connection(word, look) {
  link.dataset.link = look;
  link.querySelector('.word').textContent = word;
}

talk.start();
telegram.start(openAsk);
discord.start(openAsk);
tabs.forEach((button) => button.addEventListener('click', () => turn(button.dataset.tab)));
narrow.addEventListener('change', marks);
addEventListener('hashchange', () => {
  const id = askOf(location.hash);
  if (id) openAsk(id);
});

const events = new EventSource('/events');
events.addEventListener('open', () => connection('live', 'live'));
events.addEventListener('error', () => connection('reconnecting', 'waiting'));
events.addEventListener('state', (event) => show(JSON.parse(event.data)));
