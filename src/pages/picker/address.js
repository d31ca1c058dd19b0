/** The address of the page, and the entries of the browser's history: one for each choice, and one while a part covers the page. */

/** The address of what the page shows. */
let shown = location.href;
/** The parts that cover the page, the last one on top. Each has an entry above that of `href`, which is empty once a choice has taken its place. @type {{ close: () => void, href: string }[]} */
const covers = [];
/** Whether the page itself goes back from the entry of a cover. */
let isLeaving = false;

/** @param {Record<string, string>} values an empty one is removed @param {boolean} isChoice whether a person chose something, so that the Back button undoes it */
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
  // A choice in a cover has taken the place of the cover's entry: Back then undoes it.
  if (isChoice && top) top.href = '';
  shown = next.href;
}

/** Adds an entry to the history, so that the Back button only closes a part that covers the page. @param {() => void} close */
export function cover(close) {
  const href = location.href;
  history.pushState('cover', '', href);
  covers.push({ close, href });
}

/** Removes the entry of a part that was closed in another way. @param {() => void} close */
export function uncover(close) {
  const at = covers.findIndex((one) => one.close === close);
  if (at < 0) return;
  covers.splice(at, 1);
  if (history.state !== 'cover') return;
  isLeaving = true;
  history.back();
}

/** @param {() => void} read called when the address describes another state than the page shows */
export function watchAddress(read) {
  addEventListener('popstate', () => {
    const top = isLeaving ? undefined : covers.pop();
    top?.close();
    // The entry below a cover does not know what has changed since, such as the chosen tab.
    if (isLeaving || top?.href === location.href) history.replaceState(history.state, '', shown);
    else if (location.href !== shown) {
      shown = location.href;
      read();
    }
    isLeaving = false;
  });
}
