/** The documents of the gateway's own pages. */
import { EXAMPLES } from './llms-text.js';

/** The documents of the token picker and of `/llms.txt`, and those of the playground if it is served. */
export async function pageDocuments(hasPlayground: boolean): Promise<readonly string[]> {
  const queries = await load<Readonly<Record<string, string>>>('./picker/queries.js');
  const { TABS } = await load<{ readonly TABS: readonly { readonly query: string }[] }>(
    './playground/tabs.js',
  );
  const examples = EXAMPLES.map(([, query]) => query);
  return [...Object.values(queries), ...examples, ...(hasPlayground ? TABS.map(({ query }) => query) : [])];
}

/** Loads a script of a page, which the build copies beside the compiled code. */
const load = async <Module>(file: string) => (await import(new URL(file, import.meta.url).href)) as Module;
