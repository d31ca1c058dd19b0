/** Makes elements of text, never of markup, keeps the ages on the page current, and writes the page's address and history. */
import { ageText, markedParts, matchedParts } from './text.js';

/**
 * Finds an element that must be in the page.
 *
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id
 * @param {new () => E} [type]
 * @returns {E}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (found instanceof (type ?? HTMLElement)) return /** @type {E} */ (found);
  throw new Error(`No "${id}" of this type.`);
}

/** Without a mouse, a focused field brings a keyboard that hides the rows. */
export const hasMouse = matchMedia('(hover: hover)').matches;

/** @typedef {Record<string, string | undefined>} Attributes an undefined one is left out */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children strings become text
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/**
 * @param {string} name of an element of SVG
 * @param {Attributes} attributes
 * @param {...(Node | string)} children
 */
export function draw(name, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {(Node | string)[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** @param {string} label @param {() => void} onPress */
export function button(label, onPress) {
  const made = make('button', { type: 'button' }, label);
  made.addEventListener('click', onPress);
  return made;
}

/** The function runs after the next paint, in a task of its own: the browser shows earlier changes first. @param {() => void} run */
export function afterPaint(run) {
  requestAnimationFrame(() => setTimeout(run));
}

/** Sets a text if it differs, since screen readers announce every text that is set. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Shows text from a listing. It cannot change the writing direction of its neighbours, invisible characters become
 * visible marks, and the letters that match the search are highlighted.
 *
 * @param {string} text
 * @param {string} [query]
 */
export function listed(text, query = '') {
  return make(
    'bdi',
    {},
    ...markedParts(text).flatMap((part) =>
      part.isMark
        ? [make('span', { class: 'unseen-mark', title: 'An invisible character' }, part.text)]
        : matchedParts(part.text, query).map((piece, index) => (index % 2 ? make('mark', {}, piece) : piece)),
    ),
  );
}

/** The timers that show the labels of buttons again. @type {WeakMap<HTMLButtonElement, ReturnType<typeof setTimeout>>} */
const rests = new WeakMap();

/**
 * Copies a text, and makes the pressed button say so for a moment. If the browser forbids it, `source` is selected instead.
 *
 * @param {HTMLButtonElement} pressed
 * @param {string} text
 * @param {Element} source
 * @param {() => void} rest shows the label of the button again, by {@link relabel}
 */
export async function copy(pressed, text, source, rest) {
  try {
    await navigator.clipboard.writeText(text);
    tell('Copied.');
    pressed.textContent = 'Copied';
    pressed.classList.add('done');
  } catch {
    getSelection()?.selectAllChildren(source);
    tell('The browser forbids this: copy the selected text yourself.');
    pressed.textContent = 'Selected';
  }
  clearTimeout(rests.get(pressed));
  rests.set(pressed, setTimeout(rest, 2000));
}

/** Shows the label of a button that copies, in place of "Copied". @param {HTMLButtonElement} pressed @param {string} text */
export function relabel(pressed, text) {
  pressed.classList.remove('done');
  say(pressed, text);
}

/** The address of what the page shows. */
let shown = location.href;
/**
 * The open parts that cover the page, such as the list of chains; the last one is on top. Each has added an entry to the
 * history. `href` is the address before that, or empty once a choice has replaced the entry.
 *
 * @type {{ close: () => void, href: string }[]}
 */
const covers = [];
/** Whether the page itself has called `history.back()`, to remove the entry of a closed part. */
let isLeaving = false;

/**
 * @param {Record<string, string>} values an empty one is removed
 * @param {boolean} isChoice whether a person chose something, so that the Back button undoes it
 */
export function writeAddress(values, isChoice) {
  const next = new URL(shown);
  for (const [name, value] of Object.entries(values)) {
    if (value) next.searchParams.set(name, value);
    else next.searchParams.delete(name);
  }
  // A query string may contain a plain colon, which is easier to read.
  next.search = next.searchParams.toString().replaceAll('%3A', ':');
  if (next.href === shown) return;
  const top = covers.at(-1);
  if (isChoice && !top) history.pushState(null, '', next);
  else history.replaceState(isChoice ? null : history.state, '', next);
  // The choice has replaced the entry of the part on top, so the Back button undoes the choice.
  if (isChoice && top) top.href = '';
  shown = next.href;
}

/** Adds an entry to the history for a part that covers the page: the Back button closes only this part. @param {() => void} close */
export function cover(close) {
  history.pushState(true, '');
  covers.push({ close, href: location.href });
}

/** Removes the entry of a part that was closed without the Back button. @param {() => void} close */
export function uncover(close) {
  const at = covers.findIndex((one) => one.close === close);
  if (at < 0) return;
  covers.splice(at, 1);
  if (!history.state) return;
  isLeaving = true;
  history.back();
}

/** @param {() => void} read called when the address describes another state than the page shows */
export function watchAddress(read) {
  addEventListener('popstate', () => {
    const top = isLeaving ? undefined : covers.pop();
    top?.close();
    // If the page changed while the part was open, such as to another tab, the earlier entry has an old address.
    if (isLeaving || top?.href === location.href) history.replaceState(history.state, '', shown);
    else if (location.href !== shown) {
      shown = location.href;
      read();
    }
    isLeaving = false;
  });
}

// A press beside an open box only closes the box: the browser closes it before the click.
let isBeside = false;
addEventListener('pointerdown', ({ target }) => {
  const isInside = target instanceof Element && target.closest(':popover-open, [popovertarget]');
  isBeside = !isInside && document.querySelector(':popover-open') !== null;
});
addEventListener(
  'click',
  (event) => {
    // A click by the keyboard has no `detail`.
    if (!isBeside || !event.detail) return;
    isBeside = false;
    event.preventDefault();
    event.stopPropagation();
  },
  true,
);

/** Tells people with screen readers what happened, also if it is the same again. @param {string} text */
export function tell(text) {
  byId('said').textContent = text;
}

/** How far the gateway's clock is ahead of this machine's (milliseconds). Ages are corrected by this. */
let aheadMs = 0;

/** @param {string | null} date the Date header of a response of the gateway */
export function setClock(date) {
  const difference = Date.parse(date ?? '') - Date.now();
  // Differences below 2 s come from the network and from the Date header, which has whole seconds.
  if (!Number.isNaN(difference)) aheadMs = Math.abs(difference) < 2000 ? 0 : difference;
}

/** An element with an age such as "12 s", which updates itself. @param {string} iso */
export function age(iso) {
  const made = make('time', { datetime: iso });
  show(made);
  return made;
}

/** @param {HTMLTimeElement} time */
function show(time) {
  say(time, ageText(Date.now() + aheadMs - Date.parse(time.dateTime)));
}

setInterval(() => {
  if (document.visibilityState === 'visible') document.querySelectorAll('time').forEach(show);
}, 1000);
