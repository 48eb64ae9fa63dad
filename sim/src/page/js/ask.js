// A waiting ask, rendered natively and answerable in full, as the app of a host would.

import { h, icon, ICONS, post } from './dom.js';
import { KINDS } from './answers.js';
import { field, files, fresh, slot } from './fields.js';
import { preview } from './markdown.js';

/** Editors by ask, kept so that an undone answer finds its half-written text again. */
const editors = new Map();

/** The card of the ask a conversation waits on. */
export function editor(history, ask, undone) {
  let made = editors.get(ask.toolCallId);
  if (!made) {
    made = build(history, ask);
    editors.set(ask.toolCallId, made);
  }
  made.wake(undone ? 'The agent failed before it could use the answer, so the question is open again.' : '');
  return made.node;
}

/** The line above a card. */
export function heading(kind, state, look) {
  return h(
    'div',
    { class: 'ask-head' },
    h('span', { class: 'kind' }, icon(ICONS[kind] ?? ICONS.choice), KINDS[kind] ?? kind),
    h('span', { class: `state ${look}` }, h('i'), state),
  );
}

function build(history, ask) {
  const input = ask.input ?? null;
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const fieldset = h('fieldset');
  const complain = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
  };
  const send = async (response) => {
    clear(node);
    complain('');
    fieldset.disabled = true;
    node.classList.add('sending');
    const reply = await post('/app/answer', { history, toolCallId: ask.toolCallId, response });
    const { status, body = {} } = reply.body;
    node.classList.remove('sending');
    if (reply.ok && status === 200 && body.data?.pendingAsk?.toolCallId !== ask.toolCallId) return;
    fieldset.disabled = false;
    if (!reply.ok) complain(reply.body.problem ?? 'That did not work.');
    else if (status === 409) complain('This was answered elsewhere a moment ago.');
    else if (status === 400) refuse(node, body, complain);
    else
      complain(
        body.data?.error
          ? `The agent failed: ${body.data.error} Please answer again.`
          : (body.title ?? `The app answered ${status}.`),
      );
  };
  const accept = (content) => send({ action: 'accept', content });
  const decline = () => send({ action: 'decline' });
  const make = input ? (BODIES[ask.kind] ?? plain) : plain;
  const { body, actions, submit } = make(input ?? {}, { ask, accept, send, decline, complain });
  fieldset.append(...[body].flat().filter(Boolean), problem, h('div', { class: 'actions' }, actions));
  const node = h(
    'form',
    {
      class: `ask ${ask.kind}`,
      'data-ask-state': 'pending',
      'data-tool-call-id': ask.toolCallId,
      novalidate: true,
      tabindex: '-1',
      'aria-label': `Question: ${input?.prompt ?? ask.simple?.text ?? ''}`,
    },
    heading(ask.kind, 'Waiting for you', 'waits'),
    (input?.title ?? ask.simple?.title) && h('h3', {}, input?.title ?? ask.simple.title),
    h('p', { class: 'prompt' }, input?.prompt ?? ask.simple?.text ?? ''),
    fieldset,
  );
  node.addEventListener('submit', (event) => {
    event.preventDefault();
    submit?.();
  });
  const wake = (why) => {
    fieldset.disabled = false;
    if (why) complain(why);
  };
  return { node, wake };
}

/** Shows each complaint beside what it is about. */
function refuse(node, body, complain) {
  const rest = [];
  const fields = Array.isArray(body.meta?.fields) ? body.meta.fields : [];
  const slots = [...node.querySelectorAll('[data-path]')];
  for (const { path = '', message, fix } of fields) {
    const at = slots.filter(
      (one) =>
        path === one.dataset.path || path.startsWith(`${one.dataset.path}.`) || path.startsWith(`${one.dataset.path}[`),
    );
    const best = at.sort((one, other) => other.dataset.path.length - one.dataset.path.length)[0];
    if (!best) {
      rest.push([message, fix].filter(Boolean).join(' '));
      continue;
    }
    // The server names the path; beside its field, the field's own name says more.
    const name = best.parentElement.querySelector('label[for], .name')?.firstChild?.textContent;
    const text = message.replace(path, path === best.dataset.path && name ? name : 'This');
    best.textContent = best.hidden ? text : `${best.textContent} ${text}`;
    best.hidden = false;
    best.parentElement
      .querySelectorAll('input, select, textarea')
      .forEach((input) => input.setAttribute('aria-invalid', 'true'));
  }
  if (!fields.length) rest.push(body.detail ?? body.title ?? 'The app did not take this answer.');
  complain(rest.join(' '));
  node.querySelector('[aria-invalid]')?.focus();
}

function clear(node) {
  node.querySelectorAll('.error').forEach((error) => {
    error.hidden = true;
  });
  node.querySelectorAll('[aria-invalid]').forEach((input) => input.removeAttribute('aria-invalid'));
}

function button(label, look, act) {
  return h(
    'button',
    { type: act ? 'button' : 'submit', class: `act ${look}`, 'data-button-label': label, onclick: act },
    label,
  );
}

const skip = (input, decline) => input.allowDecline !== false && button('Skip', 'quiet', decline);

