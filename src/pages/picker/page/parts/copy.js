import { button, byId } from './dom.js';

const SHOWN_MS = 2000;

/**
 * A button that copies a text. If the browser forbids it, the button selects what an element shows instead.
 *
 * @param {string} label
 * @param {string} text
 * @param {HTMLElement} source the element to select; it must show the text when `beforeSelect` has run
 * @param {() => void} [beforeSelect]
 */
export function copyButton(label, text, source, beforeSelect) {
  return button(label, async function () {
    const said = byId('said', HTMLElement);
    try {
      await navigator.clipboard.writeText(text);
      this.textContent = 'Copied';
      said.textContent = 'Copied';
    } catch {
      beforeSelect?.();
      getSelection()?.selectAllChildren(source);
      this.textContent = 'Selected';
      said.textContent = 'The browser does not let this page copy. The text is selected: copy it by hand.';
    }
    setTimeout(() => {
      this.textContent = label;
      said.textContent = '';
    }, SHOWN_MS);
  });
}
