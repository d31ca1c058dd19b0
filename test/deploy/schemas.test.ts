/** Tests the files for Docker Compose and Kubernetes by the schemas of both. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from '../support/readme.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { deployed, type KubernetesObject, kubernetes } from './files.js';
import { arePackagesMissing } from './programs.js';

const PACKAGES = join(ROOT, 'test/deploy/node_modules');

describe.skipIf(arePackagesMissing('dclint'))('compose.yaml', () => {
  const errorsIn = (text: string) => {
    const { $schema, ...schema } = JSON.parse(
      readFileSync(join(PACKAGES, 'dclint/schemas/compose.schema.json'), 'utf8'),
    ) as Record<string, unknown>;
    expect($schema).toContain('draft-07');
    const ajv = new Ajv({ strict: false, allErrors: true });
    addFormats.default(ajv);
    const validate = ajv.compile(schema);
    validate(parse(text, { merge: true }));
    return validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`) ?? [];
  };

  it('is as the specification of Compose asks', () => {
    expect(errorsIn(deployed('compose.yaml'))).toEqual([]);
  });

  it('would not be with a mistyped name, or a value of another type', () => {
    const mistyped = deployed('compose.yaml').replace('  read_only: true', '  readonly: true');
    expect(errorsIn(mistyped).join()).toContain('must NOT have additional properties');
    const other = deployed('compose.yaml').replace('max-file: "3"', 'max-file: [3]');
    expect(errorsIn(other).join()).toContain('/services/gateway-1/logging/options/max-file');
  });
});

/** The module of `kubernetes-types` for each API version. Its types are generated from the schemas of Kubernetes. */
const TYPES: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'policy/v1': 'policy/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
};

/** The errors of TypeScript if the objects are written as literals of their types, which allows no unknown names. */
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

describe.skipIf(arePackagesMissing('kubernetes-types'))('kubernetes.yaml', () => {
  it('is as the schemas of Kubernetes ask', () => {
    expect(typeErrors(kubernetes)).toEqual([]);
  });

  it('is so with a volume for Redis', () => {
    const claim = parse(deployed('volume/claim.yaml')) as KubernetesObject;
    expect(typeErrors([claim])).toEqual([]);
    expect(typeErrors([parse(deployed('volume/redis.yaml')) as KubernetesObject], true)).toEqual([]);
  });

  it('would not be with a mistyped name, a value of another type, or a name that is missing', () => {
    const changed = (from: string, to: string) =>
      typeErrors(
        parseAllDocuments(deployed('kubernetes.yaml').replace(from, to)).map(
          (document) => document.toJS() as KubernetesObject,
        ),
      ).join();
    expect(changed('readOnlyRootFilesystem', 'readonlyRootFilesystem')).toContain(
      '\'"readonlyRootFilesystem"\'',
    );
    expect(changed('maxReplicas: 6', 'maxReplicas: "six"')).toContain("'string' is not assignable");
    expect(changed('  scaleTargetRef: {', '  # {')).toContain("'scaleTargetRef' is missing");
  });
});

const kustomize = (folder: string) => spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });

/** In CI kubectl may be missing, too: Debian has no version that is new enough. */
const isWithoutKubectl = spawnSync('kubectl', ['version', '--client']).status !== 0;

describe.skipIf(isWithoutKubectl)('kustomization.yaml', () => {
  const objectsOf = (folder: string) => {
    const { stdout, stderr } = kustomize(folder);
    expect(stderr).toBe('');
    return parseAllDocuments(stdout).map((document) => document.toJS() as KubernetesObject);
  };
  const build = (change: (text: string) => string = (text) => text) => {
    const folder = temporaryDirectory();
    cpSync(join(ROOT, '.deploy'), folder, { recursive: true });
    writeFileSync(join(folder, 'kustomization.yaml'), change(deployed('kustomization.yaml')));
    return objectsOf(folder);
  };
  const configName = (objects: readonly KubernetesObject[]) => {
    const { name } = objects.find(({ kind }) => kind === 'ConfigMap')?.metadata ?? {};
    expect(JSON.stringify(objects.find(({ kind }) => kind === 'Deployment'))).toContain(
      `"configMapRef":{"name":"${name}"}`,
    );
    return name;
  };

  it('gives the gateways a ConfigMap of another name when a setting changes', () => {
    const before = configName(build());
    expect(before).toMatch(/^gateway-\w+$/);
    expect(configName(build())).toBe(before);
    expect(configName(build((text) => text.replace('DRAIN_MS=1500', 'DRAIN_MS=1600')))).not.toBe(before);
  });

  it('has a variant in which Redis keeps its data on a volume', () => {
    const objects = build((text) => text.replace('# components:', 'components:'));
    const redis = objects.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'gateway-redis',
    );
    expect(objects.map(({ kind }) => kind)).toContain('PersistentVolumeClaim');
    expect(redis?.spec).toMatchObject({
      template: {
        spec: {
          securityContext: { runAsUser: 999, fsGroup: 1000 },
          containers: [{ args: expect.arrayContaining(['--appendonly', 'yes']) }],
          volumes: [{ persistentVolumeClaim: { claimName: 'gateway-redis' } }],
        },
      },
    });
    if (!arePackagesMissing('kubernetes-types')) expect(typeErrors(objects)).toEqual([]);
  });
});
