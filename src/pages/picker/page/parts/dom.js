import { markedParts } from './marks.js';

/**
 * Finds an element that must be in the page.
 *
 * @template {HTMLElement} E
 * @param {string} id
 * @param {new () => E} type
 * @returns {E}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`The page has no element "${id}" of this type.`);
}

/**
 * Makes an element. Strings become text, never markup.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | undefined>} [attributes] undefined leaves one out
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(attribute, value);
  }
  made.append(...children);
  return made;
}

/**
 * Wraps text from a listing, so that its writing direction does not affect its neighbours. Characters that cannot be
 * seen are shown as marks.
 *
 * @param {string} text
 */
export function listed(text) {
  return make(
    'bdi',
    {},
    ...markedParts(text).map((part) =>
      part.isMark
        ? make('span', { class: 'mark', title: 'A character that is not seen' }, part.text)
        : part.text,
    ),
  );
}

/**
 * @param {string} label
 * @param {(this: HTMLButtonElement) => void} onPress
 */
export function button(label, onPress) {
  const made = make('button', { type: 'button' }, label);
  made.addEventListener('click', onPress);
  return made;
}

/**
 * Sets an element's text if it differs: screen readers read out every text that is set.
 *
 * @param {HTMLElement} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