const BODIES = {
  choice: (input, tools) => (input.select === 'many' ? many(input, tools) : one(input, tools)),

  confirm: (input, { accept, decline }) => ({
    actions: [
      button(input.confirmLabel ?? 'Confirm', input.destructive ? 'danger' : 'primary', () =>
        accept({ confirmed: true }),
      ),
      button(input.denyLabel ?? 'Cancel', 'plain', () => accept({ confirmed: false })),
      input.allowDecline === true && button('Skip', 'quiet', decline),
    ],
  }),

  markdown: (input, { accept, decline }) => {
    const [id, initial] = [fresh(), input.initial ?? ''];
    const area = h('textarea', {
      id,
      class: 'draft',
      rows: Math.min(10, Math.max(4, initial.split('\n').length + 1)),
      placeholder: input.placeholder ?? '',
      'aria-label': 'Draft',
      'aria-describedby': `${id}e`,
      value: initial,
    });
    const paper = h('div', { class: 'paper', hidden: true });
    const label = () => (area.value === initial ? 'Send as it is' : 'Send my version');
    const submit = button(input.submitLabel ?? label(), 'primary');
    area.addEventListener('input', () => {
      if (!input.submitLabel) submit.textContent = submit.dataset.buttonLabel = label();
    });
    const look = h('button', { type: 'button', class: 'quiet see', 'aria-pressed': 'false' }, 'Preview');
    look.addEventListener('click', () => {
      const on = paper.hidden;
      paper.replaceChildren(...preview(area.value));
      paper.hidden = !on;
      area.hidden = on;
      look.textContent = on ? 'Edit' : 'Preview';
      look.setAttribute('aria-pressed', String(on));
    });
    return {
      body: h('div', { class: 'field' }, area, paper, slot('content.markdown', `${id}e`)),
      actions: [submit, skip(input, decline), look],
      submit: () => accept({ markdown: area.value, changed: area.value !== initial }),
    };
  },

  form: (input, { accept, decline }) => {
    const made = (input.fields ?? []).map((spec) => [spec.id, field(spec)]);
    return {
      body: h(
        'div',
        { class: 'fields' },
        made.map(([, { node }]) => node),
      ),
      actions: [button(input.submitLabel ?? 'Submit', 'primary'), skip(input, decline)],
      submit: () =>
        accept({
          values: Object.fromEntries(
            made.map(([id, { read }]) => [id, read()]).filter(([, value]) => value !== undefined),
          ),
        }),
    };
  },

  files: (input, { accept, decline, complain }) => {
    const { node, read } = files(input);
    return {
      body: node,
      actions: [button(input.submitLabel ?? 'Upload', 'primary'), skip(input, decline)],
      submit: () =>
        read().then(
          (list) => accept({ files: list }),
          (error) => complain(error.message),
        ),
    };
  },
};

function one(input, { accept, decline }) {
  const rows = input.options.map((option) => {
    const suggested = input.default?.includes(option.id);
    return h(
      'button',
      {
        type: 'button',
        class: suggested ? 'option first' : 'option',
        'data-button-label': option.label,
        onclick: () => accept({ selected: [option.id] }),
      },
      h('span', { class: 'label' }, option.label),
      suggested && h('em', {}, 'suggested'),
      option.description && h('small', {}, option.description),
    );
  });
  return {
    body: [h('div', { class: 'options' }, rows), slot('content.selected', fresh())],
    actions: skip(input, decline),
  };
}

function many(input, { accept, decline }) {
  const boxes = input.options.map((option) => [
    option,
    h('input', { type: 'checkbox', checked: input.default?.includes(option.id) }),
  ]);
  const rows = boxes.map(([option, box]) =>
    h(
      'label',
      { class: 'option tick' },
      box,
      h('span', { class: 'label' }, option.label),
      option.description && h('small', {}, option.description),
    ),
  );
  const other = h('input', {
    type: 'text',
    maxlength: 500,
    'aria-label': input.otherLabel ?? 'Other',
    placeholder: input.otherLabel ?? 'Other',
  });
  const submit = button(input.submitLabel ?? 'Send', 'primary');
  const count = () => {
    const chosen = boxes.filter(([, box]) => box.checked).length + (input.allowOther && other.value.trim() ? 1 : 0);
    if (!input.submitLabel)
      submit.textContent = submit.dataset.buttonLabel = chosen ? `Send ${chosen} selected` : 'Send none';
  };
  const body = h(
    'div',
    { class: 'options', role: 'group', 'aria-label': 'Options', oninput: count },
    rows,
    input.allowOther && h('div', { class: 'field other' }, other, slot('content.other', fresh())),
  );
  count();
  return {
    body: [body, slot('content.selected', fresh())],
    actions: [submit, skip(input, decline)],
    submit: () => {
      const content = { selected: boxes.filter(([, box]) => box.checked).map(([option]) => option.id) };
      if (input.allowOther && other.value.trim()) content.other = other.value.trim();
      accept(content);
    },
  };
}

/** An ask without an input the page can read: its card's own buttons. */
function plain(_, { ask, send }) {
  const look = { primary: 'primary', destructive: 'danger', cancel: 'quiet' };
  const buttons = ask.simple?.buttons ?? [];
  return { actions: buttons.map((one) => button(one.label, look[one.style] ?? 'plain', () => send(one.response))) };
}
