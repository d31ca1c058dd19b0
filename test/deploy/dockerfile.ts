import { execFile } from 'node:child_process';
import { chownSync, cpSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

/** One line of a Dockerfile, with its continuations. */
export interface Instruction {
  readonly keyword: string;
  readonly text: string;
}

/** What begins with a FROM. */
export interface Stage {
  readonly base: string;
  /** What `AS` calls it. */
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

/** A stage whose instructions have been run, in a folder that stands for its root. */
export interface Built {
  /** Where WORKDIR is on this machine. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  readonly ports: readonly number[];
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

/** The stages of a Dockerfile; throws an Error on a line that it does not know. */
export function parseDockerfile(text: string): readonly Stage[] {
  const lines = text
    .split('\n')
    .filter((line) => line.trim() && !line.startsWith('#'))
    .join('\n')
    .replaceAll('\\\n', ' ')
    .split('\n');
  const stages: { base: string; name: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, keyword = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (!keyword)
      throw new Error(`Expected an instruction such as "RUN npm ci", got ${JSON.stringify(line)}`);
    if (keyword === 'FROM') {
      const [, base = rest, name] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
      stages.push({ base, name, instructions: [] });
    } else stages.at(-1)?.instructions.push({ keyword, text: rest });
  }
  return stages;
}

/**
 * Runs the steps of all stages as plain commands, each stage in an empty folder of its own, and resolves with the
 * last one.
 *
 * @param context the folder that `docker build` is given
 * @param into an empty folder
 * @param env of the commands, beside the stage's own
 */
export async function build(
  stages: readonly Stage[],
  context: string,
  into: string,
  env: Readonly<Record<string, string>>,
): Promise<Built> {
  const roots = new Map<string, string>();
  let built: Built | undefined;
  for (const [index, stage] of stages.entries()) {
    const root = join(into, stage.name ?? String(index));
    mkdirSync(root);
    if (stage.name) roots.set(stage.name, root);
    built = await buildStage(stage, { context, root, roots, env });
  }
  if (!built) throw new Error('Expected a Dockerfile with a FROM');
  return built;
}

interface Place {
  readonly context: string;
  readonly root: string;
  /** The roots of the stages before, by their names. */
  readonly roots: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string>>;
}

async function buildStage({ instructions }: Stage, { context, root, roots, env }: Place): Promise<Built> {
  let folder = root;
  let user: string | undefined;
  let command: readonly string[] = [];
  let healthCheck: readonly string[] = [];
  const own: Record<string, string> = {};
  const ports: number[] = [];
  for (const { keyword, text } of instructions) {
    if (keyword === 'WORKDIR') {
      folder = join(root, text);
      mkdirSync(folder, { recursive: true });
    } else if (keyword === 'RUN') {
      await promisify(execFile)('sh', ['-c', text], { cwd: folder, env: { ...env, ...own } });
    } else if (keyword === 'COPY') copy(text, folder, context, roots);
    else if (keyword === 'ENV') {
      for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g)) own[name] = value;
    } else if (keyword === 'USER') user = text;
    else if (keyword === 'EXPOSE') ports.push(...text.split(' ').map(Number));
    else if (keyword === 'CMD') command = JSON.parse(text) as string[];
    else if (keyword === 'HEALTHCHECK') healthCheck = JSON.parse(text.replace(/^.*? CMD /, '')) as string[];
    else throw new Error(`Expected an instruction that is known, got ${keyword}`);
  }
  return { folder, env: own, user, ports, command, healthCheck };
}

/** As Docker copies: the content of a folder, or files into a folder. */
function copy(text: string, folder: string, context: string, roots: ReadonlyMap<string, string>): void {
  const words = text.split(' ');
  const option = (name: string) =>
    words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const stage = option('from');
  const from = stage === undefined ? context : roots.get(stage);
  if (!from) throw new Error(`Expected a stage before this one, got ${stage}`);
  const paths = words.filter((word) => !word.startsWith('--'));
  const target = join(folder, paths.at(-1) ?? '');
  for (const path of paths.slice(0, -1)) {
    const source = join(from, path);
    const isFolder = statSync(source).isDirectory();
    const copied = isFolder || !/\/$/.test(text) ? target : join(target, basename(path));
    cpSync(source, copied, { recursive: true, verbatimSymlinks: true });
    const [owner, group] = (option('chown') ?? '').split(':').map(Number);
    // Only root may give files away.
    if (owner === undefined || group === undefined || process.getuid?.() !== 0) continue;
    for (const below of isFolder
      ? ['', ...readdirSync(copied, { recursive: true, encoding: 'utf8' })]
      : ['']) {
      chownSync(join(copied, below), owner, group);
    }
  }
}
