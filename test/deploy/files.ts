/** The files of .deploy as objects: the image, Docker Compose, Kubernetes, alerts and the dashboard. schemas.test.ts tests their form. */
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { blockOf, ROOT, readText } from '../support/readme.js';

export const deployed = (name: string) => readText(`.deploy/${name}`);

export const imageEnv: Readonly<Record<string, string>> = Object.fromEntries(
  [...(/^ENV (.*)$/m.exec(deployed('Dockerfile'))?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

export const compose = parse(deployed('compose.yaml'), { merge: true });
export const kustomization = parse(deployed('kustomization.yaml'));

export const kubernetesEnv: Readonly<Record<string, string>> = Object.fromEntries(
  kustomization.configMapGenerator[0].literals.map((literal: string) => {
    const [name = ''] = literal.split('=', 1);
    return [name, literal.slice(name.length + 1)];
  }),
);

export const kubernetes = parseAllDocuments(deployed('kubernetes.yaml')).map((document) => document.toJS());

export function kubernetesObject(kind: string, name = 'gateway') {
  const found = kubernetes.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`Expected a ${kind} named ${name} in kubernetes.yaml`);
  return found;
}

export const deployment = kubernetesObject('Deployment');
export const gatewayContainer = deployment.spec.template.spec.containers[0];

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

export const RULES = join(ROOT, '.deploy/alerts.yaml');

export const alerts = (
  parse(deployed('alerts.yaml')) as { readonly groups: readonly { readonly rules: readonly Alert[] }[] }
).groups.flatMap(({ rules }) => rules);

export const prometheusConfig = parse(blockOf('.deploy/README.md', 'prometheus.yaml'));

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export const panels: readonly Panel[] = JSON.parse(deployed('grafana.json')).panels;

/** With the variables as Grafana would fill them in. */
export const dashboardQueries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({
    title,
    expr: expr.replaceAll(/\$(job|namespace|instance)/g, '.*').replaceAll('$__rate_interval', '30s'),
  })),
);

/** Bytes of "640Mi" or "640M"; Docker's M is a mebibyte. */
export function bytesOf(text: string): number {
  const [, number] = /^(\d+)Mi?$/.exec(text) ?? [];
  if (!number) throw new Error(`Expected mebibytes such as 640Mi, got ${text}`);
  return Number(number) * 2 ** 20;
}
