/** The documents of the gateway's own pages. */
import { pickerDocuments } from './picker-page.js';
import { TABS } from './playground-tabs.js';

/** The texts of the documents; those of the playground only if it is served. */
export async function pageDocuments(hasPlayground: boolean): Promise<readonly string[]> {
  return [...(await pickerDocuments()), ...(hasPlayground ? TABS.map(({ query }) => query) : [])];
}
