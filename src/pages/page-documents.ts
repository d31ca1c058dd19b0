import { pickerDocuments } from './picker/picker.js';
import { TABS } from './playground/tabs.js';

/** The documents that the gateway's own pages send. */
export function pageDocuments(hasPlayground: boolean): readonly string[] {
  return [...pickerDocuments(), ...(hasPlayground ? TABS.map(({ query }) => query) : [])];
}
