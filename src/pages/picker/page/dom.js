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
 * Wraps text from a listing, so that characters in it that change the writing direction do not affect its neighbours.
 *
 * @param {string} text
 */
export function listed(text) {
  return make('bdi', {}, text);
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

/**
 * A button that copies the text of an element. If the browser forbids it, the button selects the text instead.
 *
 * @param {string} label
 * @param {HTMLElement} source
 */
export function copyButton(label, source) {
  return button(label, async function () {
    const said = byId('said', HTMLElement);
    try {
      await navigator.clipboard.writeText(source.textContent ?? '');
      this.textContent = 'Copied';
      said.textContent = 'Copied';
    } catch {
      getSelection()?.selectAllChildren(source);
      this.textContent = 'Selected';
      said.textContent = 'The browser does not let this page copy. The text is selected: copy it by hand.';
    }
    setTimeout(() => {
      this.textContent = label;
      said.textContent = '';
    }, 2000);
  });
}
