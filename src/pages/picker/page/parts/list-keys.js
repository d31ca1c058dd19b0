const PAGE_ROWS = 8;

/**
 * Keyboard control of a list, from the list itself and from its search box if it has one. The focus does not move;
 * one row is marked active, as in the listbox pattern of the ARIA practices.
 *
 * @param {object} options
 * @param {HTMLInputElement} [options.box]
 * @param {HTMLElement} options.list
 * @param {() => Promise<void>} [options.onEnd] called when the active row should move beyond the last one
 * @param {() => void} options.onEnter
 * @param {(index: number) => void} options.onPress called with the row that was pressed, which is active then
 * @param {() => void} [options.onEscape]
 */
export function createListKeys({ box, list, onEnd, onEnter, onPress, onEscape }) {
  const controls = box ? [box, list] : [list];
  let active = -1;

  /**
   * @param {number} index -1 for none
   * @param {{ scroll?: boolean }} [options]
   */
  function setActive(index, { scroll = true } = {}) {
    list.querySelector('.active')?.classList.remove('active');
    const row = list.children[index];
    active = row ? index : -1;
    row?.classList.add('active');
    if (scroll) row?.scrollIntoView({ block: 'nearest' });
    for (const element of controls) {
      if (row) element.setAttribute('aria-activedescendant', row.id);
      else element.removeAttribute('aria-activedescendant');
    }
  }

  /** @param {number} index */
  async function moveTo(index) {
    if (index >= list.children.length) await onEnd?.();
    setActive(Math.min(index, list.children.length - 1));
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    const inList = event.currentTarget === list;
    /** @type {Record<string, (() => void) | false | undefined>} */
    const keys = {
      ArrowDown: () => moveTo(active + 1),
      ArrowUp: () => setActive(Math.max(active - 1, inList ? 0 : -1)),
      PageDown: () => moveTo(active + PAGE_ROWS),
      PageUp: () => setActive(Math.max(active - PAGE_ROWS, 0)),
      // In the search box these keys move the caret until a row is active.
      Home: (inList || active >= 0) && (() => setActive(0)),
      End: (inList || active >= 0) && (() => setActive(list.children.length - 1)),
      ' ': inList && onEnter,
      Enter: onEnter,
      Escape: onEscape,
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  for (const element of controls) element.addEventListener('keydown', onKey);
  list.addEventListener('focus', () => {
    const chosen = [...list.children].findIndex((row) => row.ariaSelected === 'true');
    if (active < 0) setActive(Math.max(0, chosen));
  });
  list.addEventListener('click', ({ target }) => {
    const index = [...list.children].findIndex((row) => target instanceof Node && row.contains(target));
    if (index < 0) return;
    setActive(index);
    list.focus({ preventScroll: true });
    onPress(index);
  });
  // A press must not focus the list yet: the click does, once it knows the row.
  list.addEventListener('mousedown', (event) => event.preventDefault());

  return { setActive, active: () => active };
}
