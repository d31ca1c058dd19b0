import { setTimeout as sleep } from 'node:timers/promises';
import type { ReactElement } from 'react';
import { Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { RelayEnvironmentProvider } from 'react-relay';
import { Environment, Network, RecordSource, Store } from 'relay-runtime';
import type { TokenPicker_query$data } from './__generated__/TokenPicker_query.graphql';
import { TokenPicker, TokenPrice } from './pages';

/** The parameters of the page, from the command line. */
interface Questions {
  readonly endpoint: string;
  readonly tokens: string;
  readonly source: { readonly srcChainKey: string; readonly srcToken: string };
}

const { endpoint, tokens, source } = JSON.parse(process.argv[2] ?? '') as Questions;
const asked: unknown[] = [];
const environment = new Environment({
  store: new Store(new RecordSource()),
  network: Network.create(async ({ text }, variables) => {
    asked.push(text);
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: text, variables }),
    });
    return response.json();
  }),
});

/** Calls `look` again and again until its result is truthy. Resolves with this result. */
async function until<Seen>(look: () => Seen, everyMs = 5): Promise<NonNullable<Seen>> {
  for (const end = Date.now() + 15_000; Date.now() < end; ) {
    const seen = look();
    if (seen) return seen;
    await sleep(everyMs);
  }
  throw new Error(`The expected content did not appear within 15 s: ${document.body.innerHTML}`);
}

/** Shows the page alone in the document. */
function show(page: ReactElement): HTMLElement {
  const place = document.createElement('main');
  document.body.replaceChildren(place);
  createRoot(place).render(
    <RelayEnvironmentProvider environment={environment}>
      <Suspense>{page}</Suspense>
    </RelayEnvironmentProvider>,
  );
  return place;
}

async function pick() {
  let found: TokenPicker_query$data['tokenSearch'];
  const onShown = (shown: typeof found) => {
    found = shown;
  };
  const place = show(<TokenPicker search={tokens} onShown={onShown} />);
  const shown = () => place.querySelectorAll('li').length;
  await until(shown);
  const lengths = [shown()];
  for (;;) {
    const more = place.querySelector<HTMLButtonElement>('button:not([hidden])');
    if (!more || lengths.length === 10) break;
    const before = shown();
    more.click();
    await until(() => shown() > before && !more.disabled);
    lengths.push(shown());
  }
  return { lengths, totalCount: found?.totalCount, edges: found?.edges };
}

async function refetch() {
  const place = show(<TokenPrice {...source} />);
  const before = await until(() => place.querySelector('p')?.textContent);
  const after = await until(() => {
    const text = place.querySelector('p')?.textContent;
    if (text && text !== before) return text;
    place.querySelector('button')?.click();
    return undefined;
  }, 50);
  return { before, after };
}

async function main() {
  const report = { picked: await pick(), refetched: await refetch(), asked };
  // Without `exit`, React's scheduler would keep the process running.
  process.stdout.write(JSON.stringify(report), () => process.exit());
}

void main();
