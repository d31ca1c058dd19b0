/** Finds the blocks, variables and tables of the READMEs and guides. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Kind, parse } from 'graphql';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of a README, by its name: the comment `<!-- test: name -->` above it, or its operation. */
type Block = { readonly name: string; readonly language: string; readonly text: string };

const PICTURES = ['mermaid'];

/** The paths of all READMEs and guides, from the project's folder. */
export const readmes = () => ['README.md', ...['.deploy', 'src', 'test'].flatMap(guidesIn)];

function guidesIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : guidesIn(path);
    return /\.md$/.test(path) && !path.includes('CHANGELOG') ? [path] : [];
  });
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export const PACKAGE = JSON.parse(readText('package.json')) as {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: object;
};

/** The blocks of a README. A block with several operations is returned once for each operation. */
export function blocksOf(path: string): readonly Block[] {
  const found = readText(path).matchAll(/(?:^<!-- test: ([^\n]+) -->\n)?^```(\w*)\n(.*?)^```$/gms);
  return [...found].flatMap(([, comment, language = '', text = '']) => {
    if (PICTURES.includes(language)) return [];
    const names = language === 'graphql' ? operationsOf(text) : [comment ?? 'a block without a name'];
    return names.map((name) => ({ name, language, text }));
  });
}

function operationsOf(document: string): readonly string[] {
  return parse(document).definitions.flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION ? [definition.name?.value ?? 'a query without a name'] : [],
  );
}

export function blockOf(path: string, name: string): string {
  const block = blocksOf(path).find((block) => block.name === name);
  if (!block) throw new Error(`${path} has no block named "${name}". Put <!-- test: ${name} --> above it.`);
  return block.text;
}

/** The variables in the paragraph above an operation: "Variables: `{ … }`". */
export function variablesOf(path: string, operation: string): Readonly<Record<string, unknown>> {
  const text = readText(path);
  const above = text.slice(0, text.indexOf(`\`\`\`graphql\nquery ${operation}(`)).trimEnd();
  const [, variables] = /Variables: `(\{.*\})`$/.exec(above) ?? [];
  if (!variables) throw new Error(`Expected "Variables: \`{ … }\`" above the query ${operation} in ${path}.`);
  return JSON.parse(variables) as Record<string, unknown>;
}
