/** Tests the files for Docker Compose and Kubernetes by the schemas of both. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../support/readme.js';
import { deployed, type KubernetesObject, kubernetes } from './files.js';
import { isPackageMissing } from './programs.js';

const PACKAGES = join(ROOT, 'test/deploy/node_modules');

it.skipIf(isPackageMissing('dclint'))('compose.yaml is as the specification of Compose asks', () => {
  const { $schema, ...schema } = JSON.parse(
    readFileSync(join(PACKAGES, 'dclint/schemas/compose.schema.json'), 'utf8'),
  ) as Record<string, unknown>;
  expect($schema).toContain('draft-07');
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  validate(parse(deployed('compose.yaml'), { merge: true }));
  expect(validate.errors ?? []).toEqual([]);
});

/** The module of `kubernetes-types` for each API version. Its types are generated from the schemas of Kubernetes. */
const TYPES: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'policy/v1': 'policy/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
};

/** Writes the objects as literals of their types, so that unknown names are errors. @returns TypeScript's errors */
function typeErrors(objects: readonly KubernetesObject[], isPatch = false): readonly string[] {
  // In the folder of the packages, so that TypeScript finds them.
  mkdirSync(join(PACKAGES, '.objects'), { recursive: true });
  const folder = mkdtempSync(join(PACKAGES, '.objects/'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const text = objects.map((object, index) => {
    const { apiVersion, kind } = object;
    const type = isPatch ? `Partly<${kind}${index}>` : `${kind}${index}`;
    return `import type { ${kind} as ${kind}${index} } from 'kubernetes-types/${TYPES[apiVersion]}';
export const object${index}: ${type} = ${JSON.stringify(object)};`;
  });
  const partly =
    'type Partly<T> = T extends readonly (infer U)[] ? Partly<U>[] : T extends object ? { [K in keyof T]?: Partly<T[K]> } : T;';
  const file = join(folder, 'objects.ts');
  writeFileSync(file, [partly, ...text].join('\n'));
  const options =
    '--noEmit --strict --skipLibCheck --ignoreConfig --module esnext --moduleResolution bundler';
  const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), [...options.split(' '), file], {
    encoding: 'utf8',
  });
  return stdout.split('\n').filter((line) => line.includes('error'));
}

describe.skipIf(isPackageMissing('kubernetes-types'))('kubernetes.yaml', () => {
  it('kubernetes.yaml is as the schemas of Kubernetes ask', () => {
    expect(typeErrors(kubernetes)).toEqual([]);
    const mistyped = JSON.stringify(kubernetes).replace('readOnlyRootFilesystem', 'readonlyRootFilesystem');
    expect(typeErrors(JSON.parse(mistyped)).join()).toContain('"readonlyRootFilesystem"');
  });

  it('kubernetes.yaml has a valid volume for Redis beside it', () => {
    const claim = parse(deployed('volume/claim.yaml')) as KubernetesObject;
    expect(typeErrors([claim])).toEqual([]);
    expect(typeErrors([parse(deployed('volume/redis.yaml')) as KubernetesObject], true)).toEqual([]);
  });
});
