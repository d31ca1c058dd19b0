import { copyButton } from './copy.js';
import { button, listed, make } from './dom.js';
import { shortAddress } from './text.js';

/**
 * An address in short form with buttons that copy it and that show the whole of it.
 *
 * @param {string} address
 */
export function addressField(address) {
  const short = shortAddress(address);
  const written = make('code', { title: address }, listed(short));
  let isWhole = short === address;
  /** @param {boolean} whole */
  const show = (whole) => {
    isWhole = whole;
    written.replaceChildren(listed(whole ? address : short));
    toggle.textContent = whole ? 'Shorten' : 'Show all';
    toggle.ariaExpanded = String(whole);
  };
  const toggle = button('Show all', () => show(!isWhole));
  toggle.ariaExpanded = 'false';
  const copy = copyButton('Copy', address, written, () => show(true));
  copy.ariaLabel = 'Copy address';
  return [written, make('span', { class: 'actions' }, copy, ...(isWhole ? [] : [toggle]))];
}
