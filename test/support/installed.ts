import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockedPackage {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The space that a file or a folder takes on a disk with blocks of 4096 bytes, in bytes. */
export function spaceOf(path: string): number {
  const stats = lstatSync(path);
  const own = Math.ceil(stats.size / 4096) * 4096;
  if (!stats.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + spaceOf(join(path, name)), own);
}

/** The folders of all packages that are installed in a project, such as `node_modules/pino`. */
export function installedPackages(project: string): readonly string[] {
  const { packages } = readJson(join(project, 'node_modules/.package-lock.json'));
  return Object.keys(packages);
}

/** The folders of a package and of everything that it brings. Peers are left out: the project itself chooses them. */
export function broughtBy(project: string, name: string): readonly string[] {
  const { packages } = readJson(join(project, 'node_modules/.package-lock.json'));
  const found = new Set<string>();
  const visit = (dependency: string, from: string): void => {
    const folders = from
      .split('/node_modules/')
      .map((_, depth, parts) => parts.slice(0, depth + 1).join('/node_modules/'));
    const places = [
      ...folders.toReversed().map((folder) => `${folder}/node_modules/${dependency}`),
      `node_modules/${dependency}`,
    ];
    const place = places.find((folder) => folder in packages);
    if (!place || found.has(place)) return;
    found.add(place);
    const { dependencies = {}, optionalDependencies = {} } = packages[place] ?? {};
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) visit(each, place);
  };
  visit(name, '');
  return [...found];
}

/** What a package takes with everything that is in its folder but no package of its own, in bytes. */
export function ownSpace(project: string, folder: string): number {
  const nested = join(project, folder, 'node_modules');
  const hasNested = readdirSync(join(project, folder)).includes('node_modules');
  return spaceOf(join(project, folder)) - (hasNested ? spaceOf(nested) : 0);
}

function readJson(path: string): { readonly packages: Readonly<Record<string, LockedPackage>> } {
  return JSON.parse(readFileSync(path, 'utf8'));
}
