/**
 * Starts GraphiQL. The query and its variables are read from the page's address, so that a link can open them in a new
 * tab. Every edit updates the address; otherwise a reload would combine old variables with another query.
 */
import { TABS } from './tabs.js';
// The gateway serves this file of the picker beside this one.
import { factsOf } from './text.js';

/** @type {Record<string, string>} */
const WORKERS = {
  editorWorkerService: './editor.worker.js',
  json: './json.worker.js',
  graphql: './graphql.worker.js',
};
Object.assign(self, {
  MonacoEnvironment: {
    globalAPI: false,
    /** @param {unknown} _module @param {string} label */
    getWorkerUrl: (_module, label) => new URL(WORKERS[label] ?? '', import.meta.url).pathname,
  },
});

const { searchParams } = new URL(location.href);
const query = searchParams.get('query');
// GraphiQL ignores the variables of the first tab. A browser that has opened GraphiQL before shows its own tabs.
let isFirstVisit = true;
/** GraphiQL stores nothing if this is null. @type {null | undefined} */
let storage;
try {
  isFirstVisit = localStorage.getItem('graphiql:tabState') === null;
} catch {
  // The browser forbids storage.
  storage = null;
}
const variables = searchParams.get('variables') ?? (isFirstVisit && !query ? TABS[0]?.variables : undefined);
const defaultTabs = query ? [{ query, variables }, ...TABS.filter((tab) => tab.query !== query)] : TABS;

/** @param {string} name */
function keepInAddress(name) {
  return (/** @type {string} */ value) => {
    const address = new URL(location.href);
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
    history.replaceState(null, '', address);
  };
}

// Shown below each answer: its time, size and cost, and whether it was cached.
const facts = document.createElement('p');
facts.id = 'answer-facts';
const send = self.fetch;
self.fetch = async (...request) => {
  const began = performance.now();
  const response = await send(...request);
  if (String(request[1]?.body).includes('IntrospectionQuery')) return response;
  const text = await response.clone().text();
  const cost = response.headers.get('x-cost');
  facts.textContent = [
    ...factsOf(performance.now() - began, text),
    ...(cost ? [`cost ${cost}`] : []),
    response.headers.get('cache-status') ?? '',
  ].join(' · ');
  document.querySelector('.graphiql-response')?.append(facts);
  return response;
};

const root = /** @type {HTMLElement} */ (document.querySelector('#root'));
// Runs the query of the first visit, or of a link, as soon as its editor is loaded.
if (isFirstVisit || query)
  new MutationObserver((_changes, observer) => {
    if (!document.querySelector('.graphiql-query-editor .view-line')) return;
    observer.disconnect();
    /** @type {HTMLElement | null} */ (document.querySelector('.graphiql-execute-button'))?.click();
  }).observe(root, { childList: true, subtree: true });

/** @typedef {{ renderYogaGraphiQL(root: HTMLElement, options: object): void }} YogaGraphiQL */
const { YogaGraphiQL } = /** @type {{ YogaGraphiQL: YogaGraphiQL }} */ (/** @type {unknown} */ (self));
YogaGraphiQL.renderYogaGraphiQL(root, {
  title: document.title,
  defaultTabs,
  shouldPersistHeaders: false,
  storage,
  // Without introspection GraphiQL would show the refusal in place of the first answer. Null: it does not ask.
  ...(document.body.dataset.introspection === 'false' ? { schema: null } : {}),
  variables,
  onEditQuery: keepInAddress('query'),
  onEditVariables: keepInAddress('variables'),
});
