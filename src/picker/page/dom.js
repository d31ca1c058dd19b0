/**
 * The element with this id, which the page has.
 *
 * @template {HTMLElement} E
 * @param {string} id
 * @param {new () => E} type
 * @returns {E}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`The page lacks its ${id}.`);
}

/**
 * Makes an element. Strings become text and never markup.
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
 * Text from a listing. Characters in it that set the direction of writing turn nothing beside it round.
 *
 * @param {string} text
 */
export function listed(text) {
  return make('bdi', {}, text);
}

/**
 * A button.
 *
 * @param {string} label
 * @param {(this: HTMLButtonElement) => void} onPress
 */
export function button(label, onPress) {
  const made = make('button', { type: 'button' }, label);
  made.addEventListener('click', onPress);
  return made;
}

/**
 * Says this where it is not said already: what is set anew is read out anew.
 *
 * @param {HTMLElement} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A button that copies a text, or, where the browser does not let it, marks where it is to be copied from.
 *
 * @param {string} label
 * @param {HTMLElement} source what shows the text
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
      this.textContent = 'Marked: copy it';
      said.textContent = 'The browser does not let this page copy. The text is marked: copy it.';
    }
    setTimeout(() => {
      this.textContent = label;
      said.textContent = '';
    }, 2000);
  });
}
