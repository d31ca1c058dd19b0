/** The dark panel: the last query, its answer, its time and size, and code to copy. */
import { afterPaint, byId, copy, cover, make, relabel, say, uncover } from './dom.js';
import { factsOf, UNSEEN } from './text.js';

/** @typedef {import('./graph.js').Answered} Answered */

/** Further lines, such as those of an answer of fifty rows, have one colour: spans are slow to lay out. */
const COLOURED_LINES = 200;
/** The Query tab shows at most this many lines of the answer. */
const ANSWER_LINES = 40;
/** A time up to this one is shown in green, if the answer has data. */
const SLOW_MS = 500;
/** A movement of a finger over this distance is a swipe (pixels). */
const SWIPE_PX = 60;

/** Makes the text of each tab. @type {Record<string, (answered: Answered, url: string) => string>} */
const TABS = {
  Query: ({ query }) => query,
  Variables: ({ variables }) => pretty(variables),
  Answer: ({ text }) => prettyText(text),
  curl: ({ query, variables }, url) =>
    `curl -s ${url} \\\n  -H 'content-type: application/json' \\\n  -d '${inShell({ query: query.replaceAll(/\s+/g, ' '), variables })}'`,
  fetch: ({ query, variables }, url) => `const response = await fetch('${url}', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    query: \`${indented(query, 4)}\`,
    variables: ${indented(pretty(variables), 4)},
  }),
});
const { data, errors } = await response.json();`,
  Apollo: (
    { query, variables },
    url,
  ) => `import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';\n
const client = new ApolloClient({
  link: new HttpLink({ uri: '${url}' }),
  cache: new InMemoryCache(),
});
const { data } = await client.query({
  query: gql\`${indented(query, 2)}\`,
  variables: ${indented(pretty(variables), 2)},
});`,
};

/**
 * @param {object} options
 * @param {string} options.tab the tab to begin with
 * @param {(tab: string) => void} options.onTab
 */
export function createCodePanel({ tab: first, onTab }) {
  const side = byId('side');
  const tabs = byId('tabs');
  const shown = byId('shown');
  const code = byId('code');
  const toggle = byId('sheet', HTMLButtonElement);
  const copyButton = byId('copy', HTMLButtonElement);
  const link = byId('open', HTMLAnchorElement);
  const { endpoint = '', hasPlayground } = document.body.dataset;
  const url = new URL(endpoint, location.href).href;
  let tab = Object.hasOwn(TABS, first) ? first : 'Query';
  /** @type {Answered | undefined} */
  let last;
  let lastAsked = 0;

  const buttons = Object.keys(TABS).map((name) => {
    const made = make(
      'button',
      { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'shown' },
      name,
    );
    made.addEventListener('click', () => choose(name));
    return made;
  });
  tabs.append(...buttons);
  tabs.addEventListener('keydown', ({ key }) => {
    const at = buttons.findIndex(({ textContent }) => textContent === tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[key] ?? at;
    const next = buttons.at(to % buttons.length);
    if (to === at) return;
    choose(next?.textContent ?? tab);
    next?.focus();
  });

  /** @param {string} name */
  function choose(name) {
    tab = name;
    show();
    onTab(name === 'Query' ? '' : name);
  }

  function show() {
    for (const one of buttons) {
      const isChosen = one.textContent === tab;
      one.ariaSelected = String(isChosen);
      one.tabIndex = isChosen ? 0 : -1;
    }
    shown.setAttribute('aria-labelledby', `tab-${tab}`);
    byId('with').hidden = tab !== 'Query' || !last;
    if (!last) return;
    const { query, variables } = last;
    link.href = `${endpoint}?${new URLSearchParams({ query, variables: pretty(variables) })}`;
    link.hidden = hasPlayground !== 'true';
    nameCopy();
    write(code, TABS[tab]?.(last, url) ?? '');
    if (tab !== 'Query') return;
    write(byId('variables'), pretty(variables));
    const lines = prettyText(last.text).split('\n');
    if (lines.length > ANSWER_LINES) lines.splice(ANSWER_LINES, lines.length, '… shortened');
    write(byId('answer'), lines.join('\n'));
  }

  const nameCopy = () => relabel(copyButton, `Copy ${tab === 'Apollo' ? tab : tab.toLowerCase()}`);
  copyButton.addEventListener('click', () => {
    // Without a clipboard, `copy` selects the text: open the sheet, so that the person sees it.
    if (!navigator.clipboard && toggle.checkVisibility()) open(true);
    const note = tab === 'Query' && last ? `# Variables: ${escaped(JSON.stringify(last.variables))}\n` : '';
    void copy(copyButton, note + code.textContent, code, nameCopy);
  });
  const shut = () => open(false);
  toggle.addEventListener('click', () => open(!side.classList.contains('open')));
  // A swipe down closes the sheet, as in apps, unless it scrolls a part of it.
  let beganAt = 0;
  side.addEventListener(
    'touchstart',
    ({ target, touches: [touch] }) => {
      const scrolls = target instanceof Node && (shown.contains(target) || byId('pair').scrollTop > 0);
      beganAt = touch && !scrolls ? touch.clientY : Infinity;
    },
    { passive: true },
  );
  side.addEventListener('touchend', ({ changedTouches: [touch] }) => {
    if (touch && touch.clientY > beganAt + SWIPE_PX) shut();
  });
  side.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && !document.querySelector(':popover-open')) shut();
  });
  // A large window shows the panel without a sheet.
  matchMedia('(width >= 60em) and (height >= 32.5em)').addEventListener('change', shut);
  document.addEventListener('click', ({ target }) => {
    if (target instanceof Element && !target.closest('#side, #status')) shut();
  });

  /** On a phone the panel is a bar that opens as a sheet. @param {boolean} isOpen */
  function open(isOpen) {
    if (isOpen === side.classList.contains('open')) return;
    side.classList.toggle('open', isOpen);
    toggle.ariaExpanded = String(isOpen);
    for (const behind of document.querySelectorAll('.skip, header, main > .card'))
      behind.toggleAttribute('inert', isOpen);
    // In the same place, so that a second press closes it.
    say(toggle, isOpen ? 'Close' : 'Code');
    toggle.focus();
    if (isOpen) cover(shut);
    else uncover(shut);
  }

  // Focusable, so that it can be scrolled without a mouse.
  shown.tabIndex = 0;
  show();

  return {
    /** Shows an answer, after the list has shown its rows. Before the first answer, shows the query. @param {Answered} answered */
    show(answered) {
      const asked = performance.now() - answered.tookMs;
      // The answer to an earlier query is not shown: it would replace the chosen tokens by others.
      if (asked < lastAsked || (last?.text && !answered.text)) return;
      lastAsked = asked;
      last = answered;
      afterPaint(() => showAnswer(answered));
    },
  };

  /** @param {Answered} answered */
  function showAnswer({ text, tookMs, cacheStatus }) {
    show();
    if (!text) return;
    const took = byId('took');
    const [time = '', size = ''] = cacheStatus === undefined ? [text] : factsOf(tookMs, text);
    say(took, time);
    const isFailed = !text.startsWith('{"data"');
    took.classList.toggle('failed', isFailed);
    took.classList.toggle('slow', isFailed || tookMs > SLOW_MS);
    say(byId('size'), size);
    say(byId('answered-by'), answererOf(cacheStatus ?? ''));
  }
}

