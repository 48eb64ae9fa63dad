// Two small readers of markup, both of which make elements and never parse HTML: the preview of a draft, and Discord's.

import { h } from './dom.js';

/** A draft as it will read: headings, lists, paragraphs, bold, italics, code. */
export function preview(text) {
  const out = [];
  let list = null;
  let paragraph = [];
  const flush = () => {
    if (paragraph.length)
      out.push(
        h(
          'p',
          {},
          paragraph.flatMap((line, at) => (at ? [h('br'), ...inline(line)] : inline(line))),
        ),
      );
    paragraph = [];
    list = null;
  };
  for (const line of text.split('\n')) {
    const heading = /^(#{1,3})\s+(.*)$/.exec(line);
    const item = /^\s*[-*]\s+(.*)$/.exec(line);
    if (heading) {
      flush();
      out.push(h(`h${heading[1].length + 3}`, {}, inline(heading[2])));
    } else if (item) {
      if (!list) {
        flush();
        list = h('ul');
        out.push(list);
      }
      list.append(h('li', {}, inline(item[1])));
    } else if (line.trim()) {
      if (list) flush();
      paragraph.push(line);
    } else flush();
  }
  flush();
  return out;
}

function inline(text) {
  const out = [];
  let at = 0;
  for (const found of text.matchAll(/\*\*(.+?)\*\*|\*(.+?)\*|_(.+?)_|`(.+?)`/g)) {
    out.push(text.slice(at, found.index));
    const [whole, bold, star, low, code] = found;
    if (bold) out.push(h('strong', {}, bold));
    else if (code) out.push(h('code', {}, code));
    else out.push(h('em', {}, star ?? low));
    at = found.index + whole.length;
  }
  out.push(text.slice(at));
  return out;
}

/** A Discord message's content. A backslash before anything but letters, digits and space means "as it is". */
export function discord(content) {
  const lines = [];
  let line = [];
  for (let at = 0; at < content.length; at += 1) {
    const next = content[at + 1];
    if (content[at] === '\n') {
      lines.push(line);
      line = [];
    } else if (content[at] === '\\' && next !== undefined && !/[A-Za-z0-9\s]/.test(next)) {
      line.push({ c: next, plain: true });
      at += 1;
    } else line.push({ c: content[at], plain: false });
  }
  lines.push(line);
  return lines.map((chars) => {
    const kind = [
      ['-# ', 'small'],
      ['### ', 'h'],
      ['## ', 'h'],
      ['# ', 'h'],
      ['> ', 'quote'],
    ].find(([mark]) => starts(chars, 0, mark));
    return h('div', { class: kind ? `ln ${kind[1]}` : 'ln' }, marked(kind ? chars.slice(kind[0].length) : chars));
  });
}

const MARKS = [
  ['**', 'strong'],
  ['__', 'u'],
  ['~~', 's'],
  ['||', 'span'],
  ['`', 'code'],
  ['*', 'em'],
  ['_', 'em'],
];

function starts(chars, at, mark) {
  return [...mark].every((c, offset) => chars[at + offset]?.c === c && !chars[at + offset].plain);
}

function marked(chars) {
  const out = [];
  let text = '';
  const flush = () => {
    if (text) out.push(text);
    text = '';
  };
  for (let at = 0; at < chars.length;) {
    const mark = MARKS.find(([sign]) => starts(chars, at, sign));
    const end = mark ? closing(chars, at + mark[0].length, mark[0]) : -1;
    if (end > 0) {
      flush();
      const inner = chars.slice(at + mark[0].length, end);
      out.push(h(mark[1], {}, mark[1] === 'code' ? inner.map(({ c }) => c).join('') : marked(inner)));
      at = end + mark[0].length;
    } else if (starts(chars, at, '<') && closing(chars, at + 1, '>') > 0) {
      const close = closing(chars, at + 1, '>');
      const address = chars
        .slice(at + 1, close)
        .map(({ c }) => c)
        .join('');
      flush();
      out.push(
        /^https?:/.test(address)
          ? h('a', { href: address, rel: 'noopener noreferrer', target: '_blank' }, address)
          : `<${address}>`,
      );
      at = close + 1;
    } else {
      text += chars[at].c;
      at += 1;
    }
  }
  flush();
  return out;
}

function closing(chars, from, mark) {
  for (let at = from + 1; at < chars.length; at += 1) if (starts(chars, at, mark)) return at;
  return -1;
}
