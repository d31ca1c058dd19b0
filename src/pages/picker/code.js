/** The dark panel: the last query, its answer, its time and size, and code to copy. */
import { byId, copy, flash, make, say } from './dom.js';

/** @typedef {import('./graph.js').Answered} Answered */

/** Maximum length of coloured texts. Longer ones, such as an answer of a hundred rows, have one colour. */
const MAX_COLOURED = 6000;

/** Makes the text of each tab. @type {Record<string, (answered: Answered, url: string) => string>} */
const TABS = {
  Query: ({ query }) => query,
  Variables: ({ variables }) => json(variables, 2),
  Answer: ({ text }) => pretty(text),
  curl: ({ query, variables }, url) =>
    `curl -s ${url} \\\n  -H 'content-type: application/json' \\\n  -d '${inShell(json({ query: oneLine(query), variables }))}'`,
  fetch: ({ query, variables }, url) => `const response = await fetch('${url}', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    query: \`${query}\`,
    variables: ${indent(json(variables, 2), 4)},
  }),
});
const { data, errors } = await response.json();`,
  Apollo: (
    { query, variables },
    url,
  ) => `import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';

const client = new ApolloClient({
  link: new HttpLink({ uri: '${url}' }),
  cache: new InMemoryCache(),
});
const { data } = await client.query({
  query: gql\`${query}\`,
  variables: ${indent(json(variables, 2), 2)},
});`,
};

/**
 * @param {object} options
 * @param {string} options.tab the tab to begin with
 * @param {(tab: string) => void} options.onTab
 */
export function createCodePanel({ tab: first, onTab }) {
  const side = byId('side', HTMLElement);
  const tabs = byId('tabs', HTMLElement);
  const code = byId('code', HTMLElement);
  const toggle = byId('sheet', HTMLButtonElement);
  const close = byId('close', HTMLButtonElement);
  const { endpoint = '', hasPlayground } = document.body.dataset;
  const url = new URL(endpoint, location.href).href;
  let tab = Object.hasOwn(TABS, first) ? first : 'Query';
  /** @type {Answered | undefined} */
  let last;

  const buttons = Object.keys(TABS).map((name) => {
    const made = make(
      'button',
      { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'code' },
      name,
    );
    made.addEventListener('click', () => choose(name));
    return made;
  });
  tabs.append(...buttons);
  tabs.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const at = buttons.findIndex(({ textContent }) => textContent === tab);
    const next = buttons.at((at + step) % buttons.length);
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
    code.setAttribute('aria-labelledby', `tab-${tab}`);
    const text = last ? (TABS[tab]?.(last, url) ?? '') : '';
    // Do not replace the same text: the person may be selecting a part of it.
    if (code.textContent !== text) code.replaceChildren(...coloured(text));
  }

  const copyButton = byId('copy', HTMLButtonElement);
  copyButton.addEventListener('click', async () =>
    flash(copyButton, await copy(code.textContent ?? '', code)),
  );
  toggle.addEventListener('click', () => open(true));
  close.addEventListener('click', () => open(false));
  // The shade behind the open sheet belongs to `side` itself.
  side.addEventListener('click', ({ target }) => {
    if (target === side) open(false);
  });
  side.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') open(false);
  });

  /** On a phone the panel is a bar that opens as a sheet. @param {boolean} isOpen */
  function open(isOpen) {
    side.classList.toggle('open', isOpen);
    toggle.ariaExpanded = String(isOpen);
    // The sheet has its own button to close it, in place of the one that opened it.
    if (isOpen) close.focus();
    else if (side.contains(document.activeElement)) toggle.focus();
  }

  // Focusable, so that it can be scrolled without a mouse.
  code.tabIndex = 0;
  show();

  return {
    /** @param {Answered} answered */
    show(answered) {
      last = answered;
      const { query, variables, text, tookMs, cacheStatus } = answered;
      show();
      say(byId('took', HTMLElement), `${Math.max(1, Math.round(tookMs))} ms`);
      say(byId('size', HTMLElement), `${(text.length / 1000).toFixed(1)} kB`);
      say(
        byId('answered-by', HTMLElement),
        cacheStatus
          .split(',')
          .at(-1)
          ?.replace(/; (fwd=)?/, ': ')
          .trim() ?? '',
      );
      if (hasPlayground !== 'true') return;
      const link = byId('open', HTMLAnchorElement);
      link.href = `${endpoint}?${new URLSearchParams({ query, variables: json(variables, 2) })}`;
      link.hidden = false;
    },
  };
}

/**
 * Makes JSON in which invisible characters, and characters that change the writing direction, are escapes.
 *
 * @param {unknown} value
 * @param {number} [spaces]
 */
function json(value, spaces) {
  return JSON.stringify(value, null, spaces).replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (unseen) =>
      unseen
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
  );
}

/** @param {string} text */
function pretty(text) {
  try {
    return json(JSON.parse(text), 2);
  } catch {
    return text;
  }
}

/** @param {string} query */
function oneLine(query) {
  return query.replaceAll(/\s+/g, ' ');
}

/** Escapes a text for single quotes of a shell. @param {string} text */
function inShell(text) {
  return text.replaceAll("'", `'\\''`);
}

/** @param {string} text @param {number} spaces */
function indent(text, spaces) {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}

/** Makes lines whose wrapped parts are indented, with colours. @param {string} text */
function coloured(text) {
  if (text.length > MAX_COLOURED) return [text];
  return text
    .split('\n')
    .flatMap((line, index) => [index ? '\n' : '', make('span', { class: 'code-line' }, ...partsOf(line))]);
}

/** Splits a line into coloured parts: strings, variables and keywords. @param {string} line */
function partsOf(line) {
  return line
    .split(
      /("(?:[^"\\]|\\.)*"|'[^'`]*'|\$\w+|\b(?:query|fragment|on|const|await|import|from|new|curl|true|false|null)\b(?!:))/,
    )
    .map((part, index) => (index % 2 ? make('span', { class: kindOf(part) }, part) : part));
}

/** @param {string} part */
function kindOf(part) {
  if (/^["']/.test(part)) return 'string';
  return part.startsWith('$') ? 'variable' : 'word';
}