/** Says who answered: the last cache with a hit in Cache-Status, which is nearest to the browser. @param {string} status */
function answererOf(status) {
  const [, cache] = /(?:.*,)?\s*([^,;\s]+)[^,]*;\s*hit/.exec(status) ?? [];
  return cache ? `${cache} cache` : status && 'gateway';
}

/** Escapes characters that people cannot see, except the line breaks between values. @param {string} json */
function escaped(json) {
  return json.replaceAll(UNSEEN, (unseen) =>
    unseen.replaceAll(/[^\n]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** Makes JSON with short objects and arrays in one line. @param {unknown} value */
function pretty(value) {
  return escaped(JSON.stringify(value, null, 2)).replaceAll(
    /([[{])\n\s+([^[\]{}]{1,60}?)\n\s+([\]}])/g,
    (_, start, content, end) => {
      const line = content.replaceAll(/\n\s+/g, ' ');
      return start === '{' ? `{ ${line} }` : `[${line}${end}`;
    },
  );
}

/** Indents all lines but the first. @param {string} text @param {number} by */
function indented(text, by) {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`);
}

/** @param {string} text */
function prettyText(text) {
  try {
    return pretty(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Makes JSON that can stand in single quotes of a shell. @param {unknown} value */
function inShell(value) {
  return escaped(JSON.stringify(value)).replaceAll("'", `'\\''`);
}

/** Writes a text with colours, in lines whose wrapped parts are indented. @param {Element} place @param {string} text */
function write(place, text) {
  // Do not replace the same text: the person may be selecting a part of it.
  if (place.textContent === text) return;
  const lines = text.split('\n');
  const rest = lines.splice(COLOURED_LINES).join('\n');
  const coloured = lines.flatMap((line, index) => [index ? '\n' : '', lineOf(line)]);
  place.replaceChildren(...coloured, rest && `\n${rest}`);
}

/** @param {string} text */
function lineOf(text) {
  const line = make('span', { class: 'code-line' }, ...partsOf(text));
  line.style.setProperty('--indent', `${text.search(/\S|$/) + 2}ch`);
  return line;
}

/** The classes of parts of a line. `url` has no colour: it keeps parts of a URL from counting as keys. */
const KINDS = Object.entries({
  url: /https?:[^\s']+/,
  key: /"\w+"(?=:)|\b\w+(?=:)/,
  string: /"(?:[^"\\]|\\.)*"|'[^'\x60]*'/,
  variable: /\$\w+/,
  type: /\b[A-Z]\w+|\b\d[\d.]*/,
  word: /\b(?:query|fragment|on|const|await|import|from|new|curl|true|false|null)\b/,
  brace: /[[\](){},:!]+|\.{3}/,
});
const ANY = new RegExp(KINDS.map(([kind, { source }]) => `(?<${kind}>${source})`).join('|'), 'g');

/** Splits a line into coloured parts. @param {string} line */
function partsOf(line) {
  const parts = [];
  let end = 0;
  for (const { 0: text, index, groups = {} } of line.matchAll(ANY)) {
    const kind = KINDS.find(([name]) => groups[name] !== undefined)?.[0];
    parts.push(line.slice(end, index), make('span', { class: kind }, text));
    end = index + text.length;
  }
  return [...parts, line.slice(end)];
}
