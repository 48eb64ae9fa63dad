// Reading what happened to an ask out of the state: its answer in words, and where it was given.

const NAMES = { telegram: 'in Telegram', discord: 'in Discord', app: 'in the app', chat: 'in a chat' };
const COUNTS = ['running', 'effective', 'kept'];

export const KINDS = { choice: 'Choice', confirm: 'Confirm', markdown: 'Draft', form: 'Form', files: 'Files' };

/** The asks of a conversation, oldest first: `{id, kind, args, status, result}`. */
export function asksOf(conversation) {
  const rows = conversation?.rows ?? [];
  return rows
    .filter((row) => row.ask)
    .map((row) => {
      const result = rows.findLast(
        (other) => other.type === 'tool-result' && other.toolCallId === row.toolCallId,
      )?.result;
      return { id: row.toolCallId, kind: row.ask.kind, args: row.args ?? {}, status: row.ask.status, result };
    });
}

/** The answer in a few words. */
export function wordsOf({ kind, args, result }) {
  if (!result) return 'No answer';
  if (result.action === 'decline') return 'Skipped';
  if (result.action === 'cancel') {
    const reasons = {
      user_sent_message: 'The conversation went on',
      one_ask_at_a_time: 'One question at a time',
    };
    return reasons[result.reason] ?? 'No answer';
  }
  const content = result.content ?? {};
  if (kind === 'choice') {
    const label = (id) => args.options?.find((option) => option.id === id)?.label ?? id;
    return [...(content.selected ?? []).map(label), content.other].filter(Boolean).join(', ') || 'Nothing';
  }
  if (kind === 'confirm') return content.confirmed ? (args.confirmLabel ?? 'Confirm') : (args.denyLabel ?? 'Cancel');
  if (kind === 'markdown') return content.changed ? 'Your version of the draft' : 'The draft as it was';
  if (kind === 'files') return (content.files ?? []).map((file) => file.filename ?? file.mimeType).join(', ');
  if (kind === 'form') {
    const named = (args.fields ?? []).filter((field) => field.id in (content.values ?? {}));
    return named.map((field) => `${field.label}: ${valueOf(field, content.values[field.id])}`).join(' · ') || 'Sent';
  }
  return 'Answered';
}

function valueOf(field, value) {
  const label = (id) => field.options?.find((option) => option.id === id)?.label ?? id;
  if (Array.isArray(value)) return value.map(label).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(field.options ? label(value) : value);
}

/** The turn that answered an ask, whether or not it still runs. */
export function turnOf(state, id) {
  return state.app.turns.findLast((turn) => turn.toolCallId === id && COUNTS.includes(turn.outcome));
}

/** Where a turn's answer was given: `telegram`, `discord`, `app` or `chat`. */
export function placeOf(state, turn) {
  if (!turn) return null;
  if (turn.via === 'app') return 'app';
  const before =
    state.app.turns.filter((other) => other.toolCallId && other !== turn && other.atMs < turn.atMs).at(-1)?.atMs ?? 0;
  return state.taps.find((tap) => tap.atMs > before && tap.atMs <= turn.atMs)?.place ?? 'chat';
}

export const placeName = (place) => NAMES[place] ?? '';

/** An ask's card in a chat: `{id, live}`, the newest message that shows its question. */
export function cardIn(messages, prompt) {
  const plain = (text) => text.replace(/\\([^A-Za-z0-9\s])/g, '$1').replace(/\s+/g, ' ');
  const needle = plain(prompt ?? '')
    .trim()
    .slice(0, 60)
    .trim();
  if (!needle) return null;
  const card = messages.findLast(
    (message) => !message.mine && message.bot !== false && plain(message.text ?? message.content).includes(needle),
  );
  return card ? { id: String(card.id), live: (card.keyboard?.flat() ?? card.buttons).length > 0 } : null;
}
