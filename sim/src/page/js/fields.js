// The fields of a form and the files of a files ask: one element per type, and its value as the answer wants it.

import { h, icon, ICONS } from './dom.js';

const INPUTS = {
  text: 'text',
  email: 'email',
  url: 'url',
  phone: 'tel',
  number: 'number',
  date: 'date',
  time: 'time',
  datetime: 'datetime-local',
};
const ACCEPT = {
  image: 'image/jpeg,image/png,image/gif,image/webp',
  pdf: 'application/pdf',
  text: 'text/plain',
  csv: 'text/csv',
  json: 'application/json',
};
const ACCEPT_NAMES = { image: 'images', pdf: 'PDF', text: 'text', csv: 'CSV', json: 'JSON' };
/** What one answer may weigh; the page's server takes no more. */
const TOTAL_MAX = 32 * 1024 * 1024;

let serial = 0;
/** An id for an element that another one names. */
export function fresh() {
  serial += 1;
  return `f${serial}`;
}

/** The place where the server's complaint about a path is shown. */
export function slot(path, id) {
  return h('p', { class: 'error', id, 'data-path': path, hidden: true });
}

/** One field: `{node, read}`; `read` gives undefined where nothing was entered. */
export function field(spec) {
  const id = fresh();
  const error = slot(`content.values.${spec.id}`, `${id}e`);
  const described = { 'aria-describedby': `${id}h ${id}e`, 'aria-required': spec.required ? 'true' : null };
  const help = spec.helperText && h('p', { class: 'help', id: `${id}h` }, spec.helperText);
  const title = [spec.label, spec.required && h('span', { class: 'must', 'aria-hidden': 'true' }, ' *')];
  if (spec.type === 'boolean') {
    const input = h('input', { type: 'checkbox', id, role: 'switch', checked: spec.default === true, ...described });
    return {
      node: h('div', { class: 'field flip' }, h('label', { for: id }, title), input, help, error),
      read: () => input.checked,
    };
  }
  if (spec.type === 'multiselect') {
    const boxes = spec.options.map((option) => [
      option.id,
      h('input', { type: 'checkbox', checked: spec.default?.includes(option.id) }),
    ]);
    const rows = spec.options.map((option, at) =>
      h('label', { class: 'tick' }, boxes[at][1], h('span', {}, option.label)),
    );
    const read = () => {
      const chosen = boxes.filter(([, box]) => box.checked).map(([value]) => value);
      return chosen.length ? chosen : undefined;
    };
    return {
      node: h(
        'div',
        { class: 'field', role: 'group', 'aria-labelledby': id },
        h('span', { class: 'name', id }, title),
        h('div', { class: 'ticks' }, rows),
        help,
        error,
      ),
      read,
    };
  }
  const input = control(spec, { id, ...described });
  const read = () => value(spec, input);
  return { node: h('div', { class: `field ${spec.type}` }, h('label', { for: id }, title), input, help, error), read };
}

function control(spec, props) {
  if (spec.type === 'textarea') return h('textarea', { ...props, rows: 2, value: spec.default ?? '' });
  if (spec.type === 'select') {
    const none = spec.required && spec.default ? [] : [h('option', { value: '' }, 'Choose…')];
    const input = h(
      'select',
      props,
      none,
      spec.options.map((option) => h('option', { value: option.id }, option.label)),
    );
    input.value = spec.default ?? '';
    return input;
  }
  const input = h('input', {
    ...props,
    type: INPUTS[spec.type] ?? 'text',
    step: spec.type === 'number' ? (spec.integer ? 1 : 'any') : null,
    autocomplete: 'off',
  });
  if (spec.type === 'datetime' && spec.default) input.value = local(spec.default);
  else if (spec.default !== undefined) input.value = spec.default;
  return input;
}

function value(spec, input) {
  if (spec.type === 'number') {
    // What the browser could not read as a number goes to the server as such, so that it is refused and not left out.
    if (input.validity.badInput) return null;
    return input.value === '' ? undefined : Number(input.value);
  }
  if (input.value.trim() === '') return undefined;
  if (spec.type === 'datetime') return new Date(input.value).toISOString();
  return input.value;
}

/** A moment as a `datetime-local` input writes it. */
function local(iso) {
  const date = new Date(iso);
  return Number.isNaN(date.getTime())
    ? ''
    : new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/** The files of an answer: `{node, read}`; `read` gives a promise. */
export function files(spec) {
  const id = fresh();
  const chosen = [];
  const most = spec.maxFiles ?? 10;
  const kinds = (spec.accept ?? []).map((kind) => ACCEPT_NAMES[kind] ?? kind).join(', ');
  const input = h('input', {
    type: 'file',
    id,
    multiple: most > 1,
    accept: (spec.accept ?? []).map((kind) => ACCEPT[kind]).join(','),
    'aria-describedby': `${id}e`,
  });
  const list = h('ul', { class: 'chosen' });
  const error = slot('content.files', `${id}e`);
  const draw = () =>
    list.replaceChildren(
      ...chosen.map((file, at) => {
        const drop = () => {
          chosen.splice(at, 1);
          draw();
          input.focus();
        };
        return h(
          'li',
          {},
          icon(ICONS.file),
          h('span', { class: 'name' }, file.name),
          h('small', {}, size(file.size)),
          h('button', { type: 'button', class: 'quiet', 'aria-label': `Remove ${file.name}`, onclick: drop }, '×'),
        );
      }),
    );
  input.addEventListener('change', () => {
    chosen.push(...input.files);
    input.value = '';
    draw();
  });
  const hint = `${kinds || 'any file'}${most > 1 ? `, up to ${most}` : ''}`;
  const zone = h(
    'div',
    { class: 'drop' },
    icon(ICONS.files),
    h('label', { for: id }, 'Choose a file or drop it here'),
    h('small', {}, hint),
    input,
  );
  const read = async () => {
    const total = chosen.reduce((sum, file) => sum + file.size, 0);
    if (total > TOTAL_MAX) throw new Error(`The files weigh ${size(total)}; send at most ${size(TOTAL_MAX)} at once.`);
    return Promise.all(
      chosen.map(async (file) => ({
        url: await dataUrl(file),
        filename: file.name.slice(0, 255),
        mimeType: typeOf(file),
        size: file.size,
      })),
    );
  };
  return { node: h('div', { class: 'field' }, zone, list, error), read };
}

const typeOf = (file) => file.type || 'application/octet-stream';

function dataUrl(file) {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => done(`data:${typeOf(file)};base64,${reader.result.split(',')[1] ?? ''}`));
    reader.addEventListener('error', () => fail(new Error(`${file.name} could not be read.`)));
    reader.readAsDataURL(file);
  });
}

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
